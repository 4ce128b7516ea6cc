"""What a program writes on a person's terminal, without the sequences that act beyond the screen.

Text, colours, cursor movements, mouse and keyboard modes, titles, links and notifications pass, and so do questions
that the terminal answers with numbers: positions, sizes, colours, what it is. The rest is dropped:

    the clipboard, files, fonts, and commands to a certain terminal  (OSC, of which only a list passes)
    answers with a text of the program's choosing, such as titles    (CSI 20 t, CSI 21 t, DECRQSS and all other DCS)
    ways around this: strings that screen and tmux pass on           (DCS, SOS, PM, APC)
    other encodings, in which text would become control characters   (ESC %, 8-bit controls)
    printing                                                         (CSI i)

Only whole sequences pass, so a terminal never sees the beginning of one that is dropped. It must read UTF-8.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["EscapeFilter"]

_COMMANDS: Final = frozenset({0, 1, 2, 4, 5, 7, 8, 9, *range(10, 20), 22, 99, 104, 105, *range(110, 120), 133, 777})
"""The OSC that pass: titles, colours, the directory, links, notifications, the pointer, and marks of prompts."""
_REPORTS: Final = frozenset({20, 21})
_CHARACTER_SETS: Final = "#()*+-./"
_LONGEST: Final = 1 << 16

_CSI: Final = r"\x1b\[[\x00-\x17\x19\x1c-\x3f\x7f]*"  # controls in it are carried out, and do not end it
_OSC: Final = r"\x1b\][^\x00-\x1f\x7f-\x9f]*"
_STRING: Final = r"\x1b[PX^_k][^\x18\x1a\x1b\x9c]*"
_PART: Final = re.compile(
    r"(?P<text>[^\x1b\x80-\x9f]+)"
    rf"|(?P<csi>{_CSI}[@-~])"
    rf"|(?P<osc>{_OSC}(?:\x07|\x1b\\))"
    rf"|(?P<string>{_STRING}\x1b\\)"
    r"|(?P<plain>\x1b[0-OQ-WYZ\\`-jl-~])"
    r"|(?P<set>\x1b[ -/]+[0-~])"
)
_BEGUN: Final = re.compile(rf"(?:{_CSI}|(?:{_OSC}|{_STRING})\x1b?|\x1b[ -/]*)\Z")
_BROKEN: Final = re.compile(rf"{_CSI}|{_OSC}|{_STRING}|\x1b[ -/]*|[\x80-\x9f]")
_PARAMETERS: Final = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])")
_CONTROLS: Final = re.compile(r"[\x00-\x1a\x1c-\x1f\x7f]")

_USUALLY_ON: Final = frozenset({7, 25})
"""Private modes: lines wrap, and the cursor is visible."""
_USUALLY_OFF: Final = frozenset(
    {1, 5, 6, 9, 47, *range(1000, 1007), 1015, 1016, 1047, 1049, 2004, 2026, 2031, 2048, 9001}
)
"""Keys of another kind, reverse colours, mouse, focus, the other screen, brackets around what is pasted, and so on."""
_UNDONE: Final = {
    ("", "", "m"): "\x1b[0m",
    ("", " ", "q"): "\x1b[0 q",
    (">", "", "m"): "\x1b[>4m",
    ("=", "", "u"): "\x1b[=0u",
}
"""What undoes the style, the form of the cursor, and what keys send, by the sequence that changes it."""
_DEEPEST: Final = 99


class EscapeFilter:
    """One stream of one program; it also knows what the program has left changed."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        """The beginning of a sequence that is not complete yet."""
        self._modes: dict[int, bool] = {}
        self._pushed = 0
        """How often keyboard modes of kitty were put on their stack."""
        self._undone: dict[str, None] = {}
        """What undoes other changes, in order."""

    def feed(self, data: bytes) -> bytes:
        """Return what may reach the terminal of what was written, in order."""
        text, place, passed = self._rest + self._decoder.decode(data), 0, []
        self._rest = ""
        while place < len(text):
            part = _PART.match(text, place)
            if part is not None:
                if self._may_pass(part):
                    passed.append(part[0])
                place = part.end()
            elif (begun := _BEGUN.match(text, place)) is not None:
                self._rest = begun[0]
                break
            else:
                broken = _BROKEN.match(text, place)
                place = broken.end() if broken is not None else place + 1
        if len(self._rest) > _LONGEST:
            self._rest = "" if self._rest.startswith("\x1b[") else "\x1b_"  # the rest of a string is dropped as well
        return "".join(passed).encode("utf-8", "replace")

    def restoring(self) -> bytes:
        """Return what undoes the modes that are still set, for a program that ended without doing so."""
        undone = [f"\x1b[<{self._pushed}u"] if self._pushed else []
        for mode, is_on in reversed(self._modes.items()):
            if mode in (_USUALLY_OFF if is_on else _USUALLY_ON):
                undone.append(f"\x1b[?{mode}{'l' if is_on else 'h'}")
        return "".join([*undone, *self._undone]).encode("ascii")

    def _may_pass(self, part: re.Match[str]) -> bool:
        text = part[0]
        match part.lastgroup:
            case "text":
                return True
            case "csi":
                return self._csi(_CONTROLS.sub("", text))
            case "osc":
                number = re.match(r"[0-9]{1,6}(?=[;\x07\x1b])", text[2:])
                return number is not None and int(number[0]) in _COMMANDS
            case "plain":
                if text in ("\x1b=", "\x1b>"):
                    self._note("\x1b>", is_changed=text == "\x1b=")
                return True
            case "set":
                return text[1] in _CHARACTER_SETS
        return False

    def _csi(self, text: str) -> bool:
        """True if a control sequence may pass; notes what it changes."""
        found = _PARAMETERS.fullmatch(text)
        if found is None:
            return False
        prefix, between, kind = found[1], found[3], found[4]
        given = [int(one[:6] or 0) for one in re.split("[;:]", found[2])]
        if kind == "i" or (kind == "t" and given[0] in _REPORTS):
            return False
        if (prefix, between) == ("?", "") and kind in "hl":
            for mode in given:
                self._modes.pop(mode, None)
                self._modes[mode] = kind == "h"
        elif (prefix, between, kind) == (">", "", "u"):
            self._pushed = min(self._pushed + 1, _DEEPEST)
        elif (prefix, between, kind) == ("<", "", "u"):
            self._pushed = max(0, self._pushed - (given[0] or 1))
        elif undone := _UNDONE.get((prefix, between, kind)):
            self._note(undone, is_changed=any(given[1:] if prefix == ">" else given))
        return True

    def _note(self, undone: str, *, is_changed: bool) -> None:
        self._undone.pop(undone, None)
        if is_changed:
            self._undone[undone] = None
