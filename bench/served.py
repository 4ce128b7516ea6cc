"""`ralph serve` over a journal of a certain size, as a process of its own, and what it uses of the processor."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import interlock.faces.web
from bench.project import environment
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.orchestration.ledger import RUNS
from interlock.work.sessions.verbs import complete, update
from interlock.work.settings.journal_trust import truster
from interlock.work.tickets.numbers import new_name
from interlock.work.tickets.ticket_table import TICKETS

__all__ = ["AGENT", "Served", "bare_stream", "filled", "listening", "served"]

AGENT = Actor(ActorKind.AGENT, "bench", Channel.TEST)
_PERSON = Actor(ActorKind.HUMAN, "bench@example.org", Channel.TEST)
_STATIC = Path(interlock.faces.web.__file__).with_name("static")
_RALPH = Path(sys.executable).with_name("ralph")
_BATCH = 500
_OPEN = 20
"""Of so many sessions one is open."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Served(msgspec.Struct, frozen=True):
    """A server, where it is found, and the process that it is."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def used(self) -> float:
        """Seconds of the processor that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def push(self, what: str, content: bytes) -> None:
        """Let the bare program push something, or show it as its page."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"%s %d\n%s" % (what.encode(), len(content), content))
        self.process.stdin.flush()


@contextmanager
def _started(words: list[str], directory: Path) -> Iterator[Served]:
    """A server that says its address in its first line; it is ended afterwards."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(words, cwd=directory, env=environment(), stdin=pipe, stdout=pipe, stderr=nothing)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline().decode()
        found = re.search(r"http://[0-9.]+:[0-9]+", line)
        assert found is not None, f"{words[0]} did not say where it listens: {line!r}"
        yield Served(found[0], process)
    finally:
        process.terminate()
        process.wait(20)
        process.stdin.close()
        process.stdout.close()


@contextmanager
def served(repository: Path) -> Iterator[Served]:
    """The dashboard of a repository."""
    with _started([str(_RALPH), "serve", "--port", "0"], repository) as found:
        yield found


@contextmanager
def bare_stream() -> Iterator[Served]:
    """A bare program that serves one page and one stream."""
    with _started([sys.executable, "-m", "bench.bare_stream", str(_STATIC)], Path.cwd()) as found:
        yield found


@contextmanager
def listening(server: Served, number: int) -> Iterator[None]:
    """So many others who listen to the first page, and read."""
    if not number:
        yield
        return
    words = [sys.executable, "-m", "bench.listeners", str(server.port), "/live?show=/", str(number)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n", "somebody heard nothing"
            yield
        finally:
            process.stdin.close()
            process.wait(20)


def filled(repository: Path, number: int) -> Journal:
    """A repository whose journal has so many instances of all kinds."""
    (repository / ".ralf").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", repository], check=True)
    journal = open_journal(repository / ".ralf" / "journal.db", created=truster(repository / ".ralf", os.environ))
    for first in range(0, number, _BATCH):
        journal.transact(partial(_fill, first, min(number, first + _BATCH)))
    for projection in (TICKETS, RUNS):
        with journal.projected(projection):
            pass
    return journal


def _fill(first: int, last: int, transaction: Transaction) -> None:
    for place in range(first, last):
        _MAKERS[place % len(_MAKERS)](transaction, place)


def _ticket(transaction: Transaction, place: int) -> None:
    evidence = Evidence(data={"title": f"Number {place}"}, names=(new_name(transaction),))
    transaction.create("ticket", Event("created", _PERSON, evidence=evidence))


def _session(transaction: Transaction, place: int) -> None:
    session = transaction.create("session", Event("created", AGENT)).entry.instance
    update(session, "analyzing", AGENT)(transaction)
    if place // len(_MAKERS) % _OPEN:
        complete(session, "success", AGENT)(transaction)


def _thread(transaction: Transaction, place: int) -> None:
    _begun(transaction, "thread", {"title": f"Thread {place}"})


def _run(transaction: Transaction, place: int) -> None:
    nothing: dict[str, Any] = {"roles": {}, "base": "", "files": {}, "follows": None}
    _begun(transaction, "orchestrator", {"goal": f"Goal {place}", "session": f"s{place}", **nothing})


def _begun(transaction: Transaction, machine: str, data: dict[str, Any]) -> None:
    transaction.create(machine, Event("created", _PERSON, evidence=Evidence(data=data)))


_MAKERS = (_ticket, _session, _thread, _session, _ticket, _ticket, _session, _ticket, _session, _run)
"""What ten instances in a row are."""
