"""How agents that a person speaks with are started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.world.agents.agent import Launch
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.catalogue import INTERACTIVE, find_interactive

GIVEN = Assignment(
    prompt="",
    directory=Path("/work"),
    log=Path("/run/ralph/sockets/run.log"),
    environment={},
    outfit=AgentTools(server=("ralph", "mcp"), hook="ralph-hook"),
    is_confined=True,
)


def _launch(name: str, *words: str) -> Launch:
    return find_interactive(name).interactive(replace(GIVEN, arguments=words))


@pytest.mark.parametrize("name", INTERACTIVE)
def test_each_has_its_own_interface_and_the_persons_words(name: str) -> None:
    launch = _launch(f"/opt/{name}", "--words", "of mine")
    assert launch.argv[0] == f"/opt/{name}"
    assert not {"-p", "exec", "run", "--output-format", "--json", "-"} & set(launch.argv)
    place = launch.argv.index("--words")
    assert launch.argv[place + 1] == "of mine"
    assert launch.stdin is None


def test_claude_has_our_server_and_hooks_behind_a_prompt() -> None:
    argv = _launch("claude", "fix the bug").argv
    assert argv[1:3] == ("fix the bug", "--mcp-config")
    assert json.loads(argv[3])["mcpServers"]["ralph"]["command"] == "ralph"
    assert "PreToolUse" in json.loads(argv[argv.index("--settings") + 1])["hooks"]


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_a_subcommand_gets_no_flags_of_a_session(name: str) -> None:
    assert _launch(name, "mcp", "list").argv == (name, "mcp", "list")
    assert _launch(name, "setup-token").argv == (name, "setup-token")


def test_codex_asks_the_person_and_does_not_use_a_sandbox_of_its_own_in_ours() -> None:
    argv = _launch("codex", "resume").argv
    assert argv[1:3] == ("--sandbox", "danger-full-access")
    assert "--dangerously-bypass-approvals-and-sandbox" not in argv
    assert any(word.startswith("mcp_servers.ralph=") for word in argv)
    assert argv[-1] == "resume"
    assert "danger-full-access" not in _launch("codex", "--sandbox", "read-only").argv
    assert "--sandbox" not in find_interactive("codex").interactive(replace(GIVEN, is_confined=False)).argv


def test_opencode_has_our_part_in_its_environment() -> None:
    launch = _launch("opencode")
    assert "ralph" in json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"])["mcp"]
    assert list(launch.files) == [Path("/run/ralph/sockets/run.log.ralph.js")]


def test_any_other_program_is_started_as_it_is() -> None:
    agent = find_interactive("/usr/bin/aider")
    assert agent.name == "aider"
    assert agent.interactive(replace(GIVEN, arguments=("-x",))) == Launch(("/usr/bin/aider", "-x"))
