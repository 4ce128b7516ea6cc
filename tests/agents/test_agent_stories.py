"""The story loop with real coding agents: they are held to their session, and the loop does the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agents.drivers import AGENTS, Agent, Place, Unavailable
from agents.fakes import Call, ModelServer, Results, Say, Script
from faces.programs import run

pytestmark = pytest.mark.agents

STORY = """# Story 1.1: Greet

## Acceptance Criteria

1. It greets

## Tasks / Subtasks

- [ ] Task 1: greet (AC: 1)
"""
FLAGS = {
    "claude": ["--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"],
    "opencode": ["-m", "scripted/scripted"],
}


def _session(told: Results) -> str:
    return next(found[1] for text in told if (found := re.search(r"session:([0-9a-z]{26})", text)))


def _to(agent: Agent, state: str) -> Call:
    def given(told: Results) -> Mapping[str, object]:
        return {"sessionId": _session(told), "state": state}

    return agent.report("update_session_state", given)


@pytest.mark.parametrize("name", FLAGS)
def test_a_real_agent_does_a_story_in_the_loop(name: str, set_up: Callable[[Agent], Place], tmp_path: Path) -> None:
    agent = AGENTS[name]
    place = set_up(agent)
    repository = place.repository
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY)
    judged = [{"say": "AC-1: It greets - ✓ greet.txt:1"}, {"finish": True}]
    (repository / "judge.json").write_text(json.dumps({"iterations": [judged]}))
    settings = {"agent": name, "arguments": FLAGS[name], "judge": "scripted", "judge_script": "judge.json"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (repository / "ralph.toml").write_text("\n".join(["[story]", *lines, 'tests = ["grep -q hello greet.txt"]\n']))
    place.ralph("story", "init")
    place.git("add", "--all")
    place.git("commit", "-q", "-m", "a story")
    script: Script = [
        agent.shell("echo session:$RALPH_SESSION_ID"),
        _to(agent, "analyzing"),
        agent.write(repository / "greet.txt", "too early"),
        _to(agent, "implementing"),
        agent.write(repository / "greet.txt", "hello"),
        _to(agent, "testing"),
        Say("The greeting is there."),
    ]
    with ModelServer([*agent.prelude, *script]) as server:
        try:
            words, more = agent.command(place, server.url, "")
        except Unavailable as reason:
            pytest.skip(f"not run: {reason}")
        path = f"{Path(words[0]).parent}:{place.environment['PATH']}"
        env = {**place.environment, **more, "PATH": path}
        result = run("story", "run", cwd=repository, env=env)
    assert result.code == 0, (result, server.failures)
    assert "<promise>COMPLETED</promise>" in result.out
    assert place.git("show", "HEAD~1:greet.txt") == "hello"
    assert place.git("log", "-1", "--format=%s", "HEAD~1") == "story-1-1 task 1: greet\n"
    prompt = json.dumps(server.requests[0].body)
    assert "RED: write one failing test" in prompt
    assert "Progress Reporting" in prompt
    [session] = [one for one in place.ralph("session", "list") if one["role"] == "implementer"]
    states = [stay["state"] for stay in session["state_history"]]
    assert states[:4] == ["idle", "analyzing", "implementing", "testing"]
    assert session["events"]["denied"] == 1, "the write that came too early"
