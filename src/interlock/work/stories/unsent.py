"""Memory events that wait for a server, of all loops: those that were remembered, and that no loop has sent."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.journal import Journal
from interlock.work.driver.lease_holders import is_driven

__all__ = ["LoopMemory", "is_for_server", "waiting"]


class LoopMemory(msgspec.Struct):
    """The events that one loop has remembered and sent, up to a version of it."""

    version: int = 0
    remembered: dict[str, tuple[int, dict[str, Any]]] = msgspec.field(default_factory=dict)
    sent: set[str] = msgspec.field(default_factory=set)


def waiting(
    journal: Journal, known: dict[str, LoopMemory] | None = None, *, driven: bool = True
) -> list[dict[str, Any]]:
    """The events of all loops that wait for a server, oldest first; `driven` says whether also of those at work.

    `known` keeps what was read before: only what is new is read again.
    """
    known = {} if known is None else known
    for instance in journal.instances("story"):
        one = known.setdefault(instance.id, LoopMemory())
        if one.version < instance.version:
            _read(journal, instance.id, one)
    sent = {id_ for one in known.values() for id_ in one.sent}
    open_ = {
        id_: [event for event in one.remembered.values() if event[1]["id"] not in sent and is_for_server(event[1])]
        for id_, one in known.items()
    }
    counted = (events for id_, events in open_.items() if events and (driven or not is_driven(journal, "story", id_)))
    return [told for _, told in sorted((event for events in counted for event in events), key=lambda one: one[0])]


def _read(journal: Journal, loop: str, known: LoopMemory) -> None:
    for entry in journal.history(loop, known.version):
        known.version = entry.version
        data = entry.decoded_evidence().data if entry.event == "noted" else {}
        if data.get("type") == "remembered":
            known.remembered[data["event"]["id"]] = (entry.seq, data["event"])
        elif data.get("type") == "sent":
            known.sent.update(data["ids"])


def is_for_server(told: dict[str, Any]) -> bool:
    """True unless the memory was the journal's own when it was noted; earlier versions did not say."""
    return bool(told.get("server", True))
