"""PURE. The spans of an instance that has ended: a workflow, or an agent's run with the tools that it called.

Names are those of OpenTelemetry's conventions for generative AI; what they have no name for begins with `ralph.`.
Without content, a span holds nothing that an agent or a person wrote: only names of machines, states, agents and
tools, codes, numbers and ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from interlock.journal import Entry, Instance
from interlock.machine import Channel, Machine
from interlock.machine.model import NOTED, SUPERSEDED
from interlock.work.sessions.runs import RunSummary, may_tell, ran_of
from interlock.work.telemetry.tools import Calls, tool_spans
from interlock.work.telemetry.words import nanoseconds, text, texts, the_name
from interlock.world.place import Place
from interlock.world.telemetry.span import Span, SpanEvent, Value, span_id, trace_id

__all__ = ["Ended", "may_end", "spans_of", "told_at"]

_ERRORS: Final = frozenset({"failure", "timeout", "blocked", "setup_required"})
"""The outcomes that are errors; others somebody wanted."""
_PROVIDERS: Final = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Whose models an agent asks, where it is always the same; else the model's name may say it, or the agent's must do."""
_MOMENTS: Final = 128

Attributes = dict[str, Value]


class Ended(msgspec.Struct, frozen=True):
    """An instance that has ended, and what is needed to tell of it."""

    instance: Instance
    machine: Machine
    history: Sequence[Entry]
    root: str
    """The instance that its trace is named after: its ticket, or the topmost above it."""
    content: bool = False


def may_end(entry: Entry) -> bool:
    """Whether spans may be told at an entry; at almost none they are."""
    if entry.event == NOTED:
        return may_tell(entry)
    return entry.from_state != entry.to_state or entry.event == SUPERSEDED


def told_at(machine: Machine, history: Sequence[Entry]) -> int | None:
    """The entry at which an instance's spans are told: its end, and for a driver's session also what came of the run.

    None where that is not written yet.
    """
    end = _end(machine, history)
    if end is None:
        return None
    if machine.name != "session" or history[0].channel != Channel.DRIVER:
        return end.seq
    ran = ran_of(history)
    return max(end.seq, ran[0].seq) if ran is not None else None


def spans_of(ended: Ended) -> list[Span]:
    """What is told of an instance; nothing where it has not ended."""
    end = _end(ended.machine, ended.history)
    if end is None:
        return []
    return _session(ended, end) if ended.instance.machine == "session" else [_workflow(ended, end)]


def _end(machine: Machine, history: Sequence[Entry]) -> Entry | None:
    """The entry that ended an instance."""
    for entry in history:
        state = machine.states.get(entry.to_state)
        if entry.event == SUPERSEDED or (state is not None and state.terminal):
            return entry
    return None


# A ticket, a thread, a loop or a run


def _workflow(ended: Ended, end: Entry) -> Span:
    instance, first = ended.instance, ended.history[0]
    outcome = instance.outcome or ""
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": instance.machine,
        **_own(instance, end),
    }
    moves = [one for one in ended.history if one.from_state != one.to_state]
    error = None
    if outcome in _ERRORS:
        attributes["error.type"] = error = outcome
    if ended.content:
        data = first.decoded_evidence().data
        attributes |= texts({"ralph.title": data.get("title") or data.get("goal"), "ralph.reason": end.reason})
        error = error and f"{outcome}: {text(end.reason)}"
    return Span(
        trace_id(ended.root),
        span_id(instance.id),
        _parent(ended),
        f"invoke_workflow {instance.machine}",
        nanoseconds(first.time),
        nanoseconds(end.time),
        attributes,
        tuple(_moved(one) for one in moves[-_MOMENTS:]),
        max(0, len(moves) - _MOMENTS),
        error,
    )


def _moved(entry: Entry) -> SpanEvent:
    came = {"ralph.from": entry.from_state} if entry.from_state else {}
    told = {"ralph.to": entry.to_state, "ralph.event": entry.event, "ralph.actor.kind": entry.actor_kind}
    return SpanEvent("ralph.moved", nanoseconds(entry.time), {**came, **told})


def _own(instance: Instance, end: Entry) -> Attributes:
    return {"ralph.instance": instance.id, "ralph.state": end.to_state, "ralph.outcome": instance.outcome or ""}


def _parent(ended: Ended) -> str:
    above = ended.instance.parent if ended.instance.id != ended.root else None
    return span_id(above) if above is not None else ""


# An agent at work


def _session(ended: Ended, end: Entry) -> list[Span]:
    instance, history = ended.instance, ended.history
    found = ran_of(history)
    ran = found[1] if found is not None else None
    last = max(end.time, found[0].time) if found is not None else end.time
    began = history[0].decoded_evidence().data
    agent = ran.agent if ran is not None else the_name(began.get("agent"), "agent")
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.provider.name": _provider(agent, ran.model if ran is not None else ""),
        "gen_ai.conversation.id": instance.id,
        **_own(instance, end),
        **({"ralph.role": role} if (role := the_name(began.get("role"), "")) else {}),
    }
    went_wrong = instance.outcome if instance.outcome in _ERRORS else None
    if ran is not None:
        attributes |= _used(ran)
        went_wrong = ran.ending if ran.ending not in ("finished", "stopped") else None
    if went_wrong is not None:
        attributes["error.type"] = went_wrong
    if ended.content:
        attributes |= texts(
            {"ralph.work_tree": place.path if (place := Place.of(began)) is not None else None}
        ) | _messages(ran)
    id_ = span_id(instance.id)
    calls = Calls(trace_id(ended.root), instance.id, history, ran, nanoseconds(last), ended.content)
    tools, left_out = tool_spans(calls)
    if left_out:
        attributes["ralph.tools.left_out"] = left_out
    run = Span(
        trace_id(ended.root),
        id_,
        _parent(ended),
        f"invoke_agent {agent}",
        nanoseconds(history[0].time),
        nanoseconds(last),
        attributes,
        error=went_wrong,
    )
    return [run, *tools]


def _used(ran: RunSummary) -> Attributes:
    found: Attributes = {
        "gen_ai.usage.input_tokens": ran.input + ran.cached,
        "gen_ai.usage.cache_read.input_tokens": ran.cached,
        "gen_ai.usage.output_tokens": ran.output,
        "ralph.ending": ran.ending,
        "ralph.seconds": ran.seconds,
        "ralph.tools.calls": ran.calls,
    }
    if ran.model:
        found["gen_ai.request.model"] = ran.model
    if ran.cost_usd is not None:
        found["ralph.cost.usd"] = ran.cost_usd
    return found


def _provider(agent: str, model: str) -> str:
    maker, slash, _ = model.partition("/")
    return _PROVIDERS.get(agent) or (the_name(maker, agent) if slash else agent)


def _messages(ran: RunSummary | None) -> Attributes:
    """What was asked and said, in the form that the conventions give to messages."""
    found: Attributes = {}
    for name, role, words in (
        ("gen_ai.input.messages", "user", ran.asked if ran is not None else ""),
        ("gen_ai.output.messages", "assistant", ran.said if ran is not None else ""),
    ):
        if words:
            message: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text(words)}]}
            if role == "assistant":
                message["finish_reason"] = "stop" if ran is not None and ran.ending == "finished" else "error"
            found[name] = msgspec.json.encode([message]).decode()
    return found
