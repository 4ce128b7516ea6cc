"""PURE. What of the journal is worth telling: from an entry, its machine, and the instance as it stood after it.

It follows the machines: states that wait for a person, states that carry a diagnosis, ends, and refusals that leave
the next step to a person because of a setting. What a person did with their own hand, they know; only an end is told
to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from interlock.journal import Entry
from interlock.machine import ActorKind, Machine, Snapshot
from interlock.machine.model import NOTED, SUPERSEDED, Transition
from interlock.machine.states import left_to_person
from interlock.world.notices.notice import Kind

__all__ = ["NewsItem", "may_be_news", "news_of"]

_SILENT: Final = frozenset({"session", "trust"})
"""A session's end is a fact for its driver, and trust is a person's own."""
_TOLD_BY_PARENT: Final = frozenset({"story", "orchestrator"})
"""Where one of them works for a thread, the thread says what it needs."""
_FOLLOWS: Final = "follow"
"""A ticket that only follows its thread: the thread's own entry tells it."""
_BUDGET: Final = "budget_exhausted"
_DIAGNOSIS: Final = "diagnosis"
_WANTED: Final = frozenset({"abandoned", "canceled"})
"""Ends without success that somebody wanted."""
_RESTS: Final = frozenset({"paused", "stopped"})
_INTERRUPT: Final = "interrupt"
"""The cause of a pause by Ctrl+C."""
"""The notes with which a loop and a run rest."""


class NewsItem(msgspec.Struct, frozen=True):
    """What is worth telling of one entry."""

    kind: Kind
    why: str


def may_be_news(entry: Entry) -> bool:
    """Whether it is worth a closer look; almost no entry is."""
    if entry.event == NOTED:
        return entry.actor_kind == ActorKind.SYSTEM and any(f'"{one}"' in entry.evidence for one in _RESTS)
    return entry.from_state != entry.to_state and entry.event not in (SUPERSEDED, _FOLLOWS)


def news_of(entry: Entry, machine: Machine, snapshot: Snapshot, parent: str | None) -> NewsItem | None:
    """What an entry tells people, if anything; `snapshot` is the instance right after it."""
    is_told = parent is not None and machine.name in _TOLD_BY_PARENT
    if machine.name in _SILENT or is_told or not may_be_news(entry):
        return None
    if entry.event == NOTED:
        return _rest(entry.decoded_evidence().data)
    if snapshot.outcome is not None:
        return _end(entry, machine, snapshot.outcome)
    if entry.actor_kind == ActorKind.HUMAN:
        return None
    state = machine.states[entry.to_state]
    if entry.event == _BUDGET:
        return NewsItem(Kind.BUDGET, _why(entry, machine))
    if _DIAGNOSIS in state.carries:
        return NewsItem(Kind.STUCK, _why(entry, machine))
    if state.human:
        return NewsItem(Kind.NEEDED, _why(entry, machine)) if _is_unexpected(entry, machine) else None
    turn = left_to_person(machine, snapshot)
    return NewsItem(Kind.NEEDED, turn) if turn is not None else None


def _rest(data: Mapping[str, Any]) -> NewsItem | None:
    """A loop or a run that rests by itself."""
    if data.get("type") not in _RESTS or data.get("cause") == _INTERRUPT:
        return None
    kind = Kind.BUDGET if data.get("cause") == Kind.BUDGET else Kind.STUCK
    return NewsItem(kind, f"it rests: {data.get('reason', '')}")


def _end(entry: Entry, machine: Machine, outcome: str) -> NewsItem | None:
    if outcome == "success":
        return NewsItem(Kind.DONE, _why(entry, machine))
    if outcome in _WANTED or entry.actor_kind == ActorKind.HUMAN:
        return None
    return NewsItem(Kind.STUCK, _why(entry, machine))


def _is_unexpected(entry: Entry, machine: Machine) -> bool:
    """Whether nobody was waited for just before, or what a person said is void: who stands at a gate is there."""
    before = machine.states.get(entry.from_state or "")
    return before is None or not before.human or any(one.voids for one in _edges(entry, machine))


def _why(entry: Entry, machine: Machine) -> str:
    """What somebody said to it, else what the machine's table says of the move."""
    data = entry.decoded_evidence().data
    if needs := data.get("needs"):
        return "only blocked stories are left: " + "; ".join(f"{one}: {why}" for one, why in dict(needs).items())
    said = (entry.reason or "").strip() or str(data.get("explanation") or "").strip()
    told = next((one.trigger or one.added for one in _edges(entry, machine) if one.trigger or one.added), None)
    return said or told or machine.states[entry.to_state].description


def _edges(entry: Entry, machine: Machine) -> list[Transition]:
    here = (entry.from_state, entry.to_state, entry.event)
    return [one for one in machine.transitions if (one.source, one.to, one.on) == here]
