"""What of a machine is drawn how, and where: its edges sorted into links, loops and pills, and everything placed.

What many states lead on to (`Abandoned`, `Human Needed`) is not drawn as that many edges: each source has a
short arrow to a small pill with the target's name instead. So has an edge that would run past many layers.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import msgspec

from interlock.faces.drawing.diagram import DiagramEdge, edges
from interlock.faces.drawing.layout import Box, Layout, LayoutNode, Link, place, rank
from interlock.machine.model import Machine

__all__ = [
    "LINE",
    "LOOP",
    "PILL",
    "ROW",
    "SMALL",
    "Picture",
    "fitted",
    "lines_of",
    "make_picture",
    "pill_text",
    "pill_width",
    "size_of",
    "title_of",
    "width_of",
]

_MANY = 5
"""From so many earlier states on, a target is shown as a pill at each of them."""
_FAR = 12
"""An edge that passes more ranks than this ends in a pill."""
_LINES = 6
"""As many events as one label shows; the rest is in the tooltip."""

LINE = 12.0
ROW = 19.0
SMALL = 10.0
PILL = 9.0
LOOP = 26.0


class Picture(msgspec.Struct, frozen=True):
    """A machine with its edges sorted by how they are drawn, and everything placed."""

    machine: Machine
    loops: dict[str, DiagramEdge]
    exits: dict[str, list[DiagramEdge]]
    """The edges that end in pills, by source."""
    links: list[DiagramEdge]
    hints: dict[str, str]
    """For the states that pills name: from how many states they lead here."""
    at: dict[str, int]
    layout: Layout
    phases: list[tuple[str, int, int]]
    """Title, first and last rank."""

    def box(self, name: str) -> Box:
        return self.layout.boxes[self.at[name]]


@lru_cache(maxsize=16)
def make_picture(machine: Machine) -> Picture:
    """Sort the edges of a machine by how they are drawn, and place everything.

    Kept for the next call: a page draws one machine once for each state that its instances are in.
    """
    at = {name: number for number, name in enumerate(machine.states)}
    found = edges(machine)
    loops = {edge.source: edge for edge in found if edge.source == edge.to}
    others = [edge for edge in found if edge.source != edge.to]
    ranks, links = _ranked(machine, at, others)
    drawn = {(edge.source, edge.to) for edge in links}
    exits: dict[str, list[DiagramEdge]] = {}
    for edge in others:
        if (edge.source, edge.to) not in drawn:
            exits.setdefault(edge.source, []).append(edge)
    nodes = [_node(machine, name, loops.get(name), exits.get(name, [])) for name in machine.states]
    sized = [Link(at[edge.source], at[edge.to], *size_of(lines_of(edge))) for edge in links]
    return Picture(
        machine=machine,
        loops=loops,
        exits=exits,
        links=links,
        hints=_hints(links, exits),
        at=at,
        layout=place(nodes, sized, ranks),
        phases=_phase_ranks(machine, ranks),
    )


def _ranked(
    machine: Machine, at: Mapping[str, int], others: Sequence[DiagramEdge]
) -> tuple[list[int], list[DiagramEdge]]:
    """The rank of each state, and the edges to draw from box to box."""
    hubs = _hubs(machine, at, others)
    near = [edge for edge in others if not (edge.to in hubs and (edge.added or hubs[edge.to] >= _MANY))]
    numbers: dict[str | None, int] = {}
    groups = [numbers.setdefault(state.phase, len(numbers)) for state in machine.states.values()]
    ranks = rank(len(at), [(at[edge.source], at[edge.to]) for edge in near], at[machine.form.initial], groups)
    return ranks, [edge for edge in near if abs(ranks[at[edge.source]] - ranks[at[edge.to]]) <= _FAR]


def _hints(links: Sequence[DiagramEdge], exits: Mapping[str, Sequence[DiagramEdge]]) -> dict[str, str]:
    drawn = {edge.to for edge in links}
    into = Counter(edge.to for found in exits.values() for edge in found)
    return {
        name: f"from {count}{' more' if name in drawn else ''} state{'s' if count > 1 else ''}"
        for name, count in into.items()
    }


def _hubs(machine: Machine, at: Mapping[str, int], others: Sequence[DiagramEdge]) -> dict[str, int]:
    """The states that at least half of the states before them lead on to, with how many the seed has do so."""
    before: dict[str, list[DiagramEdge]] = {}
    for edge in others:
        if at[edge.source] < at[edge.to]:
            before.setdefault(edge.to, []).append(edge)
    live = list(accumulate((not state.terminal for state in machine.states.values()), initial=0))
    return {
        name: sum(not edge.added for edge in found)
        for name, found in before.items()
        if len(found) >= max(_MANY, live[at[name]] / 2)
    }


def _phase_ranks(machine: Machine, ranks: Sequence[int]) -> list[tuple[str, int, int]]:
    """The phases from top to bottom, if there are any and they follow one another."""
    spans: dict[str | None, list[int]] = {}
    for state, at in zip(machine.states.values(), ranks, strict=True):
        spans.setdefault(state.phase, []).append(at)
    phases = [(title or "", min(found), max(found)) for title, found in spans.items()]
    apart = all(one[2] < other[1] for one, other in pairwise(phases))
    return phases if apart and any(title for title, _, _ in phases) else []


def _node(machine: Machine, name: str, loop: DiagramEdge | None, exits: Sequence[DiagramEdge]) -> LayoutNode:
    width = max(width_of(title_of(machine, name), 13) + 34, 118.0)
    rows = [size_of(lines_of(edge)) for edge in exits]
    left = max((_exit_width(machine, edge) for edge in exits), default=0.0)
    right, tall = size_of(lines_of(loop)) if loop else (0.0, 0.0)
    return LayoutNode(
        width=width,
        height=40.0,
        left=left,
        right=right + LOOP if loop else 8.0,
        tall=max(tall, sum(max(height, ROW) for _, height in rows), 40.0) + 12,
    )


def title_of(machine: Machine, name: str) -> str:
    """What stands in a state's box: its icon and its label."""
    icon = _clean(machine.states[name].icon or "")[:2]
    label = fitted(machine.label(name), 13, 240) or name
    return f"{icon} {label}" if icon else label


