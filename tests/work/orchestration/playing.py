"""What the roles of a run answer, as scripts of agents, and a run that is driven with them in a real repository.

The planner, the questioner and the executor play `Bench.play`, run by run in the order in which they are asked; the
reviewer, of tasks and of the whole, plays `Bench.judge`.
"""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.journal import Journal
from interlock.work.driver.context import DriverContext
from interlock.work.gates.stage import stage
from interlock.work.orchestration.loop import begin, drive
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import resume
from journal.histories import Clock
from work.threads.benches import Bench, Steps

__all__ = [
    "GOAL",
    "MET",
    "PROSE",
    "ROLES",
    "SESSION",
    "Stage",
    "View",
    "answered",
    "asks",
    "begun",
    "blocked",
    "done",
    "driven",
    "failed",
    "gone_on",
    "is_in",
    "missing",
    "opened",
    "plan",
    "qualified",
    "rejected",
    "rested",
    "run",
    "run_again",
    "says",
    "task",
    "unplannable",
    "updated",
]

GOAL = "All parts are there"
SESSION = "261115-120000"
ROLES = dict.fromkeys(("planner", "questioner", "executor", "reviewer"), "scripted")


def says(**answer: Any) -> Steps:
    """A run that does nothing but answer."""
    return [{"say": json.dumps(answer)}, {"finish": True}]


PROSE: Steps = [{"say": "I would do it so and so."}, {"finish": True}]
"""What no role can be understood by."""


# The planner


def task(number: int, *needs: str) -> dict[str, Any]:
    """A task whose criterion is that a file is there."""
    return {
        "id": f"task-{number}",
        "description": f"write part {number}",
        "criteria": [f"part-{number} is there"],
        "depends_on": list(needs),
    }


def plan(*tasks: dict[str, Any]) -> Steps:
    return says(status="completed", goal=GOAL, plan="# Plan\n\nWrite them.", tasks=list(tasks))


def updated(*tasks: dict[str, Any], closes: tuple[str, ...] = ()) -> Steps:
    """The plan with these tasks besides, and without those that it closes."""
    return says(status="completed", tasks=list(tasks), closes=list(closes))


def asks(*questions: str, status: str = "needs_qa_cycle") -> Steps:
    return says(status=status, goal=GOAL, plan="# Plan\n\nNot yet.", questions=list(questions or ("Which parts?",)))


def unplannable(*blockers: str) -> Steps:
    return says(status="blocked", blockers=list(blockers or ("nobody knows the parts",)))


# The questioner


def answered(*answers: str) -> Steps:
    """A cycle in which every question has its answer."""
    given = [
        {
            "number": number,
            "text": f"Question {number}?",
            "status": "Answered",
            "answer": answer,
            "source": "README:1",
            "confidence": "High",
        }
        for number, answer in enumerate(answers or ("Both",), 1)
    ]
    return says(status="completed", questions=given, summary="The README says so.")


# The executor


def done(number: int, **more: Any) -> Steps:
    """The file is written, and the task is done."""
    made = {"criterion": f"part-{number} is there", "met": True, "evidence": f"part-{number}:1"}
    answer = {
        "status": "completed",
        "task_id": f"task-{number}",
        "success_criteria_met": True,
        "criteria_status": [made],
        "summary_of_changes": "wrote it",
        **more,
    }
    return [{"write": {"path": f"part-{number}", "text": "here\n"}}, *says(**answer)]


def failed(number: int, why: str = "it would not be written", **more: Any) -> Steps:
    return says(status="failed", task_id=f"task-{number}", success_criteria_met=False, summary_of_changes=why, **more)


def blocked(number: int, *blockers: str) -> Steps:
    why = list(blockers or ("the disk is gone",))
    return says(status="blocked", task_id=f"task-{number}", success_criteria_met=False, blockers=why)


# The reviewer


def qualified(number: int, verdict: str | None = "Qualified", **more: Any) -> Steps:
    met = verdict == "Qualified"
    seen = {"criterion": f"part-{number} is there", "met": met, "evidence": f"part-{number}:1", "finding": "looked"}
    answer = {
        "status": "completed",
        "task_id": f"task-{number}",
        "verdict": verdict,
        "criteria_results": [seen],
        "reasoning": "I looked",
        "feedback": "" if met else "it is not right",
        **more,
    }
    return says(**answer)


