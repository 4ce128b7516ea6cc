"""Journals to run the programs on, with ids that a test can foresee."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.gates.trust import Key
from interlock.work.settings.accepted import accept
from interlock.work.settings.journal_trust import truster
from interlock.world.repository import STATE_DIRECTORY, exclude_state
from interlock.world.ssh import Signature

__all__ = [
    "AGENT",
    "PERSON",
    "STATES",
    "SYSTEM",
    "journal_file",
    "opened",
    "reports",
    "settle",
    "tampered",
    "trust",
    "trusting",
    "write_session",
]

AGENT = Actor(ActorKind.AGENT, "claude", Channel.TEST)
PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)
SYSTEM = Actor(ActorKind.SYSTEM, "interlock", Channel.TEST)
STATES = ("analyzing", "implementing", "testing")
"""What a session of `write_session` reports, one after the other."""


def journal_file(repository: Path) -> Path:
    return repository / ".ralf" / "journal.db"


def trusting(repository: Path) -> Callable[[str], None]:
    """What trusts the journal that a test makes in a repository, as `ralph` does with its own."""
    return truster(repository / STATE_DIRECTORY, os.environ)


def trust(repository: Path, address: str | None = None) -> None:
    """Trust the journal of a repository that was copied or moved there, as a person does with `ralph config accept`."""
    with closing(open_journal(address or journal_file(repository))) as journal:
        trusting(repository)(journal.id)


@contextmanager
def opened(repository: Path, randomness: bytes | None = None) -> Iterator[Journal]:
    """The journal of a repository; with randomness that never changes, all ids end in the same."""
    file, created = journal_file(repository), trusting(repository)
    if randomness is None:
        journal = open_journal(file, created=created)
    else:
        clock = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)
        journal = open_journal(file, now=lambda: next(clock), randomness=lambda size: randomness, created=created)
    try:
        yield journal
    finally:
        journal.close()


def reports(state: str, reason: str | None = None) -> Event:
    """An agent's report of the phase it is in; a session takes any."""
    return Event("update_session_state", AGENT, state, reason=reason)


def write_session(journal: Journal, reason: str | None = None) -> str:
    """A session and its reports, an entry each; its id."""

    def write(transaction: Transaction) -> str:
        made = transaction.create("session", Event("created", SYSTEM, evidence=Evidence(data={"ticket_id": "7"})))
        for state in STATES:
            transaction.append(made.entry.instance, reports(state, reason))
        return made.entry.instance

    return journal.transact(write)


def tampered(repository: Path, statement: str, *values: str) -> None:
    """Change a journal behind Interlock's back, as somebody with any SQLite tool can."""
    database = apsw.Connection(str(journal_file(repository)))
    try:
        database.execute(statement, values)
    finally:
        database.close()


class Person:
    """Somebody in a test who accepts what is asked; keys are not theirs to use."""

    actor = PERSON

    def enter(self, journal: Journal) -> None:
        """Every journal of a test is theirs."""

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        return None


def settle(repository: Path, text: str) -> None:
    """Write settings, and accept them as a person does with `ralph config accept`."""
    (repository / "ralph.toml").write_text(text)
    exclude_state(repository)
    with opened(repository) as journal:
        accept(journal, Person(), repository)
