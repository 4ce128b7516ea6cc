"""Claude Code, and Qwen Code, which prints the same stream.

The prompt goes to stdin, because an argument may hold 128 KiB and a prompt more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlock.world.agents import failures
from interlock.world.agents.agent import Launch, Now, Reader, lacks
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.happenings import (
    ContextUsed,
    Cost,
    Failure,
    FailureKind,
    Finished,
    Happening,
    Said,
    Usage,
    UsedTool,
    Warned,
)
from interlock.world.agents.registration import CLAUDE_EVENTS, SERVER, claude_hook, local_server
from interlock.world.agents.wire import about, amount, count, decoded, inner, items, words

__all__ = ["Claude", "ClaudeReader", "Qwen"]

_WINDOWS = {"five_hour": FailureKind.SESSION, "seven_day": FailureKind.WEEKLY}
"""The windows of a plan, as Claude Code calls them; those of one model begin with the same words."""
_ANSWERS = {"StructuredOutput": "structured_output", "structured_output": "structured_result"}
"""The tool that takes an answer of a given schema, and where it is in the result: of Claude Code, and of Qwen Code."""


class Claude(msgspec.Struct, frozen=True):
    """Claude Code, headless. Unless a person's flags say otherwise, it may edit files without being asked."""

    program: str = "claude"
    name: str = "claude"

    def launch(self, assignment: Assignment) -> Launch:
        argv = [self.program, "-p"]
        # `--mcp-config` takes every word up to the next flag, so one of ours must come behind it.
        argv += _fitted(assignment.outfit, assignment.arguments) if assignment.outfit else []
        argv += ["--output-format", "stream-json", "--verbose"]
        argv += ["--model", assignment.model] if assignment.model else []
        argv += _answering(assignment)
        if lacks(assignment.arguments, "--permission-mode", "--dangerously-skip-permissions"):
            argv += ["--permission-mode", "acceptEdits"]
        return Launch((*argv, *assignment.arguments), assignment.prompt.encode("utf-8", "replace"))

    def interactive(self, assignment: Assignment) -> Launch:
        given = assignment.arguments
        # Behind the person's own words: `--mcp-config` takes all up to the next flag, also a prompt.
        ours = _fitted(assignment.outfit, given) if assignment.outfit and not _is_subcommand(given) else ()
        return Launch((self.program, *given, *ours))

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return ClaudeReader(now, SERVER if assignment.outfit else None)


def _is_subcommand(arguments: tuple[str, ...]) -> bool:
    """True if the first word could be a subcommand such as `mcp`, which takes none of the flags of a session."""
    return bool(arguments) and arguments[0].replace("-", "").isalpha() and not arguments[0].startswith("-")


def _fitted(outfit: AgentTools, arguments: tuple[str, ...]) -> Iterator[str]:
    """The flags for our part. A person's own servers and settings stay; only `--settings` can be given once."""
    if outfit.server:
        yield from ("--mcp-config", json.dumps({"mcpServers": {SERVER: local_server(outfit.server)}}))
    if lacks(arguments, "--settings"):
        settings: dict[str, Any] = {"permissions": {"allow": [f"mcp__{SERVER}"]}}
        if outfit.hook:
            settings["hooks"] = {event: [{"hooks": [claude_hook(outfit.hook, event)]}] for event in CLAUDE_EVENTS}
        yield from ("--settings", json.dumps(settings))


def _answering(assignment: Assignment) -> Iterator[str]:
    """The flag for an answer of a schema, which both programs call the same."""
    if assignment.schema is not None and lacks(assignment.arguments, "--json-schema"):
        yield from ("--json-schema", json.dumps(assignment.schema))


class Qwen(msgspec.Struct, frozen=True):
    """Qwen Code, headless. Unless a person's flags say otherwise, it may edit files without being asked."""

    program: str = "qwen"
    name: str = "qwen"

    def launch(self, assignment: Assignment) -> Launch:
        argv = [self.program, "--output-format", "stream-json"]
        argv += ["--model", assignment.model] if assignment.model else []
        argv += _answering(assignment)
        if lacks(assignment.arguments, "--approval-mode", "--yolo", "-y"):
            argv += ["--approval-mode", "auto-edit"]
        argv += _served(assignment)
        return Launch((*argv, *assignment.arguments), assignment.prompt.encode("utf-8", "replace"))

    def interactive(self, assignment: Assignment) -> Launch:
        given = assignment.arguments
        return Launch((self.program, *given, *(() if _is_subcommand(given) else _served(assignment))))

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return ClaudeReader(now, SERVER if assignment.outfit else None)


def _served(assignment: Assignment) -> Iterator[str]:
    """The flag for our server, which Qwen Code takes once."""
    outfit = assignment.outfit
    if outfit and outfit.server and lacks(assignment.arguments, "--mcp-config"):
        server = {**local_server(outfit.server), "trust": True}
        yield from ("--mcp-config", json.dumps({"mcpServers": {SERVER: server}}))


