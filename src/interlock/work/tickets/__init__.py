"""Tickets: the pieces of work that everything else is done for.

    handoff       the one door: every move of a ticket goes through it
      advice        what a refused one says, and what is possible instead
      locks         who holds a ticket, and when that is over
      merged        whether its commit is in the target branch
      move_checks   what refuses a move besides the machine
      advancing     the parts of a ticket handed on together
      threads       the thread that works on it
    verbs         what else can be written on a ticket; `fields` says what each field may hold
    record        a ticket as its entries tell it; `numbers` is what it is called
    ticket_table  tickets as tables: a projection of the journal
      queries       lists of them; `upcoming` is the next to work on
      groups        those that belong together, in their order
      circles       those that wait for each other: refused as a link is made, and named where there are some
    pipeline      the order of the states, and where a group stands in it (PURE)
    dashboard     the pipeline at a glance
    sync          the journal and a tracker's board, kept in step
      tracker       a ticket as a board shows it (PURE); `outside` is what somebody did there (PURE)
      audit         the trail of a ticket: a comment for each move
      settle        what stands elsewhere on the board, and a person's decision about it
      showing       the board shows what was done here, as soon as it was done
    skills        the commands as texts that an agent follows; `placeholders` fills them from the machine
    policy        what the hook says of handoffs and of documents

Nothing is imported here, because the hook takes `policy` alone.
"""
