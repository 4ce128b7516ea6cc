"""OpenCode: `opencode run --format json`, with the prompt on stdin.

It says nothing while it waits for a limit that it may ask again after; a time-out for the first output ends that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from interlock.world import jsonc
from interlock.world.agents import failures
from interlock.world.agents.agent import Launch, Now, Reader
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.happenings import Cost, Finished, Happening, Said, Usage, UsedTool
from interlock.world.agents.registration import SERVER, opencode_plugin, opencode_server
from interlock.world.agents.wire import about, amount, count, decoded, inner, words

__all__ = ["OpenCode", "OpenCodeReader"]

_CONTENT = "OPENCODE_CONFIG_CONTENT"
"""Settings in a text, which OpenCode adds to those of its files."""


class OpenCode(msgspec.Struct, frozen=True):
    """OpenCode, headless. What it may do is in its own `opencode.json`."""

    program: str = "opencode"
    name: str = "opencode"

    def launch(self, assignment: Assignment) -> Launch:
        argv = [self.program, "run", "--format", "json"]
        argv += ["--model", assignment.model] if assignment.model else []
        return _with_ours((*argv, *assignment.arguments), assignment, assignment.prompt.encode("utf-8", "replace"))

    def interactive(self, assignment: Assignment) -> Launch:
        return _with_ours((self.program, *assignment.arguments), assignment)

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return OpenCodeReader(now)


def _with_ours(words: tuple[str, ...], assignment: Assignment, prompt: bytes | None = None) -> Launch:
    plugin = assignment.log.with_name(f"{assignment.log.name}.ralph.js")
    outfit = assignment.outfit or AgentTools()
    return Launch(
        words,
        prompt,
        environment=_added(assignment.environment.get(_CONTENT, ""), outfit, plugin),
        files={plugin: opencode_plugin(outfit.hook)} if outfit.hook else {},
    )


def _added(content: str, outfit: AgentTools, plugin: Path) -> dict[str, str]:
    """The settings with our part added; what a person gave in the same way stays, and comes first."""
    text = content.strip() or "{}"
    try:
        if outfit.server and jsonc.get(text, ("mcp", SERVER)) is jsonc.MISSING:
            text = jsonc.put(text, ("mcp", SERVER), opencode_server(outfit.server))
        if outfit.hook:
            text = jsonc.append(text, ("plugin",), plugin.absolute().as_uri())
    except jsonc.JsonFault:  # OpenCode says itself what is wrong with it
        return {}
    return {_CONTENT: text} if text != "{}" else {}


class OpenCodeReader:
    """Reads the events of `opencode run --format json`, which has none for the end: a step that stops is it."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._has_ended = False

    def read(self, line: bytes) -> Iterator[Happening]:
        event = decoded(line)
        part = event.get("part")
        match event.get("type"):
            case "text":
                yield Said(words(inner(part, "text")))
            case "tool_use":
                yield UsedTool(words(inner(part, "tool")), about(inner(part, "state", "input")))
            case "step_finish":
                yield from self._step(part)
            case "error":
                yield from self._error(event.get("error"))

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        if not self._has_ended and exit_code == 0:
            yield Finished(False, "It ended in the middle of its work.")

    def _step(self, part: Any) -> Iterator[Happening]:
        tokens = inner(part, "tokens")
        written = count(inner(tokens, "output")) + count(inner(tokens, "reasoning"))
        read = count(inner(tokens, "input")) + count(inner(tokens, "cache", "write"))
        yield Usage(read, written, count(inner(tokens, "cache", "read")))
        if cost := amount(inner(part, "cost")):
            yield Cost(cost)
        if inner(part, "reason") == "stop":
            self._has_ended = True
            yield Finished(True)

    def _error(self, error: Any) -> Iterator[Happening]:
        self._has_ended = True
        data = inner(error, "data")
        said = words(inner(data, "message")) or words(inner(error, "name"))
        answer = inner(decoded(words(inner(data, "responseBody")).encode("utf-8", "replace")), "error")
        code = words(inner(answer, "code")) or words(inner(answer, "type")) or words(inner(error, "name"))
        wait = words(inner(data, "responseHeaders", "retry-after"))
        ends = self._now().timestamp() + int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 8 else None
        status = count(inner(data, "statusCode"))
        if failure := failures.failure_of(said, self._now(), status=status, code=code, ends=ends):
            yield failure
        yield Finished(False, said)
