"""What of ours each agent is started with: flags, environment and files, and nothing where it reports nothing."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.world.agents.agent import Launch
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.catalogue import AGENTS, find_agent
from interlock.world.agents.command import CommandAgent
from interlock.world.agents.opencode import OpenCode
from interlock.world.agents.result import Ending
from world.agents.runs import Place

OUTFIT = AgentTools(("/opt/a b/ralph", "mcp"), "/opt/a b/ralph-hook")
LOG = Path("/repo/.ralf/runs/1/000002-implementer.log")
EVENTS = {"PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "Stop", "SessionEnd", "UserPromptSubmit"}
NONE = AgentTools()


def _launch(
    name: str,
    outfit: AgentTools | None = OUTFIT,
    arguments: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> Launch:
    assignment = Assignment("p", Path("/repo"), LOG, environment or {}, arguments=arguments, outfit=outfit)
    return find_agent(name, {"command": "agent", "script": "/script.json"}).launch(assignment)


def _given(launch: Launch, flag: str) -> Any:
    """The JSON behind a flag."""
    [place] = [place for place, word in enumerate(launch.argv) if word == flag]
    return json.loads(launch.argv[place + 1])


def _settings(launch: Launch) -> dict[str, Any]:
    """All that is set with `-c`, as Codex reads it."""
    words = [launch.argv[place + 1] for place, word in enumerate(launch.argv) if word == "-c"]
    return tomllib.loads("\n".join(words))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_that_reports_nothing_is_started_without_anything_of_ours(name: str) -> None:
    launch = _launch(name, None)
    assert "ralph" not in " ".join(launch.argv)
    assert (launch.environment, launch.files) == ({}, {})


@pytest.mark.parametrize("name", ["command", "gemini", "scripted"])
def test_an_agent_that_takes_no_server_is_started_as_ever(name: str) -> None:
    assert _launch(name) == _launch(name, None)


def test_claude_gets_our_server_beside_those_of_the_person() -> None:
    launch = _launch("claude", arguments=("--model", "m"))
    server = {"command": "/opt/a b/ralph", "args": ["mcp"]}
    assert _given(launch, "--mcp-config") == {"mcpServers": {"ralph": server}}
    assert "--strict-mcp-config" not in launch.argv
    assert launch.argv[-2:] == ("--model", "m")


def test_no_word_of_a_person_is_taken_for_another_server_of_claude() -> None:
    launch = _launch("claude", arguments=("--settings", "mine.json"))
    behind = launch.argv[launch.argv.index("--mcp-config") + 2]
    assert behind.startswith("--")
    assert behind != "--settings", "a flag of ours, whatever a person's are"


def test_claude_gets_our_hooks_and_may_report_without_being_asked() -> None:
    settings = _given(_launch("claude"), "--settings")
    assert settings["permissions"] == {"allow": ["mcp__ralph"]}
    assert settings["hooks"].keys() == EVENTS
    [group] = settings["hooks"]["PreToolUse"]
    hook = {"type": "command", "command": "/opt/a b/ralph-hook", "args": ["pre-tool-use"], "timeout": 10}
    assert group == {"hooks": [hook]}


def test_claude_in_a_repository_that_is_set_up_gets_the_permission_alone() -> None:
    launch = _launch("claude", NONE)
    assert "--mcp-config" not in launch.argv
    assert _given(launch, "--settings") == {"permissions": {"allow": ["mcp__ralph"]}}


@pytest.mark.parametrize("own", [("--settings", "mine.json"), ("--settings=mine.json",)])
def test_a_persons_own_settings_are_not_replaced_by_ours(own: tuple[str, ...]) -> None:
    launch = _launch("claude", arguments=own)
    assert sum(word.startswith("--settings") for word in launch.argv) == 1
    assert "--mcp-config" in launch.argv


def test_codex_gets_our_server_with_the_names_that_it_hands_on() -> None:
    server = _settings(_launch("codex"))["mcp_servers"]["ralph"]
    assert (server["command"], server["args"]) == ("/opt/a b/ralph", ["mcp"])
    assert {"RALPH_SESSION_ID", "RALPH_ROOT"} <= set(server["env_vars"])


def test_codex_gets_our_hooks_and_the_trust_for_these_alone() -> None:
    launch = _launch("codex")
    hooks = _settings(launch)["hooks"]
    trusted = hooks.pop("state")
    assert hooks.keys() == EVENTS - {"PostToolUseFailure"}
    [group] = hooks["PreToolUse"]
    hook = {"type": "command", "command": "'/opt/a b/ralph-hook' pre-tool-use", "timeout": 10}
    assert group == {"hooks": [hook]}
    assert len(trusted) == len(hooks)
    told_by_codex = "sha256:8a58b6ee6283d761fbb86f4345ce76fe0b4d1f69476e510a13a19304b42496c8"
    assert trusted["/<session-flags>/config.toml:pre_tool_use:0:0"] == {"trusted_hash": told_by_codex}
    assert not [word for word in launch.argv if "bypass" in word]


def test_codex_leaves_out_the_hooks_that_ours_are_given_for() -> None:
    key = "/repo/.codex/hooks.json:pre_tool_use:1:0"
    state = _settings(_launch("codex", AgentTools(hook="ralph-hook", instead=(key,))))["hooks"]["state"]
    assert state.pop(key) == {"enabled": False}
    assert len(state) == len(EVENTS) - 1
    assert all(one.keys() == {"trusted_hash"} for one in state.values())


def test_codex_in_a_repository_that_is_set_up_gets_nothing_twice() -> None:
    assert _launch("codex", NONE) == _launch("codex", None)


def test_opencode_gets_our_server_and_a_plugin_of_this_run() -> None:
    launch = _launch("opencode")
    plugin = LOG.with_name("000002-implementer.log.ralph.js")
    assert json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"]) == {
        "mcp": {"ralph": {"type": "local", "command": ["/opt/a b/ralph", "mcp"]}},
        "plugin": [plugin.as_uri()],
    }
    assert launch.files.keys() == {plugin}
    assert 'const HOOK = "/opt/a b/ralph-hook"\n' in launch.files[plugin]


def test_what_a_person_gave_opencode_in_the_same_way_stays() -> None:
    own = '{"model": "a/b", "plugin": ["mine"], "mcp": {"docs": {"type": "remote", "url": "http://docs"}}}'
    launch = _launch("opencode", environment={"OPENCODE_CONFIG_CONTENT": own})
    given = json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"])
    assert given["model"] == "a/b"
    assert given["plugin"][0] == "mine"
    assert given["mcp"].keys() == {"docs", "ralph"}


@pytest.mark.parametrize("own", ['{"mcp": 1}', "nonsense"])
def test_what_opencode_itself_must_complain_about_is_left_as_it_is(own: str) -> None:
    assert _launch("opencode", environment={"OPENCODE_CONFIG_CONTENT": own}).environment == {}


def test_opencode_keeps_a_server_of_our_name_that_a_person_gave_it() -> None:
    own = '{"mcp": {"ralph": {"type": "remote", "url": "http://127.0.0.1:1/mcp"}}}'
    launch = _launch("opencode", environment={"OPENCODE_CONFIG_CONTENT": own})
    assert json.loads(launch.environment["OPENCODE_CONFIG_CONTENT"])["mcp"] == json.loads(own)["mcp"]


def test_opencode_in_a_repository_that_is_set_up_gets_nothing_twice() -> None:
    assert _launch("opencode", NONE) == _launch("opencode", None)


def test_qwen_gets_our_server_unless_a_person_gives_others() -> None:
    server = {"command": "/opt/a b/ralph", "args": ["mcp"], "trust": True}
    assert _given(_launch("qwen"), "--mcp-config") == {"mcpServers": {"ralph": server}}
    assert _launch("qwen", arguments=("--mcp-config", "mine.json")).argv.count("--mcp-config") == 1


def test_the_files_of_a_run_lie_beside_its_log_and_are_its_owners_alone(place: Place) -> None:
    program = place.directory / "opencode"
    listing = "import os, pathlib; [print(one.name, oct(one.stat().st_mode)) for one in pathlib.Path('logs').iterdir()]"
    program.write_text(f"#!{sys.executable}\n{listing}\n")
    program.chmod(0o700)
    place.run(OpenCode(str(program)), outfit=OUTFIT)
    assert sorted(place.log.read_text().splitlines()) == ["run.log 0o100600", "run.log.ralph.js 0o100600"]
    assert list(place.log.parent.iterdir()) == [place.log], "they are gone with the run"


def test_a_command_of_ones_own_runs_with_an_outfit_as_without(place: Place) -> None:
    assert place.run(CommandAgent(("cat",)), outfit=OUTFIT).ending is Ending.FINISHED
    assert list(place.log.parent.iterdir()) == [place.log]
