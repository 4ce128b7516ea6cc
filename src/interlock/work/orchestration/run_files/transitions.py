"""PURE. `transitions.jsonl`: one line for each move of the run, in the seed's form, made of the journal's entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from interlock.journal.entry import Entry
from interlock.machine import Accepted, Machine, Snapshot, start, step

__all__ = ["TransitionLog", "transitions"]


class TransitionLog:
    """Takes the entries of one run, from the first on, in their order."""

    def __init__(self, machine: Machine, session: str) -> None:
        self._machine = machine
        self._session = session
        self._events = {one.on for one in machine.form.transitions}
        self._at: Snapshot | None = None

    def take(self, entry: Entry) -> str | None:
        """The line of an entry; None for one that moves nothing.

        The task and its attempt are those that the move was made for: after a verdict, the task that was judged.
        """
        before = self._at
        self._at = self._after(entry, before)
        if before is None or entry.event not in self._events:
            return None
        task = before.task or self._at.task or entry.decoded_evidence().task
        move = {
            "from": entry.from_state,
            "to": entry.to_state,
            "trigger": entry.event,
            "taskId": task,
            "attemptNumber": None if task is None else before.counters.get(f"attempt:{task}", 1),
        }
        line = {"timestamp": entry.time, "sessionId": self._session, "transition": move}
        return msgspec.json.encode(line).decode() + "\n"

    def _after(self, entry: Entry, before: Snapshot | None) -> Snapshot:
        event = entry.as_event(self._machine)
        result = start(self._machine, event) if before is None else step(self._machine, before, event)
        return result.snapshot if isinstance(result, Accepted) else Snapshot(entry.to_state)


def transitions(machine: Machine, session: str, entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of a whole run."""
    log = TransitionLog(machine, session)
    return (line for entry in entries if (line := log.take(entry)))
