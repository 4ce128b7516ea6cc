"""What the seed asks of the tools, and what the design added: moves, refusals, outcomes, tickets."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from faces.journals import settle
from interlock.machine import load_shipped
from interlock.work.sessions.prompt import reported_states
from interlock.work.tickets.numbers import number_of

from .servers import Agent, Served, dump, entries, http_agent, problems, serving

SESSION = load_shipped("session")
REPORTED = reported_states(SESSION)
STEPS = {
    (row.source, row.to): row
    for row in SESSION.transitions
    if row.on == "update_session_state" and row.source in SESSION.states
}
UNKNOWN = "01h0000000000000000000000z"


def _at(agent: Agent, ticket: str, state: str) -> str:
    """A session that is in a state, come there on the path."""
    session = agent.create(ticket)
    if state != "idle":
        agent.move(session, *REPORTED[: REPORTED.index(state) + 1])
    return session


# The seed's unit tests


def test_a_valid_transition_updates_the_database(agent: Agent, served: Served, ticket: str) -> None:
    session = agent.create(ticket)
    moved = agent.update(session, "analyzing", files=["a.py"], note="anything")
    [_, entry] = entries(served.repository, session)
    assert (entry.from_state, entry.to_state, entry.event) == ("idle", "analyzing", "update_session_state")
    assert entry.decoded_evidence().data == {"files": ["a.py"], "note": "anything"}
    assert entry.time == moved["transitionedAt"]
    seen = agent.look(session)
    assert (seen["currentState"], seen["updatedAt"]) == ("analyzing", entry.time)


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("update_session_state", {"state": "analyzing"}),
        ("complete_ralph_session", {"outcome": "success"}),
        ("get_session_state", {}),
        ("emit_ralph_event", {"type": "progress"}),
        ("get_ralph_events", {}),
    ],
)
@pytest.mark.parametrize("session", [UNKNOWN, "nope", "", "../../etc/passwd", "%", "x" * 300])
def test_an_invalid_session_id_is_an_error(
    agent: Agent, served: Served, tool: str, more: dict[str, str], session: str
) -> None:
    before = dump(served.repository)
    refused = agent.refused(tool, sessionId=session, **more)
    assert refused.code == "unknown_session"
    assert "create_ralph_session" in refused.text
    assert dump(served.repository) == before


@pytest.mark.parametrize("outcome", ["success", "failure", "timeout", "cancelled"])
def test_a_completed_session_rejects_updates(agent: Agent, served: Served, ticket: str, outcome: str) -> None:
    session = agent.create(ticket)
    agent.complete(session, outcome)
    before = dump(served.repository)
    for refused in (
        agent.refused("update_session_state", sessionId=session, state="analyzing"),
        agent.refused("complete_ralph_session", sessionId=session, outcome="success"),
    ):
        assert refused.code == "session_completed"
        assert f"Session {session} is already completed with outcome: {outcome}" in refused.text
        assert "create_ralph_session" in refused.text
    assert dump(served.repository) == before


def test_the_state_history_accumulates_with_times_and_metadata(agent: Agent, ticket: str) -> None:
    session = agent.create(ticket)
    agent.update(session, "analyzing", message="reading")
    agent.update(session, "implementing", files=["a.py", "b.py"])
    agent.update(session, "testing", testResults={"passed": 1, "failed": 1, "skipped": 0})
    agent.update(session, "implementing", error="one test fails")
    agent.update(session, "testing", testResults={"passed": 2, "failed": 0, "skipped": 0})
    history = agent.look(session)["stateHistory"]
    assert [(one["state"], one["metadata"]) for one in history] == [
        ("idle", {"action": "session_created"}),
        ("analyzing", {"message": "reading"}),
        ("implementing", {"files": ["a.py", "b.py"]}),
        ("testing", {"testResults": {"passed": 1, "failed": 1, "skipped": 0}}),
        ("implementing", {"error": "one test fails"}),
        ("testing", {"testResults": {"passed": 2, "failed": 0, "skipped": 0}}),
    ]
    times = [datetime.fromisoformat(one["timestamp"]) for one in history]
    assert times == sorted(times)
    for one, begin, end in zip(history, times, times[1:], strict=False):
        assert one["seconds"] == pytest.approx((end - begin).total_seconds(), abs=0.002)


# The seed's integration tests


def test_the_full_lifecycle_may_skip_the_review(agent: Agent, served: Served, ticket: str) -> None:
    session = agent.create(ticket)
    states = ["idle", "analyzing", "implementing", "testing", "committing", "done"]
    agent.move(session, *states[1:-1])
    ended = agent.complete(session)
    assert (ended["previousState"], ended["newState"], ended["outcome"]) == ("committing", "done", "success")
    assert "offPath" not in ended
    seen = agent.look(session)
    assert [one["state"] for one in seen["stateHistory"]] == states
    assert list(seen["secondsInState"]) == states[:-1]
    assert seen["completedAt"] == ended["transitionedAt"]
    assert problems(served.repository) == []


# Every step of the table, and every step that is not in it


@pytest.mark.parametrize("to", REPORTED)
@pytest.mark.parametrize("state", ["idle", *REPORTED])
def test_every_reported_state_is_recorded_for_what_it_is(agent: Agent, ticket: str, state: str, to: str) -> None:
    session = _at(agent, ticket, state)
    moved = agent.update(session, to)
    expected = {"success": True, "sessionId": session, "previousState": state, "newState": to}
    assert moved.items() >= expected.items()
    if (state, to) in STEPS:
        assert moved.keys() == {*expected, "transitionedAt", "allowedNext"}
    elif state == to:
        assert moved.keys() == {*expected, "transitionedAt", "allowedNext", "warning"}
        assert moved["warning"] == f"already in {to!r}"
    else:
        assert moved.keys() == {*expected, "transitionedAt", "allowedNext", "warning", "offPath"}
        assert moved["offPath"] is True
        assert "off the path" in moved["warning"]
    assert moved["allowedNext"] == _usual(to)
    history = agent.look(session)["stateHistory"]
    assert history[-1].get("offPath", False) is (state != to and (state, to) not in STEPS)


def _usual(state: str) -> list[str]:
    """Where the table leads from a state by a report, or by a success that is on the path."""
    rows = [row for row in SESSION.transitions if row.source == state and not row.off_path]
    return list(dict.fromkeys(row.to for row in rows if row.to != state and row.to != "failed"))


@pytest.mark.parametrize("state", ["idle", "done", "failed", "", "IDLE", "Analyzing", "analyzing ", "toString"])
def test_only_the_five_phases_can_be_reported(agent: Agent, served: Served, ticket: str, state: str) -> None:
    session = _at(agent, ticket, "implementing")
    before = dump(served.repository)
    refused = agent.refused("update_session_state", sessionId=session, state=state)
    assert refused.code in ("target_not_allowed", "unknown_state", "invalid_argument")
    if refused.code != "invalid_argument":
        assert "testing" in refused.text, "what is allowed next"
    assert dump(served.repository) == before


@pytest.mark.requirement("session:transition:testing-committing")
def test_a_commit_with_failed_tests_is_off_the_path(agent: Agent, ticket: str) -> None:
    session = _at(agent, ticket, "testing")
    moved = agent.update(session, "committing", testResults={"passed": 7, "failed": 1, "skipped": 0})
    assert moved["offPath"] is True
    assert "off the path" in moved["warning"]


@pytest.mark.parametrize(
    "results",
    [{"passed": 7, "failed": 0, "skipped": 0}, {"passed": 7}, {"failed": 0}, {}, {"passed": 0.0, "failed": 0.0}],
)
def test_a_commit_with_tests_that_did_not_fail_is_on_the_path(
    agent: Agent, ticket: str, results: dict[str, float]
) -> None:
    session = _at(agent, ticket, "testing")
    assert "offPath" not in agent.update(session, "committing", testResults=results)


def test_a_commit_after_failed_tests_is_off_the_path_wherever_they_were_reported(agent: Agent, ticket: str) -> None:
    session = _at(agent, ticket, "testing")
    agent.update(session, "testing", testResults={"passed": 7, "failed": 1, "skipped": 0})
    moved = agent.update(session, "committing")
    assert moved.get("offPath") or moved.get("findings")


# How it ends


@pytest.mark.requirement("session:outcomes")
@pytest.mark.parametrize("state", ["idle", *REPORTED])
@pytest.mark.parametrize("outcome", ["failure", "timeout", "cancelled"])
def test_a_session_can_fail_from_everywhere(agent: Agent, ticket: str, state: str, outcome: str) -> None:
    session = _at(agent, ticket, state)
    ended = agent.complete(session, outcome, errorMessage="it rained")
    assert ended.keys() == {
        *("success", "sessionId", "previousState", "newState", "transitionedAt", "allowedNext", "outcome")
    }
    assert (ended["previousState"], ended["newState"], ended["outcome"]) == (state, "failed", outcome)
    seen = agent.look(session)
    assert (seen["outcome"], seen["errorMessage"], seen["allowedNext"]) == (outcome, "it rained", [])


@pytest.mark.parametrize("state", ["idle", "analyzing", "implementing", "testing"])
def test_a_success_that_is_claimed_too_early_is_recorded_and_marked(agent: Agent, ticket: str, state: str) -> None:
    session = _at(agent, ticket, state)
    ended = agent.complete(session)
    assert (ended["newState"], ended["outcome"], ended["offPath"]) == ("done", "success", True)


def test_a_success_that_is_claimed_too_early_comes_with_a_warning(agent: Agent, ticket: str) -> None:
    session = _at(agent, ticket, "implementing")
    assert "off the path" in agent.complete(session)["warning"]


# In strict mode


@pytest.fixture(scope="module")
def strict(
    tmp_path_factory: pytest.TempPathFactory, home: dict[str, str], portal: BlockingPortal
) -> Iterator[tuple[Agent, Path]]:
    """An agent whose repository takes only moves that are in the table."""
    directory = tmp_path_factory.mktemp("strict") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    settle(directory, '[session]\nenforcement = "strict"\n')
    with serving(directory, home) as server, http_agent(portal, server.url) as agent:
        yield agent, directory


@pytest.mark.requirement("session:enforcement")
@pytest.mark.parametrize(
    ("state", "to"), [(state, to) for state in ("idle", *REPORTED) for to in REPORTED if state != to]
)
def test_in_strict_mode_a_move_that_is_off_the_path_is_refused_with_what_is_allowed(
    strict: tuple[Agent, Path], ticket: str, state: str, to: str
) -> None:
    agent, repository = strict
    session = _at(agent, ticket, state)
    before = dump(repository)
    if (state, to) in STEPS:
        assert agent.update(session, to)["newState"] == to
        return
    refused = agent.refused("update_session_state", sessionId=session, state=to)
    assert refused.code == "target_not_allowed"
    for usual in _usual(state):
        assert usual in refused.text
    assert dump(repository) == before


def test_in_strict_mode_the_same_state_again_is_a_success_with_a_warning(
    strict: tuple[Agent, Path], ticket: str
) -> None:
    agent, _ = strict
    session = _at(agent, ticket, "testing")
    assert agent.update(session, "testing", testResults={"passed": 3})["warning"] == "already in 'testing'"


def test_in_strict_mode_a_commit_with_failed_tests_is_refused(strict: tuple[Agent, Path], ticket: str) -> None:
    agent, repository = strict
    session = _at(agent, ticket, "testing")
    before = dump(repository)
    refused = agent.refused(
        "update_session_state", sessionId=session, state="committing", metadata={"testResults": {"failed": 2}}
    )
    assert refused.code == "condition_unmet"
    assert "implementing" in refused.text
    assert dump(repository) == before
    assert agent.update(session, "implementing")["newState"] == "implementing"


# Tickets


@pytest.mark.parametrize("number", [None, 4711, "GH-12", "628130e7-ecfb-4405-a947-126f54ba095a", "Ünïcödé 票", 0, -1])
def test_a_ticket_is_a_number_a_text_or_nothing(agent: Agent, number: str | int | None) -> None:
    opened = agent.call("create_ralph_session", ticketId=number)
    assert opened["ticketId"] == (None if number is None else str(number))
    assert agent.look(opened["sessionId"])["ticketId"] == opened["ticketId"]


def test_without_a_ticket_there_may_be_many_sessions(agent: Agent) -> None:
    first, second = agent.create(), agent.create()
    assert first != second
    assert agent.look(first)["outcome"] is agent.look(second)["outcome"] is None


def test_an_unknown_ticket_becomes_a_stub_once(agent: Agent, served: Served, ticket: str) -> None:
    before = {one.instance for one in entries(served.repository)}
    session = agent.create(ticket)
    agent.complete(session, "cancelled")
    agent.create(ticket)
    new = [one for one in entries(served.repository) if one.instance not in before and one.event == "created"]
    [stub] = [one for one in new if "alias" in one.decoded_evidence().data]
    data = stub.decoded_evidence().data
    assert (data["alias"], data["title"], data["stub"]) == (ticket, ticket, True)
    listed = agent.call("list_ticket_sessions", ticketId=number_of(stub.decoded_evidence().names))
    assert [one["outcome"] for one in listed["sessions"]] == [None, "cancelled"]


def test_a_number_of_ours_and_a_number_of_elsewhere_are_not_mixed_up(
    portal: BlockingPortal, repository: Path, environment: dict[str, str]
) -> None:
    with serving(repository, environment) as server, http_agent(portal, server.url) as agent:
        agent.create("2")  # known as 2 elsewhere; here it is number 1
        agent.create("other")  # would be number 2
        assert agent.refused("create_ralph_session", ticketId=2).code == "session_open"
        stubs = [one.decoded_evidence() for one in entries(repository)]
        numbers = {one.data["alias"]: number_of(one.names) for one in stubs if "alias" in one.data}
        assert numbers == {"2": 1, "other": 3}
        assert agent.refused("create_ralph_session", ticketId="3").code == "session_open"


def test_a_ticket_has_one_open_session_and_a_second_is_told_how_to_go_on(
    agent: Agent, served: Served, ticket: str
) -> None:
    first = agent.create(ticket)
    agent.update(first, "analyzing")
    before = dump(served.repository)
    refused = agent.refused("create_ralph_session", ticketId=ticket)
    assert refused.code == "session_open"
    assert f'update_session_state({{"sessionId": "{first}", "state": "' in refused.text
    assert "analyzing" in refused.text
    assert dump(served.repository) == before
    agent.complete(first, "cancelled")
    assert agent.create(ticket) != first


@pytest.mark.parametrize(
    "number", ["", " ", "\t", "x" * 151, "a\nb", "a\u202eb", 1 << 63, -(1 << 63) - 1, 10**30, 1.5, True, [], {}]
)
def test_what_can_be_no_ticket_is_refused(agent: Agent, served: Served, number: object) -> None:
    before = dump(served.repository)
    assert agent.refused("create_ralph_session", ticketId=number).code == "invalid_argument"
    assert dump(served.repository) == before


def test_the_latest_session_of_a_ticket_can_be_asked_for(agent: Agent, ticket: str) -> None:
    agent.complete(agent.create(ticket), "failure", errorMessage="first")
    second = agent.create(ticket)
    assert agent.call("get_session_state", ticketId=ticket)["sessionId"] == second
    assert agent.call("get_session_state", sessionId=second, ticketId="another")["sessionId"] == second
    listed = agent.call("list_ticket_sessions", ticketId=ticket, limit=1)
    assert [one["id"] for one in listed["sessions"]] == [second]
    assert agent.refused("list_ticket_sessions", ticketId="nobody knows this").code == "unknown_ticket"
    assert agent.refused("get_session_state", ticketId="nobody knows this").code == "unknown_ticket"
    assert agent.refused("get_session_state").code == "invalid_argument"


@pytest.mark.parametrize("length", [26, 12, 6])
def test_a_session_can_be_named_by_the_end_of_its_id(agent: Agent, ticket: str, length: int) -> None:
    session = agent.create(ticket)
    assert agent.update(session[-length:], "analyzing")["sessionId"] == session


def test_the_id_of_a_ticket_is_not_taken_for_one_of_a_session(agent: Agent, served: Served, ticket: str) -> None:
    agent.create(ticket)
    stub = next(one for one in entries(served.repository) if one.decoded_evidence().data.get("alias") == ticket)
    refused = agent.refused("update_session_state", sessionId=stub.instance, state="analyzing")
    assert refused.code == "unknown_session"
