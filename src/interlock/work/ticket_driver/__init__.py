"""`ralph work`: one ticket from Backlog to a commit, as far as it goes without a person.

    stages         PURE: what comes next for a ticket, by its machine
    command_stage  one command of the pipeline, as an agent's session
    document_tree  the tree in which that agent works, and the documents that are committed from it
    thread_stage   the thread of a ticket: its spec from the plan, and the moves between the gates
    loop           `drive_ticket`: one stage after the other, until a person is needed or the ticket has ended

Nothing is kept here: each round reads the journal, so that calling `drive_ticket` again continues where it was.
"""
