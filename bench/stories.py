"""The story loop: what an iteration costs beyond the agent itself, against a bare loop of the same agent and tests."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from bench.timing import Comparison, Effort, Side, by_turns, compare
from interlock.journal import open_journal
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.progress import template
from interlock.work.stories.yard import Limits, Yard
from interlock.world.agents.scripted.adapter import Scripted
from interlock.world.memory import EmbeddedMemory

__all__ = ["measure"]

_TASKS = 5
_ROUNDS = 5
_TEST = "grep -q . work.txt"
_AIM_MILLISECONDS = 100.0


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """One loop over a few subtasks, and the same with nothing around it."""
    if shutil.which("git") is None:
        return
    place = directory.resolve() / "stories"
    place.mkdir()
    rates = by_turns({"ours": _ours(place), "bare": _bare(place)}, min(effort.rounds, _ROUNDS), 0)
    title = f"a loop over {_TASKS} subtasks"
    yield compare(title, "the same agent, tests and commits, bare", rates["ours"], rates["bare"], unit=" subtasks/s")
    beyond = statistics.median(
        1000 / ours - 1000 / bare for ours, bare in zip(rates["ours"], rates["bare"], strict=True)
    )
    note = f"aim ≤ {_AIM_MILLISECONDS:g} ms: {'met' if beyond <= _AIM_MILLISECONDS else 'missed'}"
    yield Comparison("an iteration beyond the agent", "nothing", " ms", ours=beyond, note=note)


def _repository(path: Path) -> dict[str, str]:
    """A repository with one story of several subtasks, and an agent that does one at a time."""
    path.mkdir(parents=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (("init", "-q"), ("config", "user.name", "Ann"), ("config", "user.email", "ann@example.org")):
        subprocess.run(["git", *words], cwd=path, env=environment, check=True)
    (path / "stories").mkdir()
    boxes = "".join(f"- [ ] Task {number}: part {number}\n" for number in range(1, _TASKS + 1))
    story = f"# Story 1.1: Parts\n\n## Acceptance Criteria\n\n1. They are there\n\n## Tasks\n\n{boxes}"
    (path / "stories" / "1-1-parts.md").write_text(story)
    (path / "progress.txt").write_text(template("bench", [("story-1-1", None)], "2026-01-01T00:00:00Z"))
    (path / ".gitignore").write_text(".ralf/\n*.json\n*.state\n")
    runs = [
        [{"write": {"path": "work.txt", "text": f"{number}\n"}}, {"finish": True}] for number in range(1, _TASKS + 1)
    ]
    (path / "agent.json").write_text(json.dumps({"state": "agent.state", "iterations": runs}))
    judged = [{"say": "AC-1: They are there - ✓ work.txt:1"}, {"finish": True}]
    (path / "judge.json").write_text(json.dumps({"iterations": [judged]}))
    subprocess.run(["git", "add", "-A"], cwd=path, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=path, env=environment, check=True)
    return environment


def _ours(place: Path) -> Side:
    count = iter(range(1_000_000))

    def side() -> int:
        path = place / f"ours-{next(count)}"
        environment = _repository(path)
        journal = open_journal(path / ".ralf" / "journal.db")
        stop = threading.Event()
        yard = Yard(
            journal=journal,
            root=path,
            state_directory=path / ".ralf",
            agents=(Scripted(path / "agent.json"),),
            judge=Scripted(path / "judge.json"),
            tests=(_TEST,),
            limits=Limits(),
            memory=EmbeddedMemory(),
            is_server=False,
            environment=environment,
            tell=lambda what: None,
            stop=stop,
            wait=lambda seconds: None,
        )
        driven = drive(yard, begin(yard))
        journal.close()
        assert driven.loop.outcome == "all_complete", driven
        shutil.rmtree(path)
        return _TASKS

    return side


def _bare(place: Path) -> Side:
    count = iter(range(1_000_000))
    agent = [sys.executable, "-m", "interlock.world.agents.scripted"]

    def side() -> int:
        path = place / f"bare-{next(count)}"
        environment = _repository(path)
        for number in range(_TASKS):
            for words in ([*agent, "agent.json"], ["sh", "-c", _TEST]):
                subprocess.run(words, cwd=path, env=environment, check=True, input=b"", stdout=subprocess.DEVNULL)
            if number == _TASKS - 1:
                subprocess.run([*agent, "judge.json"], cwd=path, env=environment, input=b"", stdout=subprocess.DEVNULL)
            subprocess.run(["git", "add", "-A"], cwd=path, env=environment, check=True)
            subprocess.run(["git", "commit", "-qm", "part"], cwd=path, env=environment, check=True)
        shutil.rmtree(path)
        return _TASKS

    return side
