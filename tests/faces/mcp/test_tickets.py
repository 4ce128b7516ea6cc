"""The tools for tickets through the official client: the whole way, the one door, locks, and bad input."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from faces.programs import clean_environment
from interlock.machine import load_shipped
from interlock.work.tickets.audit import parse

from .servers import ERAS, Agent, Era, Served, dump, entries, http_agent, problems, serving, stdio_agent

MACHINE = load_shipped("ticket")
STATES = list(MACHINE.states)
_titles = count(1)


def _made(agent: Agent, **fields: Any) -> int:
    number: int = agent.call("create_ticket", title=f"Ticket {next(_titles)}", **fields)["number"]
    return number


def _hand(agent: Agent, number: int, command: str, *, session: str | None = None, **asked: str) -> dict[str, Any]:
    more = {"sessionId": session} if session else {}
    return agent.call("handoff_ticket", number=number, command=command, reason="so it is", **asked, **more)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return clean_environment(tmp_path)


@pytest.fixture(params=ERAS)
def alone(
    request: pytest.FixtureRequest, portal: BlockingPortal, tmp_path: Path, environment: dict[str, str]
) -> Iterator[Agent]:
    """An agent with a server and a repository of its own, over stdio."""
    directory = tmp_path / "alone"
    subprocess.run(["git", "init", "-q", directory], check=True, timeout=60)
    era: Era = request.param
    with stdio_agent(portal, directory, environment, era) as agent:
        yield agent


def test_a_ticket_goes_from_backlog_to_review_by_its_commands(alone: Agent) -> None:
    number = _made(alone, estimate="S", priority="P1", labels=["bug"], body="All of it")
    assert alone.call("next_ticket", command="triage")["ticket"]["number"] == number
    assert _hand(alone, number, "triage", to_state="Research Needed")["newState"] == "Research Needed"
    locked = _hand(alone, number, "research", intent="lock")
    assert locked["guidance"]["isLockState"] is True
    assert locked["guidance"]["note"] == "Lock acquired. This ticket is now exclusively claimed."
    assert "process" in locked["guidance"]["holder"]
    assert alone.call("next_ticket", command="research")["found"] is False
    alone.call("update_ticket", number=number, artifacts={"research": "thoughts/shared/research/found.md"})
    assert _hand(alone, number, "research", intent="complete")["newState"] == "Ready for Plan"
    _hand(alone, number, "plan", intent="lock")
    waiting = _hand(alone, number, "plan", intent="complete")
    assert waiting["guidance"]["requiresHumanAction"] is True
    refused = alone.refused("handoff_ticket", number=number, command="review", intent="complete", reason="fine")
    assert refused.code == "refused_by_rule"
    assert "person" in refused.text
    found = alone.call("get_ticket", number=number)
    assert found["workflowState"] == "Plan in Review"
    trail = [parse(one["body"]) for one in found["comments"] if one.get("isAudit")]
    assert [(one.source, one.to, one.command, one.intent) for one in trail if one] == [
        ("Backlog", "Research Needed", "triage", None),
        ("Research Needed", "Research in Progress", "research", "lock"),
        ("Research in Progress", "Ready for Plan", "research", "complete"),
        ("Ready for Plan", "Plan in Progress", "plan", "lock"),
        ("Plan in Progress", "Plan in Review", "plan", "complete"),
    ]


@pytest.mark.requirement("ticket:handoff:no-bypass")
def test_no_other_tool_moves_a_ticket(agent: Agent) -> None:
    """Whatever is written on a ticket, it stays where it is; a state is an argument of handoff_ticket alone."""
    number, other = _made(agent), _made(agent)
    agent.call("update_ticket", number=number, title="Done", body="In Progress", addLabels=["Done"], estimate="XS")
    agent.call("comment_ticket", number=number, body="**State transition**: Backlog → Done\n**Command**: ralph_merge")
    agent.call("link_tickets", number=number, relation="blocked_by", other=other)
    for name in ("state", "workflowState", "to_state", "outcome", "holder"):
        assert agent.refused("update_ticket", number=number, **{name: "Done"}).code == "invalid_argument"
    assert agent.call("get_ticket", number=number)["workflowState"] == "Backlog"


@pytest.mark.parametrize("target", [state for state in STATES if state not in ("Backlog",)])
def test_where_a_ticket_begins_is_no_way_around_the_door(agent: Agent, target: str) -> None:
    refused = agent.refused("create_ticket", title="x", workflowState=target)
    assert refused.code == ("command_required" if target == "Research Needed" else "not_allowed")


def test_split_makes_parts_that_begin_further_on(agent: Agent) -> None:
    parent = _made(agent, estimate="L")
    part = agent.call("create_ticket", title="part", parent=parent, command="split", workflowState="Research Needed")
    assert part["workflowState"] == "Research Needed"
    assert agent.call("get_ticket", number=parent)["subTickets"][0]["number"] == part["number"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"command": "triage", "intent": "close", "to_state": "Done", "reason": "x"}, "invalid_argument"),
        ({"command": "triage", "reason": "x"}, "invalid_argument"),
        ({"command": "triage", "to_state": "Research Needed", "reason": ""}, "invalid_argument"),
        ({"command": "triage", "to_state": "Research Needed", "reason": " \n"}, "invalid_argument"),
        ({"command": "triage", "to_state": "Research Needed", "reason": "x" * 20_000}, "invalid_argument"),
        ({"command": "triage", "to_state": "Research Needed"}, "invalid_argument"),
        ({"to_state": "Research Needed", "reason": "x"}, "invalid_argument"),
        ({"command": "deploy", "intent": "lock", "reason": "x"}, "unknown_command"),
        ({"command": "thread", "to_state": "In Review", "reason": "x"}, "unknown_command"),
        ({"command": "triage", "intent": "finish", "reason": "x"}, "unknown_intent"),
        ({"command": "triage", "to_state": "Doing", "reason": "x"}, "unknown_state"),
        ({"command": "triage", "intent": "complete", "reason": "x"}, "intent_ambiguous"),
        ({"command": "impl", "intent": "reject", "reason": "x"}, "intent_unmapped"),
        ({"command": "impl", "intent": "lock", "reason": "x"}, "target_not_allowed"),
        ({"command": "triage", "to_state": "In Progress", "reason": "x"}, "target_not_allowed"),
        ({"command": "research", "intent": "lock", "sessionId": "nobody", "reason": "x"}, "unknown_session"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_refused_handoff_says_why_and_changes_nothing(
    agent: Agent, served: Served, asked: dict[str, Any], code: str
) -> None:
    number = _made(agent)
    before = dump(served.repository)
    refused = agent.refused("handoff_ticket", number=number, **asked)
    assert refused.code in (code, "not_allowed")
    assert len(refused.text.splitlines()) > 1, "it says what to do instead"
    assert dump(served.repository) == before


def test_the_calls_that_a_refusal_offers_can_be_made(agent: Agent) -> None:
    number = _made(agent)
    refused = agent.refused("handoff_ticket", number=number, command="triage", to_state="In Progress", reason="x")
    offered = re.findall(r"handoff_ticket\((\{.*?\})\) → ([^;.]+)", refused.text)
    assert len(offered) > 1
    given, target = offered[0]
    assert agent.call("handoff_ticket", **json.loads(given))["newState"] == target


@pytest.mark.parametrize("number", [0, -1, 10**12, "nobody", "", "1; DROP TABLE tickets", "x" * 9000])
def test_a_ticket_that_is_not_there_is_told(agent: Agent, number: int | str) -> None:
    for tool in ("get_ticket", "ticket_group", "pipeline_position"):
        assert agent.refused(tool, number=number).code == "unknown_ticket"
    refused = agent.refused("handoff_ticket", number=number, command="triage", intent="close", reason="x")
    assert refused.code == "unknown_ticket"


# Locks


def test_over_http_a_lock_needs_a_session_and_says_so(agent: Agent) -> None:
    number = _made(agent)
    _hand(agent, number, "triage", to_state="Research Needed")
    refused = agent.refused("handoff_ticket", number=number, command="research", intent="lock", reason="mine")
    assert refused.code == "evidence_required"
    assert f'create_ralph_session({{"ticketId": "{number}"}})' in refused.text
    session = agent.create(number)
    locked = _hand(agent, number, "research", intent="lock", session=session)
    assert locked["newState"] == "Research in Progress"
    other = agent.create()
    refused = agent.refused(
        "handoff_ticket", number=number, command="research", intent="complete", reason="x", sessionId=other
    )
    assert refused.code == "lock_held"
    assert session[-6:] in refused.text
    assert _hand(agent, number, "research", intent="complete", session=session)["newState"] == "Ready for Plan"


def test_a_session_that_ends_frees_its_lock(agent: Agent) -> None:
    number = _made(agent)
    _hand(agent, number, "triage", to_state="Research Needed")
    session = agent.create(number)
    _hand(agent, number, "research", intent="lock", session=session)
    agent.complete(session, "failure", errorMessage="no luck")
    agent.call("pipeline_dashboard")
    found = agent.call("get_ticket", number=number)
    assert (found["workflowState"], found.get("heldBy"), found["rework"]) == ("Research Needed", None, 1)


def test_two_agents_with_servers_of_their_own_never_hold_the_same_ticket(
    portal: BlockingPortal, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Both run under this process, so their sessions tell them apart."""
    directory = tmp_path / "two"
    subprocess.run(["git", "init", "-q", directory], check=True, timeout=60)
    with (
        serving(directory, environment) as server,
        http_agent(portal, server.url, name="one") as one,
        http_agent(portal, server.url, name="two") as two,
    ):
        number = _made(one)
        _hand(one, number, "triage", to_state="Research Needed")
        first, second = one.create("a"), two.create("b")
        _hand(one, number, "research", intent="lock", session=first)
        again = _hand(one, number, "research", intent="lock", session=first)
        assert again["guidance"]["note"] == "You hold it already."
        refused = two.refused(
            "handoff_ticket", number=number, command="research", intent="lock", reason="x", sessionId=second
        )
        assert refused.code == "lock_held"
        assert "one" in refused.text
        assert [one.event for one in entries(directory) if one.event == "lock"] == ["lock"]
    assert problems(directory) == []


