"""Sessions: one agent at work, as it reports itself, checked against what is observed.

    verbs       create, update, complete, note: what a session can be asked to do, each in one transaction
    record      what a session's entries add up to: states and how long, tools, files, tests
    findings    where what was reported and what was observed do not agree
    upkeep      what hooks saw is taken in; a session whose agent is gone ends as a time-out
    policy      what a tool call needs, and whether a state allows it; shell reads commands
    prompt      how an agent is told to report

Nothing is imported here, because the hook takes `policy` alone. It may import `journal`, `world` and below.
"""
