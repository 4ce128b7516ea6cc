"""The agents by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.agents.acp import Acp
from interlock.world.agents.catalogue import AGENTS, find_agent
from interlock.world.agents.claude import Claude
from interlock.world.agents.command import CommandAgent
from interlock.world.agents.scripted.adapter import Scripted

SETTINGS = {"command": "agent --flag 'two words'", "script": "script.json"}


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_called_what_it_is_found_by(name: str) -> None:
    assert find_agent(name, SETTINGS).name == name


def test_an_agent_is_made_from_its_settings() -> None:
    assert find_agent("claude", {"program": "/opt/claude"}) == Claude("/opt/claude")
    assert find_agent("command", SETTINGS) == CommandAgent(("agent", "--flag", "two words"))
    assert find_agent("acp", {**SETTINGS, "permission": "reject"}) == Acp(("agent", "--flag", "two words"), "reject")
    assert find_agent("scripted", SETTINGS) == Scripted(Path("script.json").absolute())


def test_an_unknown_agent_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InterlockError) as caught:
        find_agent("clod", {})
    assert caught.value.code == "agent_unknown"
    assert all(name in caught.value.hint for name in AGENTS)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("command", {}),
        ("command", {"command": "  "}),
        ("command", {"command": "an 'open quote"}),
        ("acp", {}),
        ("acp", {"command": "agent", "permission": "maybe"}),
        ("scripted", {}),
    ],
)
def test_settings_that_make_no_agent_are_refused(name: str, settings: dict[str, str]) -> None:
    with pytest.raises(InterlockError) as caught:
        find_agent(name, settings)
    assert caught.value.code == "invalid_argument"
