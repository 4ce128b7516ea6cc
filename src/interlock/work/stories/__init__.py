"""The stories of a loop, as people write and read them.

    progress     `progress.txt`: where the stories stand
      document     its YAML, with where everything stands in it
      edits        what is changed in it, and nothing besides
      changes      what a person changed in it, and what of that counts
    stories      what a story is
      story_files  story files: read, ticked, recorded in
      criteria     their acceptance criteria
      prd          `prd.json`: read, and passed in
    plan         what to do next
    prompts      what agents are told, and how their judgement is read

All of it is PURE: texts in, texts and decisions out. The loop that uses it comes next.
"""
