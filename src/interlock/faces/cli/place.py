"""Where a command finds the journal: beside the repository, or at RALPH_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.errors import UsageError
from interlock.faces.cli.command import Call
from interlock.world.repository import exclude_state, find_root, state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Machine
    from interlock.work.configuration import Standing
    from interlock.work.sessions.verbs import Caller
    from interlock.work.settings import Settings

__all__ = ["DATABASE_URL", "Place", "caller_of", "journal_path", "opened", "readable", "writable"]

DATABASE_URL = "RALPH_DATABASE_URL"
_WAITING = "ralph.toml says something that nobody accepted, so it is not in force: `ralph config accept` shows it."


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with its journal open, to read and to write."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    machines: Callable[[str], Machine]
    standing: Standing

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.standing.settings

    @property
    def timeout(self) -> float:
        """For how many seconds an agent may be silent whose process is not known."""
        return self.settings.number("session.timeout_minutes") * 60.0


def journal_path(call: Call) -> Path:
    """Where the journal's file is, or would be."""
    return state_directory(call.directory) / "journal.db"


@contextmanager
def opened(call: Call) -> Iterator[Journal | None]:
    """The journal to read; None where there is none yet, so that reading makes nothing."""
    url = call.environment.get(DATABASE_URL)
    path = None if url else journal_path(call)
    if path is not None and not os.path.lexists(path):
        yield None
        return
    from interlock.journal import open_journal
    from interlock.world.machines import machine_finder

    journal = open_journal(url or journal_path(call), machine_finder(call.environment))
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def writable(call: Call, *, warns: bool = True) -> Iterator[Place]:
    """The journal to write to, made where there is none; its directory is kept out of git's sight.

    Nobody need be warned that the settings wait who is about to accept them.
    """
    with _placed(call, journal_path(call), warns=warns) as place:
        exclude_state(call.directory)
        yield place


@contextmanager
def readable(call: Call, *, warns: bool = True) -> Iterator[Place]:
    """The journal with all around it, to read; where there is none yet, an empty one that is gone afterwards.

    Whoever tells by itself that the settings wait to be accepted says that nobody need be warned.
    """
    from tempfile import TemporaryDirectory

    path = journal_path(call)
    if call.environment.get(DATABASE_URL) or os.path.lexists(path):
        with _placed(call, path, warns=warns) as place:
            yield place
    else:
        with (
            TemporaryDirectory(prefix="ralph-") as nowhere,
            _placed(call, Path(nowhere) / path.name, warns=warns) as place,
        ):
            yield place


@contextmanager
def _placed(call: Call, path: Path, *, warns: bool = True) -> Iterator[Place]:
    from interlock.journal import open_journal
    from interlock.work.configuration import standing
    from interlock.world.machines import machine_finder

    start = call.directory
    root, _ = find_root(start)
    found: list[Standing] = []
    find = machine_finder(call.environment, lambda: found[0].settings.text("session.enforcement") if found else None)
    journal = open_journal(call.environment.get(DATABASE_URL) or path, find)
    try:
        found.append(standing(journal, root))
        if found[0].is_waiting and warns and not call.output.json:
            call.output.message(f"{_WAITING}{_fault(found[0])}")
        yield Place(journal, state_directory(start), _work_tree(start) or root, find, found[0])
    finally:
        journal.close()


def _fault(standing: Standing) -> str:
    """What is wrong with settings that wait; nothing where they could be accepted as they are."""
    from interlock.work.settings import read

    try:
        read(standing.file or "")
    except UsageError as error:
        return f" {error.message} {error.hint}"
    return ""


def _work_tree(start: Path) -> Path | None:
    """The work tree around a directory: the main one, or one that is linked to it."""
    return next((one for one in (start, *start.parents) if (one / ".git").exists()), None)


def caller_of(call: Call, place: Place) -> Caller:
    """Who calls: a person, or the agent that runs the command, with its process and session where they are known."""
    from interlock.work.sessions.verbs import Caller
    from interlock.world.people import who_calls
    from interlock.world.processes import calling_agent

    actor = who_calls(call.environment, call.directory)
    agent = calling_agent(call.environment)
    tree = str(place.work_tree) if place.work_tree else None
    session = (call.environment.get("RALPH_SESSION_ID") or None) if agent else None
    return Caller(actor, agent.name if agent else None, agent.process if agent else None, tree, session)
