"""Real coding agents at work in a repository that `ralph init` set up: they report, are held to it, and are recorded.

A scripted model plays the agent's mind, so what is shown is that everything between it and the journal holds: the
registration, the MCP server, the hooks, the way a refusal takes to the model, and what is on record afterwards.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from agents.drivers import AGENTS, Agent, Codex, Ended, Place, Unavailable, codex_hooks, play
from agents.fakes import Call, Results, Say, Script
from faces.programs import followed

pytestmark = pytest.mark.agents

SetUp = Callable[[Agent], Place]
Session = Callable[[Results], str]

CHECK = "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        assert 1 + 1 == {}\n"
PASSING, FAILING = CHECK.format(2), CHECK.format(3)
RUN_TESTS = f"{shlex.quote(sys.executable)} -m unittest -q test_sums"
COMMIT = "git add test_sums.py && git commit -q -m 'Add a test'"
PASSED = {"testResults": {"passed": 1, "failed": 0, "skipped": 0}}
MADE = re.compile(r"sessionId\W+([0-9a-z]{26})")
CALL = re.compile(r"update_session_state\((\{[^}]*\})\)")


@pytest.fixture(params=list(AGENTS.values()), ids=list(AGENTS))
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


def _made(results: Results) -> str:
    """The id of the session that `create_ralph_session` answered with."""
    return next(found.group(1) for text in results if (found := MADE.search(text)))


def _begin(agent: Agent) -> Call:
    return agent.report("create_ralph_session", lambda _: {"ticketId": "42"})


def _to(agent: Agent, session: Session, state: str, metadata: Mapping[str, object] | None = None) -> Call:
    more = {"metadata": metadata} if metadata else {}
    return agent.report("update_session_state", lambda told: {"sessionId": session(told), "state": state, **more})


def _as_told(agent: Agent) -> Call:
    """The call that the last refusal named, word for word."""

    def given(told: Results) -> Mapping[str, object]:
        found = CALL.search(told[-1])
        assert found, told[-1]
        call: dict[str, object] = json.loads(found.group(1))
        return call

    return agent.report("update_session_state", given)


def _end(agent: Agent, session: Session, outcome: str = "success", **more: str) -> Call:
    return agent.report("complete_ralph_session", lambda told: {"sessionId": session(told), "outcome": outcome, **more})


def _work(agent: Agent, place: Place, session: Session) -> Script:
    """A ticket's work, by an agent that writes too early in two ways, is told so, and does what it is told."""
    file = place.repository / "test_sums.py"
    return [
        _to(agent, session, "analyzing"),
        agent.shell("echo early > early.txt"),
        agent.write(file, PASSING),
        _as_told(agent),
        agent.write(file, PASSING),
        _to(agent, session, "testing"),
        agent.shell(RUN_TESTS),
        _to(agent, session, "committing", PASSED),
        agent.shell(COMMIT),
        _end(agent, session),
        Say("The ticket is done."),
    ]


def _played(agent: Agent, place: Place, script: Script) -> Ended:
    """An agent's run that ended well, with an answer to every call."""
    try:
        ended = play(agent, place, script)
    except Unavailable as reason:
        pytest.skip(f"not run: {reason}")
    assert ended.result.code == 0, ended
    assert len(ended.told) == sum(isinstance(turn, Call) for turn in script), ended
    return ended


def _assert_denied(told: str, session: str) -> None:
    """A refusal that names the state, what is allowed there, and the exact call that is right."""
    assert f"session {session} is in the state `analyzing`" in told
    assert "allowed here: read, run." in told
    call = json.dumps({"sessionId": session, "state": "implementing"})
    assert f"update_session_state({call})" in told


def _assert_done(place: Place, session: str, ended: Ended) -> None:
    """The work itself, and the record of it."""
    for told in ended.told[-9:-7]:
        _assert_denied(told, session)
    assert not (place.repository / "early.txt").exists()
    assert place.git("show", "HEAD:test_sums.py") == PASSING
    assert place.git("log", "-1", "--format=%s") == "Add a test\n"
    shown = place.ralph("session", "show", session)
    assert (shown["state"], shown["outcome"]) == ("done", "success")
    states = [stay["state"] for stay in shown["state_history"]]
    assert states == ["idle", "analyzing", "implementing", "testing", "committing", "done"]
    assert not any(stay["off_path"] for stay in shown["state_history"])
    assert shown["events"]["denied"] == 2
    assert [name.rpartition("/")[2] for name in shown["files"]] == ["test_sums.py"]
    assert shown["findings"] == []


def _notes(place: Place, session: str, kind: str) -> list[dict[str, Any]]:
    """What of one kind the journal holds of a session."""
    entries = [entry for entry in place.ralph("log") if entry["instance"] == session and entry["event"] == "noted"]
    return [entry["evidence"]["data"] for entry in entries if entry["evidence"]["data"]["type"] == kind]


