"""The story loop with real coding agents: they are held to their session, and the loop does the rest.

Nobody needs to have run `ralph init`: each run is given our server, our hooks and its session by the loop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.drivers import AGENTS, Agent, Codex, Place, Unavailable, make_place
from agents.fakes import Call, ModelServer, Results, Say, Script
from faces.journals import settle
from faces.programs import run

pytestmark = pytest.mark.agents

STORY = """# Story 1.1: Greet

## Acceptance Criteria

1. It greets

## Tasks / Subtasks

- [ ] Task 1: greet (AC: 1)
"""
UNTRUSTED: dict[str, Agent] = {**AGENTS, "codex": Codex(trust=())}
"""The agents, Codex as it is where nobody has trusted a hook."""
NAMES = ("claude", "codex", "opencode")
SET_UP = (".mcp.json", ".claude", ".codex", "opencode.json", ".opencode", "AGENTS.md", "CLAUDE.md")


def _flags(name: str, words: Sequence[str]) -> list[str]:
    """What a person adds to our own flags, taken from how the other tests start the agent."""
    match name:
        case "claude":
            return ["--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
        case "codex":
            return list(words[3:-1])
        case _:
            return ["-m", "scripted/scripted"]


def _session(told: Results) -> str:
    return next(found[1] for text in told if (found := re.search(r"\b(01[0-9a-z]{24})\b", text)))


def _to(agent: Agent, state: str) -> Call:
    def given(told: Results) -> Mapping[str, object]:
        return {"sessionId": _session(told), "state": state}

    return agent.report("update_session_state", given)


def _reporting(agent: Agent, file: Path) -> Script:
    """The work of an agent that reports, and writes too early."""
    return [
        agent.shell("printenv RALPH_SESSION_ID"),
        _to(agent, "analyzing"),
        agent.write(file, "too early"),
        _to(agent, "implementing"),
        agent.write(file, "hello"),
        _to(agent, "testing"),
        Say("The greeting is there."),
    ]


def _looped(agent: Agent, place: Place, script: Script, flags: Sequence[str] | None = None) -> ModelServer:
    """A loop over one story that a real agent does and the scripted one judges; it must end well."""
    repository = place.repository
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY)
    judged = [{"say": "AC-1: It greets - ✓ greet.txt:1"}, {"finish": True}]
    (repository / "judge.json").write_text(json.dumps({"iterations": [judged]}))
    with ModelServer([*agent.prelude, *script]) as server:
        try:
            words, more = agent.command(place, server.url, "")
        except Unavailable as reason:
            pytest.skip(f"not run: {reason}")
        given = list(flags) if flags is not None else _flags(agent.name, words)
        settings: dict[str, object] = {"name": agent.name, "arguments": given}
        settings |= {"judge": "scripted", "judge_script": "judge.json", "network": [server.url.partition("://")[2]]}
        settings["variables"] = ["SCRIPTED_KEY"]
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        tests = '[story]\ntests = ["grep -q hello greet.txt"]\n'
        settle(repository, "\n".join(["[agent]", *lines, tests]))
        place.ralph("story", "init")
        place.git("add", "--all")
        place.git("commit", "-q", "-m", "a story")
        path = f"{Path(words[0]).parent}:{place.environment['PATH']}"
        result = run("story", "run", cwd=repository, env={**place.environment, **more, "PATH": path}, seconds=180)
    assert result.code == 0, (result, server.failures)
    assert "<promise>COMPLETED</promise>" in result.out
    assert place.git("show", "HEAD~1:greet.txt").strip() == "hello"
    assert place.git("log", "-1", "--format=%s", "HEAD~1") == "story-1-1 task 1: greet\n"
    return server


def _implementer(place: Place) -> dict[str, Any]:
    """The session of the agent's only run."""
    [session] = [one for one in place.ralph("session", "list") if one["role"] == "implementer"]
    shown: dict[str, Any] = place.ralph("session", "show", session["id"])
    return shown


def _assert_held(place: Place, server: ModelServer) -> None:
    prompt = json.dumps(server.requests[0].body)
    assert "RED: write one failing test" in prompt
    assert "Progress Reporting" in prompt
    shown = _implementer(place)
    states = [stay["state"] for stay in shown["state_history"]]
    assert states[:4] == ["idle", "analyzing", "implementing", "testing"]
    assert shown["events"]["denied"] == 1, "the write that came too early, told by one hook"
    assert any("where writing" in told and "analyzing" in told for told in server.results), server.results


@pytest.mark.parametrize("name", NAMES)
def test_a_real_agent_does_a_story_in_a_repository_that_nobody_set_up(
    name: str, tmp_path: Path, programs: Path
) -> None:
    agent = UNTRUSTED[name]
    place = make_place(tmp_path / "home", tmp_path / "repository", programs)
    server = _looped(agent, place, _reporting(agent, place.repository / "greet.txt"))
    _assert_held(place, server)
    assert not [file for file in SET_UP if (place.repository / file).exists()]


@pytest.mark.parametrize("name", NAMES)
def test_a_real_agent_that_init_has_set_up_is_given_nothing_twice(name: str, set_up: Callable[[Agent], Place]) -> None:
    agent = AGENTS[name]
    place = set_up(agent)
    server = _looped(agent, place, _reporting(agent, place.repository / "greet.txt"))
    _assert_held(place, server)
    tools = [tool for tool in server.requests[-1].tools if "update_session_state" in tool]
    assert len(tools) <= 1, "Codex has them in a namespace"


def test_codex_is_held_by_our_hooks_where_nobody_trusts_those_of_init(set_up: Callable[[Agent], Place]) -> None:
    place = set_up(AGENTS["codex"])
    server = _looped(UNTRUSTED["codex"], place, _reporting(AGENTS["codex"], place.repository / "greet.txt"))
    _assert_held(place, server)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_agent_that_reports_nothing_is_not_kept_from_its_work(name: str, tmp_path: Path, programs: Path) -> None:
    agent = UNTRUSTED[name]
    place = make_place(tmp_path / "home", tmp_path / "repository", programs)
    _looped(agent, place, [agent.write(place.repository / "greet.txt", "hello"), Say("The greeting is there.")])
    shown = _implementer(place)
    assert [stay["state"] for stay in shown["state_history"]] == ["idle", "done"]
    assert "denied" not in shown["events"]
    assert shown["events"]["file_change"] == 1, "a hook saw it"
    assert [finding["code"] for finding in shown["findings"]] == ["write_outside_state"]


def test_claude_reports_without_a_flag_that_lets_it_do_everything(tmp_path: Path, programs: Path) -> None:
    agent = AGENTS["claude"]
    place = make_place(tmp_path / "home", tmp_path / "repository", programs)
    flags = ["--model", "claude-sonnet-4-5", "--allowedTools", "Bash(printenv:*)"]
    _assert_held(place, _looped(agent, place, _reporting(agent, place.repository / "greet.txt"), flags))
