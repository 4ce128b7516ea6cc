"""The seed's appendix, "Complete Session Flow", by the official client: in both eras of the protocol, over both
transports."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from faces.forking import real_starts
from journal.test_schema import SEED_QUERY

from .servers import ERAS, Agent, Era, entries, http_agent, problems, serving, stdio_agent

PATH = ("idle", "analyzing", "implementing", "testing", "committing", "reviewing", "done")
REPLY = ("success", "sessionId", "previousState", "newState", "transitionedAt", "allowedNext")


@pytest.fixture(scope="module", params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=ERAS)
def era(request: pytest.FixtureRequest) -> Era:
    found: Era = request.param
    return found


@pytest.fixture(scope="module")
def repository(transport: str, era: Era, tmp_path_factory: pytest.TempPathFactory, home: dict[str, str]) -> Path:
    """One for each Ralph, which all tests share."""
    directory = tmp_path_factory.mktemp("flow") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    return directory


@pytest.fixture(scope="module")
def ralph(transport: str, era: Era, portal: BlockingPortal, repository: Path, home: dict[str, str]) -> Iterator[Agent]:
    """The seed's Ralph, who speaks one era over one transport; the official client itself starts `ralph mcp`."""
    with ExitStack() as stack:
        if transport == "http":
            server = stack.enter_context(serving(repository, home))
            yield stack.enter_context(http_agent(portal, server.url, era, name="ralph"))
        else:
            stack.enter_context(real_starts())
            yield stack.enter_context(stdio_agent(portal, repository, home, era, name="ralph"))


def _debug(repository: Path) -> list[dict[str, Any]]:
    """What the seed's debugging query finds, as it is written."""
    with closing(sqlite3.connect(repository / ".ralf" / "journal.db")) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(SEED_QUERY)]


def _session(repository: Path, session: str) -> dict[str, Any]:
    """A session's row as the seed's table has it."""
    with closing(sqlite3.connect(repository / ".ralf" / "journal.db")) as database:
        database.row_factory = sqlite3.Row
        [row] = database.execute("SELECT * FROM ralph_sessions WHERE id = ?", (session,))
        return dict(row)


@pytest.mark.requirement("session:initial")
@pytest.mark.requirement("session:transition:idle-analyzing")
@pytest.mark.requirement("session:transition:analyzing-implementing")
@pytest.mark.requirement("session:transition:implementing-testing")
@pytest.mark.requirement("session:transition:testing-committing")
@pytest.mark.requirement("session:transition:committing-reviewing")
@pytest.mark.requirement("session:transition:reviewing-done")
def test_the_complete_session_flow_of_the_seed(ralph: Agent, repository: Path) -> None:
    opened = ralph.call("create_ralph_session", ticketId="7.11")
    session = opened["sessionId"]
    assert opened["state"] == "idle"
    assert opened["allowedNext"] == ["analyzing"]
    for before, after in pairwise(PATH[:-1]):
        moved = ralph.update(session, after)
        assert tuple(moved) == REPLY
        assert (moved["success"], moved["previousState"], moved["newState"]) == (True, before, after)
    ended = ralph.complete(session)
    assert tuple(ended) == (*REPLY, "outcome")
    assert (ended["previousState"], ended["newState"], ended["outcome"]) == ("reviewing", "done", "success")
    assert ended["allowedNext"] == []

    seen = ralph.look(session)
    assert [one["state"] for one in seen["stateHistory"]] == list(PATH)
    times = [one["timestamp"] for one in seen["stateHistory"]]
    assert times == sorted(times)
    assert (seen["currentState"], seen["outcome"], seen["ticketId"]) == ("done", "success", "7.11")

    written = entries(repository, session)
    assert [one.to_state for one in written] == list(PATH)
    assert {(one.actor_kind, one.actor_id, one.channel) for one in written} == {("agent", "ralph", "mcp")}
    assert not any(one.off_path for one in written)
    assert problems(repository) == []


def test_the_debugging_query_of_the_seed_shows_where_it_got_stuck(ralph: Agent, repository: Path) -> None:
    stuck = ralph.create("7.11")
    ralph.move(stuck, "analyzing", "implementing", "testing")
    ralph.complete(stuck, "failure", errorMessage="3 tests fail and I do not know why")
    fine = ralph.create("7.12")
    ralph.move(fine, *PATH[1:-1])
    ralph.complete(fine)
    late = ralph.create("7.13")
    ralph.complete(late, "failure", errorMessage="the spec is missing")

    assert _debug(repository) == [
        {"id": late, "current_state": "failed", "last_state": "failed", "error": "the spec is missing"},
        {"id": stuck, "current_state": "failed", "last_state": "failed", "error": "3 tests fail and I do not know why"},
    ]
    row = _session(repository, stuck)
    history = json.loads(row["state_history"])
    assert [one["state"] for one in history] == ["idle", "analyzing", "implementing", "testing", "failed"]
    assert history[0]["metadata"]["action"] == "session_created"
    assert all(one["timestamp"].endswith("Z") for one in history)
    assert (row["ticket_id"], row["outcome"], row["completed_at"]) == ("7.11", "failure", history[-1]["timestamp"])
    assert problems(repository) == []
