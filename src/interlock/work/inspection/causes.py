"""Why an instance is where it is: what brought it there, what that rests on, what can come next and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from interlock.decoding import convert
from interlock.errors import InterlockError
from interlock.journal import Entry, Instance, Journal
from interlock.journal.search import Sought
from interlock.machine import Allowed
from interlock.machine.refusal import allowed
from interlock.work.attention.next_step import waits_for
from interlock.work.attention.values import WaitingFor
from interlock.work.gates.statement import Approval
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import Reference, called, reference_to
from interlock.work.inspection.time_travel import Moment, moment_of
from interlock.work.settings.values import Settings
from interlock.work.tickets.threads import strays
from interlock.work.verification.receipt import Receipt, from_data

__all__ = ["Basis", "Kin", "Led", "Why", "basis_of", "why"]

_BEFORE: Final = 10
"""So many moves before the last one are told."""
_BELOW: Final = {"ticket": ("thread", "session"), "thread": ("story", "orchestrator", "session")}
_MOST_BELOW: Final = 5
_LATEST: Final = 20
_RELATED: Final = ("child", "thread", "ticket")
"""Where the evidence of an entry names the instance above or below that is its cause."""

Kept = TypeVar("Kept")


class Led(msgspec.Struct, frozen=True):
    """What happened to the instance above or below, that is the cause of an entry."""

    of: Reference
    entry: Entry


class Basis(msgspec.Struct, frozen=True):
    """What an entry rests on."""

    approval: Approval | None = None
    receipt: Receipt | None = None
    led: Led | None = None
    commit: str | None = None


class Kin(msgspec.Struct, frozen=True):
    """The instance above, or one below."""

    of: Reference
    state: str
    outcome: str | None
    differs: str | None = None
    """How a thread and its ticket differ."""


class Why(msgspec.Struct, frozen=True):
    """Why an instance is where it is."""

    of: Reference
    moment: Moment
    basis: Basis
    """What the entry rests on by which it came there."""
    before: tuple[Entry, ...]
    """The moves before that one, newest first."""
    possible: tuple[Allowed, ...]
    waits: WaitingFor
    """What it waits for, itself or through what works on it."""
    above: Kin | None
    below: tuple[Kin, ...]
    """The newest of each machine that is below it."""


def why(journal: Journal, watch: RecordCaches, settings: Settings, reference: str) -> Why:
    """Why an instance is where it is now."""
    moment = moment_of(journal, reference)
    instance = moment.instance
    with watch.lock:
        return Why(
            of=called(journal, watch, instance),
            moment=moment,
            basis=basis_of(journal, watch, moment.came),
            before=tuple(reversed([one for one in moment.way if one.version < moment.came.version][-_BEFORE:])),
            possible=allowed(moment.machine, moment.snapshot),
            waits=waits_for(journal, watch, settings, instance),
            above=_above(journal, watch, instance),
            below=tuple(_below(journal, watch, instance)),
        )


# What an entry rests on


def basis_of(journal: Journal, watch: RecordCaches, entry: Entry) -> Basis:
    """The approval, the receipt, the commit, or the move of another instance that an entry rests on."""
    data = entry.decoded_evidence().data
    commit = data.get("commit")
    return Basis(
        _read(data.get("approval"), lambda value: convert(value, Approval)),
        _read(data.get("receipt"), from_data),
        _led(journal, watch, entry, data),
        commit if isinstance(commit, str) else None,
    )


def _read(value: object, convert: Callable[[object], Kept]) -> Kept | None:
    """A part of the evidence; None where there is none, or something else has its name."""
    try:
        return None if value is None else convert(value)
    except msgspec.ValidationError:
        return None


def _led(journal: Journal, watch: RecordCaches, entry: Entry, data: Mapping[str, Any]) -> Led | None:
    """The last move of the instance that the evidence names, before the entry."""
    named = next((data[key] for key in _RELATED if isinstance(data.get(key), str)), None)
    of = reference_to(journal, watch, named)
    if of is None or of.id != named:
        return None
    found = [one for _, one in journal.search(Sought(instance=of.id), before=entry.seq, most=_LATEST).entries]
    moved = next((one for one in found if one.from_state != one.to_state), None)
    return Led(of, moved or found[0]) if found else None


# What is around it


def _above(journal: Journal, watch: RecordCaches, instance: Instance) -> Kin | None:
    try:
        parent = journal.instance(instance.parent) if instance.parent is not None else None
    except InterlockError:
        return None
    if parent is None:
        return None
    is_ticketed = instance.machine == "thread" and parent.machine == "ticket"
    differs = strays(journal.machine_of(instance), instance, parent) if is_ticketed else None
    return Kin(called(journal, watch, parent), parent.state, parent.outcome, differs)


def _below(journal: Journal, watch: RecordCaches, instance: Instance) -> list[Kin]:
    found = []
    for machine in _BELOW.get(instance.machine, ("session",)):
        for one in journal.recent(machine, _MOST_BELOW, parent=instance.id):
            is_ticketed = machine == "thread" and instance.machine == "ticket"
            differs = strays(journal.machine_of(one), one, instance) if is_ticketed else None
            found.append(Kin(called(journal, watch, one), one.state, one.outcome, differs))
    return found
