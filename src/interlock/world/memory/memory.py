"""A memory: two questions, and events that are remembered once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from interlock.errors import InterlockError, UsageError

__all__ = ["ISSUES", "MOST", "EventType", "Memory", "MemoryEvent", "MemoryNode", "Value", "node_of", "once_more"]

MOST = 10
"""How many nodes an answer has at most, in both of the seed's queries."""
ISSUES = ("blocker", "bug", "technical_debt")
"""The memory types that are known issues."""
_PAUSE = 3.0
"""How long the seed waits for a memory that does not answer, before it asks once more."""

Value = str | int | float | bool | tuple[str, ...]
T = TypeVar("T")


class EventType(StrEnum):
    """What can be remembered."""

    ITERATION_START = "RALPH_ITERATION_START"
    TASK_ATTEMPT = "BROOKS_TASK_ATTEMPT"
    TASK_COMPLETE = "BROOKS_TASK_COMPLETE"
    TASK_BLOCKER = "BROOKS_TASK_BLOCKER"
    TEST_FAILURE_PATTERN = "TEST_FAILURE_PATTERN"
    CODE_PATTERN_REUSE = "CODE_PATTERN_REUSE"


class _Form(msgspec.Struct, frozen=True):
    """What an event of a type brings, and how its node is called."""

    name: str
    memory_type: str
    observations: tuple[str, ...]
    may_bring: tuple[str, ...] = ()


_FORMS = {
    EventType.ITERATION_START: _Form("Ralph iteration start", "event", ("iteration_id",)),
    EventType.TASK_ATTEMPT: _Form("Brooks task attempt", "event", ("retry_count",)),
    EventType.TASK_COMPLETE: _Form("Brooks task complete", "outcome", ("files_modified", "tests_passed", "commit")),
    EventType.TASK_BLOCKER: _Form(
        "Brooks task blocker", "blocker", ("reason", "attempted_fixes", "fix_sources_tried"), ("error",)
    ),
    EventType.TEST_FAILURE_PATTERN: _Form("Test failure pattern", "bug", ("failure_type", "frequency")),
    EventType.CODE_PATTERN_REUSE: _Form("Code pattern reuse", "insight", ("pattern_name", "reuse_context")),
}


class MemoryEvent(msgspec.Struct, frozen=True):
    """Something that happened. Its id is made before it happens, so that it is remembered once.

    `at` is UTC, RFC 3339 with `Z`. Refuses data that its type does not bring, or that no node can hold.
    """

    id: str
    type: EventType
    at: str
    story: str | None = None
    task: str | None = None
    data: Mapping[str, Value] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        form = _FORMS[self.type]
        missing = [name for name in form.observations if name not in self.data]
        foreign = [name for name in self.data if name not in (*form.observations, *form.may_bring)]
        if missing or foreign:
            message = f"A {self.type} lacks {missing} and brings {foreign}, which it does not have."
            hint = f"It brings {', '.join(form.observations)}."
            raise UsageError("invalid_argument", message, hint)
        odd = [name for name, value in self.data.items() if not _is_value(value)]
        if odd or not self.id:
            message = f"{odd[0] if odd else 'id'} of a {self.type} is neither text, a number nor a tuple of texts."
            raise UsageError("invalid_argument", message, "Give one of those.")


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(one, str) for one in value)
    return isinstance(value, str | int | float | bool)


class MemoryNode(msgspec.Struct, frozen=True):
    """A node of the memory's graph: its labels and its properties."""

    labels: tuple[str, ...]
    properties: Mapping[str, object]


class Memory(Protocol):
    """What the loop asks before it works, and tells after it did."""

    def agent_context(self) -> list[MemoryNode]:
        """The seed's query A: what is known of the agent that works. At most ten nodes, in no order."""

    def known_issues(self) -> list[MemoryNode]:
        """The seed's query B: blockers, bugs and technical debt. At most ten nodes, the newest first."""

    def remember(self, event: MemoryEvent) -> str:
        """Remember an event, once by its id, and give that id; returns only when the memory has it."""

    def close(self) -> None:
        """Let go of what is held open."""


def node_of(event: MemoryEvent) -> MemoryNode:
    """The node that an event is remembered as."""
    form = _FORMS[event.type]
    where = " ".join(one for one in (event.story, event.task) if one)
    properties: dict[str, object] = {
        "event_id": event.id,
        "event_type": event.type.value,
        "name": f"{form.name}: {where}" if where else form.name,
        "memoryType": form.memory_type,
        "date": event.at,
        **event.data,
    }
    if event.story is not None:
        properties["story_id"] = event.story
    if event.task is not None:
        properties["task_id"] = event.task
    return MemoryNode(("Event",), properties)


def once_more(ask: Callable[[], T], sleep: Callable[[float], None]) -> T:
    """Ask a memory, and once more after three seconds where it does not answer, as the seed has it."""
    try:
        return ask()
    except InterlockError as error:
        if error.code != "memory_unreachable":
            raise
    sleep(_PAUSE)
    return ask()
