"""Repositories with gates: people with real keys, and somebody who writes into the journal behind our back."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from msgspec.structs import astuple, replace

from interlock.journal import Entry, Journal, Recorded, open_journal
from interlock.journal.entry import GENESIS, encode
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.gates.approval import approval
from interlock.work.gates.enrolling import enroll
from interlock.work.gates.stage import stage
from interlock.work.gates.trust import Key
from interlock.world.ssh import PublicKey, Signature, make_key, sign

__all__ = [
    "SPEC",
    "Both",
    "Person",
    "enrolled",
    "finalize",
    "needs_ssh",
    "new_thread",
    "open_place",
    "passed",
    "rewritten",
    "signs",
    "with_data",
]

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing")
SPEC = "5" * 40


def open_place(root: Path) -> Journal:
    """A new repository on a stage, and its journal."""
    stage(root)
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=60)
    return open_journal(root / ".ralf" / "journal.db")


class Person(msgspec.Struct, frozen=True):
    """Somebody with a key of their own, or without one, who says yes or no."""

    actor: Actor
    file: Path | None = None
    public: PublicKey | None = None
    answer: bool = True

    @property
    def fingerprint(self) -> str:
        assert self.public is not None
        return self.public.fingerprint

    def enter(self, journal: Journal) -> None:
        """They may go everywhere."""

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return self.answer

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        mine = [key for key in keys if self.public is not None and key.fingerprint == self.fingerprint]
        return sign(statement, mine[0].public, self.file) if mine else None


class Both(msgspec.Struct, frozen=True):
    """Two people at one terminal: whoever's key is wanted signs."""

    one: Person
    other: Person

    @property
    def actor(self) -> Actor:
        return self.one.actor

    def enter(self, journal: Journal) -> None:
        """They may go everywhere."""

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        return self.one.sign(statement, keys) or self.other.sign(statement, keys)


def signs(directory: Path, name: str = "ada") -> Person:
    """A person with a new key, which needs no passphrase."""
    actor = Actor(ActorKind.HUMAN, f"{name}@example.org", Channel.TEST)
    (directory / name).mkdir(parents=True)
    return Person(actor, directory / name / "key.pub", make_key(directory / name / "key"))


def enrolled(journal: Journal, person: Person, by: Person | None = None) -> Key:
    """Enroll the key of a person; with another's signature, once there is a key."""
    assert person.file is not None
    return enroll(journal, Both(by, person) if by else person, person.file, {})


def new_thread(journal: Journal, person: Person) -> str:
    return journal.create("thread", Event("created", person.actor)).entry.instance


def finalize(journal: Journal, person: Person, thread: str, spec: str = SPEC) -> Recorded:
    """Pass the first gate of a thread as it must be passed."""
    given = approval(journal, person, thread, "finalize", spec, event="finalize", shown=f"# {spec}")
    return passed(journal, person, thread, given, spec)


def passed(journal: Journal, person: Person, thread: str, given: object, spec: str = SPEC) -> Recorded:
    """Write the entry of the first gate, whatever its approval is."""
    evidence = Evidence(subjects={"spec": spec}, data={} if given is None else {"approval": given})
    return journal.append(thread, Event("finalize", person.actor, evidence=evidence))


# Behind our back


def rewritten(path: Path, change: Callable[[Entry], Entry | None]) -> None:
    """Change entries or leave them out, and make every later number and hash anew, as somebody who knows how can."""
    database = apsw.Connection(str(path))
    columns = Entry.__struct_fields__
    rows: list[Any] = database.execute(f"SELECT {', '.join(columns)} FROM entries ORDER BY seq").fetchall()
    made: list[tuple[Any, ...]] = []
    previous = GENESIS
    for row in rows:
        changed = change(Entry(*row))
        if changed is None:
            continue
        changed = replace(changed, seq=len(made) + 1, previous=previous)
        previous = changed.computed_hash()
        made.append(astuple(replace(changed, hash=previous)))
    with database:
        database.execute("DELETE FROM entries")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO entries ({', '.join(columns)}) VALUES ({marks})", made)
    database.close()


def with_data(entry: Entry, change: Callable[[dict[str, Any]], object]) -> Entry:
    """The entry with other data in its evidence."""
    evidence: dict[str, Any] = msgspec.json.decode(entry.evidence)
    change(evidence.setdefault("data", {}))
    return replace(entry, evidence=encode(evidence))