def lines_of(edge: DiagramEdge) -> list[tuple[str, str]]:
    """The lines of an edge's label, each with its classes."""
    events = edge.events
    shown = events if len(events) <= _LINES else events[: _LINES - 1]
    lines = [_event_line(edge, event) for event in shown]
    return lines if shown == events else [*lines, (f"+{len(events) - len(shown)} more", "event")]


def _event_line(edge: DiagramEdge, event: str) -> tuple[str, str]:
    people = " by-people" if edge.by(event) == {"human"} else ""
    return (f"◆ {event}", f"event by-gate{people}") if event in edge.gates else (event, f"event{people}")


def size_of(lines: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """The width and height of a label."""
    return max(width_of(text, SMALL) for text, _ in lines) + 8, len(lines) * LINE + 2


def _exit_width(machine: Machine, edge: DiagramEdge) -> float:
    return size_of(lines_of(edge))[0] + pill_width(machine, edge.to) + 34


def pill_width(machine: Machine, name: str) -> float:
    return width_of(pill_text(machine, name), PILL) + 12


def pill_text(machine: Machine, name: str) -> str:
    return fitted(title_of(machine, name), PILL, 120)


def width_of(text: str, size: float) -> float:
    """About how wide a text is; fonts differ, so rather too wide."""
    return size * sum(_advance(character) for character in text)


def _advance(character: str) -> float:
    if character in "iljtfrI.,:;'|()[]! ":
        return 0.38
    if character in "mwMW" or unicodedata.east_asian_width(character) in "WF":
        return 0.98
    return 0.70 if character.isupper() or not character.isascii() else 0.61


def fitted(text: str, size: float, width: float) -> str:
    """The text on one line, cut with an ellipsis if it is wider."""
    text = _clean(text)
    if width_of(text, size) <= width:
        return text
    widths = accumulate(_advance(character) * size for character in text)
    return text[: sum(one <= width - size for one in widths)] + "…"


def _clean(text: str) -> str:
    return " ".join(text.split())
