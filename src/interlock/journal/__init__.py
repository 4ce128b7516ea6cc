"""The one truth: append-only, hash-chained entries, and the instances they add up to.

    Journal       create, append, transact; instance, entries, history, follow; verify, rebuild
    Store         where it is kept: SQLite by default, PostgreSQL when several hosts share it

It imports `machine` and `errors` and nothing else of Interlock. Every move of an instance is one `append`:
compare the version, step the machine, write the entry, move the instance, commit, sync, acknowledge.
"""

from interlock.journal.audit import Problem
from interlock.journal.entry import Entry, Instance, Recorded
from interlock.journal.journal import Journal
from interlock.journal.leases import Holder, Lease
from interlock.journal.opening import open_journal
from interlock.journal.transaction import Transaction, unknown_instance

__all__ = [
    "Entry",
    "Holder",
    "Instance",
    "Journal",
    "Lease",
    "Problem",
    "Recorded",
    "Transaction",
    "open_journal",
    "unknown_instance",
]
