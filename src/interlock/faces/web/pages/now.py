"""Now: what waits for a person first and loudest, then who is at work, what is stuck, and what today cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from interlock.faces.web.looks import StateStyle, look_of
from interlock.faces.web.page import NEEDED, PageKind, PageRequest, Sight
from interlock.work.attention.overview import asking, attention
from interlock.work.attention.values import Spending, WaitingItem, WorkingItem

__all__ = ["PAGES"]

_ASKING: Final = frozenset({"thread", "ticket", "story", "orchestrator", "trust"})
"""The machines whose instances may wait for a person."""
_LONGEST: Final = 80


class _Amount(msgspec.Struct, frozen=True):
    """What was used of one thing, and of how much."""

    words: str
    part: float | None
    """How much of the limit is used, as a part of 1; None where there is none."""


def _look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    found = attention(sight.journal, sight.watch, sight.settings, sight.work_tree)
    return {
        "count": found.count,
        "asking": [(one, _waiting_look(sight, one)) for one in found.waiting if one.is_gate],
        "resting": [(one, _waiting_look(sight, one)) for one in found.waiting if not one.is_gate],
        "more": found.more,
        "working": [(one, _working_look(sight, one)) for one in found.working],
        "more_working": found.more_working,
        "stuck": found.stuck,
        "spending": [(one, _amounts(one)) for one in found.spending],
        "is_new": not sight.journal.head(),
    }


def _needed(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    """What every page tells of those that wait: how many there are, and each with a name, so that a new one is seen."""
    found, count = asking(sight.journal, sight.watch, sight.settings, sight.work_tree)
    return {"count": count, "asks": [(f"{one.of.id if one.of else ''}:{one.state}", _name(one)) for one in found]}


def _name(one: WaitingItem) -> str:
    if one.of is None:
        return "Settings wait to be accepted"
    return f"{(one.of.title or one.of.machine)[:_LONGEST]}: {one.state}"


def _waiting_look(sight: Sight, one: WaitingItem) -> StateStyle:
    if one.of is None:
        return StateStyle(one.state, one.state, "red", "▲", "")
    return look_of(sight.machines(one.of.machine), one.state)


def _working_look(sight: Sight, one: WorkingItem) -> StateStyle:
    if one.session is not None:
        return look_of(sight.machines("session"), one.session.state)
    return look_of(sight.machines(one.of.machine if one.of else "session"), one.state)


def _amounts(one: Spending) -> list[_Amount]:
    """What is worth telling: what was used, and what has a limit."""
    minutes, most = one.seconds / 60, one.most_seconds / 60
    rows = (
        (one.usd, one.most_usd, f"${one.usd:.2f}", f"${one.most_usd:.2f}"),
        (one.tokens, one.most_tokens, f"{one.tokens:,} tokens", f"{one.most_tokens:,.0f}"),
        (one.seconds, one.most_seconds, f"{minutes:.0f} min of agents", f"{most:.0f}"),
        (one.runs, one.most_runs, f"{one.runs} {'run' if one.runs == 1 else 'runs'}", f"{one.most_runs:.0f}"),
    )
    return [
        _Amount(f"{said} of {limit}" if most else said, min(1.0, used / most) if most else None)
        for used, most, said, limit in rows
        if used or most
    ]


PAGES = (
    PageKind("/", "now.html", _look, heading="Now", key="n", ages=True),
    PageKind(NEEDED, "needed.html", _needed, lambda asked: _ASKING, ages=True),
)
