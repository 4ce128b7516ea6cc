"""Killed at any step, once or twice, or with any git killed, each verb of threads ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from faces.forking import run_module
from interlock.errors import InterlockError
from world.git.dying import SCENARIOS, origin
from world.git.repositories import git

SAMPLE = 1
SEED = 20


@pytest.fixture(scope="module")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return origin(tmp_path_factory.mktemp("origin") / "r")


def _ready(thread: Path, name: str, place: Path) -> Generator[Path]:
    """Copies of the repository, each with what the scenario has before, as long as they are asked for."""
    number = 0
    while True:
        number += 1
        root = place / str(number) / "r"
        shutil.copytree(thread, root, symlinks=True)
        SCENARIOS[name].before(root)
        yield root
        shutil.rmtree(root.parent)


def _die(name: str, root: Path, point: int) -> int | None:
    """Run the scenario's call in a process that dies at a step; gives how many steps it took if it lived."""
    code, said, wrong = run_module("world.git.dying", name, str(root), str(point), env=os.environ)
    if code == -signal.SIGKILL:
        return None
    assert code == 0, wrong
    return int(said)


def _chosen(most: int, name: str) -> list[tuple[int, int]]:
    """At which steps to die: first, and in the call after that, or 0 to live."""
    chance = random.Random(f"{SEED} {name}")
    points = range(1, most + 1)
    if EXHAUSTIVE:
        return [(point, 0) for point in points] + [(point, chance.choice(points)) for point in points]
    few = sorted(chance.sample(points, min(SAMPLE, most)))
    return [(point, chance.choice((0, chance.choice(points)))) for point in few]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_step_and_called_again_it_ends_in_the_same_result(
    thread: Path, tmp_path: Path, name: str
) -> None:
    ready = _ready(thread, name, tmp_path)
    root = next(ready)
    steps = _die(name, root, 0)
    assert steps is not None
    assert steps >= 2, "there are steps to die at"
    SCENARIOS[name].holds(root)
    for first, second in _chosen(steps, name):
        root = next(ready)
        main = git("rev-parse", "main", cwd=root)
        assert _die(name, root, first) is None
        if second:
            _die(name, root, second)
        SCENARIOS[name].call(root)
        SCENARIOS[name].holds(root)
        assert git("rev-parse", "main", cwd=root) == main or SCENARIOS[name].moves_main
    ready.close()


FAULTY = """#!/bin/sh
[ -z "$FAULT_COUNT" ] && exec REAL "$@"
count=$(($(cat "$FAULT_COUNT") + 1))
echo $count > "$FAULT_COUNT"
[ $count = "$FAULT_AT" ] && kill -9 $$
exec REAL "$@"
"""


@pytest.mark.exhaustive
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_git_that_is_killed_is_said_and_the_verb_can_be_called_again(
    thread: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count, path = shutil.which("git"), tmp_path / "count", os.environ["PATH"]
    assert real is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(FAULTY.replace("REAL", real))
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("FAULT_COUNT", str(count))

    def called(root: Path, at: int) -> tuple[int, str | None]:
        """How many gits there were until the call ended, and its error."""
        count.write_text("0")
        monkeypatch.setenv("FAULT_AT", str(at))
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{path}")
        try:
            SCENARIOS[name].call(root)
        except InterlockError as error:
            return int(count.read_text()), error.code
        finally:
            monkeypatch.setenv("PATH", path)
        return int(count.read_text()), None

    ready = _ready(thread, name, tmp_path)
    most, code = called(next(ready), 0)
    assert code is None
    points = list(range(1, most + 1))
    chosen = points if EXHAUSTIVE else sorted(random.Random(f"{SEED} {name}").sample(points, min(SAMPLE, most)))
    for point in chosen:
        root = next(ready)
        reached, code = called(root, point)
        assert reached >= point, "it was reached; a verb may ask once more how far it got"
        assert code == "git_failed"
        assert not list((root / ".git").rglob("index.lock"))
        SCENARIOS[name].call(root)
        SCENARIOS[name].holds(root)
    ready.close()
