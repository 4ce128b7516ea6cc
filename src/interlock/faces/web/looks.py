"""How states look on a page: the label, icon, colour and indicator of the machine's file."""

from __future__ import annotations

import msgspec

from interlock.machine import Machine

__all__ = ["StateStyle", "look_of"]

_COLORS = frozenset({"blue", "cyan", "gray", "green", "orange", "purple", "red", "yellow"})


class StateStyle(msgspec.Struct, frozen=True):
    """How a state looks. `parts.html` draws it."""

    name: str
    label: str
    color: str
    """One of those that the style sheet knows as `c-<color>`."""
    icon: str
    indicator: str
    """`dot`, `spinner`, `pulse`, `check` or `cross`; empty where the machine names none, and the icon is shown."""
    description: str = ""
    human: bool = False
    terminal: bool = False


def look_of(machine: Machine | None, state: str) -> StateStyle:
    """How a state looks; one that the machine does not know, because another version of it did, is plain."""
    found = machine.states.get(state) if machine is not None else None
    if found is None:
        return StateStyle(state, state, "gray", "?", "")
    color = found.color if found.color in _COLORS else "gray"
    return StateStyle(
        name=state,
        label=found.label or state,
        color=color or "gray",
        icon=found.icon or "•",
        indicator=found.indicator or "",
        description=found.description,
        human=found.human,
        terminal=found.terminal,
    )
