"""Threads, loops and runs that stand somewhere, made by the shortest way of their machine's table."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlock.journal import Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from journal.histories import paths

__all__ = ["AGENT", "DRIVER", "PERSON", "loop_in", "noted", "run_in", "thread_in"]

PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)
AGENT = Actor(ActorKind.AGENT, "claude", Channel.TEST)
DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.TEST)
Data = dict[str, Any]
_THREAD: Data = {"checks": []}
_STORY = "story-1-2"
_LOOP: Data = {
    "progress": {"project": "p", "stories": [{"id": _STORY, "status": "blocked"}]},
    "sha256": "0" * 64,
    "story": _STORY,
    "task_id": "1",
    "tree": "t",
    "needs": {_STORY: "a key for the service"},
    "commit": None,
    "explanation": "progress.txt not found.",
}
_RUN: Data = {"told": 0, "questions": ["Which French?"], "task": "task-1", "attempt": 3, "tasks": []}


def _made(
    journal: Journal, machine: str, state: str, first: Data, more: Data, reason: str, parent: str | None = None
) -> str:
    way = paths(journal.current(machine))[state]

    def work(transaction: Transaction) -> str:
        made = transaction.create(machine, Event("created", DRIVER, evidence=Evidence(data=first)), parent=parent)
        for event in way:
            evidence = event.evidence or Evidence()
            known = replace(evidence, data={**more, **evidence.data})
            transaction.append(made.entry.instance, replace(event, reason=reason, evidence=known))
        return made.entry.instance

    return journal.transact(work)


def thread_in(
    journal: Journal, state: str, title: str = "Greet people", reason: str = "because", parent: str | None = None
) -> str:
    """A thread in a state."""
    return _made(journal, "thread", state, {"title": title}, _THREAD, reason, parent)


def loop_in(journal: Journal, state: str, event: str | None = None) -> str:
    """A story loop in a state with one blocked story; with an event that moves it on from there."""
    id_ = _made(journal, "story", state, {"options": {}}, _LOOP, "because")
    if event is not None:
        journal.append(id_, Event(event, DRIVER, evidence=Evidence(data=_LOOP)))
    return id_


def run_in(journal: Journal, state: str, goal: str = "Greet in French", reason: str = "no network") -> str:
    """An orchestrator run in a state."""
    first: Data = {"goal": goal, "session": "260101-1", "roles": {}, "base": "0" * 40, "files": {}, "follows": None}
    return _made(journal, "orchestrator", state, first, _RUN, reason)


def noted(journal: Journal, id_: str, type_: str, **data: Any) -> None:
    """Something that is noted of an instance."""
    journal.append(id_, Event(NOTED, DRIVER, evidence=Evidence(data={"type": type_, **data})))
