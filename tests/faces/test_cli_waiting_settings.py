"""No agent is started while settings wait to be accepted, or cannot be read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from faces.journals import opened, settle
from faces.programs import SECONDS, run, run_here, run_in_terminal

BEFORE = '[agent]\nsandbox = "none"\nname = "scripted"\nscript = "agent.json"\n[verify]\ncommands = ["true"]\n'
WAITING = f"{BEFORE}[thread]\nbudget_usd = 5\n"
MISSPELT = f"{BEFORE}[thread]\nbuget_usd = 5\n"
SPEC = "# Greet\n\n## Completion Criteria\n\n- [ ] it is there\n  - verify: `true`\n\n<promise>COMPLETE</promise>\n"


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository with accepted settings, a ticket, a story and an agent that leaves a file when it is started."""
    settle(repository, BEFORE)
    started = [{"run": ["/bin/sh", "-c", f"touch {repository}/started"]}, {"say": "No."}, {"finish": True}]
    (repository / "agent.json").write_text(json.dumps({"iterations": [started]}))
    (repository / "spec.md").write_text(SPEC)
    (repository / ".gitignore").write_text("*\n")
    for words in (
        ("config", "user.name", "Ann"),
        ("config", "user.email", "ann@example.org"),
        ("commit", "-q", "--allow-empty", "-m", "start"),
    ):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True, timeout=SECONDS)
    run_here("ticket", "create", "Greet people", "--estimate", "S", cwd=repository, env=environment)
    run_here("thread", "new", "Greet", cwd=repository, env=environment)
    return repository


def _entries(repository: Path) -> int:
    with opened(repository) as journal:
        return journal.head()


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("text", "code"), [(WAITING, "settings_waiting"), (MISSPELT, "settings_invalid"), ("= x", "settings_invalid")]
)
@pytest.mark.parametrize(
    "words",
    [
        ("work", "1"),
        ("work", "1", "--split"),
        ("thread", "drive"),
        ("thread", "spec", "--say", "Make it polite"),
        ("story", "run"),
        ("orchestrate", "Greet people"),
    ],
    ids=" ".join,
)
def test_nothing_starts_an_agent(
    project: Path, environment: dict[str, str], words: tuple[str, ...], text: str, code: str
) -> None:
    (project / "ralph.toml").write_text(text)
    before = _entries(project)
    refused = run(*words, "--json", cwd=project, env=environment)
    assert not (project / "started").exists()
    assert refused.error["code"] == code
    assert _entries(project) == before
    assert "ralph config accept" in refused.error["hint"]


def test_a_person_at_a_terminal_is_asked_and_then_it_goes_on(project: Path, environment: dict[str, str]) -> None:
    (project / "ralph.toml").write_text(WAITING)
    asked = [("Type accept", "accept\n")]
    _, screen = run_in_terminal("work", "1", "--no-questions", cwd=project, env=environment, answers=asked)
    assert "+budget_usd = 5" in screen
    assert (project / "started").exists()
    rows = run("config", "show", "--json", cwd=project, env=environment).data["settings"]
    assert next(row["value"] for row in rows if row["key"] == "thread.budget_usd") == 5


def test_a_person_who_declines_starts_nothing(project: Path, environment: dict[str, str]) -> None:
    (project / "ralph.toml").write_text(WAITING)
    asked = [("Type accept", "no\n")]
    code, screen = run_in_terminal("work", "1", cwd=project, env=environment, answers=asked)
    assert (code, "gate_declined" in screen) == (5, True)
    assert not (project / "started").exists()


def test_what_starts_no_agent_works_while_settings_wait(project: Path, environment: dict[str, str]) -> None:
    (project / "ralph.toml").write_text(WAITING)
    for words in (("ticket", "create", "Another"), ("thread", "spec", "--file", "spec.md"), ("thread", "abandon")):
        assert run(*words, cwd=project, env=environment).code == 0


def test_a_driver_keeps_the_settings_that_it_began_with(project: Path, environment: dict[str, str]) -> None:
    changed = f"echo again >> {project}/started; printf '[session]\\ntimeout_minutes = 5\\n' >> {project}/ralph.toml"
    steps = [{"run": ["/bin/sh", "-c", changed]}, {"say": "No."}, {"finish": True}]
    (project / "agent.json").write_text(json.dumps({"iterations": [steps]}))
    run("work", "1", "--json", cwd=project, env=environment)
    assert len((project / "started").read_text().splitlines()) > 1
    assert run("work", "1", "--json", cwd=project, env=environment).error["code"] == "settings_invalid"
