"""The story loop: one subtask at a time, tested, judged and committed, until the stories are done.

progress     `progress.txt`: where the stories stand (PURE, as all that is below it)
  yaml_tree    its values, with their places; `simple` reads what the loop writes, `yaml_reader` any other YAML
  edits        what is changed in it, and nothing besides; `sheet` keeps it from one step to the next
  changes      what a person changed in it, and what of that counts
stories      what a story is (PURE)
  story_files  story files: read, ticked, recorded in; `criteria` are their acceptance criteria
  prd          `prd.json`: read, and passed in
plan         what to do next (PURE)
prompts      what agents are told, and how their judgement is read (PURE)
stuck        whether attempts get anywhere (PURE)
limits       what a loop may use
record       a loop as its entries tell it; `replay` folds them (PURE), `reading` finds them
loop         driving it: read where it stands, do the next effect, write down what came of it
  steps        what is done in each state: `agents`, `testing`, `committing`, `remembering`, `ending`
  unsent       memory events that wait for a server, of all loops
  driver_step  the loop in one state; `runs` is one run of one agent for it
  context      where a loop works, and with what; `opening` makes it ready, `loop_cache` is kept between steps
  files        `progress.txt` made of the journal, and people's edits read back
verbs        what people do about a loop, while it runs or rests; `decisions` are those that a face starts with
"""
