"""A driver that dies at any moment, and the next one: together they do what one that lives would have done."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exhaustive import EXHAUSTIVE
from faces.forking import run_module
from interlock.errors import InterlockError
from interlock.work.stories.mirror import end_trees
from interlock.work.stories.reading import open_loop
from interlock.world.agents.scripted.adapter import Scripted
from mortality import moments_in
from patience import SECONDS
from work.stories.mortal import FileMemory
from work.stories.yards import MET, WORK, Ground, Steps, shell
from world.agents.runs import are_gone

DEATHS = 48 if EXHAUSTIVE else 1
"""How many tests kill drivers: each one of them, or all of them together every moment that there is."""
COSTS: Steps = [{"usage": {"input": 70, "output": 7, "cached": 0}}, {"cost": 0.25}]
TESTS = ("if [ $(git rev-list --count HEAD) = 1 ]; then grep -q 'retry_count: 1' progress.txt; else exit 127; fi",)
"""The first story passes at its second attempt; for the second one there is no runner."""
STORIES = {"1-1": ("greet",), "1-2": ("leave",)}
TIMES = ("last_updated", "start_time", "avg_iteration_time_ms", "last_commit", "neo4j_event_id")


class Mortal(msgspec.Struct):
    """A place in which drivers die."""

    ground: Ground
    agent: Scripted
    judge: Scripted
    tests: tuple[str, ...]

    def words(self, dies: int | None) -> tuple[str, str]:
        options = {"agent": str(self.agent.script), "judge": str(self.judge.script), "tests": self.tests, "dies": dies}
        return str(self.ground.directory), json.dumps(options)

    def start(self) -> subprocess.Popen[str]:
        """A driver in a process of its own."""
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        return subprocess.Popen(
            [sys.executable, "-m", "work.stories.mortal", *self.words(None)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, dies: int | None = None) -> tuple[int, str]:
        """How a driver ended, and what it told."""
        code, told, _ = run_module("work.stories.mortal", *self.words(dies), env=os.environ)
        return code, told

    def has_ended(self) -> bool:
        """True if the loop is at its end: another driver would begin a new one."""
        journal = self.ground.journal()
        has_ended = bool(journal.instances("story")) and open_loop(journal) is None
        journal.close()
        return has_ended

    def go_on(self) -> None:
        """Drive the loop to its end; if it is there, do what the next loop does first."""
        if not self.has_ended():
            assert self.run()[0] == 0
            return
        with closing(self.ground.journal()) as journal:
            end_trees(self.ground.context(journal))

    def result(self) -> dict[str, Any]:
        """What came of it, without times and what is made of them."""
        ground, memory = self.ground, FileMemory(self.ground.directory / "memory")
        loop = ground.loop()
        ids = [line[0] for line in memory.lines()]
        made = ground.git("log", "--reverse", "--format=%H", "HEAD").split()
        trailers = ground.git("log", "--format=%(trailers:key=Ralph-Event,valueonly,separator=)").split()
        return {
            "commits": ground.git("log", "--reverse", "--format=%an %ae %s").splitlines(),
            "trees": [_tree(ground, commit) for commit in made],
            "progress": _timeless(ground.progress_file.read_text()),
            "memory": sorted(line[1:] for line in memory.lines()),
            "doubled": [id_ for id_ in ids if ids.count(id_) > 1],
            "linked": [line[2:] for line in memory.lines() if line[0] in trailers],
            "charges": [(one.number, one.task, one.role, one.cost_usd, one.tokens) for one in loop.attempts],
            "unsent": loop.unsent,
            "iterations": loop.iteration,
            "moves": ground.moves(),
            "boxes": [ground.boxes(one) for one in ground.stories],
            "clean": ground.is_clean(),
            "kept": len(ground.git("for-each-ref", "refs/ralf").splitlines()),
            "sessions": _open_sessions(ground),
        }


def _tree(ground: Ground, commit: str) -> list[str]:
    """What a commit holds; of `progress.txt`, what it says besides times."""
    listed = [line for line in ground.git("ls-tree", "-r", commit).splitlines() if not line.endswith("progress.txt")]
    return [*listed, *_timeless(ground.git("show", f"{commit}:progress.txt"))]


def _timeless(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.strip().startswith(TIMES)]


def _open_sessions(ground: Ground) -> int:
    journal = ground.journal()
    found = len(journal.open_instances("session"))
    journal.close()
    return found


def _place(directory: Path, script: Steps = WORK, tests: tuple[str, ...] = TESTS) -> Mortal:
    ground = Ground(directory, STORIES, uses_clock=False).made()
    judge = ground.agent([*COSTS, *MET], name="judge", counted=False)
    return Mortal(ground, ground.agent([*COSTS, *script], counted=False), judge, tests)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """What one driver does that lives, and its moments."""
    place = _place(tmp_path_factory.mktemp("undisturbed"))
    code, told = place.run()
    assert code == 0
    return place.result(), moments_in(told)


def test_the_scenario_of_these_tests_commits_fails_and_blocks(undisturbed: tuple[dict[str, Any], list[str]]) -> None:
    result, moments = undisturbed
    made = ["start", "story-1-1 task 1: greet", "progress: the loop ends after 3 iterations"]
    assert result["commits"] == [f"Ann ann@example.org {one}" for one in made]
    assert result["moves"].count("tests_failed") == result["moves"].count("test_runner_missing") == 1
    assert (result["kept"], result["clean"], result["sessions"]) == (1, True, 0)
    assert len(result["charges"]) == 4, "three attempts and a judgement"
    assert result["linked"] == [["story-1-1", "1"]]
    kinds = Counter(one.partition(" ")[0] for one in moments)
    assert {"journal", "open", "os.rename", "start", "started"} <= kinds.keys()
    assert {"open memory", "start git commit-tree", "start git update-ref", "os.rename repository/progress.txt"} <= {
        *moments
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(DEATHS))
def test_a_driver_that_is_killed_is_followed_by_one_that_goes_on(
    undisturbed: tuple[dict[str, Any], list[str]], tmp_path: Path, part: int
) -> None:
    expected, moments = undisturbed
    every = range(part, len(moments), DEATHS) if EXHAUSTIVE else [random.Random(part).randrange(len(moments))]
    wrong: dict[tuple[int, str], object] = {}
    for number in every:
        place = tmp_path / str(number)
        mortal = _place(place)
        code, _ = mortal.run(number)
        assert code == -signal.SIGKILL or number > len(moments) - 5, "processes that are read do not always say as much"
        mortal.go_on()
        result = mortal.result()
        if result != expected:
            wrong[number, moments[number]] = {
                key: (result[key], one) for key, one in expected.items() if result[key] != one
            }
        shutil.rmtree(place)
    assert wrong == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20 if EXHAUSTIVE else 1))
def test_drivers_that_are_killed_again_and_again_come_to_the_same(
    undisturbed: tuple[dict[str, Any], list[str]], tmp_path: Path, seed: int
) -> None:
    expected, moments = undisturbed
    chance = random.Random(seed)
    mortal = _place(tmp_path)
    for _ in range(4):
        if not mortal.has_ended():
            mortal.run(chance.randrange(len(moments) // 2))
    mortal.go_on()
    assert mortal.result() == expected


def test_a_driver_that_is_killed_while_its_agent_works_leaves_nobody_behind(
    undisturbed: tuple[dict[str, Any], list[str]], tmp_path: Path
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
    undisturbed: tuple[dict[str, Any], list[str]], tmp_path: Path
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
        driver.communicate(timeout=SECONDS)
    assert raised.value.code == "lease_held"
    assert driver.returncode == 0
    assert mortal.ground.moves()[-1] == "all_complete"
