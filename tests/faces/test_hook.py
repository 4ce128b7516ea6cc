"""`ralph-hook`: whose session it finds, what it takes for input, and how little it loads."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from faces.hooks import agent_process, begun, called, hooked, notes
from faces.journals import opened
from faces.programs import HOOK, SECONDS, run
from interlock.machine import load_shipped
from interlock.work.sessions.verbs import complete
from journal.histories import AGENT

POLICY = "pre-tool-use"
TELEMETRY = ("post-tool-use", "post-tool-use-failure", "session-start", "session-end", "stop", "user-prompt-submit")
EVENTS = (POLICY, *TELEMETRY)
WRITE = called("Write", {"file_path": "a.txt", "content": "x"})
READ = called("Read", {"file_path": "a.txt"})


def _files(directory: Path) -> set[Path]:
    return set(directory.rglob("*"))


# Whose session


@pytest.mark.parametrize("event", EVENTS)
def test_without_a_session_everything_passes_and_nothing_is_written(
    event: str, repository: Path, environment: dict[str, str]
) -> None:
    before = _files(repository)
    result = hooked(event, WRITE, repository, environment)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert _files(repository) == before


@pytest.mark.sampled(3)
@pytest.mark.parametrize("event", EVENTS)
def test_a_session_of_another_agent_is_none_of_its_business(
    event: str, repository: Path, environment: dict[str, str]
) -> None:
    begun(repository)
    with agent_process() as other:
        begun(repository, process=other.process)
        result = hooked(event, WRITE, repository, environment)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert notes(repository) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("event", EVENTS)
def test_outside_of_a_repository_everything_passes(event: str, outside: Path, environment: dict[str, str]) -> None:
    result = hooked(event, WRITE, outside, environment)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert _files(outside) == set()


def test_the_session_that_the_environment_names_is_the_one(repository: Path, environment: dict[str, str]) -> None:
    idle, busy = begun(repository), begun(repository, "implementing")
    assert hooked(POLICY, WRITE, repository, environment, idle).code == 2
    assert hooked(POLICY, WRITE, repository, environment, busy).code == 0


def test_the_session_that_the_agents_process_made_is_found_by_it(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        session = begun(repository, process=agent.process)
        result = agent.hook(POLICY, WRITE, repository, environment)
    assert result.code == 2
    assert session in result.err


@pytest.mark.parametrize("launcher", [["/bin/sh", "-c", '"$0" "$1"; exit $?'], ["/usr/bin/env", "A=1"]])
def test_it_is_found_through_what_only_launches_the_hook(
    launcher: list[str], repository: Path, environment: dict[str, str]
) -> None:
    with agent_process() as agent:
        begun(repository, process=agent.process)
        assert agent.run([*launcher, HOOK, POLICY], repository, environment, WRITE).code == 2


def test_a_sibling_of_the_agent_is_not_taken_for_it(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent, agent_process() as sibling:
        begun(repository, process=agent.process)
        assert sibling.hook(POLICY, WRITE, repository, environment).code == 0
        assert agent.hook(POLICY, WRITE, repository, environment).code == 2


def test_of_several_sessions_of_a_process_the_newest_counts(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        old = begun(repository, "implementing", process=agent.process)
        assert agent.hook(POLICY, WRITE, repository, environment).code == 0
        new = begun(repository, process=agent.process)
        result = agent.hook(POLICY, WRITE, repository, environment)
    assert result.code == 2
    assert new in result.err
    assert old not in result.err


def test_the_nearest_of_nested_agents_counts(repository: Path, environment: dict[str, str]) -> None:
    nested = [sys.executable, "-S", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
    with agent_process() as agent:
        outer = begun(repository, process=agent.process)
        result = agent.run([*nested, HOOK, POLICY], repository, environment, WRITE)
    assert result.code == 2
    assert outer in result.err, "an agent that an agent starts works for the same session"


def test_the_environment_comes_before_the_process(repository: Path, environment: dict[str, str]) -> None:
    with agent_process() as agent:
        begun(repository, process=agent.process)
        driven = begun(repository, "implementing")
        result = agent.hook(POLICY, WRITE, repository, {**environment, "RALPH_SESSION_ID": driven})
    assert result.code == 0


@pytest.mark.parametrize("name", ["RALPH_ROOT", "CLAUDE_PROJECT_DIR"])
def test_the_repository_is_found_from_elsewhere(
    name: str, repository: Path, outside: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    assert hooked(POLICY, WRITE, outside, environment, session, **{name: str(repository)}).code == 2
    assert notes(repository) != []


def test_the_repository_is_found_by_where_the_agent_says_it_is(
    repository: Path, outside: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "implementing")
    assert hooked(POLICY, {**WRITE, "cwd": str(repository)}, outside, environment, session).code == 0
    assert [note["type"] for note in notes(repository)] == ["tool_start"]


def test_a_linked_work_tree_shares_the_session_of_the_main_one(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], env=environment, check=True, timeout=SECONDS)
    linked = tmp_path / "linked"
    subprocess.run([*git, "worktree", "add", "-q", linked], env=environment, check=True, timeout=SECONDS)
    session = begun(repository)
    assert hooked(POLICY, WRITE, linked, environment, session).code == 2
    assert hooked(POLICY, READ, linked, environment, session).code == 0
    assert len(notes(repository)) == 2
    assert not (linked / ".ralf").exists()


# What it is given

HOSTILE = {
    "nothing": b"",
    "half an object": b'{"tool_name": "Wri',
    "a list": b"[1, 2]",
    "a text": b'"Write"',
    "a number": b"5",
    "null": b"null",
    "no text": bytes(range(256)),
    "UTF-16": json.dumps(WRITE).encode("utf-16"),
    "nine megabytes": json.dumps(called("Write", {"content": "x" * 9_000_000})).encode(),
    "fifty megabytes": b"x" * 50_000_000,
    "deep nesting": b"[" * 200_000,
    "deep nesting in a call": b'{"tool_name": "Write", "tool_input": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "NUL": b'{"tool_name": "Wr\\u0000ite", "tool_input": {"file_path": "a\\u0000b"}}',
    "NUL bytes": b"\0" * 1000,
    "lone surrogates": b'{"tool_name": "Write", "tool_input": {"file_path": "\\ud800"}, "cwd": "\\udfff"}',
    "a long number": b'{"tool_name": "Write", "x": ' + b"9" * 10_000 + b"}",
    "no tool": b'{"tool_input": {"file_path": "a"}}',
}
WRONG = (None, 1.5, ["x"], {"x": "y"}, "", "\ud800", "x" * 100_000)
FIELDS = ("tool_name", "tool_input", "tool_use_id", "cwd", "duration_ms", "error", "prompt", "reason", "tool_response")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("stdin", HOSTILE.values(), ids=HOSTILE)
def test_a_call_of_a_session_that_cannot_be_read_is_not_made(
    stdin: bytes, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    result = hooked(POLICY, stdin, repository, environment, session)
    assert result.code == 2
    assert result.out == ""
    assert "Interlock: " in result.err
    assert "Traceback" not in result.err
    assert len(result.err) < 2000


@pytest.mark.sampled(8)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("stdin", HOSTILE.values(), ids=HOSTILE)
def test_without_a_session_it_is_none_of_its_business(
    stdin: bytes, repository: Path, environment: dict[str, str]
) -> None:
    begun(repository)
    result = hooked(POLICY, stdin, repository, environment)
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.sampled(12)
@pytest.mark.sampled(5)
@pytest.mark.parametrize("stdin", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("event", ["post-tool-use", "stop", "session-end"])
def test_an_event_that_only_tells_something_always_passes(
    event: str, stdin: bytes, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    result = hooked(event, stdin, repository, environment, session)
    assert result.code == 0
    assert "Traceback" not in result.err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_wrong_type_makes_it_fail(field: str, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    for wrong in WRONG:
        for event in (POLICY, "user-prompt-submit" if field == "prompt" else "post-tool-use"):
            said = {**called("Bash", {"command": "pytest"}), field: wrong}
            result = hooked(event, json.dumps(said).encode(), repository, environment, session)
            assert result.code in ((0, 2) if event == POLICY else (0,)), (wrong, result)
            assert "Traceback" not in result.err
            assert (result.code == 2) == ("Interlock: " in result.err), (wrong, result)


@pytest.mark.parametrize("event", ["PreToolUse", "no such event", "", "\udcff", "x" * 10_000])
def test_an_event_that_it_does_not_know_passes_and_is_named(
    event: str, repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    result = hooked(event, WRITE, repository, environment, session)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("ralph-hook: ")
    assert len(result.err) < 1000


@pytest.mark.parametrize("words", [[], [POLICY, POLICY], ["a", "b", "c"], ["--help"], ["-h"]], ids=str)
def test_a_wrong_call_is_a_usage_error_and_never_blocks(
    words: list[str], repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository)
    env = {**environment, "RALPH_SESSION_ID": session}
    result = run(*words, cwd=repository, env=env, program=HOOK, stdin=b"{}")
    assert result.code == 64
    assert result.out == ""
    assert result.err.startswith("usage: ralph-hook EVENT")
    assert all(event in result.err for event in EVENTS)


# Streams


def _in_bash(script: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/bash", "-c", script], cwd=cwd, env=env, capture_output=True, timeout=SECONDS, check=False
    )


FULL = [">/dev/full 2>/dev/full"] if Path("/dev/full").exists() else []
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-", "0>/dev/null", *FULL]


@pytest.mark.parametrize("streams", CLOSED)
def test_a_block_stays_a_block_with_closed_streams(streams: str, repository: Path, environment: dict[str, str]) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository)}
    before = (repository / ".ralf" / "journal.db").read_bytes()
    given = "" if "<&-" in streams or streams.startswith("0>") else f"<<< {shlex.quote(json.dumps(WRITE))}"
    done = _in_bash(f"{shlex.quote(str(HOOK))} {POLICY} {given} {streams}", repository, env)
    assert done.returncode == 2, done
    assert b"Traceback" not in done.stderr
    assert (repository / ".ralf" / "journal.db").read_bytes() == before, "a stream of ours never becomes the journal"


@pytest.mark.sampled(8)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("streams", CLOSED)
@pytest.mark.parametrize("event", ["session-start", "stop", "post-tool-use"])
def test_what_tells_passes_with_closed_streams(
    event: str, streams: str, repository: Path, environment: dict[str, str]
) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository)}
    given = "" if "<&-" in streams or streams.startswith("0>") else "<<< '{}'"
    done = _in_bash(f"{shlex.quote(str(HOOK))} {event} {given} {streams}", repository, env)
    assert done.returncode == 0, done
    assert b"Traceback" not in done.stderr


def test_a_person_who_cannot_be_asked_is_a_no(repository: Path, environment: dict[str, str]) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository)}
    said = shlex.quote(json.dumps(called("mcp__other__act", {})))
    assert _in_bash(f"{HOOK} {POLICY} <<< {said}", repository, env).returncode == 0
    for streams in (">&-", ">/dev/null", *FULL):
        assert _in_bash(f"{HOOK} {POLICY} <<< {said} {streams}", repository, env).returncode == 2


def test_it_reads_all_that_it_is_given_so_that_no_runner_gets_a_broken_pipe(
    repository: Path, environment: dict[str, str]
) -> None:
    done = _in_bash(f"set -o pipefail; head -c 20000000 /dev/zero | {HOOK} {POLICY}", repository, environment)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_state_directory_that_cannot_be_written_stops_no_agent(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    (repository / ".ralf" / "inbox").write_text("in the way", encoding="utf-8")
    result = hooked(POLICY, WRITE, repository, environment, session)
    assert result.code == 0
    assert "could not be left" in result.err


# How little it loads

HEAVY = {"typing", "pathlib", "dataclasses", "subprocess", "msgspec", "interlock.errors", "asyncio", "inspect", "shlex"}
_LOADED = """
import sys
sys.path[:0] = {path!r}
sys.argv = ["ralph-hook", {event!r}]
before = set(sys.modules)
import interlock.faces.hook
try:
    interlock.faces.hook.main()
