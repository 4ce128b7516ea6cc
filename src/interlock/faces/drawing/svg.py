"""A machine as a picture: one self-contained SVG, light or dark as its viewer is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise

import msgspec

from interlock.faces.drawing.diagram import DiagramEdge, edges
from interlock.faces.drawing.layout import Box, Point, Route
from interlock.faces.drawing.picture import (
    LINE,
    LOOP,
    PILL,
    ROW,
    SMALL,
    Picture,
    fitted,
    lines_of,
    make_picture,
    pill_text,
    pill_width,
    size_of,
    title_of,
    width_of,
)
from interlock.machine.model import Machine

__all__ = ["sheet", "svg"]

_MARGIN = 24.0
_HEADER = 88.0
_LANE = 26.0
_TIP = 6.0
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_COLORS = {
    "gray": ("#f3f4f6", "#8a929e", "#262b33", "#7d8793"),
    "blue": ("#e3eeff", "#4d86e0", "#14263f", "#5a92ea"),
    "cyan": ("#dcf6fa", "#2899ad", "#0d2d35", "#39b0c6"),
    "green": ("#e0f6e6", "#36a058", "#10301c", "#46b368"),
    "yellow": ("#fdf4cf", "#c29a18", "#352b0b", "#d0aa2e"),
    "orange": ("#ffead8", "#d97b2a", "#3a2210", "#e48b3e"),
    "red": ("#ffe4e4", "#d9534f", "#3c1618", "#e5706c"),
    "purple": ("#f0e8ff", "#8c62d6", "#271a40", "#a07be6"),
}
"""For each colour of a state its tint and its border, on light and on dark."""

_STYLE = """
.interlock{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,"DejaVu Sans",sans-serif}
.interlock text{fill:#1f2328;text-anchor:middle}
.interlock .card{fill:#ffffff;stroke:#d8dee4}
.interlock .band{fill:#8a929e;fill-opacity:.05}.interlock .odd{fill-opacity:.12}
.interlock .quiet,.interlock .phase{fill:#656d76;text-anchor:start}
.interlock .phase{font-weight:600;text-anchor:middle;letter-spacing:.03em}
.interlock .first{text-anchor:start}.interlock .last{text-anchor:end}
.interlock .line{fill:none;stroke:#7d8590;stroke-width:1.3}
.interlock .head,.interlock .dot{fill:#7d8590;stroke:none}
.interlock .people>.line{stroke:#1f6feb;stroke-width:1.6}
.interlock .people>.head{fill:#1f6feb}
.interlock .gate>.line{stroke-width:2.6}
.interlock .added>.line{stroke-dasharray:5 3.5}
.interlock .event{fill:#57606a;stroke:#ffffff;stroke-width:3;stroke-linejoin:round;paint-order:stroke}
.interlock .event.by-people{fill:#0b57d0}.interlock .event.by-gate{font-weight:700}
.interlock .box{stroke-width:1.5}.interlock .inner{fill:none;stroke-width:1}
.interlock .name{font-weight:600}.interlock .hint{fill-opacity:.65}
.interlock .pill>.box{stroke-width:1}.interlock .shackle{fill:none;stroke-width:1.3}
.interlock .badge{fill:#ffffff;stroke-width:1.3}.interlock .glyph{fill:#3d444d;stroke:#3d444d}
.interlock .ring{fill:#1f6feb;fill-opacity:.13;stroke:#1f6feb;stroke-width:3}
.interlock .exit{opacity:.75}.interlock .exit:hover{opacity:1}.interlock .edge:hover>.line{stroke-width:3}
"""

_DARK = """
.interlock text{fill:#e6edf3}
.interlock .card{fill:#0d1117;stroke:#30363d}
.interlock .quiet,.interlock .phase{fill:#9198a1}
.interlock .line{stroke:#8b949e}.interlock .head,.interlock .dot{fill:#8b949e}
.interlock .people>.line{stroke:#58a6ff}.interlock .people>.head{fill:#58a6ff}
.interlock .event{fill:#b1bac4;stroke:#0d1117}.interlock .event.by-people{fill:#79b8ff}
.interlock .badge{fill:#0d1117}.interlock .glyph{fill:#d1d7e0;stroke:#d1d7e0}
.interlock .ring{fill:#58a6ff;stroke:#58a6ff}
"""


def sheet() -> str:
    """The style of all drawings: for a page that holds one and may have no style inside of it."""
    return f"{_STYLE}{_tints(0)}@media (prefers-color-scheme:dark){{{_DARK}{_tints(2)}}}"


def svg(
    machine: Machine,
    *,
    current: str | None = None,
    is_styled: bool = True,
    counts: Mapping[str, int] | None = None,
) -> str:
    """Draw the machine; `current` is the state to highlight. Without its style, it needs the `sheet` beside it.

    `counts` are numbers to show on states: how many instances are there.
    """
    picture = make_picture(machine)
    lane = _LANE if picture.phases else 0.0
    width = max(picture.layout.width + lane + 2 * _MARGIN, 440.0)
    bottom = _HEADER + picture.layout.height + _MARGIN
    legend = _legend(picture, width, bottom)
    height = bottom + legend.height
    drawn = [
        *_phases(picture, width),
        *([_rect(picture.box(current), "ring", 12, grow=5)] if current in picture.at else []),
        *(_link(edge, route) for edge, route in zip(picture.links, picture.layout.routes, strict=True)),
        *(_exit(picture, edge, y) for name in picture.exits for edge, y in _exit_rows(picture, name)),
        *(_loop(picture.box(edge.source), edge) for edge in picture.loops.values()),
        *(_state(picture, name, name == current) for name in machine.states),
        *(_count(picture.box(name), number) for name, number in (counts or {}).items() if name in picture.at),
        _start(picture.box(machine.form.initial)),
    ]
    moved = f'<g transform="translate({_n(_MARGIN + lane)} {_n(_HEADER)})">'
    return (
        "\n".join([*_opening(machine, width, height, is_styled), moved, *drawn, "</g>", *legend.pieces, "</svg>"])
        + "\n"
    )


# Boxes


def _state(picture: Picture, name: str, current: bool) -> str:
    machine, box = picture.machine, picture.box(name)
    state = machine.states[name]
    hint, middle = picture.hints.get(name), box.middle
    pieces = [_rect(box, "box", 8)]
    if state.terminal:
        pieces.append(_rect(box, "inner", 6, grow=-3))
    pieces.append(_line_of_text(title_of(machine, name), middle.x, middle.y - (6 if hint else 0), "name", 13))
    if hint:
        pieces.append(_line_of_text(hint, middle.x, middle.y + 10, "hint", PILL))
    badges = [human for human, shown in ((True, state.human), (False, state.lock)) if shown]
    pieces += [_badge(Point(box.x + 3 + 20 * number, box.y + 2), human) for number, human in enumerate(badges)]
    classes = " ".join(["state", _color(machine, name), *(["current"] if current else [])])
    return f'<g class="{classes}" data-state="{_escaped(name)}">{_tooltip(_about(machine, name))}{"".join(pieces)}</g>'


def _count(box: Box, number: int) -> str:
    """A number on the upper right corner of a box."""
    text = f"{number:,}"
    width = max(20.0, width_of(text, SMALL) + 12)
    pill = Box(box.right - width + 6, box.y - 10, width, 18)
    words = f"{number} in this state" if number != 1 else "one in this state"
    label = _line_of_text(text, pill.middle.x, pill.middle.y, "", SMALL)
    return f'<g class="count">{_tooltip([words])}{_rect(pill, "tally", 9)}{label}</g>'


def _about(machine: Machine, name: str) -> list[str]:
    state = machine.states[name]
    marks = {"waits for a person": state.human, "owned by one holder": state.lock, "final": state.terminal}
    return [
        machine.label(name),
        state.description,
        ", ".join(mark for mark, holds in marks.items() if holds),
        *state.notes,
    ]


def _color(machine: Machine, name: str) -> str:
    color = machine.states[name].color
    return f"in-{color}" if color in _COLORS else "in-gray"


def _badge(at: Point, human: bool) -> str:
    x, y = at.x, at.y
    glyph = (
        f'<circle class="glyph" cx="{_n(x)}" cy="{_n(y - 2)}" r="2.2"/>'
        f'<path class="glyph" d="M{_n(x - 4)} {_n(y + 5)}a4 4 0 0 1 8 0z"/>'
        if human
        else f'<rect class="glyph" x="{_n(x - 3.5)}" y="{_n(y - 1)}" width="7" height="5.5" rx="1"/>'
        f'<path class="glyph shackle" d="M{_n(x - 2)} {_n(y - 1)}v-1.5a2 2 0 0 1 4 0v1.5"/>'
    )
    return f'<circle class="badge" cx="{_n(x)}" cy="{_n(y)}" r="8.5"/>{glyph}'


def _start(box: Box) -> str:
    x, y = box.middle.x, box.y
    return (
        f'<g class="start"><circle class="dot" cx="{_n(x)}" cy="{_n(y - 21)}" r="4.5"/>'
        f'<path class="line" d="M{_n(x)} {_n(y - 16)}V{_n(y - 5)}"/>{_head(Point(x, y), 0, 1)}</g>'
    )


def _phases(picture: Picture, width: float) -> Iterator[str]:
    """A lane for each phase, from halfway between it and the one above to halfway to the one below."""
    ranks = picture.layout.ranks
    for number, (title, first, last) in enumerate(picture.phases):
        top = (ranks[first - 1][1] + ranks[first][0]) / 2 if first else -12.0
        bottom = (ranks[last][1] + ranks[last + 1][0]) / 2 if last + 1 < len(ranks) else ranks[-1][1] + 12
        x = -_LANE - _MARGIN / 2
        box = Box(x, top, width - _MARGIN, bottom - top)
        shown = fitted(title, 11, bottom - top - 8)
        y = (top + bottom) / 2
        text = f'<text class="phase" font-size="11" transform="translate({_n(x + 14)} {_n(y)}) rotate(-90)">'
        yield f"{_rect(box, 'band odd' if number % 2 else 'band', 8)}{text}{_escaped(shown)}</text>"


# Edges


def _edge(edge: DiagramEdge, pieces: Sequence[str], kind: str = "") -> str:
    marks = {"people": edge.by() == {"human"}, "gate": bool(edge.gates), "added": edge.added, kind: bool(kind)}
    classes = " ".join(["edge", *(mark for mark, holds in marks.items() if holds)])
    ends = f'data-from="{_escaped(edge.source)}" data-to="{_escaped(edge.to)}"'
    return f'<g class="{classes}" {ends}>{_tooltip(_says(edge))}{"".join(pieces)}</g>'


def _says(edge: DiagramEdge) -> Iterator[str]:
    """What a tooltip tells of an edge: its transitions, each with who fires it, when, and through which gate."""
    yield f"{edge.source} → {edge.to}"
    for transition in edge.transitions:
        yield " ".join(
            [
                f"{transition.on} by {', '.join(transition.by)}",
                *([f"when {transition.when}"] if transition.when else []),
                *([f"(gate {transition.gate})"] if transition.gate else []),
                *([f"– {transition.trigger}"] if transition.trigger else []),
                *([f"– added: {transition.added}"] if transition.added else []),
            ]
        )


def _link(edge: DiagramEdge, route: Route) -> str:
    shown = lines_of(edge)
    path = _path(route, size_of(shown)[1] / 2)
    tip = route.points[-1]
    head = _head(tip, 0, 1 if tip.y > route.points[0].y else -1)
    return _edge(edge, [path, head, *_stack(shown, route.label, "")])


def _path(route: Route, half: float) -> str:
    """The line of a route: upright through the layers, curved between them, and open where its label stands."""
    *points, tip = route.points
    down = tip.y > points[0].y
    points.append(Point(tip.x, tip.y + (-_TIP if down else _TIP)))
    parts = [f"M{_n(points[0].x)} {_n(points[0].y)}"]
    for one, other in pairwise(points):
        if one.x == other.x == route.label.x and min(one.y, other.y) <= route.label.y <= max(one.y, other.y):
            reach = half if down else -half
            parts.append(f"V{_n(route.label.y - reach)}M{_n(one.x)} {_n(route.label.y + reach)}V{_n(other.y)}")
        elif abs(one.x - other.x) < 0.05:
            parts.append(f"V{_n(other.y)}")
        else:
            bend = (one.y + other.y) / 2
            parts.append(f"C{_n(one.x)} {_n(bend)} {_n(other.x)} {_n(bend)} {_n(other.x)} {_n(other.y)}")
    return f'<path class="line" d="{"".join(parts)}"/>'


def _head(tip: Point, x: int, y: int) -> str:
    """An arrowhead that points in the direction (x, y)."""
    back = Point(tip.x - x * 8, tip.y - y * 8)
    sides = [(back.x + y * 3.6, back.y + x * 3.6), (back.x - y * 3.6, back.y - x * 3.6)]
    ends = "".join(f"L{_n(one)} {_n(other)}" for one, other in sides)
    return f'<path class="head" d="M{_n(tip.x)} {_n(tip.y)}{ends}Z"/>'


def _loop(box: Box, edge: DiagramEdge) -> str:
    x, y = box.right, box.middle.y
    path = f'<path class="line" d="M{_n(x)} {_n(y + 9)}c24 5 24 -22 {_n(_TIP)} -17"/>'
    shown = lines_of(edge)
    return _edge(edge, [path, _head(Point(x, y - 7), -1, 0), *_stack(shown, Point(x + LOOP, y), "first")])


def _exit_rows(picture: Picture, name: str) -> Iterator[tuple[DiagramEdge, float]]:
    """The edges of a state that end in pills, each with the middle of its row."""
    heights = [max(size_of(lines_of(edge))[1], ROW) for edge in picture.exits[name]]
    top = picture.box(name).middle.y - sum(heights) / 2
    for edge, height in zip(picture.exits[name], heights, strict=True):
        yield edge, top + height / 2
        top += height


def _exit(picture: Picture, edge: DiagramEdge, y: float) -> str:
    box, shown = picture.box(edge.source), lines_of(edge)
    width = pill_width(picture.machine, edge.to)
    leaves = max(box.y + 8, min(box.y + box.height - 8, y))
    text = box.x - 14
    end = text - size_of(shown)[0]
    curve = f"M{_n(box.x)} {_n(leaves)}C{_n(box.x - 8)} {_n(leaves)} {_n(box.x - 6)} {_n(y)} {_n(text)} {_n(y)}"
    line = f'<path class="line" d="{curve}M{_n(end)} {_n(y)}H{_n(end - 12)}"/>'
    pill = Box(end - 16 - width, y - 7.5, width, 15)
    label = _line_of_text(pill_text(picture.machine, edge.to), pill.middle.x, y, "", PILL)
    pieces = [line, _head(Point(end - 16, y), -1, 0), *_stack(shown, Point(text - 4, y), "last")]
    target = f'<g class="pill {_color(picture.machine, edge.to)}">{_rect(pill, "box", 7.5)}{label}</g>'
    return _edge(edge, [*pieces, target], "exit")


# Text


def _stack(lines: Sequence[tuple[str, str]], at: Point, anchor: str) -> Iterator[str]:
    top = at.y - (len(lines) - 1) * LINE / 2
    for number, (text, classes) in enumerate(lines):
        yield _line_of_text(text, at.x, top + number * LINE, f"{classes} {anchor}".strip(), SMALL)


def _line_of_text(text: str, x: float, y: float, classes: str, size: float) -> str:
    # Set lower by hand: some viewers do not know `dominant-baseline`.
    named = f' class="{classes}"' if classes else ""
    return f'<text{named} x="{_n(x)}" y="{_n(y + size * 0.35)}" font-size="{_n(size)}">{_escaped(text)}</text>'


def _tooltip(lines: Iterable[str]) -> str:
    return f"<title>{_escaped(chr(10).join(line for line in lines if line))}</title>"


def _rect(box: Box, classes: str, radius: float, grow: float = 0.0) -> str:
    return (
        f'<rect class="{classes}" x="{_n(box.x - grow)}" y="{_n(box.y - grow)}" '
        f'width="{_n(box.width + 2 * grow)}" height="{_n(box.height + 2 * grow)}" rx="{_n(radius)}"/>'
    )


def _escaped(text: str) -> str:
    """The text as XML, without the characters that XML cannot hold."""
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _n(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


# Around the drawing


def _opening(machine: Machine, width: float, height: float, is_styled: bool) -> Iterator[str]:
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="interlock" role="img" {size}>'
    yield _tooltip([f"The {machine.name} machine", machine.form.description])
    if is_styled:
        yield f"<style>{sheet()}</style>"
    yield _rect(Box(0.5, 0.5, width - 1, height - 1), "card", 12)
    yield _line_of_text(machine.name, _MARGIN, 24, "name first", 16)
    yield _line_of_text(fitted(machine.form.description, 11, width - 2 * _MARGIN), _MARGIN, 43, "quiet first", 11)


def _tints(first: int) -> str:
    return "".join(
        f".interlock .in-{name}>.box{{fill:{tints[first]};stroke:{tints[first + 1]}}}"
        f".interlock .in-{name}>.inner,.interlock .in-{name}>.badge{{stroke:{tints[first + 1]}}}\n"
        for name, tints in _COLORS.items()
    )


class _Legend(msgspec.Struct, frozen=True):
    pieces: list[str]
    height: float


def _legend(picture: Picture, width: float, top: float) -> _Legend:
    """What the marks mean, for those that occur."""
    pieces, x, y = [], _MARGIN, top + 8
    for symbol, text in _marks(picture):
        wide = 34 + width_of(text, SMALL) + 18
        if x + wide > width and x > _MARGIN:
            x, y = _MARGIN, y + 20
        moved = f'<g transform="translate({_n(x)} {_n(y)})">'
        pieces.append(f"{moved}{symbol}{_line_of_text(text, 34, 0, 'quiet first', SMALL)}</g>")
        x += wide
    return _Legend(pieces, y - top + 20)


def _marks(picture: Picture) -> Iterator[tuple[str, str]]:
    states = picture.machine.states.values()
    drawn = edges(picture.machine)
    small = Box(4, -7, 22, 14)
    arrow = f'<path class="line" d="M0 0H20"/>{_head(Point(27, 0), 1, 0)}'
    if any(edge.by() == {"human"} for edge in drawn):
        yield f'<g class="people">{arrow}</g>', "only people"
    if any(edge.by() != {"human"} for edge in drawn):
        yield f"<g>{arrow}</g>", "also agents or the system"
    if any(edge.gates for edge in drawn):
        yield f'<g class="people gate">{arrow}</g>', "◆ through a gate"
    if any(edge.added for edge in drawn):
        yield f'<g class="added">{arrow}</g>', "added to the seed's table"
    if picture.exits:
        yield f'<g class="pill in-gray">{_rect(small, "box", 7)}</g>', "leads to the state of that name"
    if any(state.human for state in states):
        yield f'<g class="in-gray">{_badge(Point(15, 0), human=True)}</g>', "waits for a person"
    if any(state.lock for state in states):
        yield f'<g class="in-gray">{_badge(Point(15, 0), human=False)}</g>', "owned by one holder"
    if any(state.terminal for state in states):
        yield f'<g class="in-gray">{_rect(small, "box", 5)}{_rect(small, "inner", 3, grow=-3)}</g>', "final"
