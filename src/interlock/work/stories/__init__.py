"""The story loop: one subtask at a time, tested, judged and committed, until the stories are done.

progress     the values of `progress.txt`: the status of the stories (PURE)
  progress_file  its text: parsed, and written so that only what differs changes (PURE)
  changes      what a person changed in it, and what of that counts (PURE)
stories      what a story is (PURE)
  story_files  story files: read, ticked, recorded in; `criteria` are their acceptance criteria
  prd          `prd.json`: read, and passed in
plan         what to do next (PURE)
prompts      what agents are told, and how their judgement is read (PURE)
stuck        whether attempts get anywhere, and whether a failure may pass by itself (PURE)
limits       what a loop may use
record       a loop as its entries tell it; `replay` folds them (PURE), `reading` finds them
loop         driving it: read where it stands, do the next effect, write down what came of it
  steps        what is done in each state: `agents`, `testing`, `committing`, `remembering`
  unsent       memory events that wait for a server, of all loops
  driver_step  the loop in one state; `runs` is one run of one agent for it
  context      where a loop works, and with what; `opening` makes it ready
  files        `progress.txt` made of the journal, and people's edits read back
  mirror       the loop's own files in the person's checkout, beside those in the agents' tree
verbs        what people do about a loop, while it runs or rests; `decisions` are those that a face starts with
"""
