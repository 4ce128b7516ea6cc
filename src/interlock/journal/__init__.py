"""The one truth: append-only, hash-chained entries, and the instances they add up to.

    Journal       create, append, transact; instance, entries, history, follow; verify, rebuild
    Look          several questions as one transaction, each asked once
    Projection    tables made of entries, caught up by whoever asks them
    Store         where it is kept: SQLite by default, PostgreSQL when several hosts share it
    leases, outbox
                  who drives an instance, and how far each channel has told what happened
    search, audit
                  looking through the entries, and looking at all of them
    peek          one look at one session or ticket, for the hook, which has no time for more

It imports `machine` and `errors` and nothing else of Interlock. Every move of an instance is one `append`:
compare the version, step the machine, write the entry, move the instance, commit, sync, acknowledge.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interlock.journal.audit import Problem
    from interlock.journal.checking import CONTROL
    from interlock.journal.entry import Entry, Instance, Recorded
    from interlock.journal.journal import Journal
    from interlock.journal.leases import Holder, Lease
    from interlock.journal.opening import open_journal
    from interlock.journal.outbox import Outbox
    from interlock.journal.projection import Projection
    from interlock.journal.reading import unknown_instance
    from interlock.journal.search import SearchPage, Sought
    from interlock.journal.store import Sql
    from interlock.journal.transaction import Transaction

__all__ = [
    "CONTROL",
    "Entry",
    "Holder",
    "Instance",
    "Journal",
    "Lease",
    "Outbox",
    "Problem",
    "Projection",
    "Recorded",
    "SearchPage",
    "Sought",
    "Sql",
    "Transaction",
    "open_journal",
    "unknown_instance",
]

_HOMES = {
    "CONTROL": "checking",
    "Entry": "entry",
    "SearchPage": "search",
    "Holder": "leases",
    "Instance": "entry",
    "Journal": "journal",
    "Lease": "leases",
    "Outbox": "outbox",
    "Problem": "audit",
    "Projection": "projection",
    "Recorded": "entry",
    "Sought": "search",
    "Sql": "store",
    "Transaction": "transaction",
    "open_journal": "opening",
    "unknown_instance": "reading",
}


def __getattr__(name: str) -> object:
    """What the package offers, imported when it is asked for: the hook asks for `peek` alone."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found  # so that nobody asks again
    return found
