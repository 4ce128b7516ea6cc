"""Commands of real agents that do no harm, and hard ways to write: how many of them the hook takes for the other.

The commands are in `harmless.toml` and `hard.toml`. A command is asked about as the hook does, in each state of a
session: may it be run where reading, or running, is allowed?
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from interlock.machine import load_shipped
from interlock.work.sessions.policy import need_of, tools_of
from patience import SECONDS

MACHINE = load_shipped("session")
DEFINITION = msgspec.json.decode(msgspec.json.encode(MACHINE.form))
HARMLESS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "harmless.toml").read_text("utf-8"))
HARD: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "hard.toml").read_text("utf-8"))
SETTINGS = (
    ".claude/settings.json",
    ".claude/hooks/guard.sh",
    ".codex/config.toml",
    ".mcp.json",
    "ralph.toml",
    ".ralf/x",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what is protected in it, and two patches that change it."""
    root = tmp_path_factory.mktemp("transcripts") / "repository"
    subprocess.run(["git", "init", "-q", root], check=True, timeout=SECONDS)
    for name in SETTINGS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "prepared.patch").write_text("--- a/ralph.toml\n+++ b/ralph.toml\n@@ -1 +1 @@\n-a\n+b\n", encoding="utf-8")
    (root / "inner.patch").write_text("--- settings.json\n+++ settings.json\n@@ -1 +1 @@\n", encoding="utf-8")
    return root


@pytest.mark.parametrize("state", MACHINE.states)
def test_few_harmless_commands_of_real_agents_are_blocked(state: str, tree: Path) -> None:
    allowed = tools_of(DEFINITION, state)
    asked = [command for needs in allowed for command in HARMLESS.get(needs, ())]
    needs = {command: need_of("Bash", {"command": command}, str(tree), str(tree)) for command in asked}
    blocked = {command: need for command, need in needs.items() if need.kind not in allowed or need.protected}
    for command, need in blocked.items():
        print(f"{state}: {command!r} needs {need.kind}: {need.why or need.protected}")  # noqa: T201
    print(f"{state}: {len(blocked)} of {len(asked)} blocked")  # noqa: T201
    assert len(blocked) < len(asked) / 20


def test_there_are_enough_of_them() -> None:
    harmless, hard = [one for group in HARMLESS.values() for one in group], [*HARD["write"], *HARD["protected"]]
    assert len(set(harmless)) == len(harmless) >= 160
    assert len(set(hard)) == len(hard) >= 75


@pytest.mark.parametrize("command", HARD["write"])
def test_a_hard_way_to_write_is_seen(command: str, tree: Path) -> None:
    assert need_of("Bash", {"command": command}, str(tree), str(tree)).kind == "write"


@pytest.mark.parametrize("command", HARD["protected"])
def test_a_hard_way_to_what_is_protected_is_seen(command: str, tree: Path) -> None:
    assert need_of("Bash", {"command": command}, str(tree), str(tree)).protected
