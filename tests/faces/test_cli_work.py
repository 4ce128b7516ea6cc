"""`ralph work` from the command line: a ticket all the way, with a person at the gates, and without one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faces.journals import opened, settle
from faces.programs import SECONDS, run, run_here, run_in_terminal
from work.threads.benches import DONE, IDLE, PASS
from work.ticket_driver.ways import commands

SETTINGS = (
    '[agent]\nsandbox = "none"\nname = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n'
    '[verify]\ncommands = ["true"]\n[thread]\nmode = "quick"\n'
)
GATES = [
    ("Type build and press Enter", "build\n"),
    ("Type finalize and press Enter", "finalize\n"),
    ("Type approve and press Enter", "approve\n"),
    ("Type commit and press Enter", "commit\n"),
]


def plays(root: Path, name: str, *iterations: list[dict[str, Any]]) -> None:
    (root / f"{name}.json").write_text(json.dumps({"state": f"{name}.count", "iterations": list(iterations)}))


def git(root: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=root, env=environment, check=True, timeout=SECONDS, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository with one ticket, and agents that play the whole pipeline."""
    settle(repository, SETTINGS)
    plays(repository, "agent", *commands(), DONE)
    plays(repository, "judge", PASS)
    (repository / ".gitignore").write_text(".ralf/\n*.json\n*.count\n")
    git(repository, environment, "config", "user.name", "Ann")
    git(repository, environment, "config", "user.email", "ann@example.org")
    git(repository, environment, "add", "-A")
    git(repository, environment, "commit", "-qm", "start")
    run_here("ticket", "create", "Greet people", "--estimate", "S", cwd=repository, env=environment)
    return repository


def test_a_person_at_a_terminal_leads_a_ticket_to_its_commit(project: Path, environment: dict[str, str]) -> None:
    branch = git(project, environment, "branch", "--show-current")
    code, screen = run_in_terminal("work", "1", cwd=project, env=environment, answers=GATES)
    assert "#1 Greet people: In Review; it waits to be merged" in screen, screen
    assert code == 0
    with opened(project) as journal:
        [thread] = journal.instances("thread")
        assert thread.outcome == "success"
        gates = [one.channel for one in journal.history(thread.id) if one.event in ("finalize", "approve", "commit")]
        assert gates == ["cli"] * 3
        assert journal.verify() == []
    git(project, environment, "switch", "-q", branch)
    git(project, environment, "merge", "-q", "--ff-only", f"ralf/{thread.id}")
    settle(project, f'{SETTINGS}[ticket]\ntarget_branch = "{branch}"\n')
    data = run("work", "1", "--json", cwd=project, env=environment).data
    assert (data["state"], data["outcome"], data["next"]) == ("Done", "success", None)


def test_without_a_terminal_it_stops_at_the_plan_and_says_what_to_type(
    project: Path, environment: dict[str, str]
) -> None:
    done = run("work", "1", cwd=project, env=environment)
    assert done.code == 0
    assert "#1 Greet people: Plan in Review; its plan is yours to approve" in done.out
    assert "→ `ralph ticket handoff 1 --intent complete --reason …`." in done.out


def test_what_no_agent_finishes_is_a_persons_and_exits_with_five(project: Path, environment: dict[str, str]) -> None:
    plays(project, "agent", IDLE)
    done = run("work", "1", "--json", cwd=project, env=environment)
    error = json.loads(done.out.splitlines()[-1])["error"]
    assert (done.code, error["code"]) == (5, "person_needed")
    assert "triage was tried 2 times" in error["message"]
    assert error["details"]["state"] == "Human Needed"


def test_an_agent_is_told_to_use_the_commands(project: Path, environment: dict[str, str]) -> None:
    error = run("work", "1", "--json", cwd=project, env={**environment, "CLAUDECODE": "1"}).error
    assert error["code"] == "person_needed"
    assert "`ralph ticket handoff`" in error["hint"]


def test_bad_input_is_told(project: Path, environment: dict[str, str]) -> None:
    for words, code in ((("9",), "unknown_ticket"), ((), "usage"), (("1", "--driver", "x"), "usage")):
        assert run_here("work", *words, "--json", cwd=project, env=environment).error["code"] == code
