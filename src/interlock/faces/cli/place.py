"""Where a command finds the journal: beside the repository, or at RALPH_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from interlock.errors import JournalError, UsageError
from interlock.faces.cli.command import CommandCall
from interlock.world.journal_address import DATABASE_URL, SOCKET, is_withheld
from interlock.world.repository import exclude_state, find_root, state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Machine
    from interlock.work.gates.presence import Person
    from interlock.work.sessions.verbs import Caller
    from interlock.work.settings.accepted import SettingsStatus
    from interlock.work.settings.values import Settings

__all__ = ["DATABASE_URL", "Workspace", "caller_of", "journal_path", "opened", "person_of", "readable", "writable"]

_WAITING = "ralph.toml says something that nobody accepted, so it is not in force: `ralph config accept` shows it."


class Workspace(msgspec.Struct, frozen=True):
    """A repository with its journal open, to read and to write."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    machines: Callable[[str], Machine]
    status: SettingsStatus
    is_newly_trusted: bool = False
    """True if a person has just trusted this journal."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.status.settings

    @property
    def timeout(self) -> float:
        """For how many seconds an agent may be silent whose process is not known."""
        return self.settings.number("session.timeout_minutes") * 60.0


def journal_path(call: CommandCall) -> Path:
    """Where the journal's file is, or would be. It is in no sandbox: what an agent made there would be lost."""
    if SOCKET in call.environment:
        message = "There is no journal in this sandbox, so `ralph` can do nothing here but `ralph mcp`."
        raise JournalError("journal_unreachable", message, "Call the tools of the MCP server `ralph` instead.")
    return state_directory(call.directory) / "journal.db"


def address_of(call: CommandCall) -> str | None:
    """The address of the journal's server; None where the journal is a file."""
    if is_withheld(call.environment):
        message = "The journal is on a server, and no driver keeps its address for what runs here."
        raise JournalError("journal_unreachable", message, "Leave it to the person or the driver that this works for.")
    return call.environment.get(DATABASE_URL)


@contextmanager
def opened(call: CommandCall, *, warns: bool = True) -> Iterator[Journal | None]:
    """The journal to read; None where there is none yet, so that reading makes nothing.

    Skip the warning about an untrusted journal when the caller shows it itself.
    """
    url = address_of(call)
    path = None if url else journal_path(call)
    if path is not None and not os.path.lexists(path):
        yield None
        return
    from interlock.journal import open_journal
    from interlock.world.machines import machine_finder

    created = _truster(call) if url else None
    journal = open_journal(url or journal_path(call), machine_finder(call.environment), created=created)
    try:
        if warns:
            _is_trusted(call, journal)
        yield journal
    finally:
        journal.close()


@contextmanager
def writable(
    call: CommandCall, *, warns: bool = True, asks: bool = False, starts_agents: bool = False
) -> Iterator[Workspace]:
    """The journal to write to, made where there is none; its directory is kept out of git's sight.

    A journal that this user has not trusted is refused, unless a person at a terminal trusts it now. With `asks` they
    are asked even if the result is to be JSON. Skip the warning about waiting settings when the caller is about to
    accept them. With `starts_agents`, settings that wait are accepted at a terminal first, or it is refused.
    """
    path = journal_path(call)
    with _placed(call, path, warns=warns, acts=True, asks=asks, starts_agents=starts_agents) as place:
        exclude_state(call.directory)
        yield place


@contextmanager
def readable(call: CommandCall, *, warns: bool = True) -> Iterator[Workspace]:
    """The journal with all around it, to read; where there is none yet, an empty one that is gone afterwards.

    Of a journal that this user has not trusted, no settings are in force.
    Skip the warning about waiting settings when the caller shows them itself.
    """
    path = journal_path(call)
    is_there = address_of(call) or os.path.lexists(path)
    with _placed(call, path if is_there else None, warns=warns) as place:
        yield place


@contextmanager
def _placed(
    call: CommandCall,
    path: Path | None,
    *,
    warns: bool,
    acts: bool = False,
    asks: bool = False,
    starts_agents: bool = False,
) -> Iterator[Workspace]:
    """Open the journal, which is in memory without a path, with the settings in force."""
    from interlock.journal import open_journal
    from interlock.work.settings.accepted import settings_status
    from interlock.world.machines import machine_finder

    start = call.directory
    root, _ = find_root(start)
    found: list[SettingsStatus] = []
    find = machine_finder(call.environment, lambda: found[0].settings.text("session.enforcement") if found else None)
    journal = open_journal(address_of(call) or path, find, created=_truster(call))
    try:
        is_new = acts and _must_be_trusted(call, journal, asks)
        found.append(settings_status(journal, root, is_trusted=path is None or acts or _is_trusted(call, journal)))
        if starts_agents:
            found[0] = _accepted(call, journal, found[0], root or start)
            _must_have_sandbox(call, found[0].settings)
        elif found[0].is_waiting and warns and not call.output.json:
            call.output.message(f"{_WAITING}{_fault(found[0])}")
        yield Workspace(journal, state_directory(start), _work_tree(start) or root, find, found[0], is_new)
    finally:
        journal.close()


