"""What other processes do to a journal, and how a test starts, hears and ends them.

They are forked from a server process that has everything imported and no threads, so that hundreds of them
can be started and killed in a few seconds.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeAlias

from interlock.errors import InterlockError
from interlock.journal import Journal, open_journal
from interlock.journal.entry import encode
from interlock.machine import Evidence, load_shipped
from patience import SECONDS

from .databases import Address
from .histories import AGENT, created, reports

__all__ = [
    "SECONDS",
    "Child",
    "Pipe",
    "acknowledging",
    "beginning",
    "child",
    "competing",
    "following",
    "making_tickets",
    "opening",
    "reading",
    "writing",
]

_MEMORY = 1 << 30

Given = ParamSpec("Given")
Pipe: TypeAlias = "Connection[Any, Any]"

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", "interlock.journal.sqlite", "interlock.journal.postgres"])


class Child:
    """A process of its own, and the pipe to it."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=target, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, word: object) -> None:
        self._pipe.send(word)

    def receive(self) -> Any:
        """The next word of the child."""
        assert self._pipe.poll(SECONDS), "the child says nothing"
        return self._pipe.recv()

    def rest(self) -> list[Any]:
        """All that the child said until it ended."""
        words = []
        while True:
            assert self._pipe.poll(SECONDS), "the child says nothing and does not end"
            try:
                words.append(self._pipe.recv())
            except EOFError:
                return words

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.kill()
        self.join()

    def join(self) -> None:
        self._process.join(SECONDS)
        assert not self._process.is_alive()

    def close(self) -> None:
        if self._process.is_alive():
            self.kill()
        self._process.close()
        self._pipe.close()


@contextmanager
def child(
    target: Callable[Concatenate[Pipe, Given], None], *arguments: Given.args, **nothing: Given.kwargs
) -> Iterator[Child]:
    """A process that runs one of the functions below."""
    started = Child(target, *arguments)
    try:
        yield started
    finally:
        started.close()


def _answer(pipe: Pipe, work: Callable[[], object]) -> None:
    """Say what came of some work: an answer, or the code of its error."""
    try:
        pipe.send(work())
    except InterlockError as error:
        pipe.send(error.code)


def opening(pipe: Pipe, address: Address) -> None:
    """Open a journal when told to, and say how many entries it has."""
    pipe.send("ready")
    pipe.recv()

    def work() -> int:
        journal = open_journal(address)
        found = journal.head()
        journal.close()
        return found

    _answer(pipe, work)


def competing(pipe: Pipe, address: Address, instance: str, name: str, rounds: int) -> None:
    """Try to be the one who moves an instance on from each version; say what came of each try."""
    journal = open_journal(address)
    pipe.send("ready")
    pipe.recv()
    pipe.send([_try(journal, instance, version, f"{name}-{version}") for version in range(1, rounds + 1)])
    journal.close()


def _try(journal: Journal, instance: str, version: int, key: str) -> tuple[str, int]:
    try:
        entry = journal.append(instance, reports("testing"), expected=version, key=key).entry
    except InterlockError as error:
        return error.code, version
    return "written", entry.version


def acknowledging(pipe: Pipe, address: Address, instance: str, number: int) -> None:
    """Append without end, each time with the next key, and say each number that was acknowledged."""
    journal = open_journal(address)
    while True:
        recorded = journal.append(instance, reports("testing"), key=f"key-{number}")
        pipe.send((number, recorded.written))
        number += 1


def writing(pipe: Pipe, address: Address, count: int) -> None:
    """Begin a session and report so many times; say the sequence numbers."""
    journal = open_journal(address)
    pipe.send("ready")
    pipe.recv()
    mine = [journal.create("session", created(AGENT)).entry]
    mine += [journal.append(mine[0].instance, reports("testing")).entry for _ in range(count - 1)]
    pipe.send([entry.seq for entry in mine])
    journal.close()


def making_tickets(pipe: Pipe, address: Address, first: int, count: int) -> None:
    """Make tickets with numbers from one on, and say how many are found by then; their projection is asked last."""
    from interlock.work.tickets.ticket_table import TICKETS

    journal = open_journal(address)
    pipe.send("ready")
    pipe.recv()
    for number in range(first, first + count):
        names = Evidence(data={"title": f"ticket {number}"}, names=(f"number:{number:012d}",))
        journal.create("ticket", created(AGENT, names))
    with journal.projected(TICKETS) as sql:
        pipe.send(sql.rows("SELECT count(*) FROM tickets")[0][0])
    journal.close()


def following(pipe: Pipe, address: Address, after: int, last: int) -> None:
    """Follow a journal from one entry to another, and say the sequence numbers that were seen."""
    journal = open_journal(address)
    pipe.send("ready")
    seen = []
    for entry in journal.follow(after):
        seen.append(entry.seq)
        if entry.seq >= last:
            break
    pipe.send(seen)
    journal.close()


def beginning(pipe: Pipe, address: Address, user: int | None) -> None:
    """As an ordinary user, open a journal and begin a session; say its sequence number, or what failed."""
    if user is not None:
        load_shipped("session")  # the user may not be able to read where Interlock is installed
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    def work() -> int:
        journal = open_journal(address)
        try:
            return journal.create("session", created(AGENT)).entry.seq
        finally:
            journal.close()

    _answer(pipe, work)


def reading(pipe: Pipe, address: Path) -> None:
    """Make a file of each content that is given, and say the digest of what is read from it, or how it is refused.

    A damaged file must not make a reader take all memory, so there is little of it.
    """
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    while True:
        content = pipe.recv()
        for file in address.parent.iterdir():
            file.unlink()
        address.write_bytes(content)
        _answer(pipe, lambda: _read(address))


def _read(address: Path) -> str:
    journal = open_journal(address)
    try:
        found = encode((list(journal.all_entries()), journal.instances()))
        return "problems" if journal.verify() else hashlib.sha256(found.encode()).hexdigest()
    finally:
        journal.close()
