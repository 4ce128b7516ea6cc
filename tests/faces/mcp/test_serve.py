"""`ralph serve`: whether it lives, what happens as a stream, where it listens, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal

from faces.journals import SYSTEM, opened
from faces.programs import AUTHORIZED, SECONDS, followed, run, run_in_terminal
from interlock import __version__
from interlock.journal import Transaction
from interlock.machine import Event as JournalEvent

from .servers import ERAS, Agent, Era, Served, dump, entries, http_agent, problems, serving

TOKEN = "a secret that is long enough"


# Whether it lives


def test_it_says_that_it_lives_and_how_much_was_written(agent: Agent, served: Served) -> None:
    agent.create()
    response = httpx2.get(f"{served.url}/healthz", headers=AUTHORIZED, verify=False, timeout=SECONDS)
    assert response.status_code == 200
    written = len(entries(served.repository))
    assert response.json() == {"ok": True, "data": {"version": __version__, "entries": written}}


@pytest.mark.parametrize("path", ["/nope", "/mcp/", "/events/", "/healthz/x", "/%2e%2e/etc/passwd", "//healthz"])
def test_other_paths_lead_nowhere(served: Served, path: str) -> None:
    assert httpx2.get(f"{served.url}{path}", headers=AUTHORIZED, verify=False, timeout=SECONDS).status_code in (
        307,
        400,
        404,
    )


# What happens


Event = tuple[int, dict[str, Any]]


@contextmanager
def _listening(url: str, **asked: str) -> Iterator[Iterator[Event]]:
    """The events of a stream, as they come."""
    headers = AUTHORIZED | ({"last-event-id": asked.pop("last")} if "last" in asked else {})
    timeout = httpx2.Timeout(SECONDS)
    with httpx2.stream(
        "GET", f"{url}/events", params=asked, headers=headers, verify=False, timeout=timeout
    ) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        lines = response.iter_lines()
        assert next(lines).startswith(":"), "something comes at once, so that it is known to be open"
        yield _parsed(lines)


def _parsed(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            assert fields["event"] == "entry"
            yield int(fields["id"]), json.loads(fields["data"])
            fields = {}


def test_entries_come_as_they_are_written_with_their_number_as_id(agent: Agent, served: Served) -> None:
    with _listening(served.url) as events:
        session = agent.create()
        agent.move(session, "analyzing", "implementing")
        agent.complete(session, "failure", errorMessage="no")
        seen = [next(events) for _ in range(4)]
    written = entries(served.repository, session)
    assert [id_ for id_, _ in seen] == [one.seq for one in written]
    assert [one["hash"] for _, one in seen] == [one.hash for one in written]
    assert [one["to_state"] for _, one in seen] == ["idle", "analyzing", "implementing", "failed"]


@pytest.mark.parametrize("word", ["last", "after"])
def test_a_reader_that_was_cut_off_goes_on_where_it_was_each_entry_once_and_none_left_out(
    agent: Agent, served: Served, word: str
) -> None:
    session = agent.create()
    begin = entries(served.repository)[-1].seq
    seen: list[int] = []
    for count in (1, 3, 2, 5):
        told = [agent.call("emit_ralph_event", sessionId=session, type="progress") for _ in range(count)]
        with _listening(served.url, **{word: str(seen[-1] if seen else begin)}) as events:
            extra = agent.call("emit_ralph_event", sessionId=session, type="progress")
            seen += [next(events)[0] for _ in range(count + 1)]
        assert seen[-1] == extra["eventId"] > told[-1]["eventId"]
    assert seen == list(range(begin + 1, begin + len(seen) + 1))


def test_all_that_ever_happened_is_streamed_in_order_also_beyond_one_batch(
    repository: Path, environment: dict[str, str]
) -> None:
    def work(transaction: Transaction) -> None:
        for _ in range(601):
            transaction.create("session", JournalEvent("created", SYSTEM))

    with serving(repository, environment) as server:
        with opened(repository) as journal:
            journal.transact(work)
        with _listening(server.url, after="0") as events:
            assert [next(events)[0] for _ in range(601)] == list(range(1, 602))


def test_the_stream_of_one_session_has_nothing_of_others(agent: Agent, served: Served) -> None:
    session, other = agent.create(), agent.create()
    with _listening(served.url, instance=session, after="0") as events:
        agent.update(other, "analyzing")
        agent.update(session, "analyzing")
        seen = [next(events)[1] for _ in range(2)]
    assert [(one["instance"], one["to_state"]) for one in seen] == [(session, "idle"), (session, "analyzing")]


def test_what_another_process_writes_is_streamed_as_well(served: Served, home: dict[str, str]) -> None:
    with _listening(served.url) as events:
        made = run("session", "create", "--json", cwd=served.repository, env=home)
        assert made.code == 0, made
        _, entry = next(events)
    assert (entry["event"], entry["to_state"]) == ("created", "idle")


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"after": "-1"}, 400, "invalid_argument"),
        ({"after": "x"}, 400, "invalid_argument"),
        ({"after": "٣"}, 400, "invalid_argument"),
        ({"after": "9" * 19}, 400, "invalid_argument"),
        ({"instance": "zzzz"}, 404, "unknown_instance"),
        ({"instance": "../../etc"}, 404, "invalid_argument"),
    ],
)
def test_a_stream_that_cannot_be_is_an_error(served: Served, asked: dict[str, str], status: int, code: str) -> None:
    response = httpx2.get(f"{served.url}/events", params=asked, headers=AUTHORIZED, verify=False, timeout=SECONDS)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code


def test_a_stream_that_begins_in_the_future_waits_for_it(agent: Agent, served: Served) -> None:
    agent.create()
    head = entries(served.repository)[-1].seq
    with _listening(served.url, after=str(head + 1)) as events:
        session = agent.create()
        agent.update(session, "analyzing")
        assert next(events)[0] == head + 2


# Where it listens


def test_whoever_reads_the_address_can_connect_at_once(repository: Path, environment: dict[str, str]) -> None:
    with serving(repository, environment) as server:
        host, port = server.url.removeprefix("http://").rsplit(":", 1)
        socket.create_connection((host, int(port)), SECONDS).close()


@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_other_names_of_loopback_will_do(
    repository: Path, environment: dict[str, str], portal: BlockingPortal, host: str
) -> None:
    if host == "::1":
        try:
            with closing(socket.socket(socket.AF_INET6)) as probe:
                probe.bind((host, 0))
        except OSError:
            pytest.skip("there is no IPv6 here")
    with serving(repository, environment, "--host", host) as server, http_agent(portal, server.url) as agent:
        assert agent.look(agent.create())["currentState"] == "idle"
        assert httpx2.get(f"{server.url}/healthz", headers=AUTHORIZED, verify=False, timeout=SECONDS).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "127.0.0.2", "", "example.org", "LOCALHOST"])
def test_it_is_not_reachable_from_elsewhere_without_a_token(
    repository: Path, environment: dict[str, str], host: str
) -> None:
    env = environment | {"RALPH_SERVE_TOKEN": ""}
    refused = run("serve", "--json", "--port", "0", "--host", host, cwd=repository, env=env)
    assert refused.error["code"] == "address_refused"
    assert "RALPH_SERVE_TOKEN" in refused.error["hint"]
    assert not (repository / ".ralf").exists()


@pytest.mark.parametrize("path", ["/", "/board", "/healthz", "/events", "/live?show=/", "/login", "/metrics"])
def test_on_loopback_nothing_is_told_without_the_token(served: Served, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "interlock-token=x"}):
        answer = httpx2.get(f"{served.url}{path}", headers=headers, verify=False, timeout=SECONDS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")


def test_each_start_has_a_new_token_and_a_browser_brings_it_once(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    env = environment | {"RALPH_SERVE_TOKEN": ""}
    tokens = []
    for _ in range(2):
        with followed("serve", "--port", "0", cwd=repository, env=env) as stream:
            found = re.fullmatch(r"Serving (http://[^/]+)/\?token=(\S{32,})", stream.line())
            assert found is not None
            url, token = found.groups()
            tokens.append(token)
            assert f"{url}/mcp" in stream.line()
            with httpx2.Client(base_url=url, verify=False, timeout=SECONDS) as browser:
                assert browser.get("/").status_code == 401
                assert browser.get(f"/?token={token}x").status_code == 401
                assert browser.post(f"/mcp?token={token}").status_code == 401
                entered = browser.get(f"/board?sort=age&token={token}")
                assert (entered.status_code, entered.headers["location"]) == (303, "/board?sort=age")
                cookie = entered.headers["set-cookie"].lower()
                assert (token.lower() in cookie, "httponly" in cookie, "samesite=lax" in cookie) == (False, True, True)
                assert browser.get("/board").status_code == 200
            with http_agent(portal, url, token=token) as agent:
                assert agent.look(agent.create())["currentState"] == "idle"
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize("token", ["short", "x" * 15])
def test_a_token_that_can_be_guessed_is_refused(repository: Path, environment: dict[str, str], token: str) -> None:
    refused = run("serve", "--json", "--port", "0", cwd=repository, env=environment | {"RALPH_SERVE_TOKEN": token})
    assert refused.error["code"] == "address_refused"
    assert token not in refused.out


@pytest.mark.parametrize("era", ERAS)
def test_with_a_token_it_serves_others_as_well(
    repository: Path, environment: dict[str, str], portal: BlockingPortal, era: Era
) -> None:
    with serving(repository, environment | {"RALPH_SERVE_TOKEN": TOKEN}, "--host", "0.0.0.0") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        named = {"host": "build.example", "authorization": f"Bearer {TOKEN}"}
        assert httpx2.get(f"{url}/healthz", headers=named, verify=False, timeout=SECONDS).status_code == 200
        assert httpx2.get(f"{url}/healthz", verify=False, timeout=SECONDS).status_code == 401
        with http_agent(portal, url, era, TOKEN) as agent:
            assert agent.look(agent.create())["currentState"] == "idle"


def test_a_port_that_is_in_use_is_an_error_that_says_so(
    served: Served, repository: Path, environment: dict[str, str]
) -> None:
    port = served.url.rsplit(":", 1)[1]
    refused = run("serve", "--json", "--port", port, cwd=repository, env=environment)
    assert refused.error["code"] == "address_in_use"
    assert "--port" in refused.error["hint"]


@pytest.mark.parametrize("port", ["-1", "65536", "http", "1e3", "٣", ""])
def test_what_is_no_port_is_refused(repository: Path, environment: dict[str, str], port: str) -> None:
    assert run("serve", "--json", f"--port={port}", cwd=repository, env=environment).error["code"] == "usage"


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "x" * 300, "\u202e"])
def test_an_address_that_is_not_of_this_machine_is_refused(
    repository: Path, environment: dict[str, str], host: str
) -> None:
    env = environment | {"RALPH_SERVE_TOKEN": TOKEN}
    assert run("serve", "--json", "--host", host, cwd=repository, env=env).error["code"] == "invalid_argument"


def test_outside_a_repository_it_says_so(outside: Path, environment: dict[str, str]) -> None:
    assert run("serve", "--json", "--port", "0", cwd=outside, env=environment).error["code"] == "no_repository"


# How it ends


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(repository: Path, environment: dict[str, str], sign: signal.Signals) -> None:
    with serving(repository, environment) as server:
        ended = server.end(sign)
    assert ended.code == 130
    assert ended.err == ""
    assert sorted(one.name for one in (repository / ".ralf").iterdir()) == ["journal.db"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_under_those_who_still_listen(
    repository: Path, environment: dict[str, str], portal: BlockingPortal, sign: signal.Signals, era: Era
) -> None:
    with serving(repository, environment) as server, http_agent(portal, server.url, era) as agent:
        session = agent.create()
        with _listening(server.url) as events:
            agent.update(session, "analyzing")
            next(events)
            ended = server.end(sign)
            assert list(events) == []
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert problems(repository) == []
    assert [one.to_state for one in entries(repository, session)] == ["idle", "analyzing"]


def test_after_it_was_killed_nothing_that_was_acknowledged_is_missing(
    repository: Path, environment: dict[str, str], portal: BlockingPortal
) -> None:
    with serving(repository, environment) as server:
        with http_agent(portal, server.url) as agent:
            session = agent.create("7")
            agent.update(session, "analyzing")
            acknowledged = dump(repository)["entries"]
        server.end(signal.SIGKILL)
    with serving(repository, environment) as server, http_agent(portal, server.url) as agent:
        assert dump(repository)["entries"] == acknowledged
        assert agent.look(session)["currentState"] == "analyzing"
        assert agent.refused("create_ralph_session", ticketId="7").code == "session_open"
    assert problems(repository) == []


def test_people_are_told_where_it_serves(repository: Path, environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        ["ralph", "serve", "--port", "0"],
        cwd=repository,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert line.startswith("Serving http://127.0.0.1:")
    assert line.endswith("/mcp\n")
    assert "Traceback" not in err.decode()
    assert "[interrupted]" in err.decode()


def test_its_help_names_the_port_and_the_token(repository: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("serve", "--help", cwd=repository, env=environment)
    assert code == 0
    assert "--port" in screen
    assert "RALPH_SERVE_TOKEN" in screen
    assert not os.path.lexists(repository / ".ralf")
