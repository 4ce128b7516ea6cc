"""A run over a goal in a real repository: it rests where a test wants it to, and somebody edits its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.journal import Entry
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.orchestration.loop import begin
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.verbs import resume
from work.orchestration.playing import ROLES, gone_on, says
from work.threads.benches import Bench, Steps, somebody

__all__ = ["ANN", "SESSION", "Goal", "answers", "asks", "echoed", "is_between", "question"]

ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)
SESSION = "261115-120000"


def question(number: int, answer: str = "") -> dict[str, Any]:
    """A question of the questioner's, with its answer where it has one."""
    return {
        "number": number,
        "text": f"How is it with {number}?",
        "category": "Requirements",
        "priority": "High",
        "status": "Answered" if answer else "Research Needed",
        "impact": "much",
        "answer": answer,
        "source": "README:1" if answer else "",
        "confidence": "High" if answer else "Unknown",
    }


def asks(*next_actions: str) -> Steps:
    """A planner that wants to know something."""
    return says(
        status="needs_qa_cycle", goal="All parts", plan="Later.", questions=["How is it?"], next_actions=[*next_actions]
    )


def answers(*questions: dict[str, Any]) -> Steps:
    return says(status="completed", questions=[*questions], summary="Found out.")


def echoed(steps: Steps) -> Steps:
    """The same, and the prompt is printed into the log."""
    return [{"echo": True}, *steps]


def is_between(run: Run) -> bool:
    """Whether tasks are there, and none is at work."""
    return run.state == "Executing" and run.task is None


class Goal(msgspec.Struct):
    """One run, each time driven by a new driver with a journal of its own, as a process has it."""

    bench: Bench
    id: str = ""

    @classmethod
    def begun(cls, bench: Bench, roles: Mapping[str, str] = ROLES) -> Goal:
        journal = bench.open()
        try:
            return cls(bench, begin(bench.context(journal), "All parts are there", SESSION, roles))
        finally:
            journal.close()

    def copy(self, directory: Path) -> Goal:
        """All of it once more, elsewhere."""
        shutil.copytree(self.bench.root, directory, symlinks=True)
        return Goal(replace(Bench(directory), settings=dict(self.bench.settings)), self.id)

    def go(self, until: Callable[[Run], bool] = lambda run: False) -> Run:
        """Drive it until it ends, rests, or no agent is at work and this is so."""
        journal = self.bench.open()
        heard = self.bench.hear

        def hear(told: object) -> None:
            if isinstance(told, Run) and told.at_work is None and until(told):
                self.bench.pausing.set()
            heard(told)

        self.bench.hear = hear
        try:
            return gone_on(self.bench.context(journal), self.id)
        finally:
            self.bench.hear = heard
            self.bench.pausing.clear()
            assert journal.verify() == []
            journal.close()

    def settle(self) -> Run:
        """Let a driver look at the files, and rest at once."""
        return self.go(lambda run: run.state != "Initializing")

    def resume(self) -> Run:
        """Go on as a person's `resume` does, up to the first rest; a new run is this one's from now on."""
        journal = self.bench.open()
        try:
            self.id = resume(self.bench.context(journal), somebody(ANN), known_run(journal, self.id))
        finally:
            journal.close()
        return self.settle()

    @property
    def run(self) -> Run:
        return run_of(self.history)

    @property
    def history(self) -> list[Entry]:
        return self.bench.entries(self.id)

    # The files

    @property
    def place(self) -> Path:
        return self.bench.root / ".ralph-sessions" / SESSION

    def text(self, name: str) -> str:
        return (self.place / name).read_text()

    def edit(self, name: str, old: str, new: str) -> str:
        """Replace something in a file; gives the text as it was."""
        was = self.text(name)
        assert old in was, was
        (self.place / name).write_text(was.replace(old, new, 1))
        return was

    @property
    def kept(self) -> dict[str, str]:
        """What was kept aside."""
        directory = self.bench.state_directory / "rejected"
        found = sorted(directory.iterdir()) if directory.exists() else []
        return {one.name: one.read_bytes().decode(errors="replace") for one in found if one.is_file()}

    @property
    def told(self) -> list[str]:
        return [one for one in self.bench.told if isinstance(one, str)]

    def prompts(self, role: str) -> list[str]:
        """What an agent that echoes was told, run by run."""
        logs = (self.bench.state_directory / "runs" / f"orchestrate-{self.id[-8:]}").glob(f"*-{role}.log")
        return [one.read_text() for one in sorted(logs)]

    def marks(self) -> dict[str, str]:
        return {one.id: str(one.mark) for one in self.run.plan.tasks}
