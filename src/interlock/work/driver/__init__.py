"""Driving an agent: what threads, story loops, orchestrator runs and `ralph work` share.

context           the repository, the journal, the settings and the signals that a driver works with
ports             the world, as a driver reaches it: agents, git, verifiers, files, processes, time
agent_run         one run of one agent, as a session with a budget
interactive_run   one run of an agent that a person speaks with
agent_sandbox     the sandbox of a run, and the socket by which its agent speaks with us
session_wall      its tree, read-only in states of its session that allow only to read
agent_tree        the files in which agents work, taken as one tree, and the checkout that is brought along
target_branch     the person's branch that the work of a loop or run goes to
agent_turn        choose an agent, wait for limits, and what is noted of its run
agent_failures    failures of agents: how long to wait, and what a person is told
readiness         prerequisites that no agent can fix, and loops and runs that only their thread controls
loop              `drive`: one loop for every `system`; `step` is what a step of it is given, and its notes
record, fold      what an instance's entries add up to: the part that all systems share, and how it is kept up to date
driver_lease      the right to drive an instance; `lease_holders` are the processes that hold leases
interrupts        Ctrl+C, and a person's decision in the journal
spawn             drivers as processes that the dashboard starts, and why one of them failed
open_repository   a repository that stays open for git between two steps
file_hashes       hashes of files that are read again only if they changed
transcripts       the output of agents, for people
"""
