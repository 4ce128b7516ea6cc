"""A thread, found and read; for whoever only looks."""

from __future__ import annotations

from interlock.errors import NotFound
from interlock.journal import Instance, Journal
from interlock.work.threads.active import MACHINE
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import thread_of

__all__ = ["MACHINE", "find_thread", "read_thread"]


def find_thread(journal: Journal, reference: str) -> Instance:
    """A thread by its id or a suffix of it."""
    found = journal.instance(reference)
    if found.machine != MACHINE:
        message = f"{found.id} is a {found.machine}, not a thread."
        raise NotFound("unknown_instance", message, "`ralph thread list` shows the threads.")
    return found


def read_thread(journal: Journal, id_: str) -> Thread:
    return thread_of(journal.history(id_))