class ClaudeReader:
    """Reads `--output-format stream-json`."""

    def __init__(self, now: Now, server: str | None) -> None:
        self._now = now
        self._server = server
        """The MCP server that it must be connected to."""
        self._model = ""
        self._context = 0
        """How many tokens the last answer and all before it took."""
        self._rejection: Mapping[str, Any] = {}
        self._error = ""
        """Claude Code's name for the error that replaced the last answer."""
        self._waits_for: Failure | None = None
        self._has_result = False
        self._answer = ""
        """The answer of a given schema that was said last."""

    def read(self, line: bytes) -> Iterator[Happening]:
        event = decoded(line)
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                yield from self._init(event)
            case "system", "api_retry":
                yield from self._retry(event)
            case "assistant", _:
                yield from self._message(event)
            case "rate_limit_event", _:
                yield from self._window(inner(event, "rate_limit_info"))
            case "result", _:
                yield from self._result(event)

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        if self._has_result:
            return
        if self._waits_for:
            yield self._waits_for
        if exit_code == 0:
            yield Finished(False, "It ended without a result.")

    def _init(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        self._model = words(event.get("model"))
        if self._server is None:
            return
        servers = {words(inner(one, "name")): words(inner(one, "status")) for one in items(event.get("mcp_servers"))}
        status = servers.get(self._server, "not set up")
        if status != "connected":
            yield Warned(f"The MCP server {self._server} is {status} at the start; until it connects, none reports.")

    def _retry(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        error, status = words(event.get("error")), event.get("error_status")
        tried = f"attempt {count(event.get('attempt'))} of {count(event.get('max_retries'))}"
        said = f"The API answered {status} ({error}); {tried}."
        self._waits_for = failures.failure_of(said, self._now(), status=count(status), code=error)
        yield Warned(said)

    def _message(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        if error := words(event.get("error")):  # in the place of an answer; the result tells of it
            self._error = error
            return
        self._error = ""
        self._waits_for = None
        self._rejection = {}
        is_own = event.get("parent_tool_use_id") is None
        used = inner(event, "message", "usage")
        for block in items(inner(event, "message", "content")):
            match inner(block, "type"):
                case "text" if is_own:
                    self._answer = ""
                    yield Said(words(inner(block, "text")))
                case "tool_use" if is_own and inner(block, "name") in _ANSWERS:
                    yield from self._answered(inner(block, "input"))
                case "tool_use":
                    yield UsedTool(words(inner(block, "name")), about(inner(block, "input")))
        if is_own and isinstance(used, dict):
            self._context = _input(used) + count(used.get("cache_read_input_tokens")) + count(used.get("output_tokens"))

    def _answered(self, answer: Any) -> Iterator[Happening]:
        """An answer of a given schema is what it says, also where the agent itself has faults to find with it."""
        said = json.dumps(answer, ensure_ascii=False) if isinstance(answer, dict) else ""
        if said and said != self._answer:
            self._answer = said
            yield Said(said)

    def _window(self, window: Any) -> Iterator[Happening]:
        match inner(window, "status"):
            case "rejected":
                self._rejection = window
            case "allowed_warning":
                self._rejection = {}
                yield Warned(f"The plan's window {words(inner(window, 'rateLimitType'))} is nearly used up.")

    def _result(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        self._has_result = True
        for name in _ANSWERS.values():
            yield from self._answered(event.get(name))
        used = inner(event, "usage")
        yield Usage(_input(used), count(inner(used, "output_tokens")), count(inner(used, "cache_read_input_tokens")))
        if (cost := amount(event.get("total_cost_usd"))) is not None:
            yield Cost(cost)
        if self._context and (window := _window(event.get("modelUsage"), self._model)):
            yield ContextUsed(min(100.0, 100.0 * self._context / window))
        if denied := [words(inner(one, "tool_name")) for one in items(event.get("permission_denials"))]:
            yield Warned(f"{len(denied)} calls were not permitted: {', '.join(sorted(set(denied)))}.")
        said = words(event.get("result")) or words(event.get("subtype"))
        if event.get("is_error") is not False or event.get("subtype", "success") != "success":
            if failure := self._failure(event, said):
                yield failure
            yield Finished(False, said)
        else:
            yield Finished(True, said)

    def _failure(self, event: Mapping[str, Any], said: str) -> Failure | None:
        status, code = count(event.get("api_error_status")), words(event.get("api_error_type")) or self._error
        ends = amount(self._rejection.get("resetsAt"))
        found = failures.failure_of(said, self._now(), status=status, code=code, ends=ends)
        kind = words(self._rejection.get("rateLimitType"))
        window = next((limit for name, limit in _WINDOWS.items() if kind.startswith(name)), None)
        return Failure(window, ends, said) if window else found


def _input(used: Any) -> int:
    return count(inner(used, "input_tokens")) + count(inner(used, "cache_creation_input_tokens"))


def _window(models: Any, main: str) -> int:
    """How many tokens the context of the main model holds; the largest one where it cannot be told which that is."""
    known = models if isinstance(models, dict) else {}
    return count(inner(known.get(main), "contextWindow")) or max(
        (count(inner(one, "contextWindow")) for one in known.values()), default=0
    )
