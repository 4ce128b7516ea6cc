"""Any command of one's own that takes a prompt and prints plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from interlock.world.agents.agent import Launch, Now, Reader
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import Finished, Happening, Said
from interlock.world.agents.promise import plain
from interlock.world.agents.transcript import Stretch

__all__ = ["CommandAgent", "InteractiveCommand", "PlainReader"]


class CommandAgent(msgspec.Struct, frozen=True):
    """A command line; `{prompt}`, `{prompt_file}` and `{model}` in it are filled in.

    Where it has neither of the first two, the prompt is on stdin. An argument holds 128 KiB at the most.
    """

    command: tuple[str, ...]
    name: str = "command"

    def launch(self, assignment: Assignment) -> Launch:
        path = assignment.log.with_name(f"{assignment.log.name}.prompt")
        values = {
            "{prompt}": assignment.prompt.replace("\0", ""),
            "{prompt_file}": str(path),
            "{model}": assignment.model or "",
        }
        words = (*self.command, *assignment.arguments)
        given = [name for name in ("{prompt}", "{prompt_file}") if any(name in word for word in words)]
        return Launch(
            tuple(_filled(word, values) for word in words),
            None if given else assignment.prompt.encode("utf-8", "replace"),
            files={path: assignment.prompt} if "{prompt_file}" in given else {},
        )

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return PlainReader(assignment.prompt)


class InteractiveCommand(msgspec.Struct, frozen=True):
    """Any program that a person speaks with."""

    program: str

    @property
    def name(self) -> str:
        return Path(self.program).name

    def interactive(self, assignment: Assignment) -> Launch:
        return Launch((self.program, *assignment.arguments))


def _filled(word: str, values: dict[str, str]) -> str:
    """A word with its names filled in, once each: what is filled in is not looked at again."""
    for name, value in values.items():
        before, found, after = word.partition(name)
        if found:
            return _filled(before, values) + value + _filled(after, values)
    return word


class PlainReader:
    """Takes every line for the agent's own words, but those in which it repeats its prompt from the beginning."""

    def __init__(self, prompt: str) -> None:
        self._prompt = [line.strip() for line in prompt.splitlines() if line.strip()]
        self._echoed = 0
        self._has_echoed = self._has_said = False
        self._text = Stretch()

    def read(self, line: bytes) -> Iterator[Happening]:
        yield from self._said(self._text.feed(line.decode("utf-8", "replace") + "\n"))

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        yield from self._said(self._text.end())
        if self._has_echoed and not self._has_said and exit_code == 0:  # it ran, although it had nothing to say
            yield Finished(ok=True)

    def _said(self, text: str) -> Iterator[Happening]:
        for line in plain(text).splitlines():
            if line.strip() and not self._is_echo(line.strip()):
                self._has_said = True
                yield Said(line)

    def _is_echo(self, line: str) -> bool:
        for place in (self._echoed, 0):
            if place < len(self._prompt) and line == self._prompt[place]:
                self._echoed = place + 1
                self._has_echoed = True
                return True
        self._echoed = 0
        return False