def test_an_agent_that_writes_too_early_is_told_the_way_and_follows_it(agent: Agent, set_up: SetUp) -> None:
    place = set_up(agent)
    ended = _played(agent, place, [_begin(agent), *_work(agent, place, _made)])
    session = _made(ended.told)
    _assert_done(place, session, ended)
    denied = _notes(place, session, "denied")
    assert [(note["need"], note["state"]) for note in denied] == [("write", "analyzing")] * 2
    [tests] = [note for note in _notes(place, session, "tool_end") if note.get("tests")]
    assert tests["success"] is True


def test_an_agent_that_is_given_a_session_works_in_that_one(agent: Agent, set_up: SetUp) -> None:
    place = set_up(agent)
    session: str = place.ralph("session", "create", "--ticket", "42")["session_id"]
    driven = replace(place, more={"RALPH_SESSION_ID": session})
    ended = _played(agent, driven, _work(agent, place, lambda _: session))
    _assert_done(place, session, ended)
    assert [one["id"] for one in place.ralph("session", "list")] == [session]


def test_an_agent_that_reports_over_http_is_held_to_it_as_well(agent: Agent, set_up: SetUp) -> None:
    place = set_up(agent)
    with followed("serve", "--port", "0", "--json", cwd=place.repository, env=place.environment) as stream:
        agent.register(place, json.loads(stream.line())["data"]["mcp"])
        ended = _played(agent, place, [_begin(agent), *_work(agent, place, _made)])
    _assert_done(place, _made(ended.told), ended)


def test_an_agent_without_a_session_is_left_alone(agent: Agent, set_up: SetUp) -> None:
    place = set_up(agent)
    _played(agent, place, [agent.write(place.repository / "a.txt", "early\n"), Say("Written.")])
    assert (place.repository / "a.txt").read_text() == "early\n"
    assert place.ralph("session", "list") == []


@pytest.mark.parametrize("name", ["claude", "codex", "codex-in-code-mode"])
def test_a_driven_agent_that_stops_without_an_end_is_reminded_once(name: str, set_up: SetUp) -> None:
    agent = AGENTS[name]
    place = set_up(agent)
    session: str = place.ralph("session", "create")["session_id"]
    driven = replace(place, more={"RALPH_SESSION_ID": session})
    end = _end(agent, lambda _: session, "failure", errorMessage="the ticket is unclear")
    script: Script = [_to(agent, lambda _: session, "analyzing"), Say("I stop."), end, Say("I have said why.")]
    ended = _played(agent, driven, script)
    reminder = json.dumps(ended.asked[2].body)
    assert f"session {session} is still in `analyzing`" in reminder
    assert "complete_ralph_session(" in reminder
    shown = place.ralph("session", "show", session)
    assert (shown["state"], shown["error_message"]) == ("failed", "the ticket is unclear")


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_tests_that_failed_and_are_reported_as_passed_are_found(name: str, set_up: SetUp) -> None:
    agent = AGENTS[name]
    place = set_up(agent)
    script: Script = [
        _begin(agent),
        _to(agent, _made, "analyzing"),
        _to(agent, _made, "implementing"),
        agent.write(place.repository / "test_sums.py", FAILING),
        _to(agent, _made, "testing"),
        agent.shell(RUN_TESTS),
        _to(agent, _made, "committing", PASSED),
        _end(agent, _made),
        Say("All tests pass."),
    ]
    ended = _played(agent, place, script)
    shown = place.ralph("session", "show", _made(ended.told))
    assert [finding["code"] for finding in shown["findings"]] == ["tests_contradicted"]


def test_what_codex_writes_while_nobody_trusts_its_hooks_is_found_afterwards(set_up: SetUp) -> None:
    agent = Codex(trust=())
    place = set_up(agent)
    script: Script = [
        _begin(agent),
        _to(agent, _made, "analyzing"),
        agent.write(place.repository / "early.txt", "early\n"),
        agent.shell("git status"),
        agent.shell("git log"),
        _to(agent, _made, "implementing"),
        _end(agent, _made),
        Say("Done."),
    ]
    ended = _played(agent, place, script)
    assert (place.repository / "early.txt").exists()
    shown = place.ralph("session", "show", _made(ended.told))
    assert "denied" not in shown["events"]
    [finding] = shown["findings"]
    assert finding["code"] == "unseen_write"
    assert "early.txt" in finding["message"]


def test_codex_runs_our_hooks_without_a_flag_once_a_person_has_trusted_them(set_up: SetUp) -> None:
    agent = Codex(trust=())
    place = set_up(agent)
    settings = place.home / ".codex" / "config.toml"
    settings.parent.mkdir()
    trusted = f"[projects.{json.dumps(str(place.repository))}]\ntrust_level = 'trusted'\n"
    settings.write_text(trusted)
    hooks = codex_hooks(place)
    assert len(hooks) == len({hook["eventName"] for hook in hooks}) == 6
    for hook in hooks:
        trusted += f"[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = '{hook['currentHash']}'\n"
    settings.write_text(trusted)
    assert {hook["trustStatus"] for hook in codex_hooks(place)} == {"trusted"}
    ended = _played(agent, place, [_begin(agent), *_work(agent, place, _made)])
    _assert_done(place, _made(ended.told), ended)
