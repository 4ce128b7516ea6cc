"""The scripted agent: a real process that plays its script, and goes on where it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.world.agents import scripted
from interlock.world.agents.happenings import Said
from interlock.world.agents.result import Ending
from interlock.world.agents.scripted.__main__ import _STEPS
from interlock.world.agents.scripted.adapter import Scripted
from world.agents.runs import Place


def _said(place: Place) -> list[str]:
    return [one.text for one in place.told if isinstance(one, Said)]


def test_each_run_plays_the_next_iteration_and_then_the_last_again(place: Place) -> None:
    path = place.directory / "script.json"
    path.write_text(json.dumps({"state": "count", "iterations": [[{"say": word}] for word in ("one", "two")]}))
    for _ in range(4):
        place.run(Scripted(path))
    assert _said(place) == ["one", "two", "two", "two"]
    assert (place.directory / "count").read_text() == "4\n"


def test_the_environment_may_name_the_state(place: Place) -> None:
    agent = place.script({"say": "on"}, state="unused")
    place.run(agent, environment={"RALPH_SCRIPT_STATE": str(place.directory / "own")})
    assert (place.directory / "own").read_text() == "1\n"
    assert not (place.directory / "unused").exists()


def test_without_a_state_every_run_is_the_first(place: Place) -> None:
    path = place.directory / "script.json"
    path.write_text(json.dumps({"iterations": [[{"say": "one"}], [{"say": "two"}]]}))
    assert [place.run(Scripted(path)).ending for _ in range(2)] == [Ending.FINISHED] * 2
    assert _said(place) == ["one", "one"]


def test_it_works_on_files_and_commits(place: Place) -> None:
    git = ("git", "-c", "init.defaultBranch=main")
    subprocess.run([*git, "init", "-q", place.directory], check=True, timeout=30)
    agent = place.script(
        {"write": {"path": "new/a.txt", "text": ["one"]}},
        {"append": {"path": "new/a.txt", "text": "two\n"}},
        {"write": {"path": "b.txt", "text": "gone"}},
        {"delete": "b.txt"},
        {"run": [sys.executable, "-c", "print('from a command')"]},
        {"commit": "what it did"},
    )
    person = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    result = place.run(agent, environment={"PATH": "/usr/bin:/bin", "HOME": str(place.directory), **person})
    assert result.ending is Ending.FINISHED, result
    assert (place.directory / "new" / "a.txt").read_text() == "one\ntwo\n"
    assert not (place.directory / "b.txt").exists()
    assert "from a command" in place.log.read_text()
    shown = subprocess.run(
        ["git", "log", "--format=%s", "--name-only"], cwd=place.directory, capture_output=True, text=True, check=True
    )
    assert shown.stdout.split("\n")[0] == "what it did"
    assert "new/a.txt" in shown.stdout


@pytest.mark.parametrize(
    "step", [{"no-such-step": 1}, {"delete": "missing"}, {"write": "nonsense"}, {}, "say", {"a": 1, "b": 2}]
)
def test_a_step_that_fails_ends_the_run(place: Place, step: Any) -> None:
    result = place.run(place.script(step, {"say": "never"}))
    assert (result.ending, result.exit_code) == (Ending.FAILED, 70)
    assert _said(place) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"iterations": []}', '{"iterations": [], "state": 3}'])
def test_a_script_that_cannot_be_read_is_said_to_be(place: Place, text: str) -> None:
    path = place.directory / "script.json"
    path.write_text(text)
    result = place.run(Scripted(path))
    assert (result.ending, result.exit_code) == (Ending.FAILED, 64)
    assert "cannot be read" in result.last_lines[-1]


def test_a_module_in_the_work_tree_is_not_taken_for_ours(place: Place) -> None:
    for name in ("interlock.py", "json.py", "signal.py"):
        (place.directory / name).write_text("raise SystemExit('hijacked')")
    assert place.run(place.script({"say": "mine"})).ending is Ending.FINISHED


def test_every_step_is_in_its_description() -> None:
    said = scripted.__doc__ or ""
    assert {name for name in (*_STEPS, "echo") if f'{{"{name}"' not in said} == set()


def test_the_docs_describe_every_step() -> None:
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()
    assert {name for name in (*_STEPS, "echo") if f"`{name}`" not in page} == set()
