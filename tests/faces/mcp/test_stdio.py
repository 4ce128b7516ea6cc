"""`ralph mcp` as a process: whom it serves, how it begins and ends, and what becomes of a session whose agent dies."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anyio.from_thread import BlockingPortal

from faces.journals import settle
from faces.programs import RALPH, SECONDS, run, run_in_terminal
from interlock.faces.mcp.server import make_server
from interlock.faces.mcp.server_context import ServerContext
from interlock.journal import Journal
from interlock.journal.sqlite import SqliteStore
from interlock.machine import load_shipped
from interlock.world.ancestry import host
from interlock.world.place import Place

from .hostile import call
from .servers import (
    ERAS,
    HANDSHAKE,
    Agent,
    Era,
    Lines,
    Peer,
    dump,
    entries,
    http_agent,
    local_agent,
    peer,
    problems,
    serving,
    stdio_agent,
)

# How it begins and ends


def test_on_a_terminal_it_says_what_it_is_for(repository: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("mcp", cwd=repository, env=environment)
    assert code == 64
    assert "[usage]" in screen
    assert "ralph init" in screen
    assert not (repository / ".ralf").exists()


def test_outside_a_repository_it_says_so_on_stderr_and_nothing_on_stdout(
    outside: Path, environment: dict[str, str]
) -> None:
    ended = run("mcp", cwd=outside, env=environment)
    assert ended.code == 1
    assert ended.out == ""
    assert "[no_repository]" in ended.err


def test_it_ends_when_its_stdin_is_closed(repository: Path, environment: dict[str, str]) -> None:
    ended = run("mcp", cwd=repository, env=environment, stdin=b"")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.parametrize("era", ERAS)
def test_it_ends_when_its_client_leaves(repository: Path, environment: dict[str, str], era: Era) -> None:
    with peer(repository, environment, era) as found:
        found.call("create_ralph_session", {})
        ended = found.end()
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert sorted(one.name for one in (repository / ".ralf").iterdir()) == ["journal.db"]


@pytest.mark.parametrize("era", ERAS)
def test_whoever_closes_stdin_behind_the_last_request_still_gets_the_answer(
    repository: Path, environment: dict[str, str], era: Era
) -> None:
    with peer(repository, environment, era) as found:
        for number in range(5):
            request = json.loads(call(b"{}", era, "create_ralph_session")) | {"id": f"last {number}"}
            found.send(json.dumps(request).encode())
        ended = found.end()
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert len(answers) == 5
    assert all(not one["result"]["isError"] for one in answers)
    assert ended.err == ""
    assert len(entries(repository)) == 5


def test_whoever_reads_no_answers_ends_it_without_a_fault(repository: Path, environment: dict[str, str]) -> None:
    with peer(repository, environment) as found:
        assert found.process.stdout is not None
        assert found.process.stderr is not None
        found.process.stdout.close()
        found.send(call(b"{}", HANDSHAKE, "create_ralph_session"))
        found.stdin.close()
        err = found.process.stderr.read().decode()
        assert found.process.wait(SECONDS) == 0
    assert err == ""
    assert [one.event for one in entries(repository)] == ["created"]


def test_a_server_that_is_killed_in_the_middle_leaves_a_sound_journal(
    repository: Path, environment: dict[str, str]
) -> None:
    with peer(repository, environment) as found:
        for number in range(100):
            request = json.loads(call(b"{}", HANDSHAKE, "create_ralph_session")) | {"id": number}
            found.send(json.dumps(request).encode())
        acknowledged = [json.loads(found.next()["result"]["content"][0]["text"])["sessionId"] for _ in range(10)]
        found.process.send_signal(signal.SIGKILL)
        found.process.wait(SECONDS)
    assert problems(repository) == []
    assert {one.instance for one in entries(repository)} >= set(acknowledged)


def test_nothing_is_made_in_the_repository_but_its_own_directory(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with stdio_agent(portal, repository, environment) as agent:
        agent.complete(agent.create("1"), "failure")
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"],
        cwd=repository,
        env=environment,
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert status.stdout.decode() == "!! .ralf/\n"


def test_from_below_the_root_and_from_a_linked_work_tree_it_is_the_same_journal(
    repository: Path, environment: dict[str, str], portal: BlockingPortal, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    for words in (("commit", "-q", "--allow-empty", "-m", "first"), ("worktree", "add", "-q", str(linked))):
        subprocess.run(["git", *identity, *words], cwd=repository, env=environment, check=True, timeout=SECONDS)
    (repository / "a" / "b").mkdir(parents=True)
    with stdio_agent(portal, repository / "a" / "b", environment) as agent:
        session = agent.create("1")
    with stdio_agent(portal, linked, environment) as agent:
        assert agent.look(session)["sessionId"] == session
        other = agent.create("2")
    made = [one for one in entries(repository) if one.instance in (session, other)]
    assert [Place.of(one.decoded_evidence().data) for one in made] == [
        Place.at(repository, one, host()) for one in (repository, linked)
    ]


def test_two_servers_of_one_repository_see_what_the_other_does(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with stdio_agent(portal, repository, environment) as one, stdio_agent(portal, repository, environment) as two:
        session = one.create("1")
        assert two.refused("create_ralph_session", ticketId="1").code == "session_open"
        two.update(session, "analyzing")
        one.update(session, "implementing")
        assert [item["state"] for item in two.look(session)["stateHistory"]] == ["idle", "analyzing", "implementing"]
    assert problems(repository) == []


# What it does while others are in the way


_LOCK = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
database.execute("ROLLBACK")
"""


