"""What `ralph-hook` leaves of what it saw, what becomes of it in the journal, and when it reminds an agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.hooks import CLAUDE, CODEX, agent_process, begun, called, hooked, notes, recorded, seen, taken_in
from faces.journals import AGENT, opened, trusting
from faces.programs import HOOK, RALPH, SECONDS, run
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.record import record_of
from interlock.work.sessions.upkeep import take_in, written_since
from interlock.work.sessions.verbs import Caller, complete, create, note, update
from interlock.world.place import Place
from interlock.world.repository import exclude_state
from journal.histories import Clock

WATCHER = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
SECRET = "ghp_" + "a1B2" * 10
GARBAGE = {
    "empty.json": b"",
    "half.json": b'{"session": "x", "at": 1, "no',
    "list.json": b"[]",
    "text.json": b"\xff\xfe",
    "large.json": b'{"session": "' + b"x" * 100_000 + b'"}',
    "deep.json": b"[" * 60_000,
    "other.txt": b"not ours",
    "nobody.json": b'{"session": "01h00000000000000000000000", "at": 1, "note": {"type": "progress"}}',
    "no session.json": b'{"session": "../../etc", "at": 1, "note": {"type": "progress"}}',
    "wrong time.json": b'{"session": "01h00000000000000000000000", "at": 1e400, "note": {}}',
    "late.json": b'{"session": "01h00000000000000000000000", "at": 99999999999999999999999, "note": {}}',
}


# What each event leaves


def test_a_written_file_is_seen_with_its_tool(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    said = recorded("claude/post-tool-use-write", repository)
    assert hooked("post-tool-use", said, repository, environment, session).code == 0
    ended, changed = notes(repository)
    path = f"{repository}/a.txt"
    assert ended == {
        "type": "tool_end",
        "tool": "Write",
        "success": True,
        "about": path,
        "call": "toolu_2",
        "milliseconds": 25,
    }
    assert changed == {"type": "file_change", "file": path, "tool": "Write"}


def test_every_file_of_a_patch_is_seen(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    patch = (
        "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n*** End Patch"
    )
    hooked("post-tool-use", called("apply_patch", {"command": patch}, CODEX), repository, environment, session)
    assert [note["file"] for note in notes(repository) if note["type"] == "file_change"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("name", ["claude/post-tool-use-edit", "codex/post-tool-use-patch-update"])
def test_an_edit_is_seen_as_a_change_of_its_file(name: str, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    hooked("post-tool-use", recorded(name, repository), repository, environment, session)
    files = [note["file"] for note in notes(repository) if note["type"] == "file_change"]
    assert [Path(file).name for file in files] == ["a.txt"]


def test_a_tool_that_failed_changed_no_file(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    said = {**called("Write", {"file_path": "a.txt"}), "error": "no room"}
    hooked("post-tool-use-failure", said, repository, environment, session)
    [note] = notes(repository)
    assert note["success"] is False
    assert note["error"] == "no room"


def test_a_command_that_failed_is_seen_as_failed(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    said = recorded("claude/post-tool-use-failure-shell-failing", repository)
    hooked("post-tool-use-failure", said, repository, environment, session)
    [note] = notes(repository)
    assert note["success"] is False
    assert note["about"] == "echo out; echo err >&2; exit 3"
    assert note["error"] == "Exit code 3\nout\nerr"


CLAUDE_OK = {"stdout": "", "stderr": "", "interrupted": False}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("event", "command", "more", "known"),
    [
        ("post-tool-use", "pytest -q", {"tool_response": CLAUDE_OK}, True),
        ("post-tool-use", "cd src && pytest 2>&1", {"tool_response": CLAUDE_OK}, True),
        ("post-tool-use-failure", "pytest -q", {"error": "Exit code 1"}, True),
        ("post-tool-use-failure", "pytest -q", {"error": "x", "is_interrupt": True}, False),
        ("post-tool-use", "pytest -q | tail -5", {"tool_response": CLAUDE_OK}, False),
        ("post-tool-use", "pytest -q || true", {"tool_response": CLAUDE_OK}, False),
        ("post-tool-use", "pytest -q &", {"tool_response": CLAUDE_OK}, False),
        ("post-tool-use", "pytest -q", {"tool_response": {**CLAUDE_OK, "interrupted": True}}, False),
        ("post-tool-use", "pytest -q", {"tool_response": {**CLAUDE_OK, "backgroundTaskId": "b1"}}, False),
        ("post-tool-use", "pytest -q", {"tool_response": "all went to stderr"}, False),
        ("post-tool-use", "pytest -q", {"tool_response": 5}, False),
        ("post-tool-use", "pytest -q", {}, False),
    ],
)
def test_a_run_of_tests_is_seen_and_how_it_went_only_where_that_was_said(
    event: str, command: str, more: dict[str, Any], known: bool, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "testing")
    hooked(event, {**called("Bash", {"command": command}), **more}, repository, environment, session)
    [note] = notes(repository)
    assert note["tests"] is True
    assert note["known"] is known
    assert note["success"] is (event == "post-tool-use")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["git status", "pip install pytest", "grep -r pytest .", "cat tests/test_a.py"])
def test_not_every_command_that_speaks_of_tests_runs_them(
    command: str, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "testing")
    hooked("post-tool-use", called("Bash", {"command": command}), repository, environment, session)
    assert "tests" not in notes(repository)[0]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_beginning_is_told_to_the_agent_and_left(agent: str, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "analyzing")
    said = recorded(f"{agent}/session-start", repository)
    result = hooked("session-start", said, repository, environment, session)
    assert result.code == 0
    assert session in result.out
    assert "`analyzing`" in result.out
    [note] = notes(repository)
    assert note["message"] == "the agent began"
    assert note["source"] == "startup"
    assert note["session_id"] == said["session_id"]


def test_nothing_is_told_of_a_session_that_has_ended(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "done")
    assert hooked("session-start", {"source": "resume"}, repository, environment, session).out == ""


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_of_a_prompt_only_its_length_is_kept(agent: str, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    said = {**recorded(f"{agent}/user-prompt-submit", repository), "prompt": f"do it with {SECRET}"}
    result = hooked("user-prompt-submit", said, repository, environment, session)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert notes(repository) == [{"type": "progress", "message": "prompt", "characters": 11 + len(SECRET)}]
    for path in (repository / ".ralf" / "inbox").iterdir():
        assert SECRET not in path.read_text(encoding="utf-8")
        assert "do it" not in path.read_text(encoding="utf-8")


def test_of_what_an_agent_says_at_the_end_nothing_is_kept(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    said = {**recorded("claude/stop-again", repository), "last_assistant_message": "a private word"}
    hooked("stop", said, repository, environment, session)
    assert notes(repository) == [{"type": "progress", "message": "the agent stopped its turn"}]


def test_a_long_text_is_cut_between_words_so_that_no_secret_is_cut_in_half(
    repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "implementing")
    for length in range(240, 310, 7):
        command = f"echo {'x' * length} {SECRET} {'y ' * 200}"
        hooked("post-tool-use", called("Bash", {"command": command}), repository, environment, session)
    hooked("post-tool-use", called("Bash", {"command": SECRET * 20}), repository, environment, session)
    abouts = [str(note["about"]) for note in notes(repository)]
    assert all(about.endswith("characters]") for about in abouts)
    assert all(SECRET in about or "ghp_" not in about for about in abouts)
    taken_in(repository)
    assert all("ghp_" not in json.dumps(one) for one in seen(repository, session))


# What becomes of it


def test_what_was_left_becomes_an_entry_each_once(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    hooked("pre-tool-use", called("Read", {"file_path": "a"}), repository, environment, session)
    hooked("post-tool-use", recorded("claude/post-tool-use-write", repository), repository, environment, session)
    hooked("user-prompt-submit", {"prompt": "x"}, repository, environment, session)
    left = [one["type"] for one in notes(repository)]
    assert left == ["tool_start", "tool_end", "file_change", "progress"]
    assert taken_in(repository) == 4
    assert [one["type"] for one in seen(repository, session)] == left
    assert notes(repository) == []
    assert taken_in(repository) == 0
    assert [one["type"] for one in seen(repository, session)] == left


def test_a_file_that_comes_back_is_written_no_second_time(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    hooked("post-tool-use", called("Read", {"file_path": "a"}), repository, environment, session)
    [path] = (repository / ".ralf" / "inbox").iterdir()
    content = path.read_bytes()
    for _ in range(3):
        taken_in(repository)
        path.write_bytes(content)
    assert len(seen(repository, session)) == 1


def test_processes_that_take_in_at_once_write_each_entry_once(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    for _ in range(8):
        hooked("post-tool-use", called("Read", {"file_path": "a"}), repository, environment, session)
    command = [str(RALPH), "session", "list", "--json"]
    takers = [
        subprocess.Popen(command, cwd=repository, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for taker in takers:
        _, err = taker.communicate(timeout=SECONDS)
        assert (taker.returncode, err) == (0, b"")
    assert len(seen(repository, session)) == 8
    assert list((repository / ".ralf" / "inbox").iterdir()) == []
    with opened(repository) as journal:
        assert journal.verify() == []


def test_garbage_does_no_harm_and_is_gone(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    hooked("post-tool-use", called("Read", {"file_path": "a"}), repository, environment, session)
    inbox = repository / ".ralf" / "inbox"
    for name, content in GARBAGE.items():
        (inbox / name).write_bytes(content)
    nested: Any = "x"
    for _ in range(900):
        nested = [nested]
    deep = {"session": session, "at": 1, "note": {"type": "progress", "deep": nested}}
    (inbox / "deep note.json").write_text(json.dumps(deep), encoding="utf-8")
    nul = {"session": session, "at": 1, "note": {"type": "progress", "message": "a\0b"}}
    (inbox / "nul.json").write_text(json.dumps(nul), encoding="utf-8")
    os.mkfifo(inbox / "pipe.json")
    (inbox / "link.json").symlink_to("/etc/passwd")
    (inbox / "a directory.json").mkdir()
    result = run("session", "list", "--json", cwd=repository, env=environment)
    assert result.code == 0, result
    assert [path.name for path in inbox.iterdir()] == ["a directory.json"]
    assert [one["type"] for one in seen(repository, session)] == ["tool_end"]
    with opened(repository) as journal:
        assert journal.verify() == []


def test_secrets_do_not_reach_the_journal(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    said = {**called("Bash", {"command": f"curl -H 'x: {SECRET}' https://a:pass-word@b.c"}), "error": f"no {SECRET}"}
    hooked("pre-tool-use", said, repository, environment, session)
    hooked("post-tool-use-failure", said, repository, environment, session)
    taken_in(repository)
    kept = json.dumps(seen(repository, session))
    assert "[redacted:github]" in kept
    assert SECRET not in kept
    assert "pass-word" not in kept
    assert SECRET.encode() not in (repository / ".ralf" / "journal.db").read_bytes()


# Reminding, and ending


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_driven_agent_that_stops_is_reminded_once(agent: str, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    result = hooked("stop", recorded(f"{agent}/stop", repository), repository, environment, session)
    assert result.code == 2
    assert result.out == ""
    example = json.dumps({"sessionId": session, "outcome": "success"})
    assert f"complete_ralph_session({example})" in result.err
    assert "give your last message again" in result.err
    again = hooked("stop", recorded(f"{agent}/stop-again", repository), repository, environment, session)
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize("active", [None, "false", 0, "missing"])
def test_it_reminds_nobody_who_does_not_say_that_it_is_the_first_time(
    active: object, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    said = {} if active == "missing" else {"stop_hook_active": active}
    assert hooked("stop", said, repository, environment, session).code == 0


def test_a_session_that_is_complete_needs_no_reminder(repository: Path, environment: dict[str, str]) -> None:
    for state in ("done", "failed"):
        session = begun(repository, state)
        assert hooked("stop", {"stop_hook_active": False}, repository, environment, session).code == 0


def test_an_agent_that_nobody_drives_is_never_reminded(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        session = begun(repository, process=agent.process)
        result = agent.hook("stop", {"stop_hook_active": False}, repository, environment)
    assert (result.code, result.err) == (0, "")
    assert notes(repository) == [{"type": "progress", "message": "the agent stopped its turn"}]
    assert session


def _outcome(repository: Path, session: str) -> str | None:
    with opened(repository) as journal:
        return journal.instance(session).outcome


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_end_of_an_agent_that_nobody_drives_ends_its_session(
    agent: str, repository: Path, environment: dict[str, str]
) -> None:
    with agent_process() as process:
        session = begun(repository, "implementing", process=process.process)
        assert (
            process.hook("session-end", recorded(f"{agent}/session-end", repository), repository, environment).code == 0
        )
        taken_in(repository)
        assert _outcome(repository, session) == "timeout"
    assert [one["message"] for one in seen(repository, session)][:1] == ["the agent ended"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reason", ["clear", "resume", "", None])
def test_a_cleared_conversation_goes_on_with_its_session(
    reason: str | None, repository: Path, environment: dict[str, str]
) -> None:
    with agent_process() as agent:
        session = begun(repository, "implementing", process=agent.process)
        agent.hook("session-end", {"reason": reason}, repository, environment)
        taken_in(repository)
        assert _outcome(repository, session) is None


def test_a_driven_session_is_ended_by_its_driver(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        session = begun(repository, "implementing", process=agent.process)
        agent.hook("session-end", {"reason": "other"}, repository, {**environment, "RALPH_SESSION_ID": session})
        taken_in(repository)
        assert _outcome(repository, session) is None


def test_the_end_of_an_agent_that_an_agent_started_does_not_end_the_outer_session(
    repository: Path, environment: dict[str, str]
) -> None:
    inner = [sys.executable, "-S", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
    launcher = ["/bin/sh", "-c", '"$0" "$@"; exit $?']
    with agent_process() as agent:
        session = begun(repository, "implementing", process=agent.process)
        agent.run([*inner, HOOK, "session-end"], repository, environment, {"reason": "other"})
        taken_in(repository)
        assert _outcome(repository, session) is None
        agent.run([*launcher, HOOK, "session-end"], repository, environment, {"reason": "other"})
        taken_in(repository)
        assert _outcome(repository, session) == "timeout"


def test_an_end_that_comes_late_changes_nothing(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        session = begun(repository, "done", process=agent.process)
        agent.hook("session-end", {"reason": "other"}, repository, environment)
        taken_in(repository)
    assert _outcome(repository, session) == "success"


# A session made over HTTP


def _answers(session: str) -> list[tuple[str, dict[str, Any], object]]:
    """What `create_ralph_session` answers, as each agent hands it on to its hook."""
    told = {"success": True, "sessionId": session, "ticketId": "7", "state": "idle"}
    whole = {"content": [{"type": "text", "text": json.dumps(told)}], "structuredContent": told, "isError": False}
    return [
        ("mcp__ralph__create_ralph_session", CLAUDE, json.dumps(told)),
        ("mcp__ralph__create_ralph_session", CODEX, whole),
        ("ralph_create_ralph_session", {}, whole),
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", range(3), ids=["Claude Code", "Codex", "OpenCode"])
def test_a_session_made_over_http_is_found_after_the_hook_saw_it(
    shape: int, repository: Path, environment: dict[str, str]
) -> None:
    write = called("Write", {"file_path": "a"})
    with agent_process() as agent, agent_process() as other:
        session = begun(repository)
        tool, kind, response = _answers(session)[shape]
        assert agent.hook("pre-tool-use", write, repository, environment).code == 0
        said = called(tool, {"ticketId": "7"}, kind, tool_response=response)
        result = agent.hook("post-tool-use", said, repository, environment)
        assert (result.code, result.out, result.err) == (0, "", "")
        denied = agent.hook("pre-tool-use", write, repository, environment)
        assert denied.code == 2
        assert session in denied.err
        assert other.hook("pre-tool-use", write, repository, environment).code == 0
    assert seen(repository, session)[0]["message"] == "the hook found its agent"


def test_the_shapes_are_those_that_real_agents_sent(repository: Path) -> None:
    for name, shape in (("claude", 0), ("codex", 1)):
        said = recorded(f"{name}/post-tool-use-mcp", repository)
        tool, _, response = _answers("S-1")[shape]
        assert said["tool_name"] == tool
        found: Any = said["tool_response"]
        assert isinstance(found, str) == isinstance(response, str)
        assert isinstance(found, str) or found.keys() == {"content", "structuredContent", "isError"}


def test_a_second_session_over_http_takes_the_place_of_the_first(repository: Path, environment: dict[str, str]) -> None:
    write = called("Write", {"file_path": "a"})
    with agent_process() as agent:
        first = begun(repository, "done", process=agent.process)
        assert agent.hook("pre-tool-use", write, repository, environment).code == 2
        second = begun(repository, "implementing")
        tool, kind, response = _answers(second)[0]
        agent.hook("post-tool-use", called(tool, {}, kind, tool_response=response), repository, environment)
        assert agent.hook("pre-tool-use", write, repository, environment).code == 0
    assert first != second


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "response",
    [
        "",
        "{}",
        None,
        5,
        [],
        {"sessionId": "short"},
        json.dumps({"sessionId": "01h0000000000000000000000z"}),
        "sessionId",
    ],
    ids=str,
)
def test_an_answer_without_a_session_of_ours_changes_nothing(
    response: object, repository: Path, environment: dict[str, str]
) -> None:
    begun(repository)
    with agent_process() as agent:
        said = called("mcp__ralph__create_ralph_session", {}, tool_response=response)
        assert agent.hook("post-tool-use", said, repository, environment).code == 0
        assert agent.hook("pre-tool-use", called("Write", {"file_path": "a"}), repository, environment).code == 0


def test_another_tool_that_speaks_of_a_session_makes_none(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    with agent_process() as agent:
        said = called("mcp__ralph__get_session_state", {}, tool_response=json.dumps({"sessionId": session}))
        agent.hook("post-tool-use", said, repository, environment)
        assert agent.hook("pre-tool-use", called("Write", {"file_path": "a"}), repository, environment).code == 0


def test_a_session_in_postgresql_is_told_of_as_well(
    repository: Path, environment: dict[str, str], postgres_address: str
) -> None:
    env = {**environment, "RALPH_DATABASE_URL": postgres_address}
    journal = open_journal(postgres_address, created=trusting(repository))
    try:
        session = begun(journal)
        with agent_process() as agent:
            tool, kind, response = _answers(session)[0]
            agent.hook("post-tool-use", called(tool, {}, kind, tool_response=response), repository, env)
            assert agent.hook("pre-tool-use", called("Write", {"file_path": "a"}), repository, env).code == 2
        assert taken_in(repository, postgres_address) == 1
        told = [entry.decoded_evidence().data for entry in journal.history(session) if entry.event == "noted"]
        assert [one["type"] for one in told] == ["progress", "denied"]
    finally:
        journal.close()


# What does not agree is found when a session ends


def _findings(repository: Path, session: str, environment: dict[str, str]) -> dict[str, str]:
    """The findings that the journal holds, and that people are shown."""
    kept = {one["code"]: str(one["message"]) for one in seen(repository, session) if one["type"] == "finding"}
    shown = run("session", "show", session, "--json", cwd=repository, env=environment).data["findings"]
    assert {one["code"]: one["message"] for one in shown} == kept
    page = run("session", "show", session, cwd=repository, env=environment).out
    assert all(code in page for code in kept)
    return kept


def test_tests_that_a_hook_saw_and_nobody_reported_are_found(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "testing")
    said = {**called("Bash", {"command": "pytest -q"}), "tool_response": CLAUDE_OK}
    for _ in range(2):
        hooked("post-tool-use", said, repository, environment, session)
    taken_in(repository)
    with opened(repository) as journal:
        journal.transact(complete(session, "success", AGENT))
    found = _findings(repository, session, environment)
    assert found.keys() == {"tests_unreported"}
    assert "runs seen: 2" in found["tests_unreported"]


def test_tests_that_were_reported_are_no_finding(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "testing")
    hooked("post-tool-use", called("Bash", {"command": "pytest -q"}), repository, environment, session)
    taken_in(repository)
    with opened(repository) as journal:
        journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 5, "failed": 0}}))
        journal.transact(complete(session, "success", AGENT))
    assert _findings(repository, session, environment) == {}


@pytest.mark.parametrize(("event", "contradicted"), [("post-tool-use-failure", True), ("post-tool-use", False)])
def test_a_report_that_contradicts_what_a_hook_saw_is_found(
    event: str, contradicted: bool, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "testing")
    said = {**called("Bash", {"command": "pytest -q"}), "tool_response": CLAUDE_OK, "error": "Exit code 1"}
    hooked(event, said, repository, environment, session)
    taken_in(repository)
    with opened(repository) as journal:
        journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 5, "failed": 0}}))
        journal.transact(complete(session, "success", AGENT))
    assert ("tests_contradicted" in _findings(repository, session, environment)) is contradicted


@pytest.fixture
def timed(repository: Path, clock: Clock) -> Callable[[], Journal]:
    """Opens the repository's journal with a clock that the test sets."""
    return lambda: open_journal(repository / ".ralf" / "journal.db", now=clock, created=trusting(repository))


