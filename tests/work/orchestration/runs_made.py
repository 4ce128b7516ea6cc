"""Runs of the orchestrator made directly as entries: no agent runs, and a clock says how long everything took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from interlock.journal import Entry, Holder, Journal, Lease, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.fold import fold
from interlock.work.orchestration.tally import Tally, take
from journal.histories import Clock

__all__ = ["Made", "note", "tally_of"]

DRIVER = Actor(ActorKind.SYSTEM, "driver", Channel.TEST)
PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)
_HOLDER = Holder("a host", "a boot", 1, "a start")


def tally_of(entries: Iterable[Entry]) -> Tally:
    """What these entries, all of one run from its first on, add up to."""
    return fold(Tally(), take, entries)


def note(type_: str, **data: Any) -> Event:
    return Event(NOTED, DRIVER, evidence=Evidence(data={"type": type_, **data}))


def _event(name: str, facts: dict[str, str] | None = None, task: str | None = None, **data: Any) -> Event:
    reason = "it is not right" if "Failed" in (facts or {}).values() else None
    return Event(name, DRIVER, reason=reason, evidence=Evidence(facts=facts or {}, task=task, data=data))


class Made:
    """A run under way. Each step takes as long as it is told to."""

    def __init__(self, journal: Journal, clock: Clock, goal: str = "All parts are there", session: str = "s") -> None:
        self._journal, self._clock = journal, clock
        made = journal.create("orchestrator", _event("created", goal=goal, session=session, roles={}, base=""))
        self.id = made.entry.instance
        self._lease = self._taken()

    def _taken(self) -> Lease:
        return self._journal.acquire(f"orchestrator:{self.id}", _HOLDER, 1e9, lambda holder: None)

    def write(self, *events: Event) -> None:
        def work(transaction: Transaction) -> None:
            for event in events:
                transaction.append(self.id, event, lease=self._lease)

        self._journal.transact(work)

    def rest(self, seconds: float) -> None:
        """Nobody drives it for some time."""
        self.leave()
        self._clock.forward(seconds)
        self._lease = self._taken()

    def leave(self) -> None:
        """Nobody drives it any more."""
        self._journal.release(self._lease)

    def _invoked(self, role: str, seconds: float, task: str | None = None, agent: str = "scripted") -> Event:
        told = {"role": role, "mode": "", "task": task, "attempt": 1, "agent": agent}
        self.write(note("asked", **told))
        self._clock.forward(seconds)
        return note("invoked", **told, ending="finished", seconds=seconds, cost_usd=0.25, tokens=100)

    def plan(self, seconds: float, tasks: Sequence[str], *, cycles: int = 0) -> None:
        """Its planning, with questions before it."""
        self.write(_event("session_resolved", {"session": "new"}))
        for number in range(1, cycles + 1):
            asked = self._invoked("planner", seconds)
            self.write(asked, _event("planner_completed", {"planner": "needs_qa_cycle"}, questions=["?"]))
            self.write(self._invoked("questioner", seconds), note("cycle", cycle={"number": number}))
        listed = note("tasks", tasks=[{"id": one, "description": one} for one in tasks], is_first=True)
        self.write(self._invoked("planner", seconds), listed, _event("planner_completed", {"planner": "completed"}))

    def execute(self, seconds: float, task: str, answer: str = "completed", agent: str = "scripted") -> None:
        """An executor's attempt at a task."""
        self.write(_event("task_selected", task=task))
        self.answer(seconds, task, answer, agent)

    def answer(self, seconds: float, task: str, answer: str, agent: str = "scripted", *, is_over: bool = False) -> None:
        """What the executor answers, of a task that is selected."""
        told = _event("executor_completed", {"executor": answer}, is_over=is_over)
        self.write(self._invoked("executor", seconds, task, agent), told)

    def review(self, seconds: float, task: str, verdict: str = "Qualified") -> None:
        """A reviewer's verdict."""
        told = Event(
            "reviewer_completed",
            DRIVER,
            reason="it is not right",
            evidence=Evidence(facts={"verdict": verdict}),
        )
        self.write(self._invoked("reviewer", seconds, task), told)

    def attempt(self, seconds: float, task: str, verdict: str = "Qualified") -> None:
        self.execute(seconds, task)
        self.review(seconds, task, verdict)

    def finish(self, seconds: float) -> None:
        """All tasks are done, and the goal is met."""
        self.write(_event("no_tasks_remaining"))
        self.write(self._invoked("holistic", seconds), _event("holistic_check_passed"))
        self.leave()

    def say(self, type_: str) -> None:
        """A person stops it, or lets it go on."""
        self._journal.append(self.id, Event(NOTED, PERSON, evidence=Evidence(data={"type": type_})))

    def supersede(self) -> None:
        self._journal.append(self.id, Event("superseded", DRIVER))