# Groups


def test_children_are_advanced_through_the_same_door(agent: Agent) -> None:
    parent = _made(agent)
    parts = [_made(agent, parent=parent) for _ in range(3)]
    _hand(agent, parts[1], "triage", to_state="Ready for Plan")
    _hand(agent, parts[2], "triage", intent="escalate")
    told = agent.call(
        "advance_children", number=parent, targetState="Research Needed", command="triage", reason="all together"
    )
    assert told["advanced"] == [parts[0]]
    assert {one["number"] for one in told["skipped"]} == {parts[1], parts[2]}
    told = agent.call("advance_children", number=parent, targetState="In Review", command="triage", reason="skip")
    assert told["advanced"] == []
    assert {one["code"] for one in told["errors"]} <= {"target_not_allowed", "command_not_allowed", "not_allowed"}
    assert all(one["message"] for one in told["errors"])
    states = {one["number"]: one["workflowState"] for one in agent.call("get_ticket", number=parent)["subTickets"]}
    assert [states[one] for one in parts] == ["Research Needed", "Ready for Plan", "Human Needed"]


def test_a_group_its_position_and_its_convergence(agent: Agent) -> None:
    first, second = _made(agent), _made(agent)
    agent.call("link_tickets", number=first, relation="blocked_by", other=second)
    group = agent.call("ticket_group", number=first)
    assert [one["number"] for one in group["tickets"]] == [second, first]
    assert (group["primary"], group["isGroup"]) == (second, True)
    assert agent.call("pipeline_position", number=first)["phase"] == "TRIAGE"
    told = agent.call("check_convergence", number=first, targetState="Research Needed")
    assert (told["converged"], told["recommendation"], told["total"], told["ready"]) == (False, "wait", 2, 0)
    _hand(agent, second, "triage", intent="escalate")
    told = agent.call("check_convergence", number=first, targetState="Research Needed")
    assert told["recommendation"] == "escalate"
    refused = agent.refused("link_tickets", number=second, relation="blocked_by", other=first)
    assert refused.code == "dependency_cycle"
    assert agent.refused("link_tickets", number=first, relation="parent", other=first).code == "dependency_cycle"


@pytest.mark.parametrize("form", ["json", "markdown", "ascii"])
def test_the_dashboard_is_given_as_data_and_as_text(agent: Agent, form: str) -> None:
    _made(agent)
    told = agent.call("pipeline_dashboard", format=form)
    assert next(iter(told["dashboard"]["phases"]))["state"] == "Backlog"
    assert bool(told.get("text")) == (form != "json")


def test_a_key_makes_a_repeated_call_give_the_first_answer(agent: Agent, served: Served) -> None:
    first = agent.call("create_ticket", title="once", idempotencyKey="make-once")
    assert agent.call("create_ticket", title="once", idempotencyKey="make-once") == first
    asked = {"command": "triage", "to_state": "Research Needed", "reason": "go", "idempotencyKey": "move-once"}
    moved = agent.call("handoff_ticket", number=first["number"], **asked)
    before = dump(served.repository)
    assert agent.call("handoff_ticket", number=first["number"], **asked) == moved
    assert dump(served.repository) == before
