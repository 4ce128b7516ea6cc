"""Gemini CLI: `gemini --output-format stream-json`, with the prompt on stdin.

A run cannot be given a server: there is no flag, and a file that a variable names must belong to root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlock.world.agents import failures
from interlock.world.agents.agent import Launch, Now, Reader, lacks
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import Finished, Happening, Usage, UsedTool, Warned
from interlock.world.agents.lines import MessageBuffer
from interlock.world.agents.wire import about, count, decoded, inner, words

__all__ = ["Gemini", "GeminiReader"]


class Gemini(msgspec.Struct, frozen=True):
    """Gemini CLI, headless. Unless a person's flags say otherwise, it may edit files without being asked."""

    program: str = "gemini"
    name: str = "gemini"

    def launch(self, assignment: Assignment) -> Launch:
        argv = [self.program, "--output-format", "stream-json"]
        argv += ["--model", assignment.model] if assignment.model else []
        if lacks(assignment.arguments, "--approval-mode", "--yolo", "-y"):
            argv += ["--approval-mode", "auto_edit"]
        return Launch((*argv, *assignment.arguments), assignment.prompt.encode("utf-8", "replace"))

    def interactive(self, assignment: Assignment) -> Launch:
        return Launch((self.program, *assignment.arguments))

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return GeminiReader(now)


class GeminiReader:
    """Reads `--output-format stream-json`."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._message = MessageBuffer()
        self._has_result = False

    def read(self, line: bytes) -> Iterator[Happening]:
        event = decoded(line)
        match event.get("type"), event.get("role"):
            case "message", "assistant":
                yield from self._message.add(words(event.get("content")))
            case "tool_use", _:
                yield from self._message.end()
                yield UsedTool(words(event.get("tool_name")), about(event.get("parameters")))
            case "error", _:
                yield Warned(words(event.get("message")))
            case "result", _:
                yield from self._message.end()
                yield from self._result(event)

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        yield from self._message.end()
        if not self._has_result and exit_code == 0:
            yield Finished(False, "It ended without a result.")

    def _result(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        self._has_result = True
        used = event.get("stats")
        cached = count(inner(used, "cached"))
        yield Usage(max(0, count(inner(used, "input_tokens")) - cached), count(inner(used, "output_tokens")), cached)
        said = words(inner(event, "error", "message"))
        if event.get("status") == "success":
            yield Finished(True)
        else:
            if failure := failures.failure_of(said, self._now(), code=words(inner(event, "error", "type"))):
                yield failure
            yield Finished(False, said)
