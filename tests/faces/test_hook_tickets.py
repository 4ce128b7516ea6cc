"""`ralph-hook` and tickets: with a session and without, for each agent, and how little it loads for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faces.hooks import CLAUDE, CODEX, begun, called, hooked, notes
from faces.journals import journal_file, trusting
from faces.programs import SECONDS, Result, run
from interlock.journal import open_journal
from interlock.machine import Evidence, load_shipped
from journal.histories import HUMAN, created, paths

POLICY, AFTERWARDS = "pre-tool-use", "post-tool-use"
MACHINE = load_shipped("ticket")
AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Claude Code": ("mcp__ralph__handoff_ticket", CLAUDE),
    "Codex": ("mcp__ralph__handoff_ticket", CODEX),
    "OpenCode": ("ralph_handoff_ticket", {}),
}
PLANS = "thoughts/shared/plans"
FIRST, SECOND = f"{PLANS}/2026-02-16-GH-0019-first.md", f"{PLANS}/2026-03-01-GH-19-second.md"


def _ticket(repository: Path, state: str = "Backlog", number: int = 19, address: str | None = None) -> None:
    journal = open_journal(address or journal_file(repository), created=trusting(repository))
    try:
        evidence = Evidence(names=(f"number:{number:012d}",))
        made = journal.create("ticket", created(HUMAN, evidence)).entry.instance
        for event in paths(MACHINE)[state]:
            journal.append(made, event)
    finally:
        journal.close()


def _handoff(agent: str = "Claude Code", **given: Any) -> dict[str, Any]:
    tool, told = AGENTS[agent]
    return called(tool, {"number": 19, "reason": "because", **given}, told)


def _blocked(result: Result) -> str:
    assert (result.code, result.out) == (2, ""), result
    assert result.err.startswith("Interlock: ")
    return result.err


@pytest.mark.parametrize("agent", AGENTS)
def test_a_wrong_handoff_is_blocked_for_every_agent_without_a_session(
    agent: str, repository: Path, environment: dict[str, str]
) -> None:
    _ticket(repository)
    wrong = _handoff(agent, command="research", to_state="Done")
    assert "wrong command" in _blocked(hooked(POLICY, wrong, repository, environment))
    right = _handoff(agent, command="triage", to_state="Done")
    assert hooked(POLICY, right, repository, environment) == Result(0, "", "")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_ticket_that_waits_for_a_person_is_moved_by_no_agent(
    agent: str, repository: Path, environment: dict[str, str]
) -> None:
    _ticket(repository, "Human Needed")
    said = _handoff(agent, command="triage", to_state="Backlog")
    assert "ralph ticket handoff 19" in _blocked(hooked(POLICY, said, repository, environment))


def test_the_command_of_the_environment_is_the_one(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository)
    said = _handoff(command="plan", intent="lock")
    assert hooked(POLICY, said, repository, environment, RALPH_COMMAND="plan").code == 0
    assert hooked(POLICY, said, repository, environment, RALPH_COMMAND="hero").code == 0
    assert hooked(POLICY, said, repository, environment, RALPH_COMMAND="").code == 0
    assert "started for the command research" in _blocked(
        hooked(POLICY, said, repository, environment, RALPH_COMMAND="ralph_research")
    )


def test_a_block_is_told_where_there_is_a_session(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository)
    session = begun(repository)
    _blocked(hooked(POLICY, _handoff(command="plan", to_state="Done"), repository, environment, session))
    [note] = notes(repository)
    assert (note["type"], note["need"], note["state"]) == ("denied", "ticket", "idle")
    assert hooked(POLICY, _handoff(command="plan", intent="lock"), repository, environment, session).code == 0
    assert [note["type"] for note in notes(repository)] == ["denied", "tool_start"]


def test_a_server_has_tickets_too(repository: Path, environment: dict[str, str], postgres_address: str) -> None:
    _ticket(repository, address=postgres_address)
    said = _handoff(command="research", to_state="Done")
    _blocked(hooked(POLICY, said, repository, environment, RALPH_DATABASE_URL=postgres_address))
    right = _handoff(command="research", intent="lock")
    assert hooked(POLICY, right, repository, environment, RALPH_DATABASE_URL=postgres_address).code == 0


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {"number": []}, {"number": 19, "command": {"a": 1}}])
@pytest.mark.parametrize("event", [POLICY, AFTERWARDS])
def test_what_is_no_handoff_at_all_is_left_to_the_tool(
    event: str, wrong: object, repository: Path, environment: dict[str, str]
) -> None:
    _ticket(repository)
    said = {**_handoff(), "tool_input": wrong}
    result = hooked(event, said, repository, environment)
    assert (result.code, result.err) == (0, "")


def test_without_a_journal_nothing_is_said(repository: Path, environment: dict[str, str]) -> None:
    said = _handoff(command="nope")
    for event in (POLICY, AFTERWARDS):
        assert hooked(event, said, repository, environment) == Result(0, "", "")
    assert not (repository / ".ralf").exists()


# Documents


def _write(path: Path | str, agent: dict[str, Any] = CLAUDE) -> dict[str, Any]:
    return called("Write", {"file_path": str(path), "content": "x"}, agent)


def _patch(*paths: str) -> dict[str, Any]:
    text = "".join(f"*** Add File: {path}\n+x\n" for path in paths)
    return called("apply_patch", {"command": f"*** Begin Patch\n{text}*** End Patch\n"}, CODEX)


def _written(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text("x", encoding="utf-8")


def test_a_second_plan_is_blocked_also_without_a_session(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository)
    _written(repository, FIRST)
    for said in (
        _write(repository / SECOND),
        _write(SECOND),
        _patch("app.py", SECOND),
        called("write", {"filePath": str(repository / SECOND), "content": "x"}, {}),
    ):
        assert FIRST in _blocked(hooked(POLICY, said, repository, environment))
    assert hooked(POLICY, _write(repository / FIRST), repository, environment) == Result(0, "", "")
    assert hooked(POLICY, _patch(FIRST, "app.py"), repository, environment) == Result(0, "", "")


def test_the_state_of_a_session_still_counts(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository)
    session = begun(repository)
    err = _blocked(hooked(POLICY, _write(repository / FIRST), repository, environment, session))
    assert "`idle`" in err


def test_a_linked_work_tree_uses_the_same_journal(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], env=environment, check=True, timeout=SECONDS)
    linked = tmp_path / "linked"
    subprocess.run([*git, "worktree", "add", "-q", linked], env=environment, check=True, timeout=SECONDS)
    _ticket(repository)
    _written(linked, FIRST)
    _blocked(hooked(POLICY, _write(linked / SECOND), linked, environment))


# What comes next


@pytest.mark.parametrize("agent", AGENTS)
def test_what_comes_next_is_told_where_an_agent_hears_it(
    agent: str, repository: Path, environment: dict[str, str]
) -> None:
    _ticket(repository, "Ready for Plan")
    said = {**_handoff(agent, command="research", intent="complete"), "tool_response": "{}"}
    result = hooked(AFTERWARDS, said, repository, environment)
    assert (result.code, result.err) == (0, "")
    if agent == "OpenCode":
        assert result.out == ""
        return
    told = json.loads(result.out)
    assert told.keys() == {"hookSpecificOutput"}
    assert told["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    context = told["hookSpecificOutput"]["additionalContext"]
    assert context == "Interlock: ticket 19 is in Ready for Plan. Commands that begin there: hero, plan."


def test_it_is_told_in_a_session_too_and_what_was_seen_is_left(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository, "Done")
    session = begun(repository)
    said = {**_handoff(command="merge", intent="complete"), "tool_response": "{}"}
    result = hooked(AFTERWARDS, said, repository, environment, session)
    assert "nothing more to do" in result.out
    assert [note["type"] for note in notes(repository)] == ["tool_end"]


# How little it loads

_LOADED = """
import sys
sys.path[:0] = {path!r}
sys.argv = ["ralph-hook", {event!r}]
before = set(sys.modules)
import interlock.faces.hook
try:
    interlock.faces.hook.main()
