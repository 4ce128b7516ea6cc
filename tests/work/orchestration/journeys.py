"""Whole ways of a run, leg by leg, each leg in a process that may be killed, and what is known after it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from interlock.journal import Entry, Journal
from interlock.work.driver.lease_holders import is_present
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from patience import SECONDS
from work.threads.benches import Bench

__all__ = ["JOURNEYS", "MOVE_BY_MOVE", "SMALL", "Answers", "Leg", "Server", "Stage", "set_up", "travelled"]

Answers = dict[str, dict[str, Any]]
PLAYER = Path(__file__).with_name("player.py")
_START = 1_790_000_000_000_000_000
_HOUR = 3_600_000_000_000


class Leg(msgspec.Struct, frozen=True):
    """What a person says, and what they edit in the files of the session before: (file, old, new)."""

    verb: str
    state: str
    """Where the run is at its end, where that matters."""
    text: str = ""
    edits: tuple[tuple[str, str, str], ...] = ()
    rests: bool = False
    """Whether Ctrl+C lets it rest when it gets there."""
    moves: int = 0
    """After how many moves of the run it rests as well."""
    forgets: bool = False
    """Whether the journal is lost before."""

    def __str__(self) -> str:
        return f"{self.verb} to {self.state}"


# What the agents answer


def _task(number: int, *needs: int) -> dict[str, Any]:
    criteria = [f"part-{number} is there"]
    needed = [f"task-{one}" for one in needs]
    return {"id": f"task-{number}", "description": f"write part {number}", "criteria": criteria, "depends_on": needed}


def _plans(*tasks: dict[str, Any]) -> dict[str, Any]:
    text = "# Plan\n\nWrite them."
    return {"answer": {"status": "completed", "goal": "All parts", "plan": text, "tasks": list(tasks)}}


def _asks(*questions: str) -> dict[str, Any]:
    return {"answer": {"status": "needs_qa_cycle", "goal": "All parts", "plan": "", "questions": list(questions)}}


def _knows(answered: bool = True) -> dict[str, Any]:
    first = {"number": 1, "text": "How many?", "impact": "the plan"}
    if answered:
        first |= {"status": "Answered", "answer": "Three", "source": "README", "confidence": "High"}
    return {"answer": {"status": "completed", "questions": [first], "summary": "One thing is known"}}


def _works(number: int, status: str = "completed", found: int = 0, text: str = "here\n") -> dict[str, Any]:
    is_done = status == "completed"
    missing = {"id": f"task-{found}", "description": f"write part {found}", "rationale": "it is missing"}
    return {
        "write": {f"part-{number}": text} if is_done else {},
        "answer": {
            "status": status,
            "task_id": f"task-{number}",
            "success_criteria_met": is_done,
            "criteria_status": [{"criterion": f"part-{number} is there", "met": is_done, "evidence": "part:1"}],
            "summary_of_changes": "wrote it" if is_done else "",
            "discovered_tasks": [missing] if found else [],
            "blockers": [] if is_done else ["another part must be there first"],
        },
    }


def _judges(number: int, verdict: str = "Qualified", criterion: str = "") -> dict[str, Any]:
    met = verdict == "Qualified"
    seen = {"criterion": criterion or f"part-{number} is there", "met": met, "evidence": "part:1", "finding": "looked"}
    return {
        "answer": {
            "status": "completed",
            "task_id": f"task-{number}",
            "verdict": verdict,
            "criteria_results": [seen],
            "reasoning": "I looked",
            "feedback": "" if met else "it is not right",
        }
    }


_MET: dict[str, Any] = {"answer": {"met": True, "summary": "All is there.", "gaps": []}}


def _lacks(number: int) -> dict[str, Any]:
    gap = {"id": f"task-{number}", "description": f"write part {number}", "rationale": "the goal needs it"}
    return {"answer": {"met": False, "summary": "Not all is there.", "gaps": [gap]}}


WHOLE: Answers = {
    "planner INITIALIZE @0": _asks("How many parts?"),
    "questioner RESEARCH 1 @0": _knows(),
    "planner QA_COORDINATE @0": _plans(_task(1), _task(2, 1), _task(3, 2)),
    "executor task-1 1 @0": _works(1),
    "reviewer task-1 1 @0": _judges(1),
    "executor task-2 1 @1": _works(2, text="wrong\n"),
    "reviewer task-2 1 @1": _judges(2, "Failed"),
    "executor task-2 2 @1": _works(2, found=5),
    "reviewer task-2 -r2 @1": _judges(2),
    "executor task-3 1 @2": _works(3, "blocked"),
    "planner UPDATE @2": _plans(_task(4, 2), _task(3, 4)),
    "executor task-5 1 @2": _works(5),
    "reviewer task-5 1 @2": _judges(5, criterion="write part 5"),
    "executor task-4 1 @3": _works(4),
    "reviewer task-4 1 @3": _judges(4),
    "executor task-3 1 @4": _works(3),
    "reviewer task-3 -r2 @4": _judges(3),
    "holistic @5": _lacks(6),
    "planner UPDATE @5": _plans(_task(6)),
    "executor task-6 1 @5": _works(6),
    "reviewer task-6 1 @5": _judges(6),
    "holistic @6": _MET,
}
"""A cycle of questions, a task that is rejected, one that is blocked and planned again, one that is found on the way,
and a check of the whole that fails once."""

PEOPLE: Answers = {
    "planner INITIALIZE @0": _asks("How many parts?"),
    "questioner RESEARCH 1 @0": _knows(answered=False),
    "planner QA_COORDINATE @0": _plans(_task(1), _task(2, 1)),
    "executor task-1 1 @0": _works(1),
    "reviewer task-1 1 @0": _judges(1),
    "planner UPDATE @1": _plans(_task(4, 3)),
    "executor task-2 1 @1": _works(2),
    "reviewer task-2 1 @1": _judges(2),
    "executor task-3 1 @2": _works(3),
    "reviewer task-3 1 @2": _judges(3, criterion="what was asked for is done"),
    "executor task-4 1 @3": _works(4),
    "reviewer task-4 1 @3": _judges(4),
    "executor task-2 1 @3": _works(2),
    "reviewer task-2 -r2 @3": _judges(2),
    "executor task-5 1 @4": _works(5),
    "reviewer task-5 1 @4": _judges(5, criterion="what was asked for is done"),
    "holistic @5": _MET,
}
"""A person edits the files, adds to the goal, lets the run rest and goes on, while it goes its way."""

FAILED: Answers = {
    "planner INITIALIZE @0": _plans(_task(1), _task(2, 1)),
    "executor task-1 1 @0": _works(1),
    "reviewer task-1 1 @0": _judges(1),
    **{f"executor task-2 {number} @1": _works(2) for number in (1, 2, 3)},
    **{f"reviewer task-2 {number} @1": _judges(2, "Failed") for number in (1, "-r2", "-r3")},
    "reviewer task-2 -r4 @1": _judges(2),
    "executor task-3 1 @2": _works(3),
    "reviewer task-3 1 @2": _judges(3, criterion="what was asked for is done"),
    "holistic @3": _MET,
    "executor task-1 1 @2": _works(1, text="again\n"),
    "reviewer task-1 -r2 @2": _judges(1),
}
"""A task that fails three times ends the run; a person adds one and goes on, and later begins with the files alone."""

SMALL: Answers = {
    "planner INITIALIZE @0": _plans(_task(1)),
    "executor task-1 1 @0": _works(1),
    "reviewer task-1 1 @0": _judges(1),
    "holistic @1": _MET,
}
_PLACE = ".ralph-sessions/260921-141320"
"""Where the session is that begins when the clock does."""


def _meddles(name: str, file: str, text: str) -> Answers:
    """The agent of that name writes into a file of the session."""
    return {name: {**SMALL[name], "write": {**SMALL[name].get("write", {}), f"{_PLACE}/{file}": text}}}


_TICKED = "# Progress Tracking\n\n## Implementation Progress\n- [x] task-1\n- [ ] task-9: more\n"
MEDDLING: Answers = {
    **SMALL,
    **_meddles("executor task-1 1 @0", "progress.md", _TICKED),
    **_meddles("reviewer task-1 1 @0", "tasks.md", "- task-9: more\n"),
}
"""What agents write into the files of the session is kept aside, and means nothing."""

AGAIN: Answers = {
    "planner INITIALIZE @0": _plans(_task(1)),
    **{f"executor task-1 {number} @0": _works(1) for number in (1, 2, 3)},
    **{f"reviewer task-1 {number} @0": _judges(1, "Failed") for number in (1, "-r2", "-r3")},
    "planner UPDATE @1": _plans(_task(1)),
    "reviewer task-1 -r4 @0": _judges(1),
    "holistic @1": _MET,
}
"""A run that fails is gone on with, and a person says what should change."""

_LAST = (
    "progress.md",
    "- [ ] task-2 (Not Started)",
    "- [ ] task-2 (Not Started)\n- [ ] task-3: write part 3\n<!-- mine -->",
)
MOVES = 35
"""How many moves the whole way has."""
MOVE_BY_MOVE = "move by move"
"""The whole way again, each time gone on with by a driver that knows nothing yet."""


def _each_move(goal: str, moves: int) -> tuple[Leg, ...]:
    """The whole way with a rest after each of so many moves, so that a death costs only the way from there."""
    legs = [Leg("resume", "", moves=number) for number in range(2, moves)]
    return Leg("begin", "", goal, moves=1), *legs, Leg("resume", "Exit")


JOURNEYS: dict[str, tuple[tuple[Leg, ...], Answers]] = {
    "whole": ((Leg("begin", "Exit", "All parts"),), WHOLE),
    MOVE_BY_MOVE: (_each_move("All parts", MOVES), WHOLE),
    "meddling": ((Leg("begin", "Exit", "All parts"),), MEDDLING),
    "people": (
        (
            Leg("begin", "Executing", "All parts", rests=True),
            Leg(
                "resume",
                "Reviewing",
                rests=True,
                edits=(_LAST, ("plan.questions.md", "**Answer**:", "**Answer**: Two")),
            ),
            Leg("add", "Executing", "Also part 4", rests=True),
            Leg("stop", "Executing", "for the night"),
            Leg(
                "resume",
                "Complete",
                "And soon",
                rests=True,
                edits=(("progress.md", "task-2 (Not Started)", "task-2 (Not Started) now"),),
            ),
            Leg(
                "resume",
                "Exit",
                edits=(
                    ("progress.md", "- [x] task-2 (Completed) now", "- [ ] task-2 (Completed) once more"),
                    ("tasks.md", "- task-4: ", "- task-5: write part 5\n\n- task-4: "),
                ),
            ),
        ),
        PEOPLE,
    ),
    "again": ((Leg("begin", "Failed", "All parts"), Leg("resume", "Exit", "With care")), AGAIN),
    "failed": (
        (
            Leg("begin", "Failed", "All parts"),
            Leg(
                "resume",
                "Exit",
                edits=(("progress.md", "(Failed, Attempt 3)", "(Failed, Attempt 3)\n- [ ] task-3: write part 3"),),
            ),
            Leg("resume directory", "Exit", forgets=True, edits=(("progress.md", "- [x] task-1", "- [ ] task-1"),)),
        ),
        FAILED,
    ),
}


# Where it is travelled


class Server:
    """The process that the drivers are children of."""

    def __init__(self, home: Path) -> None:
        environment = Bench(home / "repository").environment
        self._told = 0
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "work.orchestration.mortal_runs"],
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, **options: Any) -> None:
        """Start a driver."""
        assert self._process.stdin is not None
        self._told += 1
        self._process.stdin.write(json.dumps({**options, "number": self._told}) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """How it ended, and its moments; or that somebody whom it runs waits to be killed.

        What is left of an earlier driver, whose test failed before it had heard all, is passed over.
        """
        assert self._process.stdout is not None
        answer: dict[str, Any] = {}
        while answer.get("number") != self._told:
            answer = json.loads(self._process.stdout.readline())
        return answer

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._process.communicate(timeout=SECONDS)


class Stage(msgspec.Struct):
    """A repository at one path, a copy of it before every leg, and what came of each leg when nobody died."""

    directory: Path
    legs: tuple[Leg, ...]
    bench: Bench
    server: Server
    moments: list[list[str]] = msgspec.field(default_factory=list)
    results: list[dict[str, Any]] = msgspec.field(default_factory=list)
    asked: list[Counter[str]] = msgspec.field(default_factory=list)
    """What the agents were asked for in each leg."""

    @property
    def every(self) -> list[tuple[int, int]]:
        """Every moment at which a process can die, as the number of its leg and its own."""
        return [(leg, one) for leg, moments in enumerate(self.moments) for one in range(len(moments))]

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def run(self, leg: int, dies: int | None = None) -> dict[str, Any]:
        """Say what a leg says, in a process of its own: how it ended, and its moments."""
        self.start(leg, dies)
        return self.server.hear()

    def start(self, leg: int, dies: int | None = None, server: Server | None = None) -> None:
        """The same, without waiting for it."""
        one = self.legs[leg]
        (server or self.server).tell(
            root=str(self.bench.root),
            settings=self.bench.settings,
            verb=one.verb,
            text=self.session_name if one.verb == "resume directory" else one.text,
            since=self._since(leg),
            until=one.state if one.rests else "",
            moves=one.moves,
            clock=_START + leg * _HOUR,
            dies=dies,
        )

    def _since(self, leg: int) -> int:
        verb = self.legs[leg].verb
        return sum(one.verb == verb for one in self.legs[:leg]) if verb in ("add", "stop") else self._runs(leg)

    def _runs(self, leg: int) -> int:
        return self.results[leg - 1]["runs"] if leg and not self.legs[leg].forgets else 0

    @property
    def session_name(self) -> str:
        place = self.bench.root / ".ralph-sessions"
        return next((one.name for one in sorted(place.iterdir()) if one.is_dir()), "") if place.is_dir() else ""

    def prepare(self, leg: int) -> None:
        """Have everything as it is before a leg, and keep a copy of that."""
        for name, old, new in self.legs[leg].edits:
            file = self.bench.root / ".ralph-sessions" / self.session_name / name
            assert file.read_text().count(old) == 1, (name, old, file.read_text())
            file.write_text(file.read_text().replace(old, new))
        if self.legs[leg].forgets:
            shutil.rmtree(self.bench.state_directory)
        self.log.write_text("")
        shutil.copytree(self.bench.root, self.directory / f"before-{leg}", symlinks=True)

    def restore(self, leg: int) -> None:
        """Have everything as it was before a leg, at the same path."""
        shutil.rmtree(self.bench.root)
        self.log.write_text("")
        shutil.copytree(self.directory / f"before-{leg}", self.bench.root, symlinks=True)

    def travel(self) -> None:
        """Go all the way, and remember it."""
        for number, leg in enumerate(self.legs):
            self.prepare(number)
            told = self.run(number)
            assert told["code"] == 0, (str(leg), told["error"])
            self.moments.append(told["moments"])
            self.asked.append(Counter(self.log.read_text().splitlines()))
            self.results.append(self.result())
            assert leg.state in ("", self.results[-1]["state"]), (str(leg), self.results[-1])

    # What is known

    def at_death(self, leg: int) -> set[str]:
        """Who was asked and had not answered when a driver died; some of its moves were made, each as a whole."""
        if not (self.bench.state_directory / "journal.db").exists():
            return set()
        journal = self.journal()
        try:
            assert not list(journal.verify())
            runs = [journal.history(one.id) for one in journal.instances(MACHINE)]
        finally:
            journal.close()
        for made, whole in zip(runs, self.results[leg]["moves"], strict=False):
            moves = _moves(made)
            assert moves == whole[: len(moves)]
        return {_asked_for(run) for one in runs if (run := run_of(one)).at_work is not None}

    def state(self) -> str:
        """Where the last run is."""
        journal = self.journal()
        try:
            return journal.instances(MACHINE)[-1].state
        finally:
            journal.close()

    def journal(self) -> Journal:
        return self.bench.open()

    def result(self) -> dict[str, Any]:
        """What came of a leg. The clock stands still meanwhile, so it is all the same to the byte."""
        journal = self.journal()
        try:
            entries = [journal.history(one.id) for one in journal.instances(MACHINE)]
            runs = [run_of(one) for one in entries]
            assert not list(journal.verify()), "the chain holds"
            assert not any(journal.is_held(f"{MACHINE}:{one.id}", is_present) for one in runs), "nobody drives it"
            assert not journal.open_instances("session"), "no agent is left"
        finally:
            journal.close()
        run = runs[-1]
        return {
            "runs": len(runs),
            "state": run.state,
            "outcome": run.outcome,
            "reason": run.reason,
            "stopped": run.paused.reason if run.paused is not None else None,
            "tasks": [(one.id, str(one.mark), one.attempt, one.note) for one in run.plan.tasks],
            "plan": (run.plan.goal, run.plan.text, run.plan.version),
            "reports": [
                (one.task, one.attempt, one.part2 and str(one.part2.verdict))
                for many in run.reports.values()
                for one in many
            ],
            "cycles": run.cycles,
            "wishes": (run.wishes, run.told),
            "invocations": [
                [(one.role, one.mode, one.task, one.attempt, one.ending) for one in run.invocations] for run in runs
            ],
            "moves": [_moves(one) for one in entries],
            "edits": [_noted(one, "read_back", "changes") for one in entries],
            "decided": [_noted(one, "resumed", "said") for one in entries],
            "at work": run.at_work,
            "files": _files(self.bench.root / ".ralph-sessions"),
            "work": {one.name: one.read_text() for one in self.bench.root.iterdir() if one.is_file()},
            "rejected": sorted({*_files(self.bench.state_directory / "rejected").values()} - {b""}),
            "commits": re.sub("ralf/[0-9a-z]+", "ralf/RUN", self.bench.git("log", "--all", "--format=%D %T %s")),
            "refs": {one.split("/")[2] for one in self.bench.git("for-each-ref", "refs/ralf").splitlines()},
            "is locked": (self.bench.root / ".git" / "index.lock").exists(),
        }


def _asked_for(run: Run) -> str:
    """The beginning of the name by which the agent knows what it is asked for."""
    asked = run.at_work
    assert asked is not None
    match asked.role:
        case "executor":
            return f"executor {asked.task} {asked.attempt}"
        case "reviewer":
            return f"reviewer {asked.task}"
        case "holistic":
            return "holistic"
    return f"{asked.role} {asked.mode}"


def _moves(entries: list[Entry]) -> list[tuple[str, str | None, str, str | None]]:
    return [(one.event, one.from_state, one.to_state, one.reason) for one in entries if one.event != "noted"]


def _noted(entries: list[Entry], type_: str, what: str) -> list[Any]:
    notes = [one.decoded_evidence().data for one in entries if one.event == "noted"]
    return [one.get(what) for one in notes if one.get("type") == type_]


def _files(place: Path) -> dict[str, bytes]:
    return {str(one.relative_to(place)): one.read_bytes() for one in sorted(place.rglob("*")) if one.is_file()}


def set_up(directory: Path, server: Server, legs: tuple[Leg, ...], answers: Answers, verifier: str = "true") -> Stage:
    """A stage on which nothing has happened yet; the server starts its drivers."""
    directory.mkdir(exist_ok=True)
    (directory / "answers").write_text(json.dumps(answers))
    words = (sys.executable, "-I", "-S", str(PLAYER), str(directory / "answers"), str(directory / "log"))
    bench = Bench.made(directory / "repository")
    bench.settings |= {"agent.name": "command", "agent.command": shlex.join(words), "verify.commands": (verifier,)}
    return Stage(directory, legs, bench, server)


def travelled(directory: Path, server: Server, name: str) -> Stage:
    """A stage on which a whole journey was made by somebody whom nobody killed."""
    stage = set_up(directory, server, *JOURNEYS[name])
    stage.travel()
    return stage
