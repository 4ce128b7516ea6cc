"""What real agents handed to their hooks, recorded: the hook reads all of it and decides as it should.

`recorded/` holds it word for word, but for ids and for paths: the work tree is `/repo`, the home `/home/user`.
Claude Code 2.1.325, Codex 0.166.0 and OpenCode 1.18.33 said it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from faces.programs import HOOK, Result, clean_environment, run
from node.tools import NODE

RECORDED = Path(__file__).parent / "recorded"
SAID = sorted(path for agent in ("claude", "codex") for path in (RECORDED / agent).glob("*.json"))
EVENTS = ("post-tool-use-failure", "post-tool-use", "pre-tool-use", "session-start", "session-end", "stop")
WRITES = ("write", "edit", "patch-add", "patch-update", "shell-patch", "shell-write-in-subagent")
BLOCK = 2


def _event(path: Path) -> tuple[str, str]:
    """The event that a file's name begins with, and what it is about."""
    event = next((event for event in EVENTS if path.stem.startswith(event)), path.stem)
    return event, path.stem.removeprefix(event).removeprefix("-")


def _name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


class Driven(msgspec.Struct, frozen=True):
    """A repository, and the environment of an agent whose session there is in a state."""

    repository: Path
    env: Mapping[str, str]

    @property
    def session(self) -> str:
        return self.env["RALPH_SESSION_ID"]


def _driven(home: Path, *states: str) -> Driven:
    repository = home / "repository"
    env = clean_environment(home)
    subprocess.run(["git", "init", "-q", repository], env=env, check=True, timeout=60)
    session = run("session", "create", "--json", cwd=repository, env=env).data["session_id"]
    driven = Driven(repository, {**env, "RALPH_SESSION_ID": session, "CLAUDECODE": "1"})
    for state in states:
        moved = run("session", "update", state, "--json", cwd=repository, env=driven.env).data
        assert moved["new_state"] == state
    return driven


@pytest.fixture(scope="module")
def analyzing(tmp_path_factory: pytest.TempPathFactory) -> Driven:
    return _driven(tmp_path_factory.mktemp("analyzing"), "analyzing")


@pytest.fixture(scope="module")
def implementing(tmp_path_factory: pytest.TempPathFactory) -> Driven:
    return _driven(tmp_path_factory.mktemp("implementing"), "analyzing", "implementing")


def _hooked(path: Path, driven: Driven) -> Result:
    event, _ = _event(path)
    said = path.read_text().replace('"/repo', f'"{driven.repository}')
    return run(event, cwd=driven.repository, env=driven.env, program=HOOK, stdin=said.encode())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", SAID, ids=_name)
def test_what_a_state_does_not_allow_is_blocked_and_all_else_passes(path: Path, analyzing: Driven) -> None:
    event, about = _event(path)
    hooked = _hooked(path, analyzing)
    if (event, about) == ("stop", "") or (event == "pre-tool-use" and about in WRITES):
        assert hooked.code == BLOCK, hooked
        assert analyzing.session in hooked.err
        assert "`analyzing`" in hooked.err
    else:
        assert (hooked.code, hooked.err) == (0, "")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", [path for path in SAID if _event(path)[0] == "pre-tool-use"], ids=_name)
def test_where_writing_is_allowed_every_recorded_call_passes(path: Path, implementing: Driven) -> None:
    hooked = _hooked(path, implementing)
    assert (hooked.code, hooked.out, hooked.err) == (0, "", "")


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_what_an_agent_did_is_on_record(agent: str, tmp_path: Path) -> None:
    driven = _driven(tmp_path, "analyzing", "implementing")
    ends = [path for path in SAID if path.parent.name == agent and path.stem.startswith("post-tool-use")]
    assert {_hooked(path, driven).code for path in ends} == {0}
    shown = run("session", "show", driven.session, "--json", cwd=driven.repository, env=driven.env).data
    assert {name.rpartition("/")[2] for name in shown["files"]} == {"a.txt"}
    assert sum(shown["tools"].values()) == len(ends)


PLAY = """
import { readFileSync } from "node:fs"
const [, plugin, hook, file, repository] = process.argv
const { Ralph } = await import(plugin)
const said = JSON.parse(readFileSync(file, "utf8").replaceAll('"/repo', `"${repository}`))
const hooks = await Ralph({ directory: repository, worktree: repository })
try {
  await hooks[hook](said.input, said.output)
  console.log(JSON.stringify(null))
} catch (error) {
  console.log(JSON.stringify(error.message))
}
"""


@pytest.mark.agents
@pytest.mark.parametrize("path", sorted((RECORDED / "opencode").glob("tool-*.json")), ids=_name)
def test_our_plugin_for_opencode_blocks_what_the_state_does_not_allow(path: Path, analyzing: Driven) -> None:
    if NODE is None:
        pytest.skip("not run: Node.js is missing; `make test-agents` installs it")
    run("init", "--yes", "--agent", "opencode", "--json", cwd=analyzing.repository, env=analyzing.env)
    plugin = analyzing.repository / ".opencode" / "plugins" / "ralph.js"
    hook = "tool.execute.before" if path.stem.startswith("tool-before") else "tool.execute.after"
    words: list[str | Path] = [plugin, hook, path, analyzing.repository]
    played = ("--input-type=module", "-e", PLAY, "--", *words)
    done = run(*played, cwd=analyzing.repository, env=analyzing.env, program=NODE / "bin" / "node")
    assert done.code == 0, done
    reason = json.loads(done.out)
    if path.stem in ("tool-before-write", "tool-before-edit"):
        assert f"session {analyzing.session} is in the state `analyzing`" in reason
    else:
        assert reason is None
