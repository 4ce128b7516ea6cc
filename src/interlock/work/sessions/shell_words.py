"""What a shell makes of the parts of a word: escapes, the delimiters of here-documents, and fixed substitutions."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interlock.work.sessions.shell import Simple

__all__ = ["CERTAIN", "UNKNOWN", "delimiter", "escaped", "said"]

UNKNOWN = "\0"
"""Stands in a word for what only the shell will put there; no word of a shell can hold it."""
CERTAIN = r"[\w./@:+,-]+"
"""A value that the shell neither splits nor expands."""
_PART = r"'[^']*'|\$?\"(?:[^\"\\]|\\[\s\S])*\"|\$'(?:[^'\\]|\\[\s\S])*'|\\[\s\S]|\$\([^()\n]*\)|[^ \t\r\n;&|<>()'\"\\]"
_ESCAPE = r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([\s\S])|([\s\S]))"
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def escaped(text: str) -> str:
    """The text that is meant by `$'…'`."""
    return re.sub(_ESCAPE, _character, text)


def _character(found: re.Match[str]) -> str:
    octal, short, wide, widest, control, other = found.groups()
    if other is not None:
        return _LETTERS.get(other, other if other in "\\'\"?" else f"\\{other}")
    number = ord(control) & 31 if control else int(octal or short or wide or widest, 8 if octal else 16)
    return chr(number) if 0 < number < 0x110000 else UNKNOWN


def delimiter(text: str, at: int) -> tuple[int, str, bool]:
    """The word at a place that ends a here-document: its end, it without quotes, and True if it has any."""
    word = re.compile(rf"(?:{_PART})*").match(text, at)
    assert word is not None  # it may be empty
    parts = re.findall(_PART, word.group())
    is_quoted = any(part[0] in "'\"\\" or part[:2] in ("$'", '$"') for part in parts)
    return word.end(), "".join(map(_plain, parts)), is_quoted


def _plain(part: str) -> str:
    if part[:2] == "$'":
        return escaped(part[2:-1])
    if part[:2] == '$"':
        return part[2:-1]
    return part[1:] if part[0] == "\\" else part[1:-1] if part[0] in "'\"" else part


def said(commands: list[Simple]) -> str:
    """What a substitution becomes, where that is certain: a fixed word, or a place that git names."""
    if len(commands) != 1 or commands[0].into:
        return UNKNOWN
    words = commands[0].words
    if words == ["pwd"]:
        return "."
    if words[:1] == ["echo"] and len(words) == 2 and re.fullmatch(CERTAIN, words[1]) and words[1][0] != "-":
        return words[1]
    if words[:1] == ["git"] and "rev-parse" in words:
        if words[-1] in ("--git-dir", "--absolute-git-dir", "--git-common-dir"):
            return ".git"
        if words[-2] == "--git-path":
            return f".git/{words[-1]}"
    return UNKNOWN
