"""Sessions: one agent at work, as it reports itself, checked against what is observed.

    verbs       create, update, complete, note: what a session can be asked to do, each in one transaction
    record      what a session's entries add up to: states and how long, tools, files, tests
    findings    where what was reported and what was observed do not agree
    refresh     whether anything happened outside the journal; if so, upkeep
    upkeep      what hooks saw is taken in; a session whose agent is gone ends as a time-out
    runs        what a driver writes down of an agent's run on its session
    summary     a session in a line, and its time in each state (PURE)
    policy      what a tool call needs, and whether a state allows it
      protected_paths   what is nobody's to write, and whether a path or a command leads there
      writers           whether a command writes, and what: a `reading`
      shell, shell_words    the text of a command, read as a shell reads it
      carriers, options     what carries a command, and the options of programs
      programs          what programs do to files, as tables
      special_programs, git_calls, scripts, inline_code, variables    what is read in a way of its own
    prompt      how an agent is told to report

Nothing is imported here, because the hook takes `policy` alone. It may import `journal`, `world` and below.
"""
