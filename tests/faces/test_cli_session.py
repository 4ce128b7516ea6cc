"""`ralph session`: what people see of agents at work, and how an agent without MCP reports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from faces.programs import HOOK, RALPH, Result, followed, run, run_here, run_in_terminal
from interlock.machine import load_shipped
from interlock.world.processes import calling_agent
from patience import SECONDS

from .journals import settle

STATES = load_shipped("session").states
WAY = ("analyzing", "implementing", "testing", "committing", "reviewing")
NOBODY = "01m7fhajrb1mtzp073r5yf47zk"

Ralph = Callable[..., Result]


class Agent:
    """An agent that reports through the command line."""

    def __init__(self, repository: Path, environment: dict[str, str]) -> None:
        self.repository = repository
        self.environment = environment
        self.id = ""

    def begin(self, *words: str) -> Agent:
        self.id = self.ralph("create", *words).data["session_id"]
        return self

    def update(self, state: str, *words: str) -> dict[str, Any]:
        moved: dict[str, Any] = self.ralph("update", state, *words).data
        return moved

    def ralph(self, *words: str) -> Result:
        inside = {"RALPH_SESSION_ID": self.id} if self.id else {}
        return run_here("session", *words, "--json", cwd=self.repository, env={**self.environment, **inside})


@pytest.fixture
def agent(repository: Path, environment: dict[str, str]) -> Agent:
    return Agent(repository, environment)


@pytest.fixture
def ralph(repository: Path, environment: dict[str, str]) -> Ralph:
    """`ralph session` as a person calls it."""
    return lambda *words: run_here("session", *words, cwd=repository, env=environment)


@pytest.fixture
def flushing(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "PYTHONUNBUFFERED": "1"}


# Nothing there


@pytest.mark.parametrize("words", [["list"], ["list", "--open"], ["watch", "--once"]], ids=" ".join)
def test_where_there_is_no_journal_nothing_is_shown_and_nothing_is_made(
    words: list[str], ralph: Ralph, repository: Path
) -> None:
    result = ralph(*words)
    assert result.code == 0
    assert "no sessions here yet" in result.err
    assert not (repository / ".ralf").exists()


@pytest.mark.parametrize(
    "words",
    [["show", NOBODY], ["update", "analyzing", "--session", NOBODY], ["complete", "failure", "--session", NOBODY]],
    ids=lambda words: str(words[0]),
)
def test_a_session_that_is_not_there_is_an_error(words: list[str], ralph: Ralph) -> None:
    assert ralph(*words, "--json").error["code"] == "unknown_session"


def test_a_ticket_that_is_not_there_is_an_error(agent: Agent, ralph: Ralph) -> None:
    agent.begin()
    assert ralph("list", "--ticket", "nope", "--json").error["code"] == "unknown_ticket"


def test_a_report_without_a_session_says_how_to_name_one(ralph: Ralph) -> None:
    error = ralph("update", "analyzing", "--json").error
    assert error["code"] == "usage"
    assert "RALPH_SESSION_ID" in error["hint"]


@pytest.mark.parametrize("metadata", ["no json", "[1]", '"text"', "{", "[" * 100_000], ids=range(5))
def test_metadata_that_is_no_object_is_refused(agent: Agent, metadata: str) -> None:
    agent.begin()
    assert agent.ralph("update", "analyzing", "--metadata", metadata).error["code"] == "invalid_argument"


@pytest.mark.parametrize("number", ["0", "-1", "x", "99999999999999"])
def test_a_number_of_sessions_that_is_none_is_refused(ralph: Ralph, number: str) -> None:
    assert ralph("list", "-n", number, "--json").error["code"] == "usage"


# The life of a session


def test_an_agent_without_mcp_reports_a_whole_session(agent: Agent, ralph: Ralph) -> None:
    agent.begin("--ticket", "7.11")
    for state in WAY:
        assert agent.update(state)["new_state"] == state
    ended = agent.ralph("complete", "success").data
    assert (ended["previous_state"], ended["new_state"], ended["outcome"]) == ("reviewing", "done", "success")
    shown = ralph("show", agent.id[-6:], "--json").data
    assert [item["state"] for item in shown["state_history"]] == ["idle", *WAY, "done"]
    assert shown["ticket_id"] == "7.11"
    assert shown["completed_at"]
    assert shown["seconds_in_state"].keys() == {"idle", *WAY}


def test_a_file_that_was_written_while_analyzing_is_told_when_that_ends(agent: Agent, repository: Path) -> None:
    began = datetime.fromisoformat(agent.begin().update("analyzing")["transitioned_at"]).timestamp()
    (repository / "sneaked.py").write_text("x = 1\n")
    os.utime(repository / "sneaked.py", (began + 0.002, began + 0.002))
    deadline = time.monotonic() + SECONDS
    while time.time() < began + 0.1:
        assert time.monotonic() < deadline
    [found] = agent.update("implementing")["findings"]
    assert "sneaked.py was written" in found
    assert "findings" not in agent.update("testing")


def test_where_the_caller_has_a_session_id_it_is_the_agent(
    agent: Agent, repository: Path, environment: dict[str, str]
) -> None:
    agent.begin().update("analyzing")
    entries = run_here("log", "--json", cwd=repository, env=environment).data
    reported = [entry for entry in entries if entry["event"] == "update_session_state"]
    assert [(entry["actor_kind"], entry["channel"]) for entry in reported] == [("agent", "cli")]


@pytest.mark.skipif(calling_agent({}) is not None, reason="these tests run inside an agent, who is no person")
def test_a_person_can_cancel_a_session_and_not_make_it_a_success(agent: Agent, ralph: Ralph) -> None:
    agent.begin("--ticket", "42")
    named = ("--session", agent.id, "--json")
    assert ralph("complete", "success", *named).error["code"] == "refused_by_rule"
    assert ralph("update", "testing", *named).error["code"] == "actor_not_allowed"
    assert ralph("complete", "cancelled", "--error", "wrong", *named).data["outcome"] == "cancelled"


@pytest.mark.parametrize("marker", ["CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI"])
def test_inside_an_agents_environment_the_caller_is_that_agent(
    agent: Agent, repository: Path, environment: dict[str, str], marker: str
) -> None:
    agent.begin()
    inside = {**environment, marker: "1"}
    result = run_here("session", "update", "analyzing", "--session", agent.id, "--json", cwd=repository, env=inside)
    assert result.data["new_state"] == "analyzing"


def test_below_an_agents_process_the_caller_is_that_agent(
    agent: Agent, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """The process tree decides, whatever the environment says; a script plays the agent by its name."""
    agent.begin()
    script = tmp_path / "agent.py"
    script.write_text(
        "import ctypes, subprocess, sys\n"
        "ctypes.CDLL(None).prctl(15, b'claude', 0, 0, 0)\n"
        "sys.exit(subprocess.call(sys.argv[1:]))\n"
    )
    words = ["session", "update", "analyzing", "--session", agent.id, "--json"]
    result = run(script, RALPH, *words, cwd=repository, env=environment, program=Path(sys.executable))
    assert result.data["new_state"] == "analyzing"


def test_a_strict_repository_refuses_what_is_off_the_path(agent: Agent, repository: Path) -> None:
    settle(repository, '[session]\nenforcement = "strict"\n')
    agent.begin()
    error = agent.ralph("update", "committing").error
    assert error["code"] == "target_not_allowed"
    assert "analyzing" in error["hint"]


@pytest.mark.parametrize(
    "text", ["[session]\nenforcment = 'strict'\n", "[session]\ntimeout_minutes = 0\n", "= nonsense", "[nope]\n"]
)
def test_settings_that_nobody_accepted_are_not_in_force_and_it_is_said_why(
    agent: Agent, repository: Path, text: str
) -> None:
    (repository / "ralph.toml").write_text(text)
    agent.begin()
    told = run_here("ticket", "list", cwd=repository, env=agent.environment)
    assert "ralph config accept" in told.err
    assert "ralph.toml" in told.err


# What people see


def test_the_list_has_a_line_a_session_with_the_seeds_icon_and_label(agent: Agent, ralph: Ralph) -> None:
    for state in WAY:
        Agent(agent.repository, agent.environment).begin("--ticket", f"for {state}").update(state)
    lines = ralph("list").out.splitlines()
    assert len(lines) == len(WAY)
    for line, state in zip(lines, reversed(WAY), strict=True):
        assert line.startswith(f"{STATES[state].icon} {STATES[state].label}")
        assert f"for {state}" in line


def test_the_list_can_be_narrowed_to_a_ticket_to_open_ones_and_to_a_number(agent: Agent, ralph: Ralph) -> None:
    first = agent.begin("--ticket", "a")
    first.ralph("complete", "failure", "--error", "no")
    second = Agent(agent.repository, agent.environment).begin("--ticket", "b")
    assert [one["id"] for one in ralph("list", "--open", "--json").data] == [second.id]
    assert [one["id"] for one in ralph("list", "--ticket", "a", "--json").data] == [first.id]
    assert [one["id"] for one in ralph("list", "-n", "1", "--json").data] == [second.id]


def test_a_page_shows_history_durations_and_test_results(agent: Agent, ralph: Ralph) -> None:
    agent.begin("--ticket", "7.11")
    agent.update("analyzing", "--metadata", '{"message": "reading the spec"}')
    agent.update("committing", "--metadata", '{"testResults": {"passed": 3, "failed": 0}}')
    page = ralph("show", agent.id).out
    assert re.search(r"◐ analyzing +\d+s  reading the spec", page)
    assert re.search(r"◓ committing +\d+s  3 passed  ⚠ off the path", page)
    assert agent.id in page


def test_control_characters_of_an_agent_never_reach_the_terminal(
    agent: Agent, repository: Path, environment: dict[str, str]
) -> None:
    agent.begin("--ticket", "7.11")
    agent.update("analyzing", "--metadata", json.dumps({"message": "\x1b[2J\x1b]0;owned\x07\u202egnp"}))
    for words in (["list"], ["show", agent.id], ["watch", "--once"]):
        code, screen = run_in_terminal("session", *words, cwd=repository, env=environment)
        assert code == 0
        assert [text for text in ("\x1b[2J", "\x1b]0", "\u202e") if text in screen] == []


def test_every_state_has_its_colour_in_a_terminal(agent: Agent, repository: Path, environment: dict[str, str]) -> None:
    agent.begin("--ticket", "7.11").update("implementing")
    _, screen = run_in_terminal("session", "list", cwd=repository, env=environment)
    assert "\x1b[33m◑ Implementing" in screen


# Watching


@pytest.mark.requirement("session:watch")
def test_a_watch_tells_each_thing_that_happens_in_plain_lines(
    agent: Agent, repository: Path, environment: dict[str, str], flushing: dict[str, str]
) -> None:
    agent.begin("--ticket", "7.11")
    with followed("session", "watch", cwd=repository, env=flushing) as stream:
        assert "○ Idle" in stream.line()
        agent.update("analyzing")
        assert "◐ Analyzing" in stream.line()
        other = Agent(repository, environment).begin("--ticket", "9")
        line = stream.line()
        assert "○ Idle" in line
        assert other.id[-6:] in line
        agent.ralph("complete", "failure", "--error", "no disk")
        assert "✕ Failed" in stream.line()
        assert stream.interrupt().code == 130


def test_a_watch_of_one_session_ends_with_it(agent: Agent, repository: Path, flushing: dict[str, str]) -> None:
    agent.begin()
    with followed("session", "watch", agent.id, "--json", cwd=repository, env=flushing) as stream:
        assert json.loads(stream.line())["state"] == "idle"
        agent.update("analyzing")
        assert json.loads(stream.line())["event"]["data"]["previousState"] == "idle"
        agent.ralph("complete", "success")
        assert json.loads(stream.line())["state"] == "done"
        assert stream.process.wait(SECONDS) == 0


def test_a_watch_waits_for_the_first_session_of_all(agent: Agent, repository: Path, flushing: dict[str, str]) -> None:
    with followed("session", "watch", cwd=repository, env=flushing) as stream:
        agent.begin("--ticket", "first")
        assert "first" in stream.line()


def test_a_watch_shows_what_a_hook_sees_as_it_sees_it(
    agent: Agent, repository: Path, environment: dict[str, str], flushing: dict[str, str]
) -> None:
    agent.begin("--ticket", "7.11").update("implementing")
    call = {"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_use_id": "1", "cwd": str(repository)}
    with followed("session", "watch", cwd=repository, env=flushing) as stream:
        assert "Implementing" in stream.line()
        subprocess.run(
            [HOOK, "pre-tool-use"],
            input=json.dumps(call).encode(),
            cwd=repository,
            env={**environment, "RALPH_SESSION_ID": agent.id},
            check=True,
            timeout=SECONDS,
        )
        assert "tool_start: Bash: make all" in stream.line()


def test_in_a_terminal_the_watch_of_a_session_is_live_and_leaves_its_last_line(
    agent: Agent, repository: Path, environment: dict[str, str]
) -> None:
    agent.begin("--ticket", "7.11")
    agent.ralph("complete", "success")
    code, screen = run_in_terminal("session", "watch", agent.id, cwd=repository, env=environment)
    assert code == 0
    assert "● Done" in screen
