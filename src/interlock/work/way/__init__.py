"""The whole way of one ticket: from Backlog to a commit, as far as it goes without a person.

    stations    PURE: what comes next for a ticket, by its machine
    commands    one command of the pipeline, as an agent's session
    readiness   prerequisites that no agent can fix, checked before the first one
    building    the thread of a ticket: its spec from the plan, and the moves between the gates
    walking     `walk`: one station after the other, until a person is needed or it has ended

Nothing is remembered here: each round reads the journal, so that calling `walk` again goes on where it was.
"""