except SystemExit as end:
    print(end.code or 0, file=sys.stderr)
else:
    print(0, file=sys.stderr)
print(*sorted(set(sys.modules) - before))
"""
USUAL = {
    "a write that passes": (POLICY, "implementing", WRITE, 0),
    "a write that is denied": (POLICY, "idle", WRITE, 2),
    "a command": (POLICY, "idle", called("Bash", {"command": "git status && pytest -q | tail -5"}), 0),
    "a command that is denied": (POLICY, "idle", called("Bash", {"command": "echo x > a.txt"}), 2),
    "a protected path": (POLICY, "implementing", called("Bash", {"command": "rm .git/config"}), 2),
    "reading": (POLICY, "done", READ, 0),
    "our own tools": (POLICY, "idle", called("mcp__ralph__update_session_state", {"state": "analyzing"}), 0),
    "a patch": (POLICY, "testing", called("apply_patch", {"command": "*** Add File: a\n+x\n"}), 0),
    "after a tool": ("post-tool-use", "implementing", WRITE, 0),
    "after a test": ("post-tool-use", "testing", called("Bash", {"command": "pytest"}), 0),
    "a prompt": ("user-prompt-submit", "idle", {"prompt": "x"}, 0),
    "a start": ("session-start", "idle", {"source": "startup"}, 0),
    "a stop": ("stop", "idle", {"stop_hook_active": False}, 2),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("event", "state", "said", "code"), USUAL.values(), ids=USUAL)
def test_what_it_does_all_day_loads_nothing_heavy(
    event: str, state: str, said: dict[str, object], code: int, repository: Path, environment: dict[str, str]
) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository, state)}
    program = _LOADED.format(path=[one for one in sys.path if one], event=event)
    result = run("-S", "-c", program, cwd=repository, env=env, program=Path(sys.executable), stdin=_bytes(said))
    assert result.err.splitlines()[-1] == str(code)
    loaded = set(result.out.split("\n")[-2].split())
    assert "interlock.journal.peek" in loaded
    assert loaded & HEAVY == set()


def test_by_itself_it_loads_nothing_of_interlock(outside: Path, environment: dict[str, str]) -> None:
    program = _LOADED.format(path=[one for one in sys.path if one], event="no such event")
    result = run("-S", "-c", program, cwd=outside, env=environment, program=Path(sys.executable), stdin=b"")
    ours = {one for one in result.out.split() if one.startswith("interlock")}
    assert ours == {"interlock", "interlock.faces", "interlock.faces.hook"}


def _bytes(said: object) -> bytes:
    return json.dumps(said).encode()


# Every state of the machine is known here


def test_the_states_are_those_of_the_machine(repository: Path, environment: dict[str, str]) -> None:
    for state in load_shipped("session").states:
        session = begun(repository, state)
        with opened(repository) as journal:
            assert journal.instance(session).state == state
        assert hooked(POLICY, READ, repository, environment, session).code == 0


def test_it_runs_where_nothing_else_is_set(repository: Path) -> None:
    session = begun(repository)
    result = hooked(POLICY, WRITE, repository, {}, session)
    assert result.code == 2
    assert os.environ.get("RALPH_SESSION_ID") is None


def test_a_session_that_ends_is_seen_to_have_ended_at_once(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    assert hooked(POLICY, WRITE, repository, environment, session).code == 0
    with opened(repository) as journal:
        journal.transact(complete(session, "failure", AGENT, "enough"))
    result = hooked(POLICY, WRITE, repository, environment, session)
    assert result.code == 2
    assert "has ended (failure)" in result.err


# In time

HURRIED = (
    "import sys, interlock.faces.hook as hook\n"
    "hook._WALL_SECONDS, hook._PROCESSOR_SECONDS = float(sys.argv.pop(1)), float(sys.argv.pop(1))\n"
    "hook.main()"
)
"""The hook with other deadlines: for what waits, and for what computes."""


def _hurried(
    event: str, wall: float, processor: float, cwd: Path, env: Mapping[str, str], before: str = ""
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", before + HURRIED, str(wall), str(processor), event],
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize(("event", "code"), [("pre-tool-use", 2), ("post-tool-use", 0), ("stop", 0)])
def test_input_that_never_ends_is_answered(
    event: str, code: int, repository: Path, environment: dict[str, str]
) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository, "implementing")}
    with _hurried(event, 0.2, 60, repository, env) as process:
        assert process.wait(SECONDS) == code
        assert process.stderr is not None
        assert (b"could not be judged in time" in process.stderr.read()) is (code == 2)


def test_an_agent_without_a_session_is_not_held_by_input_that_never_ends(
    repository: Path, environment: dict[str, str]
) -> None:
    with _hurried("pre-tool-use", 0.2, 60, repository, environment) as process:
        assert process.wait(SECONDS) == 0


def test_a_call_that_takes_too_much_of_the_processor_is_denied(repository: Path, environment: dict[str, str]) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository, "implementing")}
    endless = "import interlock.faces.hook as hook\nhook._look = lambda place: [None for _ in iter(int, 1)]\n"
    with _hurried("pre-tool-use", 600, 0.05, repository, env, endless) as process:
        _, said = process.communicate(json.dumps(called("Bash", {"command": "ls"})).encode(), SECONDS)
    assert process.returncode == 2
    assert b"could not be judged in time" in said


def test_a_deadline_that_passes_while_the_hook_exits_does_not_change_its_answer(
    repository: Path, environment: dict[str, str]
) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository, "implementing")}
    slow_exit = "import atexit, time\n@atexit.register\ndef _():\n    while time.process_time() < 1.2: pass\n"
    with _hurried("pre-tool-use", 600, 0.5, repository, env, slow_exit) as process:
        process.communicate(json.dumps(called("Bash", {"command": "ls"})).encode(), SECONDS)
    assert process.returncode == 0


def test_a_database_that_does_not_answer_is_not_waited_for(repository: Path, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"postgresql://u@127.0.0.1:{server.getsockname()[1]}/x"
        env = {**environment, "RALPH_SESSION_ID": "0" * 26, "RALPH_DATABASE_URL": address}
        with _hurried("pre-tool-use", 0.5, 600, repository, env) as process:
            _, said = process.communicate(json.dumps(called("Bash", {"command": "ls"})).encode(), SECONDS)
    assert process.returncode == 2
    assert b"could not be judged in time" in said


def test_a_command_that_is_too_much_to_judge_is_denied_where_writing_is_allowed(
    repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "implementing")
    said = called("Bash", {"command": "rm " + "{a,b}" * 5_000})
    result = hooked("pre-tool-use", said, repository, environment, session)
    assert result.code == 2
    assert "too long to be judged in time" in result.err
    assert hooked("pre-tool-use", called("Bash", {"command": "rm a"}), repository, environment, session).code == 0