except SystemExit:
    pass
print(*sorted(set(sys.modules) - before))
"""
HEAVY = {"typing", "pathlib", "dataclasses", "subprocess", "msgspec", "interlock.errors", "asyncio", "inspect"}


@pytest.mark.parametrize("event", [POLICY, AFTERWARDS])
@pytest.mark.parametrize(
    ("said", "concerns"),
    [
        (_handoff(command="plan", to_state="Done"), True),
        (_write(SECOND), True),
        (_write("app.py"), False),
        (called("Bash", {"command": "pytest -q"}), False),
        (called("mcp__ralph__get_ticket", {"number": 19}), False),
    ],
)
def test_nothing_heavy_is_loaded_and_the_policy_only_where_it_is_needed(
    event: str, said: dict[str, Any], concerns: bool, repository: Path, environment: dict[str, str]
) -> None:
    _ticket(repository)
    _written(repository, FIRST)
    program = _LOADED.format(path=[one for one in sys.path if one], event=event)
    stdin = json.dumps(said).encode()
    result = run("-S", "-c", program, cwd=repository, env=environment, program=Path(sys.executable), stdin=stdin)
    loaded = set(result.out.split("\n")[-2].split())
    assert loaded & HEAVY == set()
    assert ("interlock.work.tickets.policy" in loaded) is (concerns if event == POLICY else "handoff" in str(said))


def test_a_journal_that_is_broken_blocks_no_handoff(repository: Path, environment: dict[str, str]) -> None:
    _ticket(repository)
    journal_file(repository).write_bytes(b"no database")
    assert hooked(POLICY, _handoff(command="nope"), repository, environment).code == 0
