"""A driver that dies at any moment, and the next one: together they do what one that lives would have done."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.work.stories.loop import open_loop
from interlock.world.agents.scripted.adapter import Scripted
from work.stories.mortal import DIED, FileMemory
from work.stories.yards import MET, WORK, Ground, Steps, shell
from world.agents.runs import are_gone

ALL = os.environ.get("RALPH_TEST_CRASHES") == "all"
"""Whether every moment is tried: some hundred deaths, a few seconds each."""
SAMPLE = 10
TESTS = ("if [ $(git rev-list --count HEAD) = 1 ]; then grep -q 'retry_count: 1' progress.txt; else exit 127; fi",)
"""The first story passes at its second attempt; for the second one there is no runner."""
STORIES = {"1-1": ("greet",), "1-2": ("leave",)}
TIMES = ("last_updated", "start_time", "avg_iteration_time_ms", "last_commit", "neo4j_event_id")


@dataclass
class Mortal:
    """A place in which drivers die."""

    ground: Ground
    agent: Scripted
    judge: Scripted
    tests: tuple[str, ...]

    def start(self, dies: tuple[int, str] | None = None) -> subprocess.Popen[str]:
        """A driver in a process of its own."""
        options = {"agent": str(self.agent.script), "judge": str(self.judge.script), "tests": self.tests, "dies": dies}
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        return subprocess.Popen(
            [sys.executable, "-m", "work.stories.mortal", str(self.ground.directory), json.dumps(options)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, dies: tuple[int, str] | None = None) -> tuple[int, str]:
        """How a driver ended, and what it told."""
        with self.start(dies) as driver:
            told, _ = driver.communicate(timeout=120)
        return driver.returncode, told

    def go_on(self) -> None:
        """Drive the loop to its end, unless it is there: then another driver would begin a new one."""
        journal = self.ground.journal()
        has_ended = bool(journal.instances("story")) and open_loop(journal) is None
        journal.close()
        assert has_ended or self.run()[0] == 0

    def result(self) -> dict[str, Any]:
        """What came of it, without times and what is made of them."""
        ground, memory = self.ground, FileMemory(self.ground.directory / "memory")
        loop = ground.loop()
        lines = ground.progress_file.read_text().splitlines()
        return {
            "commits": ground.commits(),
            "progress": [line for line in lines if not line.strip().startswith(TIMES)],
            "memory": Counter(tuple(line[1:]) for line in memory.lines()),
            "iterations": loop.iteration,
            "moves": ground.moves(),
            "boxes": [ground.boxes(one) for one in ground.stories],
            "clean": ground.is_clean(),
            "kept": len(ground.git("for-each-ref", "refs/ralf").splitlines()),
        }


def _place(directory: Path, script: Steps = WORK, tests: tuple[str, ...] = TESTS) -> Mortal:
    ground = Ground(directory, STORIES, uses_clock=False).made()
    judge = ground.agent(MET, name="judge", counted=False)
    return Mortal(ground, ground.agent(script, counted=False), judge, tests)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What one driver does that lives, and how often it writes."""
    place = _place(tmp_path_factory.mktemp("undisturbed"))
    code, told = place.run()
    assert code == 0
    return place.result(), int(told.splitlines()[-1])


def test_the_scenario_of_these_tests_commits_fails_and_blocks(undisturbed: tuple[dict[str, Any], int]) -> None:
    result, _ = undisturbed
    assert result["commits"] == ["story-1-1 task 1: greet", "progress: the loop ends after 3 iterations"]
    assert result["moves"].count("tests_failed") == result["moves"].count("test_runner_missing") == 1
    assert result["kept"] == 1
    assert result["clean"]


@pytest.mark.parametrize("place", range(400 if ALL else SAMPLE))
def test_a_driver_that_dies_is_followed_by_one_that_goes_on(
    undisturbed: tuple[dict[str, Any], int], tmp_path: Path, place: int
) -> None:
    expected, writes = undisturbed
    chance = random.Random(place)
    number = place // 2 if ALL else chance.randrange(writes)
    when = ("before", "after")[place % 2]
    if number >= writes:
        pytest.skip("it does not write so often")
    mortal = _place(tmp_path)
    code, _ = mortal.run((number, when))
    assert code == DIED
    mortal.go_on()
    assert mortal.result() == expected, (number, when)


@pytest.mark.parametrize("seed", range(2))
def test_drivers_that_die_again_and_again_come_to_the_same(
    undisturbed: tuple[dict[str, Any], int], tmp_path: Path, seed: int
) -> None:
    expected, writes = undisturbed
    chance = random.Random(seed)
    mortal = _place(tmp_path)
    for _ in range(4):
        mortal.run((chance.randrange(writes // 2), chance.choice(("before", "after"))))
    mortal.go_on()
    assert mortal.result() == expected


def test_a_driver_that_is_killed_while_its_agent_works_leaves_nobody_behind(
    undisturbed: tuple[dict[str, Any], int], tmp_path: Path
) -> None:
    go, pids = tmp_path / "go", tmp_path / "pids"
    script: Steps = [shell(f"echo $PPID >> {pids}"), {"say": "at work"}, {"wait": str(go)}, *WORK]
    mortal = _place(tmp_path, [*script[:1], {"write": {"path": "progress.txt", "text": "mine"}}, *script[1:]])
    with mortal.start() as driver:
        assert driver.stdout is not None
        assert any("at work" in line for line in driver.stdout)
        driver.kill()
    shutil.copy(pids, tmp_path / "orphans")
    assert not are_gone(tmp_path / "orphans")
    go.touch()
    assert mortal.run()[0] == 0
    assert are_gone(tmp_path / "orphans")
    assert mortal.result() == undisturbed[0]


def test_a_driver_that_is_killed_while_tests_run_runs_them_again(
    undisturbed: tuple[dict[str, Any], int], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    waits = f"test -f {go} || {{ echo at the tests; echo mine > progress.txt; mkfifo ../pipe; cat ../pipe; }}"
    mortal = _place(tmp_path, tests=(waits, *TESTS))
    with mortal.start() as driver:
        assert driver.stdout is not None
        assert any("at the tests" in line and "test:" not in line for line in driver.stdout)
        driver.kill()
    go.touch()
    assert mortal.run()[0] == 0
    assert mortal.result() == undisturbed[0]


def test_while_a_driver_lives_nobody_else_drives(tmp_path: Path) -> None:
    go = tmp_path / "go"
    mortal = _place(tmp_path, [{"say": "at work"}, {"wait": str(go)}, *WORK], tests=("true",))
    with mortal.start() as driver:
        assert driver.stdout is not None
        assert any("at work" in line for line in driver.stdout)
        with pytest.raises(InterlockError) as raised:
            mortal.ground.drive()
        go.touch()
        driver.communicate(timeout=120)
    assert raised.value.code == "lease_held"
    assert driver.returncode == 0
    assert mortal.ground.moves()[-1] == "all_complete"
