"""The options of a command, read as its program reads them: attached, in clusters, shortened, before and after words.

A program says with a row which options it knows: a name, and marks of what the option means.

    =   takes a value: attached to it, or the next word
    ?   takes a value only if it is attached
    >   takes a value: a file that is written
    @   takes a value: a directory to work in
    $   takes a value: a command for a shell
    #   takes a value: code in the program's own language
    !   makes the program write; also after one of the marks above
    ~   keeps the program from writing; also after one of the marks above
    .   ends the options, after one of the marks above

An option that is in no row takes no value. A long one may be shortened, as most programs allow.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Option", "Options", "read_options"]

_TAKES_VALUE = frozenset("=>@$#")


class Option:
    """One option of a call: its whole name, its value, and the marks of its row."""

    __slots__ = ("marks", "name", "value")

    def __init__(self, name: str, value: str, marks: str) -> None:
        self.name = name
        self.value = value
        self.marks = marks


class Options:
    """The options of a call, and the other words; `after` are the words from the first of those on."""

    __slots__ = ("after", "given", "operands")

    def __init__(self) -> None:
        self.given: list[Option] = []
        self.operands: list[str] = []
        self.after: list[str] = []

    def marked(self, mark: str) -> list[Option]:
        return [one for one in self.given if mark in one.marks]

    def values(self, *names: str) -> list[str]:
        return [one.value for one in self.given if one.name in names]

    def has(self, *names: str) -> bool:
        return any(one.name in names for one in self.given)


def read_options(words: list[str], row: Iterable[str], *, is_leading: bool = False) -> Options:
    """Read the words of a call; if `is_leading`, options end at the first word that is none."""
    known = {(name := token.rstrip("=?>@$#!~.")): token[len(name) :] for token in row}
    found = Options()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            found.after = found.after or words[at:]
            found.operands += words[at:]
            break
        if len(word) < 2 or word[0] not in "-+":
            found.after = found.after or words[at - 1 :]
            if is_leading:
                found.operands = found.after
                break
            found.operands.append(word)
            continue
        if word[:2] == "--" or (len(word) > 2 and word.partition("=")[0] in known):
            at += _long(word, words[at : at + 1], known, found)
        else:
            at += _cluster(word, words[at : at + 1], known, found)
        if found.given and "." in found.given[-1].marks:
            found.after = words[at:]
            break
    return found


def _long(word: str, after: list[str], known: dict[str, str], found: Options) -> int:
    """Read an option with a name of its own; how many words after it belong to it."""
    given, attached, value = word.partition("=")
    whole = given
    if given not in known and len(given) > 3:
        whole = next((name for name in known if name.startswith(given)), given)
    marks = known.get(whole, "")
    takes = not attached and not _TAKES_VALUE.isdisjoint(marks)
    found.given.append(Option(whole, "".join(after) if takes else value, marks))
    return len(after) if takes else 0


def _cluster(word: str, after: list[str], known: dict[str, str], found: Options) -> int:
    """Read options of one letter each; how many words after them belong to the last."""
    for index, letter in enumerate(word[1:], 2):
        name = word[0] + letter
        marks = known.get(name, "")
        if "?" in marks or not _TAKES_VALUE.isdisjoint(marks):
            takes = index == len(word) and "?" not in marks
            found.given.append(Option(name, "".join(after) if takes else word[index:], marks))
            return len(after) if takes else 0
        found.given.append(Option(name, "", marks))
    return 0
