"""Threads: one feature each, from a spec through the loop to a reviewed commit.

spec         the spec, as people write it: title, promise, criteria, protected paths (PURE)
    phases       `thread.json`: its phases, its schema and the versions of it (PURE)
    runs         `run.json` (PURE)
    conversation what was said about a spec (PURE)
    store        the files of the threads, read and listed; revisions, the active thread, outputs
    projection   what the journal says, written into them; edits set aside
    children     what drives a thread besides its own loop; `child` is their shape
      storied      a story loop
      orchestrated a run of planner, questioner, executor and reviewer
"""
