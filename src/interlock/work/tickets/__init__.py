"""Tickets: the pieces of work that everything else is done for.

    numbers       what a ticket is called: its number from 1, and the text that others know it by
    skills        the commands as texts that an agent follows; placeholders fills them from the machine
    policy        what the hook says of handoffs and of documents

Nothing is imported here, because the hook takes `policy` alone.
"""
