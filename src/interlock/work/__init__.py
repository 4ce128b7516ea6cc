"""The five systems, and what is done with them. It may import everything but `faces`.

The systems, each with its verbs, its record and, where it has one, its loop:

    tickets        pieces of work on a board, from Backlog to Done
    threads        one feature each, from a spec to a reviewed commit
    stories        the story loop: one subtask at a time
    orchestration  a planner, a questioner, an executor and a reviewer
    sessions       one agent at work, as it reports itself
    way            one ticket all the way, through all of them

What they stand on:

    gates          what only a person may pass
    verification   done is proven, by a receipt
    budget         what agents may use, and what they used
    settings       what `ralph.toml` may say; `settings_table` is the table, `configuration` what of it is in force
    trusting       which journals this user trusts
    workshop       where agents are sent to work; `errands` is one run of one
    driving        being the only driver of something; `leases` tell who it is, `steering` stops it
    driven         what a thread drives, the thread alone steers
    repository     a driver's open repository; `seen` are files that are read only where they changed
    readiness      prerequisites that no agent can fix, checked before the first one
    hindrances     failures of agents: how long to wait, and what a person is told
    troubles       whether what went wrong may pass by itself

What is told of them:

    attention      what waits for a person, who is at work, what today cost
    watching       records that are kept up to date for whoever keeps looking
    references     what an instance is called
    causes         why an instance is where it is; `travel` goes back in time, `comparing` sets two beside each other
    outputs        what agents print, as people read it
    notifying      being told; `outgoing` is the way out of the journal, for it and for traces
    telemetry      traces and metrics; `exposition` is Prometheus' text form

Coming and trying:

    setup          registering with agents
    importing      tickets from elsewhere
    demo           the whole way, played

Texts, files and hours:

    markdown, front_matter, quoting, side_by_side, hashing, times
"""
