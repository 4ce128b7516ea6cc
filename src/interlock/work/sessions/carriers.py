"""The words before a command: keywords, assignments, and programs that run the words after their own options."""

from __future__ import annotations

import re

from interlock.work.sessions.options import Options, read_options
from interlock.work.sessions.programs import RUNNER_OPTIONS, RUNNERS, VERBS, kind_of, row_of
from interlock.work.sessions.shell import ASSIGNMENT, KEYWORDS
from interlock.work.sessions.shell_words import UNKNOWN

__all__ = ["Carrier", "carried", "name_of"]

_MOST_CARRIERS = 20
_MOST_WORDS = 40
"""Words of a carrier that may be its options."""
_COMPOUND = frozenset("{ ( (( [[ case for if select until while".split())


class Carrier:
    """A program that runs another, and its own options."""

    __slots__ = ("is_runner", "name", "options")

    def __init__(self, name: str, options: Options, is_runner: bool) -> None:
        self.name = name
        self.options = options
        self.is_runner = is_runner
        """True if it is more than a prefix: what it runs may be only named."""


def name_of(word: str) -> str:
    """A command without its directory and its version."""
    name = word.rpartition("/")[2].lower()
    name = name.partition("@")[0] or name
    if name.startswith("ld-") and ".so" in name:
        return "ld.so"
    return name if kind_of(name) else re.sub(r"(?<=[a-z])-?[\d.]+$", "", name)


def carried(words: list[str]) -> tuple[list[str], list[Carrier]]:
    """The words from the command on, and what carries it there: assignments, keywords, `sudo`, `npx` and the like."""
    carriers: list[Carrier] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in KEYWORDS or word == "function" or ASSIGNMENT.match(word):
            is_named = word == "function" or (word == "coproc" and not _COMPOUND.isdisjoint(words[at + 2 : at + 3]))
            at += 2 if is_named else 1
            continue
        name, rest = name_of(word), words[at + 1 :]
        found = _past(name, rest)
        if found is None:
            return words[at:], carriers
        if len(carriers) == _MOST_CARRIERS:
            return [UNKNOWN], carriers
        carrier, words = found
        carriers.append(carrier)
        at = 0
    return [], carriers


def _past(name: str, rest: list[str]) -> tuple[Carrier, list[str]] | None:
    """A carrier and the words that it carries; None for a command that carries none."""
    kind = kind_of(name)
    if kind in ("carry", "carry1"):
        given = rest[1:] if rest[:1] == ["-"] else rest
        options = _leading(given, row_of(name))
        carrier = Carrier(name, options, name in ("npx", "bunx", "uvx", "pnpx"))
        if kind == "carry1":
            inner = _leading(options.after[1:], row_of(name))
            options.given += inner.given
            return carrier, inner.after
        return carrier, [] if options.marked("~") else options.after
    if name in RUNNERS:
        options = _leading(rest, [*RUNNER_OPTIONS, *row_of(name)])
        runs = re.match(rf"(?:{RUNNERS[name]})(?=\n|\Z)", "\n".join(options.after[:2]))
        if runs is not None:
            inner = _leading(options.after[runs.group().count("\n") + 1 :], RUNNER_OPTIONS)
            inner.given += options.given
            return Carrier(name, inner, is_runner=True), inner.after
    if name in ("python", "pypy"):
        options = _leading(rest, row_of(name))
        module = options.values("-m")
        return (Carrier(name, options, is_runner=True), [*module, *options.after]) if module else None
    is_tool = name in ("yarn", "pnpm") and rest and kind_of(name_of(rest[0])) in ("write", "run")
    if is_tool and not re.match(rf"(?:{VERBS[name]})(?=\n|\Z)", "\n".join(rest[:2])):
        return Carrier(name, Options(), is_runner=True), rest
    return None


def _leading(words: list[str], row: list[str] | tuple[str, ...]) -> Options:
    """The options before the first other word; only so many words are looked at."""
    found = read_options(words[:_MOST_WORDS], row, is_leading=True)
    found.after += words[_MOST_WORDS:]
    return found
