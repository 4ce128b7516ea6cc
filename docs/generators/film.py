"""A film as one SVG file: text, a few colours and steps of CSS. No script, no font, nothing from elsewhere.

Each line is in it once and is seen in its time; the whole scrolls. Without animation it is the last picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias
from xml.sax.saxutils import escape

from docs.generators.screens import Film, Run, Standing

__all__ = ["film"]

_Span: TypeAlias = tuple[float, float | None]
"""From when to when a line says something."""

_SIZE, _CELL, _ROW = 14, 8.4, 19
"""Of the font, of a character's width and of a line, in pixels."""
_MARGIN, _BAR = 16, 36
_GROUND, _EDGE, _TEXT, _GREY = "#0d1117", "#30363d", "#d1d7e0", "#8b949e"
_COLOURS = {
    "black": "#484f58",
    "red": "#ff7b72",
    "green": "#7ee787",
    "brown": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#76e3ea",
    "white": _TEXT,
    "brightblack": _GREY,
}
"""By the names that the terminal gives them; another bright one is like its plain one."""
_LIGHTS = ("#ff5f57", "#febc2e", "#28c840")
_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"


def film(shown: Film, title: str, description: str) -> str:
    """The whole file."""
    width, height = f"{shown.columns * _CELL + 2 * _MARGIN:g}", _BAR + shown.lines * _ROW + _MARGIN
    spans = {span: f"t{number}" for number, span in enumerate(dict.fromkeys(map(_span, shown.standing)))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" fill="{_TEXT}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f"<style>{''.join(_styles(shown, spans))}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="{_EDGE}"/>',
        f'<rect x="1" y="1" width="{float(width) - 2:g}" height="{height - 2}" rx="9" fill="{_GROUND}"/>',
        *(f'<circle cx="{22 + 20 * place}" cy="20" r="6" fill="{one}"/>' for place, one in enumerate(_LIGHTS)),
        f'<text x="50%" y="25" text-anchor="middle" fill="{_GREY}">{escape(title)}</text>',
        f'<svg y="{_BAR}" width="{width}" height="{shown.lines * _ROW}"><g class="scroll">',
        f'<rect class="cursor" width="{_CELL}" height="{_ROW - 2}" fill="{_GREY}"/>',
        *(_line(one, spans[_span(one)]) for one in shown.standing),
        "</g></svg></svg>\n",
    ]
    return "\n".join(parts)


def _span(one: Standing) -> _Span:
    return one.start, one.end


def _line(one: Standing, name: str) -> str:
    return f'<g class="{name}">{"".join(_run(run, one.line * _ROW) for run in one.runs)}</g>'


def _run(run: Run, top: int) -> str:
    place = f'x="{_MARGIN + run.column * _CELL:.4g}"'
    long = f"{len(run.text) * _CELL:.4g}"
    text = run.text.replace("\0", "")
    look = ("" if run.colour == "default" else f' fill="{_colour(run.colour)}"') + ' class="b"' * run.is_bold
    behind = ""
    if run.ground != "default":
        behind = f'<rect {place} y="{top}" width="{long}" height="{_ROW}" fill="{_colour(run.ground)}"/>'
    return f'{behind}<text {place} y="{top + _SIZE}" textLength="{long}"{look}>{escape(text)}</text>'


def _colour(name: str) -> str:
    """A colour that the terminal names, or six hexadecimal digits."""
    return _COLOURS.get(name) or _COLOURS.get(name.removeprefix("bright")) or f"#{name}"


# When what is seen


def _styles(shown: Film, spans: Mapping[_Span, str]) -> Iterator[str]:
    yield f"text{{font:{_SIZE}px {_FONTS};white-space:pre}}.b{{font-weight:bold}}"
    yield f".scroll,.cursor,g{{animation:{shown.seconds:g}s step-end infinite}}"
    for (start, end), name in spans.items():
        hidden, seen = "visibility:hidden", "visibility:visible"
        steps = [(0.0, hidden), (start, seen), *([] if end is None else [(end, hidden)])]
        yield from _animation(f".{name}", name, steps, shown.seconds)
    scrolled = [(one.start, f"transform:translateY({-_ROW * one.scrolled}px)") for one in shown.spots]
    yield from _animation(".scroll", "scroll", scrolled, shown.seconds)
    cursor = [
        (one.start, f"transform:translate({_MARGIN + one.column * _CELL:.4g}px,{one.line * _ROW}px)")
        for one in shown.spots
    ]
    yield from _animation(".cursor", "cursor", cursor, shown.seconds)
    yield "@media(prefers-reduced-motion:reduce){*{animation:none!important}}"


def _animation(where: str, name: str, steps: Sequence[tuple[float, str]], seconds: float) -> Iterator[str]:
    """What a part looks like from when on; as in the end where nothing moves."""
    changes = [steps[0], *(two for one, two in pairwise(steps) if one[1] != two[1])]
    frames = "".join(f"{100 * at / seconds:.2f}%{{{look}}}" for at, look in changes)
    yield f"{where}{{{steps[-1][1]};animation-name:{name}}}@keyframes {name}{{{frames}}}"
