"""`ralph why`: how something came to be where it is, what that rests on, and what it waits for."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.place import readable
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from interlock.machine import Allowed
    from interlock.work.inspection.causes import Kin, Why

__all__ = ["VERBS"]

_PEOPLE = {"human": "a person", "agent": "an agent", "system": "the system"}
_MOST = 12


def _why(call: CommandCall) -> None:
    from interlock.work.inspection.causes import why
    from interlock.work.inspection.record_caches import RecordCaches
    from interlock.work.inspection.references import meant

    with readable(call) as place:
        found = why(place.journal, RecordCaches(), place.settings, meant(place.journal, call.arguments.instance).id)
        now = place.journal.now()
    call.output.result(_data(found), lambda: _show(call, found, now))


def _data(found: Why) -> dict[str, Any]:
    from interlock.faces.cli.entries import entry_data
    from interlock.faces.cli.moment_pages import basis_data, moment_data
    from interlock.work.views.encoding import as_data

    waits = found.waits
    return {
        **moment_data(found.moment),
        "number": found.of.number,
        "title": found.of.title,
        "basis": basis_data(found.basis),
        "way": [entry_data(one) for one in reversed(found.before)],
        "possible": [as_data(one) for one in found.possible],
        "waits": as_data(waits),
        "above": None if found.above is None else _kin_data(found.above),
        "below": [_kin_data(one) for one in found.below],
    }


def _kin_data(one: Kin) -> dict[str, Any]:
    return {**asdict(one.of), "state": one.state, "outcome": one.outcome, "differs": one.differs}


def _show(call: CommandCall, found: Why, now: float) -> None:
    width = call.output.width
    for line in _page(found, now, width):
        call.output.print(line, wraps=True)


def _page(found: Why, now: float, width: int | None) -> Iterator[Text]:
    from interlock.faces.cli.looks import lasting, named, state_text
    from interlock.faces.cli.moment_pages import basis_lines, entry_lines, proof_lines, way_lines
    from interlock.faces.cli.output import one_line

    moment = found.moment
    state = moment.snapshot.state
    yield Text(named(found.of), "bold").append(f"  {found.of.machine} …{found.of.id[-6:]}" if found.of.number else "")
    where = state_text(moment.machine, state).append(
        f"  for {lasting(moment.came.time, now)}, since {moment.came.time}", "dim"
    )
    if moment.snapshot.outcome:
        where.append(f"  ended as {moment.snapshot.outcome}")
    known = moment.machine.states.get(state)
    yield where.append(f"  {one_line(known.description)}" if known is not None else "", "dim")
    if found.above is not None:
        yield from _kin("for", found.above)
    yield Text("\nHow it came here", "bold")
    yield from entry_lines(moment, moment.came, width)
    yield from basis_lines(found.basis)
    if found.before:
        yield Text("\nBefore that, newest first", "bold")
        yield from way_lines(moment, found.before)
    if moment.proofs:
        yield Text("\nValid now", "bold")
        yield from proof_lines(moment)
    if found.below:
        yield Text("\nBelow it, newest first", "bold")
        for one in found.below:
            yield from _kin(" ", one)
    if found.possible:
        yield Text("\nPossible next", "bold")
        yield from _possible(found.possible, width)
    yield Text("\nIt waits for", "bold")
    yield from _missing(found, width)


def _missing(found: Why, width: int | None) -> Iterator[Text]:
    """What it waits for, and what to type where somebody has to."""
    from interlock.faces.cli.looks import set_off
    from interlock.faces.cli.output import one_line

    waits = found.waits
    whom = "you: " if waits.is_persons else ""
    yield from (Text(line) for line in set_off(f"{whom}{waits.why}", "  ", width))
    if waits.command:
        yield Text(f"  → {one_line(waits.command)}", "bold green")


def _kin(before: str, one: Kin) -> Iterator[Text]:
    from interlock.faces.cli.looks import named
    from interlock.faces.cli.output import one_line

    ended = f", ended as {one.outcome}" if one.outcome else ""
    yield Text(f"{before} {named(one.of)}: {one_line(one.state)}{ended}")
    if one.differs is not None:
        yield Text(f"  ⚠ {one_line(one.differs)}", "yellow")


def _possible(possible: tuple[Allowed, ...], width: int | None) -> Iterator[Text]:
    from interlock.faces.cli.output import columns, one_line

    rows = dict.fromkeys((f"  {one.event} → {one.to}", _takes(one)) for one in possible)
    told = [(one_line(what), one_line(takes)) for what, takes in list(rows)[:_MOST]]
    for line in columns(told, width).splitlines():
        yield Text(line)
    if len(rows) > _MOST:
        yield Text(f"  and {len(rows) - _MOST} more", "dim")


def _takes(one: Allowed) -> str:
    """Who may do it, and what it takes."""
    *others, last = (_PEOPLE.get(kind, kind) for kind in one.by)
    who = f"{', '.join(others)} or {last}" if others else last
    parts = [f"at the gate {one.gate}" if one.gate else "", f"when {one.when}" if one.when else ""]
    parts += [f"by {', '.join(one.commands)}" if one.commands else ""]
    parts += [f"needs {', '.join(one.needs)}" if one.needs else ""]
    return "; ".join(part for part in (who, *parts) if part)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("instance", help="an id, the last 4 or more characters of one, or a ticket's number")


VERBS = (
    Verb(
        "",
        "how something came to be where it is, and what it waits for",
        _why,
        _arguments,
    ),
)
