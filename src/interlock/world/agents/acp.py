"""Any agent that speaks the Agent Client Protocol, version 1: JSON-RPC in lines over its stdin and stdout.

    initialize → session/new, with our MCP server → session/prompt → updates, questions → the prompt's answer

A question for permission is answered by policy; files and terminals are not offered, because the agent has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from interlock import __version__
from interlock.world.agents import failures
from interlock.world.agents.agent import Launch, Now, Reader, Reply
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import ContextUsed, Cost, Finished, Happening, Usage, UsedTool, Warned
from interlock.world.agents.lines import MessageBuffer
from interlock.world.agents.registration import PASSED_ON, SERVER, local_server
from interlock.world.agents.wire import about, amount, count, decoded, encoded, inner, items, words

__all__ = ["Acp", "AcpReader"]

_VERSION = 1
_INITIALIZE, _NEW, _PROMPT = 1, 2, 3
_NO_SUCH_METHOD = -32601
_KINDS = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}


class Acp(msgspec.Struct, frozen=True):
    """An agent of the Agent Client Protocol, by its command."""

    command: tuple[str, ...]
    permission: str = "allow"
    """What a question for permission is answered: allow or reject, each time anew."""
    name: str = "acp"

    def launch(self, assignment: Assignment) -> Launch:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        client = {"name": "interlock", "title": "Interlock", "version": __version__}
        given = {"protocolVersion": _VERSION, "clientCapabilities": capabilities, "clientInfo": client}
        first = _request(_INITIALIZE, "initialize", given)
        return Launch((*self.command, *assignment.arguments), first, stays_open=True, linger=2.0)

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return AcpReader(self, assignment, now)


def _request(number: int, method: str, given: Mapping[str, Any]) -> bytes:
    return encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": given})


class AcpReader:
    """The client's side of one conversation."""

    def __init__(self, agent: Acp, assignment: Assignment, now: Now) -> None:
        self._agent = agent
        self._assignment = assignment
        self._now = now
        self._message = MessageBuffer()
        self._spent = 0.0
        self._has_finished = False

    def read(self, line: bytes) -> Iterator[Happening | Reply]:
        message = decoded(line)
        method, number = message.get("method"), message.get("id")
        if method == "session/update":
            yield from self._update(inner(message, "params", "update"))
        elif isinstance(method, str) and number is not None:
            yield self._answered(method, number, message.get("params"))
        elif "error" in message and not self._has_finished:
            yield from self._failed(message["error"])
        elif "result" in message:
            yield from self._next(number, message["result"])

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        yield from self._message.end()
        if not self._has_finished and exit_code == 0:
            yield Finished(False, "It ended before it had answered the prompt.")

    def _next(self, number: object, result: Any) -> Iterator[Happening | Reply]:
        """What follows on an answer to one of our requests."""
        if number == _INITIALIZE and inner(result, "protocolVersion") != _VERSION:
            yield self._finished(False, f"It speaks version {inner(result, 'protocolVersion')} of the protocol, not 1.")
        elif number == _INITIALIZE:
            given = {"cwd": str(self._assignment.directory), "mcpServers": list(self._servers())}
            yield Reply(_request(_NEW, "session/new", given))
        elif number == _NEW:
            if self._assignment.model:
                yield Warned("The protocol has no way to choose a model; the agent's own setting holds.")
            text = {"type": "text", "text": self._assignment.prompt}
            session = words(inner(result, "sessionId"))
            yield Reply(_request(_PROMPT, "session/prompt", {"sessionId": session, "prompt": [text]}))
        elif number == _PROMPT:
            yield from self._message.end()
            used = inner(result, "usage")
            yield Usage(*(count(inner(used, name)) for name in ("inputTokens", "outputTokens", "cachedReadTokens")))
            reason = words(inner(result, "stopReason"))
            yield self._finished(reason == "end_turn", "" if reason == "end_turn" else reason)

    def _servers(self) -> Iterator[Mapping[str, Any]]:
        outfit = self._assignment.outfit
        if outfit and outfit.server:
            given = self._assignment.environment
            told = {name: given[name] for name in given if name in PASSED_ON or name.startswith("RALPH_")}
            variables = [{"name": name, "value": value} for name, value in sorted(told.items())]
            yield {"name": SERVER, **local_server(outfit.server), "env": variables}

    def _update(self, update: Any) -> Iterator[Happening]:
        kind = inner(update, "sessionUpdate")
        if kind == "agent_message_chunk":
            yield from self._message.add(words(inner(update, "content", "text")))
            return
        yield from self._message.end()
        if kind == "tool_call":
            arguments = about(inner(update, "rawInput"))
            yield UsedTool(words(inner(update, "kind")) or "tool", arguments or words(inner(update, "title"))[:200])
        elif kind == "usage_update":
            used, size = count(inner(update, "used")), count(inner(update, "size"))
            if size:
                yield ContextUsed(min(100.0, 100.0 * used / size))
            spent = amount(inner(update, "cost", "amount"))
            if spent is not None and inner(update, "cost", "currency") == "USD":
                yield Cost(spent - self._spent)
                self._spent = spent

    def _answered(self, method: str, number: object, given: Any) -> Reply:
        """The answer to a request of the agent."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        if method != "session/request_permission":
            return Reply(encoded({**answer, "error": {"code": _NO_SUCH_METHOD, "message": f"{method} is not offered"}}))
        options = {inner(one, "kind"): inner(one, "optionId") for one in items(inner(given, "options"))}
        chosen = next((options[kind] for kind in _KINDS[self._agent.permission] if kind in options), None)
        outcome = {"outcome": "selected", "optionId": chosen} if chosen is not None else {"outcome": "cancelled"}
        return Reply(encoded({**answer, "result": {"outcome": outcome}}))

    def _failed(self, error: Any) -> Iterator[Happening]:
        yield from self._message.end()
        detail = inner(error, "data")
        details = words(detail) or words(inner(detail, "details")) or words(inner(detail, "message"))
        said = "\n".join(text for text in (words(inner(error, "message")), details) if text)
        if failure := failures.failure_of(said, self._now()):
            yield failure
        yield self._finished(False, said)

    def _finished(self, ok: bool, said: str) -> Finished:
        self._has_finished = True
        return Finished(ok, said)
