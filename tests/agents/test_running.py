"""Real Claude Code, Codex and OpenCode, run by our runner against a scripted model, with the prompt on stdin."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.drivers import AGENTS, Agent, Place, Unavailable
from agents.fakes import Call, ModelServer, Say, Script
from interlock.work.driver.agent_run import AgentRequest, run_agent
from interlock.work.orchestration.beginning import begin, roles_of
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.catalogue import find_agent
from interlock.world.agents.happenings import Finished, Happening, Said, UsedTool, Warned
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import run
from interlock.world.agents.tree import members
from work.threads.benches import Bench

pytestmark = pytest.mark.agents

NAMES = ("claude", "codex", "opencode")
LONG = "Do the ticket.\n" + "This line is one of very many in a long prompt.\n" * 5_000
"""A quarter of a megabyte, which no argument could hold."""


def flags(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """What a person adds to our own flags, taken from how the other tests start the agent."""
    match name:
        case "claude":
            return ("--dangerously-skip-permissions", "--model", "claude-sonnet-4-5")
        case "codex":
            return tuple(words[3:-1])
        case _:
            return ("-m", "scripted/scripted")


def _run(
    driver: Agent, place: Place, server: ModelServer, log: Path, prompt: str, seconds: float
) -> tuple[Result, list[Happening]]:
    try:
        words, more = driver.command(place, server.url, "")
    except Unavailable as reason:
        pytest.skip(f"not run: {reason}")
    assignment = Assignment(
        prompt,
        place.repository,
        log,
        {**place.environment, **more},
        TimeOuts(wall=seconds),
        arguments=flags(driver.name, words),
        marker=f"real-{driver.name}-{os.getpid()}",
    )
    told: list[Happening] = []
    return run(find_agent(driver.name, {"program": words[0]}), assignment, told.append, threading.Event()), told


@pytest.mark.parametrize("name", NAMES)
def test_a_real_agent_works_is_read_and_leaves_nothing_behind(
    name: str, set_up: Callable[[Agent], Place], tmp_path: Path
) -> None:
    driver = AGENTS[name]
    place = set_up(driver)
    path = place.repository / "work.txt"
    said = Say("All tests pass.\n<promise>completed</promise>")
    script = [*driver.prelude, driver.shell("echo hello"), driver.write(path, "done\n"), said]
    with ModelServer(script) as server:
        result, told = _run(driver, place, server, tmp_path / "log", LONG, 150)
    assert result.ending is Ending.FINISHED, (result, told)
    assert result.promise == "COMPLETED"
    assert path.read_text() == "done\n"
    assert members(None, f"real-{name}-{os.getpid()}") == []
    assert result.usage.input >= 3
    assert Said(said.text) in told
    assert any(isinstance(one, UsedTool) and "echo hello" in one.about for one in told)
    assert not [one for one in told if isinstance(one, Warned) and "MCP" in one.text and "pending" not in one.text]
    first = json.dumps(server.requests[0].body)
    assert first.count("one of very many in a long prompt") == 5_000


@pytest.mark.parametrize("name", NAMES)
def test_a_real_agent_whose_model_talks_nonsense_has_not_finished(
    name: str, set_up: Callable[[Agent], Place], tmp_path: Path
) -> None:
    driver = AGENTS[name]
    place = set_up(driver)
    with ModelServer([]) as server:
        server.answer = lambda path, body: b"event: nonsense\n\n"  # type: ignore[method-assign]
        result, told = _run(driver, place, server, tmp_path / "log", "Do the ticket.", 20)
    assert result.ending is not Ending.FINISHED, (result, told)
    assert not [one for one in told if isinstance(one, Finished) and one.ok]


# The end of a run that reports


def _reporting(driver: Agent, session: str, path: Path) -> Script:
    """An agent that reports, works, promises, and completes its session once it is reminded of that."""

    def call(tool: str, **given: str) -> Call:
        return driver.report(tool, lambda _: {"sessionId": session, **given})

    return [
        *driver.prelude,
        call("update_session_state", state="analyzing"),
        call("update_session_state", state="implementing"),
        driver.write(path, "done\n"),
        Say("All criteria are met.\n\n<promise>COMPLETE</promise>"),
        call("complete_ralph_session", outcome="success"),
        Say("The session is completed."),
    ]


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_real_agent_that_reports_keeps_the_promise_that_it_ended_with(
    name: str, set_up: Callable[[Agent], Place]
) -> None:
    driver = AGENTS[name]
    place = set_up(driver)
    path = place.repository / "work.txt"
    bench = Bench(place.repository)
    journal = bench.open()
    asked = re.compile(r"Your session id is `(\w+)`")

    def script(prompt: str) -> Script:
        found = asked.search(prompt)
        return _reporting(driver, found[1], path) if found else [Say("Nobody asked.")]

    try:
        with ModelServer(script) as server:
            words, more = driver.command(place, server.url, "")
            bench.settings = {"agent.name": name, "agent.arguments": flags(name, words), "agent.sandbox": "none"}
            env = {**place.environment, **more, "PATH": f"{Path(words[0]).parent}:{place.environment['PATH']}"}
            context = replace(bench.context(journal), environment=env)
            parent = begin(context, "Work", "261115-120000", roles_of(context, {}))
            log = bench.state_directory / "runs" / "log"
            request = AgentRequest(context.agent(name), "implementer", "Write work.txt.", parent, log, reports=True)
            heard = run_agent(context, request)
    finally:
        journal.close()
    assert server.failures == []
    assert path.read_text() == "done\n"
    assert (heard.result.ending, heard.result.promise) == (Ending.FINISHED, "COMPLETE"), heard
    assert heard.said.endswith("<promise>COMPLETE</promise>"), "its stop was not blocked"