def _truster(call: CommandCall) -> Callable[[str], None]:
    """Return the function that trusts the journal that is made here: it is this user's own."""

    def trust(id_: str) -> None:
        from interlock.work.settings.journal_trust import truster

        truster(state_directory(call.directory), call.environment)(id_)

    return trust


def _is_trusted(call: CommandCall, journal: Journal) -> bool:
    """True if this user trusts the journal; else a person is told."""
    from interlock.work.settings.journal_trust import UNTRUSTED, is_trusted

    is_own = is_trusted(journal, state_directory(call.directory), call.environment)
    if not is_own and not call.output.json:
        call.output.message(f"{UNTRUSTED}. In a terminal, `ralph config accept` shows it and asks you.")
    return is_own


def _must_be_trusted(call: CommandCall, journal: Journal, asks: bool) -> bool:
    """True if a person trusts the journal now at a terminal, False if they did before; else it is refused."""
    from interlock.work.settings.journal_trust import ask_to_trust, is_trusted, untrusted

    directory = state_directory(call.directory)
    if is_trusted(journal, directory, call.environment):
        return False
    from interlock.errors import Refusal
    from interlock.work.gates.presence import at_terminal

    try:
        if call.output.json and not asks:
            raise untrusted(directory)
        person = at_terminal(call.environment, call.directory)
    except Refusal:
        raise untrusted(directory) from None
    ask_to_trust(journal, person, directory, call.environment, find_root(call.directory)[0])
    return True


def _accepted(call: CommandCall, journal: Journal, found: SettingsStatus, root: Path) -> SettingsStatus:
    """Return the settings in force, once a person at the terminal has accepted what waits; else it is refused."""
    pending = found.settings.pending
    if pending is None:
        return found
    from interlock.errors import Refusal
    from interlock.work.gates.presence import at_terminal
    from interlock.work.settings.accepted import accept

    if pending.code != "settings_waiting" or call.output.json:
        raise pending
    try:
        person = at_terminal(call.environment, call.directory)
    except Refusal:
        raise pending from None
    return accept(journal, person, root)


def _must_have_sandbox(call: CommandCall, settings: Settings) -> None:
    """Refuse to start agents where the sandbox does not work, unless a person at a terminal agrees to go without."""
    from interlock.work.driver.agent_sandbox import sandbox_for
    from interlock.work.settings.sandbox_consent import ask_to_go_without, no_sandbox
    from interlock.world.sandbox.unconfined import Unavailable

    missing = sandbox_for(settings, "agent.sandbox", call.environment)
    if not isinstance(missing, Unavailable):
        return
    from interlock.errors import Refusal
    from interlock.work.gates.presence import at_terminal

    try:
        if call.output.json or settings.text("agent.sandbox") != "auto":
            raise no_sandbox(missing)
        person = at_terminal(call.environment, call.directory)
    except Refusal:
        raise no_sandbox(missing) from None
    ask_to_go_without(missing, person, call.environment)


def _fault(status: SettingsStatus) -> str:
    """What is wrong with settings that wait; nothing where they could be accepted as they are."""
    from interlock.work.settings.values import read

    try:
        read(status.file or "")
    except UsageError as error:
        return f" {error.message} {error.hint}"
    return ""


def _work_tree(start: Path) -> Path | None:
    """The work tree around a directory: the main one, or one that is linked to it."""
    return next((one for one in (start, *start.parents) if (one / ".git").exists()), None)


def caller_of(call: CommandCall, place: Workspace) -> Caller:
    """Who calls: a person, or the agent that runs the command, with its process and session where they are known."""
    from interlock.work.sessions.verbs import Caller
    from interlock.world.ancestry import host
    from interlock.world.people import who_calls
    from interlock.world.place import Place
    from interlock.world.processes import calling_agent

    actor = who_calls(call.environment, call.directory)
    agent = calling_agent(call.environment)
    where = Place.at(place.state_directory.parent, place.work_tree, host()) if place.work_tree else None
    session = (call.environment.get("RALPH_SESSION_ID") or None) if agent else None
    return Caller(actor, agent.name if agent else None, agent.process if agent else None, where, session)


def person_of(call: CommandCall, place: Workspace) -> Person:
    """Whoever is at the keyboard, and how they prove to be a person."""
    from interlock.work.gates.approval import vouch
    from interlock.work.gates.presence import Person, Presence, at_terminal
    from interlock.world.people import is_at_terminal

    def presence() -> Presence:
        person = at_terminal(call.environment, call.directory)
        person.enter(place.journal)
        return person

    def prove(id_: str, name: str) -> None:
        vouch(place.journal, at_terminal(call.environment, call.directory), id_, name)

    return Person(caller_of(call, place).actor, presence, is_at_terminal, prove)