def _write(path: Path, seconds: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")
    os.utime(path, (seconds, seconds))


def test_files_written_while_analyzing_without_a_hook_are_found(
    repository: Path, environment: dict[str, str], timed: Callable[[], Journal], clock: Clock
) -> None:
    journal = timed()
    try:
        exclude_state(repository)
        _write(repository / "before.txt", journal.now())
        caller = Caller(AGENT, "claude", place=Place(str(repository)))
        session = journal.transact(create(caller)).session_id
        journal.transact(update(session, "analyzing", AGENT))
        clock.forward(20)
        _write(repository / "src" / "early.txt", journal.now())
        clock.forward(20)
        journal.transact(update(session, "implementing", AGENT))
        clock.forward(20)
        _write(repository / "src" / "in time.txt", journal.now())
        (repository / ".gitignore").write_text("*.log\n", encoding="utf-8")
        os.utime(repository / ".gitignore", (0, 0))
        _write(repository / "ignored.log", journal.now() - 30)
        clock.forward(20)
        written = written_since(journal, session, None)
        assert [one.path for one in written] == ["src/early.txt", "src/in time.txt"]
        journal.transact(complete(session, "success", AGENT, written=written))
    finally:
        journal.close()
    found = _findings(repository, session, environment)
    assert found.keys() == {"unseen_write"}
    assert "src/early.txt was written" in found["unseen_write"]
    assert "'analyzing'" in found["unseen_write"]


def test_silence_is_found_and_a_tool_that_runs_is_none(
    repository: Path, environment: dict[str, str], timed: Callable[[], Journal], clock: Clock
) -> None:
    journal = timed()
    try:
        loud, quiet = (journal.transact(create(Caller(AGENT, "claude"))).session_id for _ in range(2))
        for session in (loud, quiet):
            journal.transact(update(session, "analyzing", AGENT))
        journal.transact(note(loud, "tool_start", WATCHER, {"tool": "Bash", "call": "1"}))
        clock.forward(500)
        journal.transact(note(loud, "tool_end", WATCHER, {"tool": "Bash", "call": "1", "success": True}))
        for session in (loud, quiet):
            journal.transact(update(session, "implementing", AGENT))
            journal.transact(complete(session, "failure", AGENT, "no"))
    finally:
        journal.close()
    assert _findings(repository, loud, environment) == {}
    found = _findings(repository, quiet, environment)
    assert found.keys() == {"silent"}
    assert "nothing was heard for 500 s in 'analyzing'" in found["silent"]


def test_a_write_that_a_hook_saw_in_the_wrong_state_is_found(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "analyzing")
    hooked("post-tool-use", called("Write", {"file_path": "a.txt"}), repository, environment, session)
    taken_in(repository)
    with opened(repository) as journal:
        journal.transact(complete(session, "failure", AGENT, "no"))
    assert _findings(repository, session, environment).keys() == {"write_outside_state"}


def test_the_time_at_which_a_hook_saw_something_counts(
    repository: Path, timed: Callable[[], Journal], clock: Clock
) -> None:
    """What was left in time and taken in late is no silence."""
    journal = timed()
    try:
        session = journal.transact(create(Caller(AGENT, "claude"))).session_id
        journal.transact(update(session, "analyzing", AGENT))
        inbox = repository / ".ralf" / "inbox"
        inbox.mkdir()
        for minute in range(1, 9):
            at = clock.nanoseconds + minute * 60_000_000_000
            said = {"session": session, "at": at, "note": {"type": "progress", "message": "x"}}
            (inbox / f"{at}-1.json").write_text(json.dumps(said), encoding="utf-8")
        clock.forward(500)
        assert take_in(journal, repository / ".ralf") == 8
        record = record_of(journal.history(session))
        assert record.silence == pytest.approx(60, abs=1)
        assert journal.transact(update(session, "implementing", AGENT)).findings == []
    finally:
        journal.close()


# The plugin's hook, beside another one


@pytest.mark.parametrize(("beside", "told"), [("nobody", 1), ("the repository", 0), ("a driver", 0)])
def test_the_plugins_hook_always_judges_and_tells_where_no_other_does(
    beside: str, told: int, repository: Path, environment: dict[str, str]
) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository, "analyzing")}
    if beside == "the repository":
        (repository / ".claude").mkdir()
        hook = {"hooks": [{"type": "command", "command": "ralph-hook", "args": ["pre-tool-use"]}]}
        (repository / ".claude" / "settings.local.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    elif beside == "a driver":
        env["RALPH_RUN"] = "one"
    stdin = json.dumps(called("Write", {"file_path": f"{repository}/a.txt"})).encode()
    result = run("pre-tool-use", "plugin", cwd=repository, env=env, program=HOOK, stdin=stdin)
    assert result.code == 2
    assert "is in the state `analyzing`" in result.err
    assert [note["type"] for note in notes(repository)] == ["denied"] * told