@contextmanager
def _locked(repository: Path) -> Iterator[None]:
    """Another process writes, and does not finish; within one, the system's locks hold up nobody."""
    words = [sys.executable, "-I", "-S", "-c", _LOCK, str(repository / ".ralf" / "journal.db")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_a_journal_that_is_locked_for_too_long_is_a_refusal_and_the_next_call_is_not(
    repository: Path, portal: BlockingPortal
) -> None:
    (repository / ".ralf").mkdir()
    store = SqliteStore(repository / ".ralf" / "journal.db", time.time_ns, busy_milliseconds=100)
    with closing(Journal(store)) as journal:
        server = make_server(ServerContext(journal, repository / ".ralf", repository), load_shipped)
        with local_agent(portal, server) as agent:
            made = agent.create()
            before = dump(repository)
            with _locked(repository):
                assert agent.refused("update_session_state", sessionId=made, state="analyzing").code == "busy"
                assert dump(repository) == before
            assert agent.update(made, "analyzing")["newState"] == "analyzing"


@pytest.mark.sampled(0)
def test_a_journal_that_is_locked_for_too_long_is_a_refusal_and_the_server_lives(
    repository: Path, environment: dict[str, str]
) -> None:
    with peer(repository, environment) as found:
        made = found.call("create_ralph_session", {})["result"]["structuredContent"]["sessionId"]
        before = dump(repository)
        with _locked(repository):
            refused = found.call("update_session_state", {"sessionId": made, "state": "analyzing"})["result"]
            assert refused["isError"] is True
            assert "[busy]" in refused["content"][0]["text"]
            assert dump(repository) == before
        moved = found.call("update_session_state", {"sessionId": made, "state": "analyzing"})["result"]
        assert moved["structuredContent"]["newState"] == "analyzing"
        ended = found.end()
    assert ended.code == 0
    assert "Traceback" not in ended.err


def test_an_inbox_that_cannot_be_read_stops_no_server(repository: Path, environment: dict[str, str]) -> None:
    (repository / ".ralf").mkdir()
    (repository / ".ralf" / "inbox").symlink_to("inbox")
    with peer(repository, environment) as found:
        made = found.call("create_ralph_session", {})["result"]["structuredContent"]["sessionId"]
        assert found.call("get_session_state", {"sessionId": made})["result"]["isError"] is False
        ended = found.end()
    assert ended.code == 0
    assert {line.partition(": ")[0] for line in ended.err.splitlines()} <= {"ralph mcp"}


def test_what_lies_in_the_inbox_and_is_no_observation_is_thrown_away(
    repository: Path, environment: dict[str, str]
) -> None:
    texts = ("", "{", "[]", "1", '{"session": 1}', "[" * 50_000, '{"session":"x","at":1,"note":{}}')
    with peer(repository, environment) as found:
        found.call("create_ralph_session", {})
        before = dump(repository)
        inbox = repository / ".ralf" / "inbox"
        inbox.mkdir()
        for number, text in enumerate(texts):
            (inbox / f"{number}.part").write_text(text)
            (inbox / f"{number}.part").rename(inbox / f"{number}.json")
        assert found.call("get_ralph_events", {"sessionId": "nope"})["result"]["isError"] is True
        assert list(inbox.iterdir()) == []
        assert dump(repository) == before


# An agent that dies


_AGENT = """
import subprocess, sys
server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    server.stdin.write(line)
    server.stdin.flush()
"""


class Mortal(msgspec.Struct, frozen=True):
    """An agent's process with a server below it, as agents start theirs."""

    process: subprocess.Popen[bytes]
    peer: Peer

    def die(self) -> None:
        """Be gone at once, and leave the server behind."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)


@contextmanager
def _mortal(repository: Path, env: dict[str, str]) -> Iterator[Mortal]:
    process = subprocess.Popen(
        [sys.executable, "-c", _AGENT, str(RALPH)],
        cwd=repository,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdin is not None
        found = Peer(process, process.stdin, Lines(process), HANDSHAKE)
        found.begin()
        yield Mortal(process, found)
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait(SECONDS)


def _made(answer: dict[str, Any]) -> str:
    return str(answer["result"]["structuredContent"]["sessionId"])


def _ended(agent: Agent, session: str) -> dict[str, Any]:
    """A session when it has ended, waited for, but not forever."""
    deadline = time.monotonic() + SECONDS
    while (seen := agent.look(session))["outcome"] is None:
        assert time.monotonic() < deadline, "nobody noticed"
    return seen


def test_a_session_whose_agent_is_dead_is_ended_as_a_timeout_before_the_next_one_begins(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with stdio_agent(portal, repository, environment) as agent, _mortal(repository, environment) as mortal:
        first = _made(mortal.peer.call("create_ralph_session", {"ticketId": "7.11"}))
        mortal.peer.call("update_session_state", {"sessionId": first, "state": "analyzing"})
        assert agent.refused("create_ralph_session", ticketId="7.11").code == "session_open"
        mortal.die()
        opened = agent.call("create_ralph_session", ticketId="7.11")
        assert opened["sessionId"] != first
        seen = agent.look(first)
        assert (seen["currentState"], seen["outcome"]) == ("failed", "timeout")
        assert "the agent's process ended" in seen["errorMessage"]
        last = next(one for one in entries(repository, first) if one.to_state == "failed")
        assert last.actor_kind == "system"
        # It was ended by the call itself, or by the upkeep just before.
        assert opened.get("closed", []) in ([first], [])
        assert problems(repository) == []


def test_a_server_that_begins_ends_the_sessions_of_agents_that_are_dead(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with _mortal(repository, environment) as mortal:
        session = _made(mortal.peer.call("create_ralph_session", {}))
        mortal.die()
    with stdio_agent(portal, repository, environment) as agent:
        assert _ended(agent, session)["outcome"] == "timeout"
        assert agent.refused("update_session_state", sessionId=session, state="analyzing").code == "session_completed"


def test_a_session_outlives_its_server_as_long_as_its_agent_lives(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with stdio_agent(portal, repository, environment) as agent:
        session = agent.create("1")
    with stdio_agent(portal, repository, environment) as agent:
        assert agent.refused("create_ralph_session", ticketId="1").code == "session_open"
        assert agent.update(session, "analyzing")["newState"] == "analyzing"


def test_a_session_over_http_is_over_when_nothing_was_heard_of_it_for_too_long(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with serving(repository, environment) as server, http_agent(portal, server.url) as agent:
        first, second = agent.create("1"), agent.create("2")
        with closing(sqlite3.connect(repository / ".ralf" / "journal.db", timeout=SECONDS)) as database, database:
            [(expires,)] = database.execute("SELECT expires FROM leases WHERE resource = ?", (f"session:{first}",))
            assert expires / 1000 == pytest.approx(time.time() + 3600, abs=600)
            database.execute("UPDATE leases SET expires = 1 WHERE resource = ?", (f"session:{first}",))
        opened = agent.call("create_ralph_session", ticketId="1")
        assert agent.look(first)["outcome"] == "timeout"
        assert opened.get("closed", []) in ([first], [])
        assert agent.refused("create_ralph_session", ticketId="2").code == "session_open"
        assert agent.look(second)["outcome"] is None


def test_every_report_prolongs_a_session(repository: Path, environment: dict[str, str], portal: BlockingPortal) -> None:
    settle(repository, "[session]\ntimeout_minutes = 5\n")
    with serving(repository, environment) as server, http_agent(portal, server.url) as agent:
        session = agent.create("1")

        def left() -> float:
            [(_, _, _, expires)] = dump(repository)["leases"]
            assert isinstance(expires, int)
            return expires / 1000 - time.time()

        reports: list[tuple[str, dict[str, str]]] = [
            ("update_session_state", {"state": "analyzing"}),
            ("emit_ralph_event", {"type": "thinking"}),
        ]
        for tool, more in reports:
            with closing(sqlite3.connect(repository / ".ralf" / "journal.db", timeout=SECONDS)) as database, database:
                database.execute("UPDATE leases SET expires = expires - 250000")
            assert left() < 120
            agent.call(tool, sessionId=session, **more)
            assert left() > 120
        agent.complete(session, "cancelled")
        assert left() < 0


@pytest.mark.parametrize("is_end", [True, False], ids=["at the end", "at the next state"])
def test_a_work_tree_that_is_written_to_unseen_is_a_finding(
    repository: Path, environment: dict[str, str], portal: BlockingPortal, is_end: bool
) -> None:
    with stdio_agent(portal, repository, environment) as agent:
        session = agent.create("1")
        agent.update(session, "analyzing")
        (repository / "sneaked.py").write_text("x = 1\n")
        began = datetime.fromisoformat(agent.look(session)["stateHistory"][-1]["timestamp"]).timestamp()
        os.utime(repository / "sneaked.py", (began + 0.002, began + 0.002))
        deadline = time.monotonic() + SECONDS
        while agent.look(session)["stateHistory"][-1]["seconds"] < 0.1:
            assert time.monotonic() < deadline
        told = agent.complete(session, "failure") if is_end else agent.update(session, "implementing")
        assert any("sneaked.py" in one and "'analyzing'" in one for one in told["findings"]), told
