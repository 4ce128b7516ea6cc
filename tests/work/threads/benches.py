"""A real repository on a stage, agents that play scripts, and a thread that is led through it by somebody staged."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import msgspec

from interlock.journal import Entry, Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person, Presence
from interlock.work.gates.stage import stage, staged
from interlock.work.settings.journal_trust import truster
from interlock.work.settings.values import Settings
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import act, new_thread, revise_spec
from interlock.world.repository import exclude_state

__all__ = [
    "AGENT",
    "DONE",
    "FAIL",
    "PASS",
    "SPEC",
    "STORY_MET",
    "WORK",
    "Bench",
    "Steps",
    "WaitingClock",
    "shell",
    "somebody",
]

Steps = list[dict[str, Any]]
AGENT = Actor(ActorKind.AGENT, "claude", Channel.CLI)

SPEC = """\
# Greet

## Goal

People are greeted.

## Completion Criteria

- [ ] greeting.txt says hello
  - verify: `grep -q hello greeting.txt`
- [ ] it is polite

<promise>COMPLETE</promise>
"""


def shell(command: str) -> dict[str, Any]:
    """A step that runs a command line."""
    return {"run": ["/bin/sh", "-c", command]}


WORK: Steps = [shell("echo hello > greeting.txt")]
DONE: Steps = [*WORK, {"say": "All of it is there."}, {"promise": "COMPLETE"}, {"finish": True}]
IDLE: Steps = [{"say": "I looked around."}, {"finish": True}]
PASS: Steps = [{"say": "CRITERION 1: PASS\nCRITERION 2: PASS"}, {"finish": True}]
FAIL: Steps = [{"say": "CRITERION 2: FAIL - it is rude"}, {"finish": True}]
STORY_MET: Steps = [
    {"say": "AC-1: it says hello - ✓ greeting.txt:1\nAC-2: it is polite - ✓ greeting.txt:1\nCRITERION 2: PASS"},
    {"finish": True},
]


class WaitingClock(list[float]):
    """A clock for `Bench.now` and `Bench.waited`: each wait is over at once, because it puts the clock forward."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        super().__init__()
        self.seconds = seconds

    def append(self, seconds: float) -> None:
        super().append(seconds)
        self.seconds += seconds

    def __call__(self) -> int:
        return int(self.seconds * 1e9)


@cache
def _new_repository() -> Path:
    """A repository with one commit, made once in each process and copied for each bench."""
    place = Path(tempfile.mkdtemp(prefix="interlock-bench-"))
    atexit.register(_remove, place, os.getpid())
    bench = Bench(place / "repository")
    bench.root.mkdir()
    bench.git("init", "-q", "-b", "main")
    bench.git("config", "user.name", "Ann")
    bench.git("config", "user.email", "ann@example.org")
    (bench.root / "README").write_text("a project\n")
    exclude_state(bench.root)
    bench.git("add", "-A")
    bench.git("commit", "-qm", "start")
    return bench.root


def _remove(place: Path, maker: int) -> None:
    """Remove the repository when its own process ends, not when a fork of it does."""
    if os.getpid() == maker:
        shutil.rmtree(place, ignore_errors=True)


def somebody(actor: Actor) -> Person:
    """A person at a terminal, who passes no gate."""

    def nobody() -> Presence:
        raise AssertionError("no gate is passed here")

    return Person(actor, nobody, lambda: True)


