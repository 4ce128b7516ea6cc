"""The pace of a recording: a line at a time, without long pauses, after a command that is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from docs.generators.screens import Event, Recording

__all__ = ["paced"]

_PROMPT = "\x1b[1;32m$\x1b[0m "
_TOGETHER = 0.02
"""What comes within so many seconds was said at once."""
_LINE, _PAUSE = 0.07, 0.8
"""The least and the most seconds before what a program says."""
_READING, _KEY = 1.4, 0.08
"""Seconds before a person's first key, and before each other one."""
_LAST = 4.0
"""Seconds in which the end is looked at."""
_LONGEST = 28.0


class _Piece(msgspec.Struct, frozen=True):
    pause: float
    text: str
    is_typed: bool = False


def paced(recording: Recording, command: str, neutral: Callable[[str], str]) -> Recording:
    """The recording as it is shown, its texts made neutral; where it is too long, the program is faster."""
    typed = [_Piece(_KEY if number else _READING, key, True) for number, key in enumerate((*command, "\r\n"))]
    pieces = [*typed, *_pieces(recording, neutral)]
    fixed = sum(one.pause for one in pieces if one.is_typed)
    free = sum(one.pause for one in pieces if not one.is_typed)
    faster = min(1.0, (_LONGEST - _LAST - fixed) / max(free, _LINE))
    at, events = 0.0, [Event(0.0, "o", _PROMPT)]
    for one in (*pieces, _Piece(_LINE, _PROMPT)):
        at += one.pause * (1 if one.is_typed else faster)
        events.append(Event(round(at, 3), "o", one.text))
    return Recording(recording.columns, recording.lines, tuple(events), round(at + _LAST, 3))


def _pieces(recording: Recording, neutral: Callable[[str], str]) -> Iterator[_Piece]:
    """What came out, a line at a time."""
    before = 0.0
    for key, at, text in _joined(recording):
        pauses = {"": min(max(at - before, _LINE), _PAUSE), "first": _READING, "next": _KEY}
        for number, line in enumerate(neutral(text).splitlines(keepends=True)):
            yield _Piece(_LINE, line) if number else _Piece(pauses[key], line, bool(key))
        before = at


def _joined(recording: Recording) -> Iterator[tuple[str, float, str]]:
    """What was said at once, as one, for a path that is cut in two would not be found; and which key was before it."""
    key, start, last, said, is_answering = "", 0.0, 0.0, "", False
    for event in recording.events:
        if said and (event.kind == "i" or event.at - last > _TOGETHER):
            yield key, start, said
            key, said = "", ""
        if event.kind == "i":
            key, is_answering = "next" if is_answering else "first", event.text != "\n"
        else:
            start, last, said = (start if said else event.at), event.at, said + event.text
    if said:
        yield key, start, said
