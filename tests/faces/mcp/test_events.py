"""What agents tell of and hooks see, and how it is read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from interlock.work.sessions.record import TYPES
from interlock.world.inbox import drop

from .servers import Agent, Served, dump, entries

SECRETS = {
    "ghp_" + "a" * 36: "github",
    "AKIA" + "A" * 16: "aws",
    "sk-ant-" + "a" * 24: "anthropic",
    "https://me:hunter2hunter2@example.org/": "password",
    "password=correct-horse": "named",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----": "private-key",
}


def _events(agent: Agent, session: str, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = agent.call("get_ralph_events", sessionId=session, **more)["events"]
    return found


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_of_event_can_be_told_and_read_again(agent: Agent, served: Served, type_: str) -> None:
    session = agent.create()
    data = {"message": "what it is", "file": "src/a.py", "success": True, "more": [1, 2.5, None, {"deep": "✓"}]}
    told = agent.call("emit_ralph_event", sessionId=session, type=type_, data=data)
    assert (told["success"], told["sessionId"], told["type"]) == (True, session, type_)
    [_, event] = _events(agent, session)
    assert (event["seq"], event["type"], event["createdAt"]) == (told["eventId"], type_, told["recordedAt"])
    assert event["data"] == data | {"type": type_}
    assert event["by"] == "agent"
    assert entries(served.repository, session)[-1].seq == told["eventId"]


def test_an_event_moves_nothing_and_one_that_tells_of_a_change_is_answered_with_a_warning(agent: Agent) -> None:
    session = agent.create()
    told = agent.call("emit_ralph_event", sessionId=session, type="state_change", data={"state": "testing"})
    assert "update_session_state" in told["warning"]
    seen = agent.look(session)
    assert seen["currentState"] == "idle"
    assert [one["state"] for one in seen["stateHistory"]] == ["idle"]


@pytest.mark.parametrize("type_", ["", "finding", "denied", "Thinking", "thinking ", "noted", "x" * 5000])
def test_an_unknown_type_is_refused_with_those_that_are_known(agent: Agent, served: Served, type_: str) -> None:
    session = agent.create()
    before = dump(served.repository)
    refused = agent.refused("emit_ralph_event", sessionId=session, type=type_)
    assert refused.code == "invalid_argument"
    assert all(known in refused.text for known in TYPES)
    assert dump(served.repository) == before


def test_every_move_is_a_state_change_among_the_events(agent: Agent, ticket: str) -> None:
    session = agent.create(ticket)
    agent.update(session, "analyzing", message="reading the spec")
    agent.call("emit_ralph_event", sessionId=session, type="thinking", data={"message": "hm"})
    agent.update(session, "implementing")
    agent.complete(session, "failure", errorMessage="no")
    events = _events(agent, session)
    assert [one["type"] for one in events] == ["state_change"] * 2 + ["thinking"] + ["state_change"] * 2
    moves = [one["data"] for one in events if one["type"] == "state_change"]
    assert [(one.get("previousState"), one["state"]) for one in moves] == [
        (None, "idle"),
        ("idle", "analyzing"),
        ("analyzing", "implementing"),
        ("implementing", "failed"),
    ]
    assert [one["message"] for one in moves] == [
        "Session started",
        "reading the spec",
        "Transitioned to implementing",
        "Session ended: failure",
    ]
    assert agent.look(session)["events"] == {"state_change": 4, "thinking": 1}


# Paging


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 500])
def test_events_are_paged_by_the_seq_of_the_last_one_each_once_and_none_left_out(agent: Agent, limit: int) -> None:
    session, other = agent.create(), agent.create()
    for number in range(6):
        agent.call("emit_ralph_event", sessionId=session, type="progress", data={"message": str(number)})
        agent.call("emit_ralph_event", sessionId=other, type="progress", data={"message": "another's"})
    everything = _events(agent, session)
    pages: list[dict[str, Any]] = []
    more, since = True, 0
    while more:
        page = agent.call("get_ralph_events", sessionId=session, since=since, limit=limit)
        assert 0 < len(page["events"]) <= limit
        pages += page["events"]
        more, since = page.get("more", False), page["events"][-1]["seq"]
    assert pages == everything
    assert len(pages) == 7
    assert _events(agent, session, since=since) == []


def test_since_takes_a_seq_also_as_a_text_or_a_time_of_any_zone(agent: Agent) -> None:
    session = agent.create()
    told = [agent.call("emit_ralph_event", sessionId=session, type="progress")["eventId"] for _ in range(3)]
    assert [one["seq"] for one in _events(agent, session, since=str(told[0]))] == told[1:]
    first = datetime.fromisoformat(_events(agent, session)[0]["createdAt"])
    before, after = first - timedelta(seconds=1), first + timedelta(hours=1)
    east = timezone(timedelta(hours=14))
    for time in (before.isoformat(), before.astimezone(east).isoformat(), before.replace(tzinfo=None).isoformat()):
        assert len(_events(agent, session, since=time)) == 4, time
    for time in (after.isoformat(), after.astimezone(east).isoformat(), after.astimezone(UTC).isoformat()):
        assert _events(agent, session, since=time) == [], time


@pytest.mark.parametrize("since", ["yesterday", "", "2026-13-01", "1.5", "-1", "0x1", "٣", "9" * 19, 1.5, True, []])
def test_a_since_that_is_neither_is_refused_and_not_taken_for_an_empty_page(agent: Agent, since: object) -> None:
    session = agent.create()
    assert agent.refused("get_ralph_events", sessionId=session, since=since).code == "invalid_argument"


@pytest.mark.parametrize("limit", [-1, 0, 1, -(1 << 62)])
def test_a_limit_is_one_at_the_least(agent: Agent, limit: int) -> None:
    session = agent.create()
    agent.call("emit_ralph_event", sessionId=session, type="progress")
    page = agent.call("get_ralph_events", sessionId=session, limit=limit)
    assert (len(page["events"]), page["more"]) == (1, True)


# Secrets


@pytest.mark.parametrize("secret", SECRETS, ids=list(SECRETS.values()))
def test_a_secret_is_kept_nowhere(agent: Agent, served: Served, secret: str) -> None:
    session = agent.create()
    text = f"it says {secret} here"
    agent.update(session, "analyzing", message=text, files=[text], more={"deep": [text]})
    agent.call("emit_ralph_event", sessionId=session, type="tool_end", data={"message": text, "list": [text]})
    agent.complete(session, "failure", errorMessage=text)
    kept = str(dump(served.repository))
    assert secret not in kept
    assert secret.replace("\n", "\\n") not in kept
    seen = agent.look(session)
    assert f"[redacted:{SECRETS[secret]}]" in seen["errorMessage"]
    assert f"[redacted:{SECRETS[secret]}]" in seen["stateHistory"][1]["metadata"]["message"]
    assert secret not in str(_events(agent, session))


@pytest.mark.parametrize("name", ["password", "api_key", "GITHUB_TOKEN"])
def test_a_value_whose_name_says_that_it_is_a_secret_is_kept_nowhere(agent: Agent, served: Served, name: str) -> None:
    agent.update(agent.create(), "analyzing", **{name: "correct-horse-battery"})
    assert "correct-horse-battery" not in str(dump(served.repository))


# What hooks saw


def test_what_a_hook_left_is_taken_in_before_the_next_answer(agent: Agent, served: Served) -> None:
    session = agent.create()
    agent.update(session, "analyzing")
    drop(str(served.repository / ".ralf"), session, {"type": "file_change", "file": "src/a.py", "tool": "Write"})
    seen = agent.look(session)
    assert (seen["files"], seen["events"]["file_change"]) == (["src/a.py"], 1)
    [*_, event] = _events(agent, session)
    assert (event["type"], event["by"]) == ("file_change", "system")
    moved = agent.update(session, "implementing")
    assert moved["findings"] == ["src/a.py was written in 'analyzing'"]
    assert agent.look(session)["findings"] == moved["findings"]
    assert list((served.repository / ".ralf" / "inbox").iterdir()) == []


def test_tests_that_a_hook_saw_fail_and_the_agent_calls_passed_are_a_finding(agent: Agent, served: Served) -> None:
    session = agent.create()
    agent.move(session, "analyzing", "implementing", "testing")
    seen = {"type": "tool_end", "tool": "Bash", "tests": True, "known": True, "success": False}
    drop(str(served.repository / ".ralf"), session, dict(seen))
    [finding] = agent.update(session, "committing", testResults={"passed": 9, "failed": 0})["findings"]
    assert "had failed" in finding


def test_an_agent_cannot_tell_away_what_a_hook_saw(agent: Agent, served: Served) -> None:
    session = agent.create()
    agent.move(session, "analyzing", "implementing", "testing")
    seen = {"type": "tool_end", "tool": "Bash", "tests": True, "known": True, "success": False}
    drop(str(served.repository / ".ralf"), session, dict(seen))
    forged = {"tool": "Bash", "tests": True, "known": True, "success": True}
    agent.call("emit_ralph_event", sessionId=session, type="tool_end", data=forged)
    assert agent.update(session, "committing", testResults={"passed": 9, "failed": 0}).get("findings")


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"])
def test_an_agent_cannot_say_when_something_was_heard(agent: Agent, at: str) -> None:
    session = agent.create()
    agent.update(session, "analyzing")
    agent.call("emit_ralph_event", sessionId=session, type="thinking", data={"at": at})
    agent.call("emit_ralph_event", sessionId=session, type="thinking")
    assert "findings" not in agent.update(session, "implementing")
    assert "findings" not in agent.look(session)
