"""Codex: `codex exec --json`, with the prompt on stdin."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.world.agents import failures
from interlock.world.agents.agent import Launch, Now, Reader, lacks
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.happenings import Failure, Finished, Happening, Said, Usage, UsedTool, Warned
from interlock.world.agents.registration import CODEX_EVENTS, PASSED_ON, SERVER, codex_hook, local_server, toml
from interlock.world.agents.wire import about, amount, count, decoded, inner, items, words

__all__ = ["Codex", "CodexReader", "hook_key"]

_ITEMS = 100
"""How many items may be under way at once and still be told once each."""
_FLAGS = "/<session-flags>/config.toml"
"""The file that Codex takes its command line for."""
_BYPASS = ("--sandbox", "-s", "--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto")


_WRITES = "workspace-write"


class Codex(msgspec.Struct, frozen=True):
    """Codex, headless. Unless a person's flags say otherwise, it may write in its directory alone."""

    program: str = "codex"
    name: str = "codex"

    def launch(self, assignment: Assignment) -> Launch:
        argv = [self.program, "exec", "--json"]
        argv += ["--model", assignment.model] if assignment.model else []
        own = ("--dangerously-bypass-approvals-and-sandbox",) if assignment.is_confined else ("--sandbox", _WRITES)
        argv += own if lacks(assignment.arguments, *_BYPASS) else ()
        argv += _fitted(assignment.outfit) if assignment.outfit else []
        files: dict[Path, str] = {}
        if assignment.schema is not None and lacks(assignment.arguments, "--output-schema"):
            path = assignment.log.absolute().with_name(f"{assignment.log.name}.schema.json")
            files[path] = json.dumps(assignment.schema)
            argv += ["--output-schema", str(path)]
        return Launch((*argv, *assignment.arguments, "-"), assignment.prompt.encode("utf-8", "replace"), files=files)

    def interactive(self, assignment: Assignment) -> Launch:
        # Its own sandbox cannot work in ours; it still asks the person for approval.
        is_free = assignment.is_confined and lacks(assignment.arguments, *_BYPASS)
        own = ("--sandbox", "danger-full-access") if is_free else ()
        ours = _fitted(assignment.outfit) if assignment.outfit else ()
        return Launch((self.program, *own, *ours, *assignment.arguments))

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return CodexReader(now)


def _fitted(outfit: AgentTools) -> Iterator[str]:
    """The flags for our part, which Codex adds to what its files say."""
    if outfit.server:
        server = {**local_server(outfit.server), "env_vars": PASSED_ON}
        yield from ("-c", f"mcp_servers.{SERVER}={toml(server)}")
    if outfit.hook:
        hooks = {event: codex_hook(outfit.hook, event) for event in CODEX_EVENTS}
        state: dict[str, Any] = {key: {"enabled": False} for key in outfit.instead}
        for event, hook in hooks.items():
            state[hook_key(_FLAGS, event, 0, 0)] = {"trusted_hash": _hash(event, hook)}
        given = {event: [{"hooks": [hook]}] for event, hook in hooks.items()}
        yield from ("-c", f"hooks={toml({**given, 'state': state})}")


def hook_key(file: str, event: str, group: int, place: int) -> str:
    """How Codex calls a hook of a file in its records."""
    return f"{file}:{_label(event)}:{group}:{place}"


def _hash(event: str, hook: Mapping[str, Any]) -> str:
    """What Codex knows a hook by that somebody trusts. Who starts it with these hooks trusts them, and no others."""
    known = {"event_name": _label(event), "hooks": [{"async": False, **hook}]}
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _label(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


class CodexReader:
    """Reads the events of `codex exec --json`."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._begun: deque[str] = deque(maxlen=_ITEMS)
        self._has_ended = False

    def read(self, line: bytes) -> Iterator[Happening]:
        event = decoded(line)
        match event.get("type"):
            case "item.started" | "item.completed":
                yield from self._item(inner(event, "item"), is_done=event["type"] == "item.completed")
            case "turn.completed":
                self._has_ended = True
                used = event.get("usage")
                cached = count(inner(used, "cached_input_tokens"))
                yield Usage(
                    max(0, count(inner(used, "input_tokens")) - cached), count(inner(used, "output_tokens")), cached
                )
                yield Finished(True)
            case "turn.failed":
                self._has_ended = True
                said = words(inner(event, "error", "message"))
                if failure := self._failure(inner(event, "error"), said):
                    yield failure
                yield Finished(False, said)
            case "error":
                yield Warned(words(event.get("message")))

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        if not self._has_ended and exit_code == 0:
            yield Finished(False, "It ended without completing its turn.")

    def _item(self, item: Any, *, is_done: bool) -> Iterator[Happening]:
        match inner(item, "type"):
            case "agent_message" if is_done:
                yield Said(words(inner(item, "text")))
            case "error" if is_done:
                yield Warned(words(inner(item, "message")))
            case "command_execution" | "file_change" | "mcp_tool_call" | "web_search":
                name = words(inner(item, "id"))
                if name not in self._begun:
                    self._begun.append(name)
                    yield _tool(item)

    def _failure(self, error: Any, said: str) -> Failure | None:
        """The failure in an error: in its own fields, in those of the provider's answer that it quotes, or in words."""
        quoted = inner(decoded(said[said.find("{") :].encode("utf-8", "replace")), "error") if "{" in said else None
        fields: Mapping[str, Any] = next((one for one in (quoted, error) if isinstance(one, dict)), {})
        code = words(fields.get("type")) or words(fields.get("code"))
        wait, ends = amount(fields.get("resets_in_seconds")), amount(fields.get("resets_at"))
        if wait is not None:
            ends = self._now().timestamp() + wait
        return failures.failure_of(said, self._now(), code=code, ends=ends)


def _tool(item: Mapping[str, Any]) -> UsedTool:
    match item.get("type"):
        case "mcp_tool_call":
            return UsedTool(f"{words(item.get('server'))}.{words(item.get('tool'))}", about(item.get("arguments")))
        case "file_change":
            paths = (words(inner(one, "path")) for one in items(item.get("changes")))
            return UsedTool("file_change", ", ".join(paths)[:200])
        case kind:
            return UsedTool(words(kind), about(item))
