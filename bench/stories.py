"""The story loop: what an iteration costs beyond its agent, however long the loop and its list, and what it holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bench.beside import SAMPLE, WARM_UP, Laps, Times, compared
from bench.project import begun, environment
from bench.timing import Comparison, Effort, alone, at_most
from interlock.journal import open_journal
from interlock.work.settings.values import Settings
from interlock.work.stories.context import Limits, StoryContext
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.progress_file import template
from interlock.work.stories.record import Loop
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.command import CommandAgent
from interlock.world.memory import EmbeddedMemory

__all__ = ["Field", "measure"]

_AGENT = "echo x >> work.txt"
_TEST = "grep -q . work.txt"
_TASKS = 10
"""Subtasks a story; the last one is judged as well, so most iterations have one agent."""
_FEW = 5
_MANY = {"full": (1_000, 300), "quick": (100, 100)}
"""Stories, and iterations over them."""
_LOUD = {"full": 1_000_000_000, "quick": 100_000_000}
_AIM_MILLISECONDS = 100.0
_AIM_MEGABYTES = at_most(100)


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """A loop over a few stories; one over many, at its beginning and at its end; and one whose agent talks a lot."""
    if shutil.which("git") is None:
        return
    place = directory.resolve() / "stories"
    place.mkdir()
    how = "full" if effort.sizes[-1] > 10_000 else "quick"
    many, long = _MANY[how]
    few = _timed(Field(place / "few", stories=_FEW, iterations=WARM_UP + SAMPLE))
    yield from compared("an iteration", few, _AIM_MILLISECONDS)
    lot = _timed(Field(place / "many", stories=many, iterations=long))
    yield from compared(f"an iteration, {many:,} stories", lot.first(SAMPLE), _AIM_MILLISECONDS)
    late = f"an iteration, {many:,} stories and {long:,} iterations done"
    yield from compared(late, lot.last(SAMPLE), _AIM_MILLISECONDS)
    yield _talked(place / "loud", _LOUD[how])


def _timed(place: Field) -> Times:
    """Drive a loop. Others use this machine too, so each iteration has its bare one at its side."""
    laps = Laps(place.iterations, place.bare)
    place.drive(lambda loop: laps.begin() if loop.state == "MEMORY_LOAD" else None)
    return laps.times


class Field(msgspec.Struct, frozen=True):
    """A repository with stories, and an agent that does a subtask at a time."""

    root: Path
    stories: int
    iterations: int
    agent: str = _AGENT

    def drive(self, look: Callable[[Loop], None]) -> None:
        """Drive a loop over them for so many iterations, and take everything away."""
        self._make()
        stop = threading.Event()

        def hear(what: object) -> None:
            if isinstance(what, Loop):
                look(what)
                if what.state == "MEMORY_LOAD" and what.iteration >= self.iterations:
                    stop.set()

        journal = open_journal(self.root / ".ralf" / "journal.db")
        context = StoryContext(
            journal=journal,
            root=self.root,
            state_directory=self.root / ".ralf",
            agents=(ChosenAgent(CommandAgent(("/bin/sh", "-c", self.agent), "shell")),),
            judge=ChosenAgent(CommandAgent(("/bin/echo", "AC-1: They are there - ✓ work.txt:1"), "judge")),
            tests=(_TEST,),
            limits=Limits(iterations=0),
            memory=EmbeddedMemory(),
            is_server=False,
            environment=environment(),
            settings=Settings({**Settings().values, "agent.sandbox": "none"}),
            report=hear,
            stop=stop,
            pausing=stop,
            wait=lambda seconds: None,
        )
        driven = drive(context, begin(context))
        journal.close()
        done = driven.loop.progress.metrics.tasks_completed_this_session
        assert done == self.iterations, (done, driven.loop.failure, driven.loop.explanation)
        shutil.rmtree(self.root)

    def bare(self) -> float:
        """How many milliseconds the agent and the tests take in a directory beside."""
        beside = self.root.with_name(f"{self.root.name}-bare")
        beside.mkdir(exist_ok=True)
        began = time.perf_counter()
        for words in (self.agent, _TEST):
            subprocess.run(
                ["/bin/sh", "-c", words], cwd=beside, env=environment(), check=True, stdout=subprocess.DEVNULL
            )
        return (time.perf_counter() - began) * 1000

    def _make(self) -> None:
        (self.root / "stories").mkdir(parents=True)
        boxes = "".join(f"- [ ] Task {number}: part {number}\n" for number in range(1, _TASKS + 1))
        files = {f"story-1-{number}": f"stories/1-{number}-part.md" for number in range(1, self.stories + 1)}
        for id_, name in files.items():
            (self.root / name).write_text(
                f"# {id_}\n\n## Acceptance Criteria\n\n1. They are there\n\n## Tasks\n\n{boxes}"
            )
        (self.root / "progress.txt").write_text(template("bench", files.items(), "2026-01-01T00:00:00Z"))
        begun(self.root)


def _talked(directory: Path, size: int) -> Comparison:
    """The peak of the memory of a driver whose agent prints so many bytes."""
    words = [sys.executable, "-m", "bench.talkative", str(directory), str(size)]
    told = subprocess.run(words, check=True, capture_output=True, text=True)
    peak = int(told.stdout) / 1e6
    return alone(f"memory while an agent prints {size / 1e6:,.0f} MB", peak, " MB", aim=_AIM_MEGABYTES)
