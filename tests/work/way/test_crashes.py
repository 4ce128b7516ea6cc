"""A ticket whose walk is killed at any moment: called again, it comes to the same end, with one commit at the gate."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exhaustive import EXHAUSTIVE
from interlock.work.gates import audit
from interlock.work.tickets.verbs import create
from mortality import moments_in
from work.way.ways import PERSON, RALPH, Way

DEATHS = 24 if EXHAUSTIVE else 4
"""How many tests kill: all of them together at every moment that there is, or each one at one of them."""
PLAYER = Path(__file__).with_name("player.py")


@dataclass
class Walks:
    """A repository with one ticket, as it was before its first walk, and what came of a walk that nobody killed."""

    directory: Path
    way: Way
    moments: list[str]
    result: dict[str, Any]

    def walk(self, dies: int | None = None) -> tuple[int, str, str]:
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "work.way.mortal_walks", str(self.way.root)),
                json.dumps({"settings": self.way.settings, "dies": dies}),
            ],
            env={**os.environ, **self.way.environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def restore(self) -> None:
        shutil.rmtree(self.way.root)
        shutil.copytree(self.directory / "before", self.way.root, symlinks=True)

    def found(self) -> dict[str, Any]:
        """What must be the same, however often the walk was killed."""
        with closing(self.way.open()) as journal:
            assert list(journal.verify()) == []
            assert audit(journal) == []
            [ticket], [thread] = journal.instances("ticket"), journal.instances("thread")
            handed = [one for one in journal.history(ticket.id) if one.event in ("handoff", "follow")]
            gates = [one.event for one in journal.history(thread.id) if one.event in ("finalize", "approve", "commit")]
            open_ = [one.id for one in journal.instances("session") if one.outcome is None]
        branch = f"ralf/{thread.id}"
        return {
            "ticket": ticket.state,
            "holder": ticket.snapshot.holder,
            "thread": thread.state,
            "moves": [one.to_state for one in handed if one.from_state != one.to_state],
            "gates": gates,
            "commits": self.way.git("rev-list", "--count", f"main..{branch}"),
            "greeting": self.way.git("show", f"{branch}:greeting.txt"),
            "clean": self.way.git("status", "--porcelain"),
            "open sessions": open_,
        }


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Walks:
    directory = tmp_path_factory.mktemp("way")
    player = f"{sys.executable} {PLAYER} {RALPH}"
    way = Way.made(directory / "repository")
    way.settings |= {
        "agent.name": "command",
        "agent.command": player,
        "agent.judge": "scripted",
        "thread.mode": "quick",
    }
    with closing(way.open()) as journal:
        journal.transact(create(PERSON, "Greet people", estimate="S"))
    shutil.copytree(way.root, directory / "before", symlinks=True)
    made = Walks(directory, way, [], {})
    code, told, wrong = made.walk()
    assert code == 0, wrong
    assert told.startswith("it waits to be merged"), told
    made.moments, made.result = moments_in(told), made.found()
    return made


def test_a_walk_that_nobody_kills_makes_one_commit_at_the_gate(walks: Walks) -> None:
    assert walks.result == {
        "ticket": "In Review",
        "holder": None,
        "thread": "Done",
        "moves": ["Research Needed", "Ready for Plan", "Plan in Review", "In Progress", "In Review"],
        "gates": ["finalize", "approve", "commit"],
        "commits": "1",
        "greeting": "hello",
        "clean": "",
        "open sessions": [],
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(DEATHS))
def test_a_walk_that_is_killed_comes_to_the_same_when_it_is_called_again(walks: Walks, part: int) -> None:
    every = range(len(walks.moments))
    chosen = every[part::DEATHS] if EXHAUSTIVE else [random.Random(part).choice(every)]
    wrong = {}
    for moment in chosen:
        walks.restore()
        code, _, _ = walks.walk(moment)
        assert code == -signal.SIGKILL or moment > len(walks.moments) - 10, "some processes say more, some less"
        code, told, failed = walks.walk()
        found = walks.found() if code == 0 else {"failed": failed[-2000:] or told}
        if found != walks.result:
            wrong[moment, walks.moments[moment]] = found
    assert wrong == {}
