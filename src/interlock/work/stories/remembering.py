"""The loop's memory: what is known, and what is told to it. Nothing is called saved that was not.

An event is in the journal before it is sent; one that could not be sent waits there, and goes with the next good
connection. Its own id makes the server keep it once.
"""

from __future__ import annotations

from typing import Any

from interlock.errors import InterlockError
from interlock.journal import Lease
from interlock.work.stories.record import Loop
from interlock.work.stories.yard import Yard, note
from interlock.work.times import text_of
from interlock.world.memory import EventType, MemoryEvent, Node, once_more

__all__ = ["recall", "remember"]


def recall(yard: Yard, loop: Loop, lease: Lease) -> list[str] | None:
    """What the memory knows of the agent and of known issues, a line each; None where it does not answer."""
    try:
        found = once_more(lambda: [*yard.memory.agent_context(), *yard.memory.known_issues()], yard.wait)
        for id_ in list(loop.unsent):  # oldest first
            _send(yard, loop, lease, id_)
    except InterlockError as error:
        yard.tell(error.message)
        return None
    return [_line(node) for node in found]


def _line(node: Node) -> str:
    """What a node says, in a line for an agent."""
    told = [str(node.properties.get(name)) for name in ("name", "reason", "description") if node.properties.get(name)]
    return ": ".join(told)[:300]


def remember(yard: Yard, loop: Loop, lease: Lease, type_: EventType, id_: str, **data: Any) -> bool:
    """Tell the memory something; whether it has it now. What it has not waits in the journal."""
    at = text_of(yard.journal.now())
    if id_ in loop.sent:
        return True
    if id_ not in loop.unsent:
        told = {"id": id_, "type": str(type_), "at": at, "story": loop.story, "task": loop.task, "data": _plain(data)}
        note(yard, loop.id, lease, "remembered", event=told)
        loop.unsent[id_] = told
    try:
        _send(yard, loop, lease, id_)
    except InterlockError as error:
        yard.tell(f"the memory has not got it yet: {error.message}")
        return False
    return True


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _send(yard: Yard, loop: Loop, lease: Lease, id_: str) -> None:
    """Send one that waits, as it was noted: sent again after a crash, it is the same."""
    told = loop.unsent[id_]
    data = {name: tuple(value) if isinstance(value, list) else value for name, value in told["data"].items()}
    event = MemoryEvent(id_, EventType(told["type"]), told["at"], told["story"], told["task"], data)
    yard.memory.remember(event)
    note(yard, loop.id, lease, "sent", ids=[id_])
    del loop.unsent[id_]
    loop.sent.add(id_)
