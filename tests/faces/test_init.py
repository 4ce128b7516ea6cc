"""`ralph init`: it shows, asks, writes, and takes out again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from faces.journals import AGENT, opened
from faces.programs import RALPH, run, run_here, run_in_terminal
from interlock.machine import Event, Evidence
from interlock.world.ancestry import names_above

QUESTION = "Write these changes? [y/N]"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = ["triage", "split", "research", "plan", "review", "impl", "hero", "merge"]
AGENTS = ["triager", "researcher", "planner", "advocate", "implementer"]
CLAUDE = [
    *("ralph.toml", "AGENTS.md", "CLAUDE.md", ".mcp.json", ".claude/settings.json"),
    *(f".claude/skills/ralph-{name}/SKILL.md" for name in COMMANDS),
    *(f".claude/agents/ralph-{name}.md" for name in AGENTS),
]
CODEX = ["ralph.toml", "AGENTS.md", ".codex/config.toml", ".codex/hooks.json"]
OPENCODE = ["ralph.toml", "AGENTS.md", "opencode.json", ".opencode/plugins/ralph.js"]


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which git and our programs are found, and no agent."""
    home = Path(environment["HOME"])
    (home / "bin").mkdir()
    for name in ("ralph", "ralph-hook"):
        (home / "bin" / name).symlink_to(RALPH.parent / name)
    (home / "bin" / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    return {**environment, "PATH": f"{home / 'bin'}"}


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] != ".git"
    }


def test_the_diff_is_shown_and_nothing_is_written_in_a_dry_run(repository: Path, environment: dict[str, str]) -> None:
    result = run("init", "--dry-run", cwd=repository, env=environment)
    assert result.code == 0
    for agent in ("claude", "codex", "opencode"):
        assert f"{agent}: no agent was found here, so all are set up\n" in result.out
    headers = [line.removeprefix("+++ b/") for line in result.out.splitlines() if line.startswith("+++")]
    assert headers == [*CLAUDE, *CODEX[2:], *OPENCODE[2:]]
    assert result.out.count("--- /dev/null\n") == len(headers)
    assert result.out.endswith("Nothing was written; without --dry-run, it is.\n")
    assert list(repository.iterdir()) == [repository / ".git"]


def test_git_can_apply_the_diff_that_is_shown(repository: Path, environment: dict[str, str]) -> None:
    (repository / "AGENTS.md").write_bytes(b"# Guide")
    (repository / ".mcp.json").write_bytes(b'{\r\n  "mcpServers": {}\r\n}\r\n')
    proposed = run("init", "--dry-run", "--json", cwd=repository, env=environment).data
    patch = "".join(one["diff"] for one in proposed).encode()
    assert run("init", "--yes", cwd=repository, env=environment).code == 0
    written = {file: text for file, text in _files(repository).items() if not file.startswith(".ralf/")}
    assert run("init", "--undo", "--yes", cwd=repository, env=environment).code == 0
    git = ["git", "-C", str(repository), "apply", "--whitespace=nowarn"]
    subprocess.run(git, input=patch, check=True, timeout=60, env=environment)
    assert _files(repository) == written


@pytest.mark.parametrize(("agent", "files"), [("claude", CLAUDE), ("codex", CODEX), ("opencode", OPENCODE)])
def test_one_agent_is_set_up_and_everything_is_taken_out_again(
    agent: str, files: list[str], repository: Path, environment: dict[str, str]
) -> None:
    result = run("init", "--agent", agent, "--yes", cwd=repository, env=environment)
    assert result.code == 0
    assert f"{agent}: named by --agent\n" in result.out
    assert "".join(f"✓  created  {file}\n" for file in files) in result.out
    assert ("/hooks" in result.err) is (agent == "codex")
    assert _files(repository).keys() == {*files, ".ralf/init.json"}
    again = run_here("init", "--agent", agent, cwd=repository, env=environment)
    assert again.code == 0
    assert again.out.endswith("✓ Everything is in place.\n")
    undone = run_here("init", "--undo", "--yes", cwd=repository, env=environment)
    assert undone.code == 0
    assert undone.out.endswith("".join(f"✓  removed  {file}\n" for file in files))
    assert list(repository.iterdir()) == [repository / ".git"]
    assert run_here("init", "--undo", cwd=repository, env=environment).out == "✓ There is nothing of Interlock here.\n"


