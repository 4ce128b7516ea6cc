"""The five systems, and what is done with them. It may import everything but `faces`.

The systems, each with its verbs, its record and, where it has one, its loop:

    tickets        pieces of work on a board, from Backlog to Done
    threads        one feature each, from a spec to a reviewed commit
    stories        the story loop: one subtask at a time
    orchestration  a planner, a questioner, an executor and a reviewer
    sessions       one agent at work, as it reports itself
    ticket_driver  `ralph work`: one ticket from Backlog to a commit, through all of them

What they stand on:

    driver         running agents: the context, one run, the lease, interrupts, failures of agents
    gates          what only a person may pass
    verification   done is proven, by a receipt
    budget         what agents may use, and what they used
    settings       what `ralph.toml` may say, and the settings and journals that a person accepted

What is shown of them:

    views          one view of each thing, for every face
    attention      what waits for a person, who is at work, what today cost
    inspection     why an instance is where it is, its past, and two of them compared
    notifying      notifications
    telemetry      traces and metrics

Setup and demo:

    setup          registering with agents
    importing      tickets from elsewhere
    demo           a ticket from start to end, played by scripts

    formats        Markdown, front matter, quoted text, hashes and times
"""
