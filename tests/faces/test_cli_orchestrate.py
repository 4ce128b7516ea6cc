"""`ralph orchestrate`, seen from outside: a goal, agents that play scripts, and what people do with a run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faces.journals import settle
from faces.programs import run, run_in_terminal
from work.orchestration.test_drive import MET, done, plan, qualified, task

SETTINGS = (
    '[agent]\nname = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n[verify]\ncommands = ["true"]\n'
)


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository whose agents do one task, and whose reviewer is content."""
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run(["git", "config", key, value], cwd=repository, env=environment, check=True)
    (repository / ".gitignore").write_text("*.json\n*.count\n")
    settle(repository, SETTINGS)
    _plays(repository, "agent", plan(task(1)), done(1))
    _plays(repository, "judge", qualified(1), MET)
    subprocess.run(["git", "add", "-A"], cwd=repository, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=repository, env=environment, check=True)
    return repository


def _plays(repository: Path, name: str, *iterations: list[dict[str, Any]]) -> None:
    (repository / f"{name}.count").unlink(missing_ok=True)
    (repository / f"{name}.json").write_text(json.dumps({"state": f"{name}.count", "iterations": list(iterations)}))


def _last(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def test_a_goal_is_met_and_its_files_and_status_say_so(project: Path, environment: dict[str, str]) -> None:
    result = run("orchestrate", "All parts are there", cwd=project, env=environment)
    assert result.code == 0, result
    assert "[x] task-1" in result.out
    status = run("orchestrate", "status", "--json", cwd=project, env=environment).data
    assert (status["state"], status["outcome"], [one["mark"] for one in status["tasks"]]) == ("Exit", "success", ["x"])
    assert "- [x] task-1" in (project / ".ralph-sessions" / status["session"] / "progress.md").read_text()
    assert run("journal", "verify", cwd=project, env=environment).code == 0


def test_a_run_that_failed_says_what_it_needs_and_a_person_lets_it_go_on(
    project: Path, environment: dict[str, str]
) -> None:
    settle(project, SETTINGS.replace('"true"', '"test -f mended"'))
    failed = run("orchestrate", "All parts are there", "--json", cwd=project, env=environment)
    error = _last(failed.out)["error"]
    assert (failed.code, error["code"]) == (5, "run_failed")
    assert error["details"]["tasks"][0]["mark"] == "F"
    assert run("orchestrate", "resume", cwd=project, env=environment).code == 5
    (project / "mended").write_text("")
    _plays(project, "agent", done(1))
    _plays(project, "judge", qualified(1), MET)
    code, screen = run_in_terminal("orchestrate", "resume", cwd=project, env=environment)
    assert code == 0, screen
    assert run("orchestrate", "status", "--json", cwd=project, env=environment).data["outcome"] == "success"


@pytest.mark.parametrize("words", [("status",), ("add", "more"), ("stop",), ("resume",)])
def test_without_a_run_it_says_how_to_begin_one(
    repository: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    refused = run("orchestrate", *words, "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "unknown_run"
    assert "ralph orchestrate" in refused.error["hint"]


def test_a_verb_that_is_none_begins_no_run(repository: Path, environment: dict[str, str]) -> None:
    refused = run("orchestrate", "resme", "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "usage"
    assert "resume" in refused.error["hint"]