def test_json_lists_every_file_with_its_action_and_its_diff(repository: Path, environment: dict[str, str]) -> None:
    (repository / "AGENTS.md").write_bytes(b"# Guide\n")
    (repository / "ralph.toml").touch()
    words = ["init", "--agent", "claude", "--json"]
    proposed = run_here(*words, "--dry-run", cwd=repository, env=environment).data
    assert {one["file"]: one["action"] for one in proposed} == {
        **dict.fromkeys(CLAUDE, "created"),
        "AGENTS.md": "changed",
        "ralph.toml": "unchanged",
    }
    assert all(one.keys() == {"file", "action", "diff"} for one in proposed)
    assert [one["file"] for one in proposed if not one["diff"]] == ["ralph.toml"]
    assert run_here(*words, cwd=repository, env=environment).error["code"] == "setup_declined"
    assert _files(repository).keys() == {"AGENTS.md", "ralph.toml"}
    assert run_here(*words, "--yes", cwd=repository, env=environment).data == proposed
    assert {one["action"] for one in run_here(*words, cwd=repository, env=environment).data} == {"unchanged"}
    undone = run_here("init", "--undo", "--yes", "--json", cwd=repository, env=environment).data
    assert {one["file"]: one["action"] for one in undone} == {
        **dict.fromkeys(CLAUDE[2:], "removed"),
        "AGENTS.md": "changed",
    }
    assert _files(repository) == {"AGENTS.md": b"# Guide\n", "ralph.toml": b""}


def test_several_agents_can_be_named(repository: Path, environment: dict[str, str]) -> None:
    words = ["init", "--agent", "opencode", "--agent", "claude", "--dry-run", "--json"]
    found = run_here(*words, cwd=repository, env=environment).data
    assert [one["file"] for one in found] == [*CLAUDE, *OPENCODE[2:]]


def test_the_agents_that_are_found_are_set_up(repository: Path, environment: dict[str, str]) -> None:
    (repository / ".codex").mkdir()
    result = run_here("init", "--dry-run", cwd=repository, env=environment)
    assert result.out.startswith("codex: .codex is here\n---")
    command = Path(environment["HOME"]) / "bin" / "opencode"
    command.touch(0o755)
    result = run_here("init", "--dry-run", cwd=repository, env=environment)
    assert result.out.startswith(f"codex: .codex is here\nopencode: its command is {command}\n---")


def test_programs_that_the_path_does_not_find_are_registered_by_their_own(
    repository: Path, environment: dict[str, str]
) -> None:
    result = run("init", "--agent", "claude", "--yes", cwd=repository, env={**environment, "PATH": ""})
    assert result.code == 0
    assert f'"command": "{RALPH}"'.encode() in _files(repository)[".mcp.json"]
    assert str(RALPH) in result.err
    moved = run("init", "--agent", "claude", "--yes", cwd=repository, env=environment)
    assert moved.code == 0
    assert b'"command": "ralph"' in _files(repository)[".mcp.json"]
    assert moved.err == ""


# Asking


@pytest.mark.sampled(1)
@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_somebody_who_says_yes_gets_it(answer: str, repository: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("init", "--agent", "claude", cwd=repository, env=environment, typed=answer)
    assert code == 0
    assert QUESTION in screen
    assert COLOUR.search(screen)
    assert "created  .mcp.json" in screen
    assert (repository / ".mcp.json").exists()
    code, screen = run_in_terminal("init", "--undo", cwd=repository, env=environment, typed=answer)
    assert code == 0
    assert list(repository.iterdir()) == [repository / ".git"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("answer", ["n\n", "\n", "no\n", "yep\n", "\x04"])
def test_anything_but_yes_writes_nothing(answer: str, repository: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("init", "--agent", "claude", cwd=repository, env=environment, typed=answer)
    assert code == 1
    assert QUESTION in screen
    assert "[setup_declined]" in screen
    assert list(repository.iterdir()) == [repository / ".git"]


def test_nobody_is_asked_when_the_answer_is_given_or_nothing_is_to_be_done(
    repository: Path, environment: dict[str, str]
) -> None:
    for words in (["--dry-run"], ["--yes"], []):
        code, screen = run_in_terminal("init", *words, cwd=repository, env=environment)
        assert code == 0
        assert QUESTION not in screen


def test_without_a_terminal_nothing_is_written(repository: Path, environment: dict[str, str]) -> None:
    result = run("init", cwd=repository, env=environment, stdin=b"y\n")
    assert result.code == 1
    assert "[setup_declined]" in result.err
    assert list(repository.iterdir()) == [repository / ".git"]


def test_a_file_cannot_speak_to_the_terminal(repository: Path, environment: dict[str, str]) -> None:
    (repository / "AGENTS.md").write_text("\x1b[2Jgone\u202e\n", encoding="utf-8")
    result = run_here("init", "--dry-run", "--agent", "claude", cwd=repository, env=environment)
    assert "\x1b" not in result.out
    assert "\u202e" not in result.out


# Refusing


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".mcp.json", b"{"),
        (".mcp.json", b'{"mcpServers": {"ralph": {"command": "wiggum"}}}'),
        ("AGENTS.md", b"<!-- ralph:begin v1 -->\n"),
        ("CLAUDE.md", b"\xff\xfe"),
        (".codex/config.toml", b"["),
        ("opencode.json", b'{"mcp": []}'),
    ],
)
@pytest.mark.parametrize("words", [["--yes"], ["--dry-run"], []])
def test_what_cannot_be_edited_is_named_and_nothing_is_written(
    words: list[str], file: str, text: bytes, repository: Path, environment: dict[str, str]
) -> None:
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_bytes(text)
    all_agents = ["--agent", "claude", "--agent", "codex", "--agent", "opencode"]
    error = run_here("init", *all_agents, *words, "--json", cwd=repository, env=environment).error
    assert error["code"] == "setup_conflict"
    assert error["message"].startswith(f"{file} cannot be edited: ")
    assert error["details"] == {"file": file}
    assert _files(repository) == {file: text}


