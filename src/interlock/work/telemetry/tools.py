"""PURE. The calls of tools of one session, as spans below that of the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from interlock.journal import Entry
from interlock.machine import ActorKind, Channel
from interlock.machine.model import NOTED
from interlock.work.sessions.runs import RunSummary
from interlock.work.telemetry.words import milliseconds, seen_at, texts, the_name
from interlock.world.telemetry.span import Span, Value, span_id

__all__ = ["Calls", "tool_spans"]

_MOST: Final = 1000


class Calls(msgspec.Struct, frozen=True):
    """Where the calls of a session are told."""

    trace: str
    session: str
    history: Sequence[Entry]
    ran: RunSummary | None
    last: int
    """When the session had ended."""
    content: bool


def tool_spans(calls: Calls) -> tuple[list[Span], int]:
    """The calls that hooks saw; where they saw none, those that the agent told of. And how many are not among them."""
    seen = _seen(calls)
    if seen:
        return seen[:_MOST], max(0, len(seen) - _MOST)
    if calls.ran is None:
        return [], 0
    heard = [
        _tool(calls, f"heard:{number}", one.tool, one.at * 10**6, one.until * 10**6, {"about": one.about}, "output")
        for number, one in enumerate(calls.ran.tools)
    ]
    return heard, max(0, calls.ran.calls - len(heard))


def _seen(calls: Calls) -> list[Span]:
    found: list[Span] = []
    begun: dict[str, tuple[Entry, dict[str, Any]]] = {}
    for entry in calls.history:
        if entry.event != NOTED or (entry.actor_kind, entry.channel) != (ActorKind.SYSTEM, Channel.HOOK):
            continue
        data = entry.decoded_evidence().data
        call, at = str(data.get("call") or data.get("tool")), seen_at(data, entry)
        match data.get("type"):
            case "tool_start":
                begun[call] = entry, data
            case "tool_end":
                start = begun.pop(call, None)
                since = seen_at(start[1], start[0]) if start is not None else at - milliseconds(data) * 10**6
                error = None if data.get("success", True) else "tool_failed"
                found.append(_tool(calls, f"seen:{entry.version}", data.get("tool"), since, at, data, "hook", error))
            case "denied":
                found.append(_tool(calls, f"seen:{entry.version}", data.get("tool"), at, at, data, "hook", "denied"))
    for entry, data in begun.values():  # no hook saw how they ended
        at = seen_at(data, entry)
        found.append(_tool(calls, f"seen:{entry.version}", data.get("tool"), at, max(at, calls.last), data, "hook"))
    return found


def _tool(
    calls: Calls,
    part: str,
    name: object,
    began: int,
    until: int,
    data: Mapping[str, Any],
    told_by: str,
    error: str | None = None,
) -> Span:
    tool = the_name(name, "other")
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "ralph.tool.told_by": told_by,
    }
    if call := the_name(data.get("call"), ""):
        attributes["gen_ai.tool.call.id"] = call
    if error is not None:
        attributes["error.type"] = error
    if calls.content:
        attributes |= texts({"gen_ai.tool.call.arguments": data.get("about")})
    own, above = span_id(f"{calls.session}:{part}"), span_id(calls.session)
    return Span(calls.trace, own, above, f"execute_tool {tool}", began, until, attributes, error=error)
