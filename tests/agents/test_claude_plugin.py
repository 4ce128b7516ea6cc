"""The plugin for Claude Code: valid, installed as its documentation says, at work, and at peace with `ralph init`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.drivers import Agent, Claude, Ended, Place, make_place, play
from agents.fakes import Call, Results, Say, Script
from interlock import __version__
from interlock.work.setup.claude_plugin import FOLDER, MARKETPLACE, NAME

pytestmark = pytest.mark.agents

ROOT = Path(__file__).parents[2]
PLUGIN = Claude(server="plugin_ralph_ralph", prelude=(Call("WaitForMcpServers", {}),))
"""Claude Code does not wait for the servers of plugins before it asks the model for the first time."""
MADE = re.compile(r"sessionId\W+([0-9a-z]{26})")


@pytest.fixture
def place(tmp_path: Path, programs: Path) -> Place:
    """A repository with the plugin, installed for everybody who works there."""
    place = make_place(tmp_path / "home", tmp_path / "repository", programs)
    _claude(place, "plugin", "marketplace", "add", str(ROOT))
    _claude(place, "plugin", "install", f"{NAME}@{MARKETPLACE}", "--scope", "project")
    return place


def _claude(place: Place, *words: str) -> str:
    env = {**place.environment, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    done = subprocess.run(
        [place.programs / "claude", *words],
        cwd=place.repository,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _made(results: Results) -> str:
    return next(found.group(1) for text in results if (found := MADE.search(text)))


def _script(agent: Agent, place: Place) -> Script:
    """A session that writes too early, is denied, says what it does, and writes."""

    def to(state: str) -> Any:
        return lambda told: {"sessionId": _made(told), "state": state}

    def ended(told: Results) -> Mapping[str, object]:
        return {"sessionId": _made(told), "outcome": "success"}

    file = place.repository / "hello.txt"
    return [
        agent.report("create_ralph_session", lambda _: {"ticketId": "42"}),
        agent.report("update_session_state", to("analyzing")),
        agent.write(file, "too early\n"),
        agent.report("update_session_state", to("implementing")),
        agent.write(file, "hello\n"),
        agent.report("complete_ralph_session", ended),
        Say("Done."),
    ]


def _worked(agent: Agent, place: Place) -> Ended:
    """A run of the script, and what must be so after it, whoever brought the server and the hooks."""
    ended = play(agent, place, _script(agent, place))
    assert ended.result.code == 0, ended
    session = _made(ended.told)
    assert f"session {session} is in the state `analyzing`" in ended.told[2], ended
    assert (place.repository / "hello.txt").read_text(encoding="utf-8") == "hello\n"
    shown = place.ralph("session", "show", session)
    assert (shown["outcome"], shown["findings"]) == ("success", [])
    notes = [entry["evidence"]["data"] for entry in place.ralph("log", session) if entry["event"] == "noted"]
    calls = [(note["type"], note["call"]) for note in notes if note.get("call")]
    assert len(calls) == len(set(calls)), calls
    assert sum(kind == "denied" for kind, _ in calls) == 1
    return ended


def test_claude_code_finds_nothing_wrong_with_it(place: Place) -> None:
    _claude(place, "plugin", "validate", str(ROOT), "--strict")
    report = json.loads(_claude(place, "plugin", "validate", str(ROOT / FOLDER), "--json"))
    assert report
    [listed] = json.loads(_claude(place, "plugin", "list", "--json"))
    assert (listed["id"], listed["version"], listed["enabled"]) == (f"{NAME}@{MARKETPLACE}", __version__, True)


def test_the_server_the_hooks_and_the_skills_come_from_the_plugin_alone(place: Place) -> None:
    ended = _worked(PLUGIN, place)
    assert not (place.repository / ".mcp.json").exists()
    assert _ours(ended) == {f"mcp__{PLUGIN.server}__handoff_ticket"}
    assert "ralph:ralph-plan" in ended.result.out


def test_beside_ralph_init_nothing_is_seen_twice(place: Place) -> None:
    place.ralph("init", "--yes", "--agent", "claude")
    ended = _worked(Claude(), place)
    assert _ours(ended) == {"mcp__ralph__handoff_ticket"}


def _ours(ended: Ended) -> set[str]:
    """What the tool for handoffs was called, in all that the model was offered."""
    return {tool for asked in ended.asked for tool in asked.tools if tool.endswith("__handoff_ticket")}
