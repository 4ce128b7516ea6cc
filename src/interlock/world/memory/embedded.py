"""A memory without a server, over events that its owner keeps."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from interlock.world.memory.memory import ISSUES, MOST, MemoryEvent, MemoryNode, node_of

__all__ = ["EmbeddedMemory"]


class EmbeddedMemory:
    """The same answers as a server's, from a sequence of events. It reads and writes nothing outside itself."""

    def __init__(self, events: Iterable[MemoryEvent] = ()) -> None:
        self._events: dict[str, MemoryEvent] = {}
        self._issues: list[MemoryNode] = []
        for event in events:
            self.remember(event)

    @property
    def events(self) -> tuple[MemoryEvent, ...]:
        """All that is remembered, for the owner to keep."""
        return tuple(self._events.values())

    def agent_context(self) -> list[MemoryNode]:
        named = (node for node in self._nodes() if _is_the_agents(str(node.properties["name"])))
        return list(islice(named, MOST))

    def known_issues(self) -> list[MemoryNode]:
        return sorted(self._issues, key=lambda node: str(node.properties["date"]), reverse=True)[:MOST]

    def remember(self, event: MemoryEvent) -> str:
        if event.id not in self._events:
            self._events[event.id] = event
            node = node_of(event)
            if node.properties["memoryType"] in ISSUES:  # kept apart: they are few, and asked for at every iteration
                self._issues.append(node)
        return event.id

    def close(self) -> None:
        """There is nothing to let go of."""

    def _nodes(self) -> Iterable[MemoryNode]:
        return map(node_of, self._events.values())


def _is_the_agents(name: str) -> bool:
    return "Brooks" in name or "Developer Agent" in name