class Bench(msgspec.Struct):
    """A repository, its journal, and what was told while threads ran in it."""

    root: Path
    told: list[object] = msgspec.field(default_factory=list)
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    pausing: threading.Event = msgspec.field(default_factory=threading.Event)
    waited: list[float] = msgspec.field(default_factory=list)
    hear: Callable[[object], None] = lambda told: None
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    signs: bool = False
    now: Callable[[], int] | None = None

    @classmethod
    def made(cls, directory: Path, *, signs: bool = False, **settings: Any) -> Self:
        """A new repository with one commit, on a stage."""
        bench = cls(stage(directory), signs=signs)
        shutil.copytree(_new_repository(), bench.root, symlinks=True, dirs_exist_ok=True)
        bench.git("update-index", "-q", "--refresh")  # it knows the files by their times and numbers
        bench.state_directory.mkdir(exist_ok=True)
        bench.play(DONE)
        bench.judge(PASS)
        bench.settings = {
            "agent.name": "scripted",
            "agent.sandbox": "none",
            "agent.script": ".ralf/script.json",
            "agent.judge_script": ".ralf/judge.json",
            "verify.commands": ("true",),
            "thread.isolation": os.environ.get("RALPH_TEST_ISOLATION", "checkout"),
            **settings,
        }
        return bench

    @property
    def state_directory(self) -> Path:
        return self.root / ".ralf"

    @property
    def environment(self) -> dict[str, str]:
        state = os.environ["XDG_STATE_HOME"]
        home = str(self.root.parent)
        return {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": state, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def play(self, *iterations: Steps) -> None:
        """What the agent does, run by run."""
        self._script("script", iterations)

    def judge(self, *iterations: Steps) -> None:
        """What the judge says, run by run."""
        self._script("judge", iterations)

    def _script(self, name: str, iterations: Sequence[Steps]) -> None:
        (self.state_directory / f"{name}.count").unlink(missing_ok=True)
        text = json.dumps({"state": f"{name}.count", "iterations": list(iterations)})
        (self.state_directory / f"{name}.json").write_text(text)

    def open(self) -> Journal:
        path = self.state_directory / "journal.db"
        now = time.time_ns if self.now is None else self.now  # a clock may be empty, and so false
        return open_journal(path, now=now, created=truster(self.state_directory, os.environ))

    def context(self, journal: Journal) -> DriverContext:
        return DriverContext(
            journal=journal,
            root=self.root,
            state_directory=self.state_directory,
            settings=Settings({**Settings().values, "driver.lease_seconds": 86_400, **self.settings}),
            environment=self.environment,
            report=self._tell,
            stop=self.stop,
            pausing=self.pausing,
            wait=self.waited.append,
        )

    def _tell(self, what: object) -> None:
        self.told.append(what)
        self.hear(what)

    @property
    def person(self) -> Person:
        """Somebody staged: they pass every gate that the machine opens."""
        presence = staged(self.root, "test", is_signing=self.signs)
        return Person(presence.actor, lambda: presence, lambda: True)

    # Verbs, each with a journal of its own, as commands have it

    def new(self, text: str | None = SPEC, *, mode: str = "methodical", ticket: int | None = None) -> str:
        journal = self.open()
        try:
            context = self.context(journal)
            made = new_thread(context, self.person.actor, "Greet people", mode, ticket)
            if text is not None:
                revise_spec(context, made.id, self.person.actor, text)
            return made.id
        finally:
            journal.close()

    def act(self, id_: str, *events: str, reason: str | None = None, drives: bool = True) -> Thread:
        """Make moves of a person, and let the thread go on by itself after each."""
        journal = self.open()
        try:
            context = self.context(journal)
            for event in events:
                act(context, id_, self.person, event, reason=reason)
                if drives:
                    drive(context, id_)
            return read_thread(journal, id_)
        finally:
            journal.close()

    def drive(self, id_: str) -> Thread:
        journal = self.open()
        try:
            return drive(self.context(journal), id_)
        finally:
            journal.close()

    def thread(self, id_: str) -> Thread:
        journal = self.open()
        try:
            return read_thread(journal, id_)
        finally:
            journal.close()

    def entries(self, id_: str) -> list[Entry]:
        journal = self.open()
        try:
            return journal.history(id_)
        finally:
            journal.close()

    def states(self, id_: str) -> list[str]:
        """The states that a thread went through, each move once."""
        moves = [one for one in self.entries(id_) if one.to_state != one.from_state]
        return [one.to_state for one in moves]
