"""The plugin's folder holds what `ralph init` would write, under the names that a plugin has, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from interlock import __version__
from interlock.work.setup.claude_plugin import FOLDER, marketplace, plugin_files
from interlock.work.setup.surroundings import supplies
from interlock.world.agents.registration import CLAUDE_EVENTS

ROOT = Path(__file__).parents[3]


def test_the_folder_has_every_file_and_none_that_is_left_over() -> None:
    found = {str(one.relative_to(ROOT)) for one in (ROOT / FOLDER).rglob("*") if one.is_file()}
    found |= {str(one.relative_to(ROOT)) for one in (ROOT / ".claude-plugin").iterdir()}
    assert {name: (ROOT / name).read_text(encoding="utf-8") for name in found} == marketplace()


def test_skills_and_agents_are_those_of_init_with_the_tools_of_the_plugin() -> None:
    ours = {
        path.removeprefix(".claude/"): text.replace("mcp__ralph__", "mcp__plugin_ralph_ralph__")
        for path, text in supplies({}).claude.items()
    }
    assert ours.items() <= plugin_files().items()
    assert len(ours) > 8


def test_the_plugin_has_the_version_of_the_package_and_a_hook_for_each_event() -> None:
    files = plugin_files()
    assert json.loads(files[".claude-plugin/plugin.json"])["version"] == __version__
    hooks = json.loads(files["hooks/hooks.json"])["hooks"]
    assert hooks.keys() == CLAUDE_EVENTS.keys()
    assert all(one["hooks"][0]["args"][1:] == ["plugin"] for [one] in hooks.values())
    [offered] = json.loads(marketplace()[".claude-plugin/marketplace.json"])["plugins"]
    assert (ROOT / offered["source"] / ".claude-plugin" / "plugin.json").is_file()
