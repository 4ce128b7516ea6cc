"""A real repository with stories, agents that play scripts, and a loop over them."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Entry, Journal, open_journal
from interlock.work.settings.journal_trust import truster
from interlock.work.settings.values import Settings
from interlock.work.stories.context import Limits, StoryContext, note
from interlock.work.stories.loop import LoopResult, begin, drive
from interlock.work.stories.progress import Progress, StoryProgress
from interlock.work.stories.progress_file import parse, template
from interlock.work.stories.reading import open_loop
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.world.agents.agent import ChosenAgent, Launch
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.scripted.adapter import Scripted
from interlock.world.memory import EmbeddedMemory, Memory, MemoryEvent, MemoryNode
from journal.histories import Clock

__all__ = [
    "DETACH",
    "FINE",
    "IDLE",
    "MET",
    "UNMET",
    "WORK",
    "Ground",
    "Recorded",
    "Steps",
    "UnsteadyMemory",
    "shell",
    "wrote",
]

Steps = list[dict[str, Any]]
_SETTINGS = Settings({**Settings().values, "agent.sandbox": "none", "driver.lease_seconds": 86_400})
"""A lease so long that no heartbeat is written between two moments that a test counts. The agents play scripts, so
they need no sandbox."""


def shell(command: str) -> dict[str, Any]:
    """A step that runs a command line."""
    return {"run": ["/bin/sh", "-c", command]}


def wrote(text: str = "") -> Steps:
    """Write a file whose name depends only on what is committed, so that done again it is the same."""
    return [shell(f"n=$(git rev-list --count HEAD); echo 'done {text}' > part-$n"), {"finish": True}]


WORK = wrote()
IDLE: Steps = [{"say": "there is nothing to do"}, {"finish": True}]
DETACH: Steps = [shell("git checkout -q --detach"), *WORK]
MET: Steps = [{"say": "\n".join(f"AC-{n}: it - ✓ part-{n}:1" for n in range(1, 6))}, {"finish": True}]
UNMET: Steps = [{"say": "AC-1: it - ✗ it does not"}, {"finish": True}]
FINE = ("true",)


class UnsteadyMemory:
    """A memory on a server that can be out of reach; it counts what it is sent."""

    def __init__(self, *, fails: int = 0) -> None:
        self.inner = EmbeddedMemory()
        self.fails = fails
        """How many more calls it does not answer."""
        self.received: list[str] = []

    def _answer(self) -> None:
        if self.fails:
            self.fails -= 1
            raise InterlockError("memory_unreachable", "The memory does not answer.", "Start it.")

    def agent_context(self) -> list[MemoryNode]:
        self._answer()
        return self.inner.agent_context()

    def known_issues(self) -> list[MemoryNode]:
        self._answer()
        return self.inner.known_issues()

    def remember(self, event: MemoryEvent) -> str:
        self._answer()
        self.received.append(event.id)
        return self.inner.remember(event)

    def close(self) -> None:
        self.inner.close()


class Recorded(Scripted, frozen=True):
    """An agent that plays a script, and whose prompts are kept."""

    prompts: list[str] = msgspec.field(default_factory=list)

    def launch(self, assignment: Assignment) -> Launch:
        self.prompts.append(assignment.prompt)
        return Scripted.launch(self, assignment)


class Ground(msgspec.Struct):
    """A repository, its journal, and what was told while loops ran in it."""

    directory: Path
    stories: Mapping[str, Sequence[str]] = msgspec.field(default_factory=lambda: {"1-1": ("greet",)})
    clock: Clock = msgspec.field(default_factory=Clock)
    told: list[str] = msgspec.field(default_factory=list)
    waited: list[float] = msgspec.field(default_factory=list)
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    meddle: Callable[[Loop], None] = lambda loop: None
    """Somebody who looks on, each time before the loop takes a step."""
    hear: Callable[[object], None] | None = None
    """Who is told instead."""
    uses_clock: bool = True

    @property
    def root(self) -> Path:
        return self.directory / "repository"

    @property
    def environment(self) -> dict[str, str]:
        names = ("PATH", "XDG_STATE_HOME")
        own = {"HOME": str(self.directory), "GIT_CONFIG_NOSYSTEM": "1"}
        return {name: os.environ[name] for name in names} | own

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    def made(self) -> Ground:
        """The repository, with its first commit."""
        (self.root / "stories").mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        for number, tasks in self.stories.items():
            self.story_file(number).write_text(_story(number, tasks))
        (self.root / ".git" / "info" / "exclude").write_text(".ralf/\n")
        self.progress_file.write_text(template("demo", [(f"story-{one}", None) for one in self.stories], "2026-01-01"))
        self.git("add", "-A")
        self.git("commit", "-qm", "start")
        return self

    def story_file(self, number: str) -> Path:
        return self.root / "stories" / f"{number}-it.md"

    @property
    def progress_file(self) -> Path:
        return self.root / "progress.txt"

    @property
    def progress(self) -> Progress:
        return parse(self.progress_file.read_text())

    def story(self, number: str = "1-1") -> StoryProgress:
        found = self.progress.story(f"story-{number}")
        assert found is not None
        return found

    # Agents

    def agent(self, *iterations: Steps, name: str = "implementer", counted: bool = True) -> Recorded:
        """An agent that plays one list of steps after the other, the last one again and again."""
        path = self.directory / f"{name}.json"
        state = {"state": f"{name}.state"} if counted else {}
        path.write_text(json.dumps({**state, "iterations": list(iterations)}))
        return Recorded(path, name)

    def runs_of(self, name: str = "implementer") -> int:
        """How often an agent has run."""
        path = self.directory / f"{name}.state"
        return int(path.read_text()) if path.exists() else 0

    # Driving

    def journal(self) -> Journal:
        state = self.root / ".ralf"
        now = self.clock if self.uses_clock else time.time_ns
        return open_journal(state / "journal.db", now=now, created=truster(state, os.environ))

    def context(
        self,
        journal: Journal,
        *,
        agents: Sequence[Any] = (),
        judge: Any = None,
        tests: tuple[str, ...] = FINE,
        memory: Memory | None = None,
        limits: Limits | None = None,
        is_server: bool | None = None,
        **more: Any,
    ) -> StoryContext:
        return StoryContext(
            journal=journal,
            root=self.root,
            state_directory=self.root / ".ralf",
            agents=tuple(map(ChosenAgent, agents or (self.agent(WORK),))),
            judge=ChosenAgent(judge or self.agent(MET, name="judge")),
            tests=tests,
            limits=limits or Limits(),
            memory=memory or EmbeddedMemory(),
            is_server=isinstance(memory, UnsteadyMemory) if is_server is None else is_server,
            report=self.hear or self._hear,
            stop=self.stop,
            pausing=self.stop,
            wait=self._wait,
            **{
                "environment": self.environment,
                "settings": _SETTINGS,
                "test_files": Settings().texts("verify.tests"),
                **more,
            },
        )

    def _hear(self, happening: object) -> None:
        if isinstance(happening, Loop):
            self.meddle(happening)
        elif isinstance(happening, str):
            self.told.append(happening)

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.forward(seconds)

    def drive(self, **options: Any) -> LoopResult:
        """Drive the open loop, or a new one, as far as it goes."""
        journal = self.journal()
        try:
            context = self.context(journal, **options)
            id_ = begin(context)
            paused = loop_of(journal.history(id_)).paused
            if paused is not None and paused.cause == "interrupt":
                note(context, id_, None, "resumed")  # as `ralph story run` does
            return drive(context, id_)
        finally:
            journal.close()

    # What came of it

    def entries(self) -> list[Entry]:
        """The entries of the newest loop."""
        journal = self.journal()
        try:
            assert journal.verify() == []
            return journal.history(journal.instances("story")[-1].id)
        finally:
            journal.close()

    def loop(self) -> Loop:
        return loop_of(self.entries())

    def moves(self) -> list[str]:
        """The events that moved the newest loop."""
        return [one.event for one in self.entries() if one.event not in ("created", "noted")]

    def notes(self, type_: str) -> list[dict[str, Any]]:
        data = (one.decoded_evidence().data for one in self.entries() if one.event == "noted")
        return [one for one in data if one["type"] == type_]

    def brought(self, event: str) -> list[dict[str, Any]]:
        """What each of the moves by an event brought."""
        return [one.decoded_evidence().data for one in self.entries() if one.event == event]

    def note(self, type_: str, **data: Any) -> None:
        """What a person tells the open loop."""
        from interlock.work.stories.context import note

        journal = self.journal()
        loop = open_loop(journal)
        assert loop is not None
        note(self.context(journal), loop, None, type_, **data)
        journal.close()

    def commits(self) -> list[str]:
        """The subjects of the commits since the first one, oldest first."""
        return self.git("log", "--reverse", "--format=%s").splitlines()[1:]

    def is_clean(self) -> bool:
        return self.git("status", "--porcelain") == ""

    def boxes(self, number: str = "1-1") -> str:
        """The boxes of a story, ticked ones as x."""
        lines = self.story_file(number).read_text().splitlines()
        return "".join(line[3] for line in lines if line.startswith("- ["))

    def promises(self) -> list[str]:
        return [one.splitlines()[0] for one in self.told if one.startswith("<promise>")]

    def again(self) -> Ground:
        """The same place for a driver that starts anew."""
        return replace(self, told=[], waited=[], stop=threading.Event())


def _story(number: str, tasks: Sequence[str]) -> str:
    criteria = "\n".join(f"{place}. It can {task}" for place, task in enumerate(tasks, 1))
    boxes = "\n".join(f"- [ ] Task {place}: {task} (AC: {place})" for place, task in enumerate(tasks, 1))
    return f"# Story {number}\n\n## Acceptance Criteria\n\n{criteria}\n\n## Tasks / Subtasks\n\n{boxes}\n"
