"""Driving an agent: what threads, story loops, orchestrator runs and `ralph work` share.

context           the repository, the journal, the settings and the signals that a driver works with
agent_run         one run of one agent, as a session with a budget
agent_turn        choose an agent, wait for limits, and what is noted of its run
agent_failures    failures of agents: how long to wait, and what a person is told
transient_errors  whether a failure may pass without a change
readiness         prerequisites that no agent can fix, checked before the first one
loop              `drive`: one loop for every `system`
notes             entries that record something and move nothing
driver_lease      the right to drive an instance; `lease_holders` are the processes that hold leases
interrupts        Ctrl+C, and a person's decision in the journal
thread_owned      loops and runs that only their thread controls
open_repository   a repository that stays open for git between two steps
file_hashes       hashes of files that are read again only if they changed
record_cache      records of instances, kept up to date entry by entry
transcripts       the output of agents, for people
"""