@pytest.mark.parametrize(
    "words", [["--undo", "--agent", "claude"], ["--agent", "cursor"], ["--agent"], ["extra"], ["--force"]]
)
def test_a_wrong_call_is_a_usage_error(words: list[str], repository: Path, environment: dict[str, str]) -> None:
    assert run_here("init", *words, "--json", cwd=repository, env=environment).error["code"] == "usage"


def test_outside_a_repository_there_is_nothing_to_set_up(outside: Path, environment: dict[str, str]) -> None:
    for words in ([], ["--undo"], ["--agent", "claude"]):
        error = run_here("init", *words, "--json", cwd=outside, env=environment).error
        assert error["code"] == "no_repository"


# An agent with a session


def test_an_agent_with_a_session_in_its_environment_cannot_undo(repository: Path, environment: dict[str, str]) -> None:
    assert run_here("init", "--yes", cwd=repository, env=environment).code == 0
    before = _files(repository)
    driven = {**environment, "RALPH_SESSION_ID": "01hzzzzzzzzzzzzzzzzzzzzzzz"}
    error = run_here("init", "--undo", "--yes", "--json", cwd=repository, env=driven).error
    assert error["code"] == "person_needed"
    assert _files(repository) == before
    assert run_here("init", "--undo", "--dry-run", "--json", cwd=repository, env=driven).data


def test_an_agent_whose_process_has_a_session_cannot_undo(repository: Path, environment: dict[str, str]) -> None:
    assert run_here("init", "--yes", cwd=repository, env=environment).code == 0
    with opened(repository) as journal:
        journal.create("session", Event("created", AGENT, evidence=Evidence(names=(names_above()[0],))))
    before = _files(repository)[".mcp.json"]
    error = run("init", "--undo", "--yes", "--json", cwd=repository, env=environment).error
    assert error["code"] == "person_needed"
    assert _files(repository)[".mcp.json"] == before


def test_a_session_of_another_process_is_no_obstacle(repository: Path, environment: dict[str, str]) -> None:
    assert run_here("init", "--yes", cwd=repository, env=environment).code == 0
    with opened(repository) as journal:
        journal.create("session", Event("created", AGENT, evidence=Evidence(names=("process:elsewhere:1:2:3",))))
    assert run("init", "--undo", "--yes", "--json", cwd=repository, env=environment).data
    assert {file.partition("/")[0] for file in _files(repository)} == {".ralf"}


def test_it_ends_with_how_to_speak_with_the_agents_that_are_installed(
    repository: Path, environment: dict[str, str]
) -> None:
    program = Path(environment["PATH"]) / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for words in (("--yes",), ("--yes",), ("--yes", "--agent", "claude", "--agent", "codex")):
        last = run_here("init", *words, cwd=repository, env=environment).out.splitlines()[-1]
        assert last == "→ `ralph run codex` starts an agent to speak with, in a tree of its own."
    assert "ralph run" not in run_here("init", "--undo", "--yes", cwd=repository, env=environment).out
