"""Travel: any instance as it was after any of its entries, and why; and two of a machine side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from interlock.errors import UsageError
from interlock.faces.web.lines import HOMES, line_of
from interlock.faces.web.looks import look_of
from interlock.faces.web.page import EVERYTHING, PageKind, PageRequest, Sight
from interlock.faces.web.pages.journal import number_in
from interlock.journal import Entry, Instance
from interlock.machine import SHIPPED
from interlock.work.inspection.alignment import StepPair, aligned, stays
from interlock.work.inspection.time_travel import Moment, moment_of
from interlock.work.tickets.numbers import number_of

__all__ = ["PAGES"]

_LONGEST_WAY: Final = 2_000
"""So many entries of each side are counted."""
_MOST_ALIGNED: Final = 250
"""So many are set beside each other: the time it takes grows with the square of it."""
_OFFERED: Final = 8
_ID_LENGTH: Final = 26


def _look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    asked_for = asked.query.get("version")
    version = number_in(asked, "version") if asked_for else None
    if asked_for and version is None:
        raise UsageError("invalid_argument", f"{asked_for[:40]!r} is no number of an entry.", "Give one from 1 on.")
    moment = moment_of(sight.journal, asked.names["id"], version)
    instance, machine = moment.instance, moment.machine
    others = [one for one in sight.journal.recent(instance.machine, _OFFERED + 1) if one.id != instance.id]
    return {
        "moment": moment,
        "instance": instance,
        "at": moment.entry.version,
        "state": look_of(machine, moment.snapshot.state),
        "line": line_of(moment.entry, instance.machine, machine),
        "came": line_of(moment.came, instance.machine, machine),
        "way": [line_of(one, instance.machine, machine) for one in reversed(moment.way)],
        "counters": _counters(moment),
        "home": _home(instance, moment.first),
        "others": others[:_OFFERED],
    }


def _counters(moment: Moment) -> list[tuple[str, int, object]]:
    """Each counter, how far it was, and its limit then."""
    limits = {**moment.machine.settings, **moment.snapshot.settings}
    return [(name, number, limits.get(f"{name}.limit", "")) for name, number in moment.snapshot.counters.items()]


def _home(instance: Instance, first: Entry) -> str | None:
    """Where it has a page of its own, as it is now."""
    if instance.machine == "ticket":
        number = number_of(first.decoded_evidence().names)
        return f"/ticket/{number}" if number else None
    return HOMES[instance.machine] + instance.id if instance.machine in HOMES else None


def _topics(asked: PageRequest) -> frozenset[str]:
    return _concerning(asked.names["id"])


def _concerning(*ids: str) -> frozenset[str]:
    """The instances that a page is about; an end of an id could be any."""
    return frozenset(ids) if all(len(one) == _ID_LENGTH for one in ids) else EVERYTHING


# Side by side


def _look_at_two(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    named = [asked.query.get(side, "").strip().removeprefix("…").lower() for side in ("left", "right")]
    given: dict[str, Any] = {"named": named, "sides": None, "offered": _offered(sight)}
    if not all(named):
        return given
    sides = [sight.journal.instance(one) for one in named]
    if sides[0].machine != sides[1].machine:
        message = f"{sides[0].id} is a {sides[0].machine}, and {sides[1].id} is a {sides[1].machine}."
        raise UsageError("invalid_argument", message, "Give two of the same machine.")
    return {**given, **_compared(sight, sides)}


def _compared(sight: Sight, sides: Sequence[Instance]) -> dict[str, Any]:
    machine = sight.journal.machine_of(sides[0])
    left, right = (sight.journal.history(one.id, most=_LONGEST_WAY) for one in sides)
    spent = stays(left, right, (_until(sight, sides[0]), _until(sight, sides[1])))
    pairs = aligned(left[:_MOST_ALIGNED], right[:_MOST_ALIGNED])
    longest = max([1.0, *(second for one in spent for second in one.seconds)])
    return {
        "sides": sides,
        "looks": [look_of(machine, one.state) for one in sides],
        "stays": [(look_of(machine, one.state), one) for one in spent],
        "longest": longest,
        "pairs": [_shown(pair, sides[0].machine, machine) for pair in pairs],
        "different": sum(pair.kind != "same" or bool(pair.differs) for pair in pairs),
        "left_out": max(len(left), len(right)) - _MOST_ALIGNED,
    }


def _shown(pair: StepPair, name: str, machine: Any) -> dict[str, Any]:
    both = [None if one is None else (line_of(one.entry, name, machine), one.after) for one in (pair.left, pair.right)]
    return {"kind": pair.kind, "differs": pair.differs, "left": both[0], "right": both[1]}


def _until(sight: Sight, instance: Instance) -> float:
    """Until when an instance is in its last state: what has ended, until it did."""
    return sight.now if instance.outcome is None else datetime.fromisoformat(instance.updated).timestamp()


def _topics_of_two(asked: PageRequest) -> frozenset[str]:
    return _concerning(asked.query.get("left", ""), asked.query.get("right", ""))


def _offered(sight: Sight) -> list[tuple[str, list[Instance]]]:
    """The newest instances of each machine, to choose from."""
    newest = [(name, sight.journal.recent(name, _OFFERED)) for name in SHIPPED]
    return [(name, those) for name, those in newest if len(those) > 1]


PAGES = (
    PageKind("/at/{id}", "at.html", _look, _topics),
    PageKind("/compare", "compare.html", _look_at_two, _topics_of_two),
)
