"""How states, instances and times look in a terminal, on every page of it."""

from __future__ import annotations

from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING

from interlock.faces.amounts import span_text
from interlock.faces.cli.output import clean, one_line
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.machine import Machine
    from interlock.machine.form import State
    from interlock.work.inspection.references import Reference

__all__ = ["lasting", "named", "quoted", "set_off", "shade", "state_text"]

_COLORS = {"gray": "bright_black", "orange": "dark_orange", "purple": "medium_purple"}
_NARROWEST = 30


def shade(state: State | None) -> str:
    """The colour of a state, as terminals know it; none where there is no such state, or it has none."""
    color = (state.color or "") if state is not None else ""
    return _COLORS.get(color, color)


def state_text(machine: Machine, state: str) -> Text:
    """A state with its icon, in its colour; one that the machine does not know, for another version did, is plain."""
    found = machine.states.get(state)
    icon, label = (found.icon or "•", machine.label(state)) if found is not None else ("?", state)
    return Text(f"{one_line(icon)} {one_line(label)}", shade(found))


def named(of: Reference, *, title: bool = True) -> str:
    """What people call an instance: a ticket by its number, all others by the end of their id."""
    called = f"#{of.number}" if of.number is not None else f"{of.machine} …{of.id[-6:]}"
    return one_line(f"{called} {of.title}" if title and of.title else called)


def lasting(since: str | None, now: float) -> str:
    """How long it has been, in the unit that says it best."""
    if since is None:
        return ""
    return span_text(max(0, int((now - datetime.fromisoformat(since).timestamp()) * 1000)))


def quoted(text: str, before: str, width: int | None) -> Iterator[str]:
    """Text that somebody wrote, every line of it set off by the same, within the terminal where there is one."""
    room = None if width is None else max(_NARROWEST, width - len(before))
    for line in clean(text).splitlines():
        for part in wrap(line, room) if room is not None and len(line) > room else [line]:
            yield f"{before}{part}"


def set_off(text: str, before: str, width: int | None, most: int | None = None) -> Iterator[str]:
    """The same of what matters in it: without empty lines and indents, and at most so many lines."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    shown = list(quoted("\n".join(lines), before, width))
    yield from shown[:most]
    if most is not None and len(shown) > most:
        yield f"{before}…"
