"""Agents of the Agent Client Protocol: a real process of the official SDK, from the first request to the last."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.world.agents.acp import Acp
from interlock.world.agents.agent import Reply
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.happenings import ContextUsed, Cost, FailureKind, Finished, Said, UsedTool, Warned
from interlock.world.agents.result import Ending
from patience import SECONDS
from world.agents.runs import NOW, Place

AGENT = (sys.executable, str(Path(__file__).with_name("acp_agent.py")))


def test_an_agent_is_prompted_and_told_as_it_works(place: Place) -> None:
    result = place.run(Acp(AGENT), prompt="work", model="some-model")
    assert (result.ending, result.promise) == (Ending.FINISHED, "COMPLETED")
    assert [one for one in place.told if isinstance(one, Said)] == [
        Said("I was told to work."),
        Said("<promise>completed</promise>"),
    ]
    assert UsedTool("execute", "make test") in place.told
    assert {ContextUsed(81.0), Cost(0.5), Finished(True)} <= set(place.told)
    assert (result.context_percent, result.cost_usd) == (81.0, 0.5)
    assert [one for one in place.told if isinstance(one, Warned)] == [
        Warned("The protocol has no way to choose a model; the agent's own setting holds.")
    ]


def test_it_is_given_our_mcp_server_and_the_run_that_it_belongs_to(place: Place) -> None:
    environment = {"PATH": "/usr/bin", "RALPH_SESSION_ID": "s-1", "RALPH_ROOT": "/r"}
    outfit = AgentTools((sys.executable, "-P", "-m", "interlock", "mcp"), "ralph-hook")
    place.run(Acp(AGENT), prompt="tell", environment=environment, outfit=outfit)
    given = _told(place)
    [server] = given["servers"]
    assert given["cwd"] == str(place.directory)
    assert {one["name"]: one["value"] for one in server["env"]} == {"RALPH_SESSION_ID": "s-1", "RALPH_ROOT": "/r"}
    command = [server["command"], *server["args"], "--help"]
    assert subprocess.run(command, capture_output=True, timeout=SECONDS, check=False).returncode == 0


@pytest.mark.sampled(0)
def test_an_agent_that_reports_nothing_is_given_no_server(place: Place) -> None:
    place.run(Acp(AGENT), prompt="tell")
    assert _told(place)["servers"] == []


def _told(place: Place) -> Any:
    """What the agent was given with its session."""
    told = next(one.text for one in place.told if isinstance(one, Said) and "servers" in one.text)
    return json.loads(told.replace("I was told to tell.", "").replace("<promise>completed</promise>", ""))


@pytest.mark.parametrize(("permission", "answer"), [("allow", "once"), ("reject", "no")])
def test_a_question_for_permission_is_answered_by_policy(place: Place, permission: str, answer: str) -> None:
    result = place.run(Acp(AGENT, permission), prompt="ask")
    assert result.ending is Ending.FINISHED
    assert any(isinstance(one, Said) and f"The answer is {answer}." in one.text for one in place.told)


def test_what_is_not_offered_is_refused_and_the_work_goes_on(place: Place) -> None:
    assert place.run(Acp(AGENT), prompt="read").ending is Ending.FINISHED
    assert any(isinstance(one, Said) and "It was refused" in one.text for one in place.told)


@pytest.mark.sampled(0)
def test_a_turn_that_ends_otherwise_has_failed(place: Place) -> None:
    assert place.run(Acp(AGENT), prompt="refuse").ending is Ending.FAILED
    assert Finished(False, "refusal") in place.told


def test_an_error_in_the_place_of_an_answer_may_be_a_limit(place: Place) -> None:
    result = place.run(Acp(AGENT), prompt="fail")
    assert result.ending is Ending.LIMITED
    assert result.failure is not None
    assert result.failure.kind is FailureKind.SESSION


@pytest.mark.sampled(0)
def test_an_agent_that_ends_without_an_answer_has_failed(place: Place) -> None:
    assert place.run(Acp(AGENT), prompt="die").ending is Ending.FAILED


@pytest.mark.sampled(0)
def test_another_version_of_the_protocol_is_refused(place: Place) -> None:
    result = place.run(Acp((*AGENT, "old")))
    assert result.ending is Ending.FAILED
    assert Finished(False, "It speaks version 99 of the protocol, not 1.") in place.told


def _answer(permission: str, options: Any) -> Any:
    assignment = Assignment("p", Path("/"), Path("/log"), {})
    reader = Acp(("agent",), permission).reader(assignment, lambda: NOW)
    asked = {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {"options": options}}
    [reply] = reader.read(json.dumps(asked).encode())
    assert isinstance(reply, Reply)
    return json.loads(reply.data)["result"]["outcome"]


def test_a_question_without_an_answer_that_the_policy_knows_is_cancelled() -> None:
    assert _answer("reject", [{"optionId": "a", "kind": "allow_once"}]) == {"outcome": "cancelled"}
    assert _answer("allow", "nonsense") == {"outcome": "cancelled"}
    always = [{"optionId": "a", "kind": "allow_always"}]
    assert _answer("allow", always) == {"outcome": "selected", "optionId": "a"}