def rejected(number: int, **more: Any) -> Steps:
    return qualified(number, "Failed", **more)


MET = says(met=True, summary="The goal is met.", gaps=[])


def missing(*numbers: int) -> Steps:
    """The goal is not met without these tasks."""
    gaps = [
        {"id": f"task-{one}", "description": f"write part {one}", "rationale": f"part {one} is lacking"}
        for one in numbers
    ]
    return says(met=False, summary="Not yet.", gaps=gaps)


# Driving


class View(msgspec.Struct, frozen=True):
    """A run before one of its steps, and what its `progress.md` said then."""

    run: Run
    progress: str


class Stage(Bench):
    """A repository whose runs are looked at before each of their steps, and where waiting takes no time."""

    views: list[View] = msgspec.field(default_factory=list)

    clock: Clock = msgspec.field(default_factory=lambda: Clock(time.time_ns()))

    def __post_init__(self) -> None:
        self.now = self.clock

    def context(self, journal: Journal) -> DriverContext:
        return replace(super().context(journal), wait=self._wait)

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.forward(seconds)

    def _tell(self, what: object) -> None:
        if isinstance(what, Run) and what.at_work is None:
            what = copy.deepcopy(what)  # the driver goes on with the same one
            progress = self.session(what) / "progress.md"
            self.views.append(View(what, progress.read_text() if progress.exists() else ""))
        super()._tell(what)

    def copied(self, directory: Path) -> Stage:
        """All of it once more, elsewhere, with what was seen of it."""
        made = Stage(stage(directory), settings=dict(self.settings), views=[*self.views], clock=self.clock)
        shutil.copytree(self.root, directory, symlinks=True, dirs_exist_ok=True)
        return made

    def session(self, run: Run) -> Path:
        return self.root / ".ralph-sessions" / run.session

    @property
    def last(self) -> Run:
        """The run that was driven last, as it was then."""
        return self.views[-1].run


@contextmanager
def opened(bench: Bench) -> Iterator[tuple[Journal, DriverContext]]:
    """The journal and the workshop of a repository, as one command has them."""
    journal = bench.open()
    try:
        yield journal, bench.context(journal)
    finally:
        journal.close()


def begun(bench: Bench, goal: str = GOAL, session: str = SESSION) -> str:
    """A run that nobody has driven yet."""
    with opened(bench) as (_, context):
        return begin(context, goal, session, ROLES)


def gone_on(context: DriverContext, id_: str) -> Run:
    """Drive a run as a thread drives it: that it is interrupted is not recorded, and it can be driven on at once."""
    return drive(replace(context, is_child=True), id_)


def driven(bench: Bench, id_: str) -> Run:
    """A run, driven as far as it goes by itself; the journal is in order afterwards."""
    with opened(bench) as (journal, context):
        ended = gone_on(context, id_)
        assert journal.verify() == []
        return ended


def rested(bench: Bench, id_: str, when: Callable[[Run], bool]) -> Run:
    """A run, driven until it is so, where it rests; or to its end."""

    def rest(told: object) -> None:
        if isinstance(told, Run) and when(told):
            bench.pausing.set()

    bench.hear = rest
    try:
        return driven(bench, id_)
    finally:
        bench.hear = lambda told: None
        bench.pausing.clear()


def is_in(state: str) -> Callable[[Run], bool]:
    """Whether a run is in a state; in Executing, with its task."""
    return lambda run: run.state == state and (state != "Executing" or run.task is not None)


def run(bench: Bench) -> Run:
    """A run from its first moment to where it ends or rests."""
    return driven(bench, begun(bench))


def run_again(bench: Bench, ended: Run) -> Run:
    """What a person's `resume` makes of a run: that one, or a new one on its directory."""
    with opened(bench) as (_, context):
        id_ = resume(context, bench.person, ended)
    return driven(bench, id_)
