"""Idempotency keys: the same call again writes nothing and gives the first answer; another event is refused."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.world.inbox import drop

from .servers import Agent, Served, dump


def _calls(session: str, ticket: str) -> dict[str, dict[str, Any]]:
    return {
        "create_ralph_session": {"ticketId": ticket},
        "update_session_state": {"sessionId": session, "state": "analyzing", "metadata": {"message": "reading"}},
        "emit_ralph_event": {"sessionId": session, "type": "thinking", "data": {"message": "hm"}},
        "complete_ralph_session": {"sessionId": session, "outcome": "failure", "errorMessage": "no"},
    }


@pytest.mark.parametrize("tool", list(_calls("", "")))
def test_the_same_call_again_writes_nothing_and_gives_the_first_answer(
    agent: Agent, served: Served, ticket: str, tool: str
) -> None:
    arguments = _calls(agent.create(), ticket)[tool] | {"idempotencyKey": f"{ticket}:{tool}"}
    first = agent.call(tool, **arguments)
    before = dump(served.repository)["entries"]
    assert agent.call(tool, **arguments) == first
    assert agent.call(tool, **arguments) == first
    assert dump(served.repository)["entries"] == before


@pytest.mark.parametrize("tool", list(_calls("", "")))
def test_without_a_key_the_same_call_again_is_a_call_of_its_own(
    agent: Agent, served: Served, ticket: str, tool: str
) -> None:
    arguments = _calls(agent.create(), ticket)[tool]
    agent.call(tool, **arguments)
    before = dump(served.repository)["entries"]
    if tool in ("create_ralph_session", "complete_ralph_session"):
        assert agent.refused(tool, **arguments).code in ("session_open", "session_completed")
        assert dump(served.repository)["entries"] == before
    else:
        agent.call(tool, **arguments)
        assert len(dump(served.repository)["entries"]) == len(before) + 1


def test_the_first_answer_is_given_although_the_session_went_on(agent: Agent, served: Served, ticket: str) -> None:
    session = agent.create(ticket)
    key = f"{ticket}:first"
    first = agent.call("update_session_state", sessionId=session, state="testing", idempotencyKey=key)
    assert first["offPath"] is True
    agent.move(session, "implementing")
    agent.complete(session, "failure")
    before = dump(served.repository)
    assert agent.call("update_session_state", sessionId=session, state="testing", idempotencyKey=key) == first
    assert agent.look(session)["currentState"] == "failed"
    assert dump(served.repository) == before


def test_the_first_answer_is_given_with_its_findings(agent: Agent, served: Served, ticket: str) -> None:
    session = agent.create(ticket)
    agent.update(session, "analyzing")
    drop(str(served.repository / ".ralf"), session, {"type": "file_change", "file": "src/a.py"})
    arguments = {"sessionId": session, "state": "implementing", "idempotencyKey": f"{ticket}:findings"}
    first = agent.call("update_session_state", **arguments)
    assert first["findings"]
    assert agent.call("update_session_state", **arguments) == first


@pytest.mark.parametrize(
    "other",
    [
        ("update_session_state", {"state": "implementing"}),
        ("complete_ralph_session", {"outcome": "success"}),
        ("emit_ralph_event", {"type": "error"}),
    ],
    ids=lambda other: str(other[0]),
)
def test_a_key_of_another_event_is_refused(
    agent: Agent, served: Served, ticket: str, other: tuple[str, dict[str, str]]
) -> None:
    session = agent.create(ticket)
    agent.call("update_session_state", sessionId=session, state="analyzing", idempotencyKey=ticket)
    before = dump(served.repository)
    tool, arguments = other
    refused = agent.refused(tool, sessionId=session, idempotencyKey=ticket, **arguments)
    assert refused.code == "key_reused"
    assert "new key" in refused.text
    assert agent.refused("create_ralph_session", idempotencyKey=ticket).code == "key_reused"
    assert dump(served.repository) == before


def test_a_key_of_another_session_is_refused(agent: Agent, served: Served, ticket: str) -> None:
    first, second = agent.create(), agent.create()
    agent.call("update_session_state", sessionId=first, state="analyzing", idempotencyKey=ticket)
    before = dump(served.repository)
    refused = agent.refused("update_session_state", sessionId=second, state="analyzing", idempotencyKey=ticket)
    assert refused.code == "key_reused"
    assert dump(served.repository) == before


def test_a_key_of_another_ticket_is_refused(agent: Agent, served: Served, ticket: str) -> None:
    agent.call("create_ralph_session", ticketId=ticket, idempotencyKey=ticket)
    before = dump(served.repository)
    refused = agent.refused("create_ralph_session", ticketId=f"not {ticket}", idempotencyKey=ticket)
    assert refused.code == "key_reused"
    assert dump(served.repository) == before


@pytest.mark.parametrize(
    "other", [{"type": "error"}, {"type": "thinking", "data": {"message": "something else"}}], ids=["type", "data"]
)
def test_a_key_of_another_note_is_refused(agent: Agent, served: Served, ticket: str, other: dict[str, Any]) -> None:
    session = agent.create(ticket)
    agent.call("emit_ralph_event", sessionId=session, type="thinking", idempotencyKey=ticket)
    before = dump(served.repository)
    assert agent.refused("emit_ralph_event", sessionId=session, idempotencyKey=ticket, **other).code == "key_reused"
    assert dump(served.repository) == before


def test_a_key_of_another_outcome_is_refused(agent: Agent, served: Served, ticket: str) -> None:
    session = agent.create(ticket)
    agent.complete(session, "failure", idempotencyKey=ticket)
    before = dump(served.repository)
    refused = agent.refused("complete_ralph_session", sessionId=session, outcome="success", idempotencyKey=ticket)
    assert refused.code == "key_reused"
    assert dump(served.repository) == before


@pytest.mark.parametrize("key", ["", "\n", "x" * 201, "a\x00b", 5, ["k"]])
def test_what_can_be_no_key_is_refused(agent: Agent, served: Served, key: object) -> None:
    before = dump(served.repository)
    assert agent.refused("create_ralph_session", idempotencyKey=key).code == "invalid_argument"
    assert dump(served.repository) == before
