"""What a run is given of ours where nobody set anything up, and that nothing is given twice where somebody did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from faces.programs import RALPH, run
from interlock.work.setup.agent_tools import tools_for

ENVIRONMENT = {"PATH": f"{RALPH.parent}:{os.environ['PATH']}"}
NAMES = ("claude", "codex", "opencode")
"""Those that `ralph init` knows."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    return tmp_path


def _outfit(agent: str, root: Path) -> tuple[tuple[str, ...], str] | None:
    outfit = tools_for(agent, root, ENVIRONMENT)
    return None if outfit is None else (outfit.server, outfit.hook)


@pytest.mark.parametrize("agent", NAMES)
def test_where_nobody_set_anything_up_all_of_it_is_given(agent: str, repository: Path) -> None:
    assert _outfit(agent, repository) == (("ralph", "mcp"), "ralph-hook")


@pytest.mark.parametrize("agent", ["acp", "qwen"])
def test_an_agent_whose_hooks_we_do_not_know_gets_the_server_alone(agent: str, repository: Path) -> None:
    assert _outfit(agent, repository) == (("ralph", "mcp"), "")


@pytest.mark.parametrize("agent", ["command", "gemini", "scripted", "test", ""])
def test_an_agent_that_takes_no_server_gets_nothing(agent: str, repository: Path) -> None:
    assert _outfit(agent, repository) is None


def test_programs_that_are_not_on_the_path_are_called_by_their_path(repository: Path) -> None:
    outfit = tools_for("claude", repository, {"PATH": "/nowhere"})
    assert outfit is not None
    assert (outfit.server, outfit.hook) == ((str(RALPH), "mcp"), str(RALPH.with_name("ralph-hook")))


@pytest.mark.parametrize("agent", NAMES)
def test_what_init_set_up_is_not_given_again_with_or_without_its_record(agent: str, repository: Path) -> None:
    assert run("init", "--yes", "--agent", agent, cwd=repository, env=ENVIRONMENT).code == 0
    given = ((), "ralph-hook" if agent == "codex" else "")  # it gets its hooks in the place of those
    assert _outfit(agent, repository) == given
    shutil.rmtree(repository / ".ralf")  # as in a clone of it
    assert _outfit(agent, repository) == given
    others = [_outfit(other, repository) for other in NAMES if other != agent]
    assert others == [(("ralph", "mcp"), "ralph-hook")] * 2


@pytest.mark.parametrize("agent", NAMES)
def test_what_was_taken_out_again_is_given(agent: str, repository: Path) -> None:
    run("init", "--yes", "--agent", agent, cwd=repository, env=ENVIRONMENT)
    run("init", "--yes", "--undo", cwd=repository, env=ENVIRONMENT)
    assert _outfit(agent, repository) == (("ralph", "mcp"), "ralph-hook")


def test_codex_leaves_out_our_hooks_of_the_repository_and_no_others(repository: Path) -> None:
    (repository / ".codex").mkdir()
    mine = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    (repository / ".codex" / "hooks.json").write_text(json.dumps(mine))
    plain = tools_for("codex", repository, ENVIRONMENT)
    assert plain is not None
    assert plain.instead == ()
    run("init", "--yes", "--agent", "codex", cwd=repository, env=ENVIRONMENT)
    outfit = tools_for("codex", repository, ENVIRONMENT)
    assert outfit is not None
    file = repository / ".codex" / "hooks.json"
    assert f"{file}:pre_tool_use:1:0" in outfit.instead
    assert f"{file}:pre_tool_use:0:0" not in outfit.instead
    assert len(outfit.instead) == 6
    shown = tools_for("codex", repository, ENVIRONMENT, Path("/shown"))
    assert shown is not None
    assert "/shown/.codex/hooks.json:pre_tool_use:1:0" in shown.instead, "where a sandbox shows the file"


def test_each_part_is_looked_for_by_itself(repository: Path) -> None:
    run("init", "--yes", "--agent", "claude", cwd=repository, env=ENVIRONMENT)
    (repository / ".claude" / "settings.json").rename(repository / ".claude" / "settings.local.json")
    assert _outfit("claude", repository) == ((), "")
    (repository / ".claude" / "settings.local.json").unlink()
    assert _outfit("claude", repository) == ((), "ralph-hook")
    (repository / ".mcp.json").unlink()
    assert _outfit("claude", repository) == (("ralph", "mcp"), "ralph-hook")


@pytest.mark.parametrize(
    ("agent", "file", "text"),
    [
        ("claude", ".mcp.json", '{"mcpServers": {"ralph": {"command": "wiggum"}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.ralph]\ncommand = "wiggum"\n'),
        ("opencode", "opencode.jsonc", '{"mcp": {"ralph": {"type": "local", "command": ["wiggum"]}}}'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"ralph": {"command": "wiggum"}}}'),
        ("qwen", ".qwen/settings.json", '{"mcpServers": {"ralph": {"command": "wiggum"}}}'),
    ],
)
def test_a_server_of_somebody_else_with_our_name_is_left_alone(
    agent: str, file: str, text: str, repository: Path
) -> None:
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_text(text)
    assert _outfit(agent, repository) is None


def test_our_server_that_a_person_reaches_in_a_way_of_their_own_is_enough(repository: Path) -> None:
    settings = {"mcpServers": {"ralph": {"type": "http", "url": "http://127.0.0.1:8300/mcp"}}}
    (repository / ".mcp.json").write_text(json.dumps(settings))
    assert _outfit("claude", repository) == ((), "ralph-hook")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mcpServers": []}', '{"mcpServers": {"other": {"command": "x"}}}'])
def test_a_file_without_our_server_that_can_be_read_in_it_changes_nothing(text: str, repository: Path) -> None:
    (repository / ".mcp.json").write_text(text)
    (repository / ".claude").mkdir()
    (repository / ".claude" / "settings.json").write_text(text)
    (repository / ".codex").mkdir()
    (repository / ".codex" / "config.toml").write_text(text)
    (repository / ".codex" / "hooks.json").symlink_to("/etc/hostname")
    for agent in ("claude", "codex"):
        assert _outfit(agent, repository) == (("ralph", "mcp"), "ralph-hook")


def test_gemini_reports_where_a_person_registered_our_server(repository: Path) -> None:
    (repository / ".gemini").mkdir()
    settings = {"mcpServers": {"ralph": {"command": "ralph", "args": ["mcp"]}}}
    (repository / ".gemini" / "settings.json").write_text(json.dumps(settings))
    assert _outfit("gemini", repository) == ((), "")
