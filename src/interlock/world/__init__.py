"""Effects: what Interlock sees of the machine it runs on and does to it.

    agents       one run of one coding agent
    git          the repository, asked and told so that nothing of it runs
    github       a tracker's board
    memory       what the story loop remembers, on a server or embedded
    sandbox      what an agent may read, write and reach
    notices      telling people; `telemetry` tells a collector of traces
    repository   where the repository is, and the state directory in it; `folder` and `files` write below it
    machines     the machines in force; `definitions` reads what is shipped beside them
    commands     one shell command; `processes`, `ancestry` and `people` say who runs and who calls
    inbox        what the hooks saw; `watching` hears when files change
    ssh          keys that sign for a person
    user_state   the directory of this user, outside every repository
    blocks, jsonc
                 our own parts in files of others
    characters   which characters a reader does not see, and how they are marked
    redaction    no secrets in what is kept or shown; `addresses` says where one may be sent

It may import `errors` and `machine`, and neither `journal` nor anything above.
"""
