"""Threads: one feature each, from a spec through the loop to a reviewed commit.

spec         the spec, as people write it: title, promise, criteria, protected paths (PURE)
phases       `thread.json`: its phases, its schema and the versions of it (PURE)
  runs         `run.json` (PURE)
  conversation what was said about a spec (PURE)
store        the files of the threads, read and listed; revisions, the active thread, outputs
projection   what the journal says, written into them; `projecting` puts it in their words
record       a thread as its entries tell it; `replay` folds them (PURE), `reading` finds them
loop         driving a thread: read where it stands, do the next thing, write down what came of it
  steps        what is done in each state: `preflight`, `iterating`, `proving`, `diagnosing`
  effects      what it does to the repository: going back, undoing that, and the one commit
  driver_step  a thread in one state; `attending` is what driver and verbs have in common
  children     what drives a thread besides its own loop; `child_spending` is their budget
    story_driver        a story loop
    orchestrator_driver a run of planner, questioner, executor and reviewer
decisions    which move a verb means, and how the loop is to run
verbs        what people do with a thread: one verb for every edge that is theirs
  dialogue     agents that a person asks: about the spec, and to polish before the review
ticket_link  the ticket that a thread works on
choices      what a person can do in each state, and the next of it (PURE)
showing      what a person is shown before they decide; `history` tells the way so far
prompts      what agents are told (PURE)
"""
