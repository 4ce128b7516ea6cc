"""The loop's memory: what is known, and what is told to it. Nothing is called saved that was not.

An event is in the journal before it is sent. One that could not be sent waits there, and any loop of the repository
sends it with its next good connection, before its own. Its own id makes the server keep it once.
"""

from __future__ import annotations

from typing import Any

from interlock.errors import InterlockError, LeaseHeld
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.formats.times import text_of
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.unsent import is_for_server, waiting
from interlock.world.memory import EventType, MemoryEvent, MemoryNode, once_more

__all__ = ["recall", "remember"]

_LEASE = "memory:waiting"
_LEASE_SECONDS = 60.0
_OF_THE_EVENT = ("memory_refused", "invalid_argument")
"""Errors of one event: the server answers, and others can still be sent."""


def recall(step: StoryStep) -> list[str] | None:
    """What the memory knows of the agent and of known issues, a line each; None where it does not answer."""
    context = step.context
    try:
        found = once_more(lambda: [*context.memory.agent_context(), *context.memory.known_issues()], context.wait)
        _send_waiting(step)
    except InterlockError as error:
        context.report(error.message)
        return None
    return [_line(node) for node in found]


def _line(node: MemoryNode) -> str:
    """What a node says, in a line for an agent."""
    told = [str(node.properties.get(name)) for name in ("name", "reason", "description") if node.properties.get(name)]
    return ": ".join(told)[:300]


def remember(step: StoryStep, type_: EventType, id_: str, **data: Any) -> bool:
    """Tell the memory something; whether it has it now. What it has not waits in the journal."""
    context, loop = step.context, step.loop
    at = text_of(context.journal.now())
    if id_ in loop.sent:
        return True
    if id_ not in loop.unsent:
        of = {"id": id_, "type": str(type_), "at": at, "story": loop.story, "task": loop.task}
        told = {**of, "data": _plain(data), "server": context.is_server}
        step.note("remembered", event=told)
    try:
        _send_waiting(step)
    except InterlockError as error:
        context.report(f"the memory has not got it yet: {error.message}")
    return id_ in loop.sent


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _send_waiting(step: StoryStep) -> None:
    """Send what waits, oldest first: of loops without a driver, then of this one."""
    _send_of_others(step)
    for told in list(step.loop.unsent.values()):
        if step.context.is_server or not is_for_server(told):
            _send(step, told)


def _send_of_others(step: StoryStep) -> None:
    """Send what other loops left, unless another process is about to."""
    context = step.context
    if not context.is_server or not _of_others(step):
        return
    try:
        held = context.journal.acquire(_LEASE, process_holder(), _LEASE_SECONDS, is_present)
    except LeaseHeld:
        return
    try:
        for told in _of_others(step):
            context.journal.renew(held, _LEASE_SECONDS)
            _send(step, told)
    finally:
        context.journal.release(held)


def _of_others(step: StoryStep) -> list[dict[str, Any]]:
    found = waiting(step.context.journal, step.context.cache.memories, driven=False)
    return [told for told in found if told["id"] not in step.loop.unsent]


def _send(step: StoryStep, told: dict[str, Any]) -> None:
    """Send one that waits, as it was noted: sent again after a crash, it is the same."""
    context = step.context
    id_, data = told["id"], told["data"]
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    try:
        context.memory.remember(
            MemoryEvent(id_, EventType(told["type"]), told["at"], told["story"], told["task"], values)
        )
    except InterlockError as error:
        if error.code not in _OF_THE_EVENT:
            raise
        context.report(f"the memory does not take {id_}, which waits on: {error.message}")
        return
    step.note("sent", ids=[id_], server=context.is_server)
