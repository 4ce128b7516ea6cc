"""The real coding agents, each driven as its own command line wants it: against a scripted model, in a scratch place.

Every agent is started in an environment of its own with a throw-away home, so nothing of this machine's settings
leaks in, and it talks to the model server on loopback and to nobody else.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from agents.fakes import Call, ModelServer, Request, Results, Script
from faces.programs import AUTHORIZED, RALPH, SERVE_TOKEN, Result, Stream, run
from node.tools import environment

__all__ = [
    "AGENTS",
    "Agent",
    "Claude",
    "Codex",
    "Ended",
    "Given",
    "Place",
    "Unavailable",
    "codex_hooks",
    "make_place",
    "play",
]

SECONDS = 180
"""How long an agent may take at the most; only a hanging one takes so long."""
Given = Callable[[Results], Mapping[str, object]]
"""The arguments of a call, from what the tools answered so far."""


class Unavailable(Exception):
    """An agent that cannot be run here, and why."""


class Place(msgspec.Struct, frozen=True):
    """A scratch repository, a home, and the programs of the agents."""

    home: Path
    repository: Path
    programs: Path
    more: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        base = environment()
        path = f"{RALPH.parent}:{base['PATH']}"
        own = {
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "RALPH_SERVE_TOKEN": SERVE_TOKEN,
        }
        return {**base, "PATH": path, **own, **self.more}

    def ralph(self, *words: str) -> Any:
        """What a `ralph` command answers, as a person would call it."""
        return run(*words, "--json", cwd=self.repository, env=self.environment).data

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.repository, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


class Ended(msgspec.Struct, frozen=True):
    """How an agent's run ended, and what the model was told in it."""

    result: Result
    server: ModelServer
    before: int = 0

    @property
    def told(self) -> Results:
        """What the tools answered, one for each call of the script."""
        return self.server.results[self.before :]

    @property
    def asked(self) -> Sequence[Request]:
        """What the model was asked, one for each turn of the script."""
        return self.server.requests[self.before :]

    def __repr__(self) -> str:
        told = "\n".join(f"{number}: {text}" for number, text in enumerate(self.told))
        return f"exit {self.result.code}\n{told}\n{self.result.out[-4000:]}\n{self.result.err[-4000:]}"


class Agent(Protocol):
    """A coding agent: what its tools are called, and how it is started."""

    @property
    def name(self) -> str:
        """What `ralph init` calls it."""

    @property
    def prelude(self) -> Script:
        """What the model calls before a script begins."""

    def report(self, tool: str, given: Given) -> Call:
        """A call of one of our MCP tools."""

    def write(self, path: Path, content: str) -> Call:
        """A new file, with the agent's own tool for it."""

    def shell(self, command: str) -> Call: ...

    def register(self, place: Place, address: str) -> None:
        """Reach our MCP server over HTTP, in place of the one that `ralph init` registered."""

    def command(self, place: Place, url: str, prompt: str) -> tuple[list[str], Mapping[str, str]]:
        """The command line, and what it needs in its environment; settings of its own go into the home."""


def make_place(home: Path, repository: Path, programs: Path) -> Place:
    """A repository with one commit, and an empty home."""
    place = Place(home, repository, programs)
    home.mkdir()
    repository.mkdir()
    place.git("init", "-q", "-b", "main")
    place.git("config", "user.name", "Ada")
    place.git("config", "user.email", "ada@example.org")
    place.git("commit", "-q", "--allow-empty", "-m", "first")
    return place


def play(agent: Agent, place: Place, script: Script, prompt: str = "Do the ticket.") -> Ended:
    """Let an agent work until the script ends."""
    with ModelServer([*agent.prelude, *script]) as server:
        words, more = agent.command(place, server.url, prompt)
        env = {**place.environment, **more}
        done = subprocess.run(
            words, cwd=place.repository, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
    ended = Ended(Result(done.returncode, done.stdout.decode(), done.stderr.decode()), server, len(agent.prelude))
    assert not server.failures, (server.failures, ended)
    return ended


class Claude(msgspec.Struct, frozen=True):
    """Claude Code reads `.mcp.json` and `.claude/settings.json` of the repository by itself."""

    name: str = "claude"
    prelude: Script = ()
    server: str = "ralph"

    def report(self, tool: str, given: Given) -> Call:
        return Call(f"mcp__{self.server}__{tool}", given)

    def write(self, path: Path, content: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": content})

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run a command"})

    def register(self, place: Place, address: str) -> None:
        settings = {"mcpServers": {"ralph": {"type": "http", "url": address, "headers": AUTHORIZED}}}
        (place.repository / ".mcp.json").write_text(json.dumps(settings))

    def command(self, place: Place, url: str, prompt: str) -> tuple[list[str], Mapping[str, str]]:
        words = [str(place.programs / "claude"), "-p", prompt, "--output-format", "stream-json", "--verbose"]
        words += ["--dangerously-skip-permissions", "--max-turns", "40", "--model", "claude-sonnet-4-5"]
        more = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",  # else our tools are not in the request, and a model would search them first
            "IS_SANDBOX": "1",  # else it refuses to skip permissions for root
        }
        return words, more


class Codex(msgspec.Struct, frozen=True):
    """Codex reads `.codex/` of a trusted repository; its hooks run once somebody has trusted each of them.

    It does not wait for MCP servers before it asks the model for the first time. A call that asks for a server's
    resources does, so a script begins with one.
    """

    name: str = "codex"
    prelude: Script = (Call("list_mcp_resources", {"server": "ralph"}),)
    model: str = "gpt-5.5"  # a name that it knows, because only then it offers the tool apply_patch
    trust: tuple[str, ...] = ("--dangerously-bypass-hook-trust",)

    def report(self, tool: str, given: Given) -> Call:
        return Call(tool, given, namespace="mcp__ralph")

    def write(self, path: Path, content: str) -> Call:
        return Call("apply_patch", _patch(path, content))

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def register(self, place: Place, address: str) -> None:
        (place.repository / ".codex" / "config.toml").write_text(
            f'[mcp_servers.ralph]\nurl = "{address}"\nbearer_token_env_var = "RALPH_SERVE_TOKEN"\n'
        )

    def command(self, place: Place, url: str, prompt: str) -> tuple[list[str], Mapping[str, str]]:
        retries = "request_max_retries=0,stream_max_retries=0"
        provider = f'{{name="scripted",base_url="{url}/v1",wire_api="responses",env_key="SCRIPTED_KEY",{retries}}}'
        words = [str(place.programs / "codex"), "exec", "--json", "--dangerously-bypass-approvals-and-sandbox"]
        words += [*self.trust, "-m", self.model, "-c", 'model_provider="scripted"']
        words += ["-c", f"model_providers.scripted={provider}", prompt]
        return words, {"SCRIPTED_KEY": "scripted"}


class CodexCode(msgspec.Struct, frozen=True):
    """Codex with its current models: one tool runs JavaScript, and the others are called from there."""

    name: str = "codex"
    prelude: Script = (Call("exec", 'text(await tools.list_mcp_resources({server: "ralph"}));'),)

    def report(self, tool: str, given: Given) -> Call:
        return Call("exec", lambda results: _script(f"mcp__ralph__{tool}", given(results)))

    def write(self, path: Path, content: str) -> Call:
        return Call("exec", _script("apply_patch", _patch(path, content)))

    def shell(self, command: str) -> Call:
        return Call("exec", _script("exec_command", {"cmd": command}))

    def register(self, place: Place, address: str) -> None:
        Codex().register(place, address)

    def command(self, place: Place, url: str, prompt: str) -> tuple[list[str], Mapping[str, str]]:
        return Codex(model="gpt-6-sol").command(place, url, prompt)


def codex_hooks(place: Place) -> list[dict[str, Any]]:
    """The hooks that Codex found in the repository, as it tells its own user interface; it must trust the project."""
    process = subprocess.Popen(
        [place.programs / "codex", "app-server"],
        cwd=place.repository,
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    client = {"name": "tests", "title": "Tests", "version": "1"}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(place.repository)]}},
    ]
    stream = Stream(process)
    try:
        assert process.stdin is not None
        process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages).encode())
        process.stdin.flush()
        while (answer := json.loads(stream.line())).get("id") != 2:
            pass
    finally:
        process.kill()
        process.communicate(timeout=60)
    [found] = answer["result"]["data"]
    assert found["errors"] == found["warnings"] == [], found
    hooks: list[dict[str, Any]] = found["hooks"]
    return hooks


def _patch(path: Path, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def _script(tool: str, given: object) -> str:
    return f"text(await tools.{tool}({json.dumps(given)}));"


class OpenCode(msgspec.Struct, frozen=True):
    """OpenCode reads `opencode.json` and `.opencode/plugins` of the repository by itself."""

    name: str = "opencode"
    prelude: Script = ()

    def report(self, tool: str, given: Given) -> Call:
        return Call(f"ralph_{tool}", given)

    def write(self, path: Path, content: str) -> Call:
        return Call("write", {"filePath": str(path), "content": content})

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run a command"})

    def register(self, place: Place, address: str) -> None:
        settings = {"mcp": {"ralph": {"type": "remote", "url": address, "headers": AUTHORIZED}}}
        (place.repository / "opencode.json").write_text(json.dumps(settings))

    def command(self, place: Place, url: str, prompt: str) -> tuple[list[str], Mapping[str, str]]:
        program = place.programs.parent / "opencode-linux-x64-baseline" / "bin" / "opencode"
        if not program.exists():
            raise Unavailable("OpenCode is pinned for Linux on x86-64 alone")
        options = {"baseURL": f"{url}/v1", "apiKey": "scripted"}
        model = {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options}
        settings = {
            "provider": {"scripted": {**provider, "models": {"scripted": model}}},
            "small_model": "scripted/scripted",
            "permission": "allow",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
        }
        own = place.home / ".config" / "opencode" / "opencode.json"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(json.dumps(settings))
        more = {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "npm_config_offline": "true",  # else it installs a package for plugins, which ours does not need
        }
        return [str(program), "run", "--format", "json", "-m", "scripted/scripted", prompt], more


AGENTS: dict[str, Agent] = {
    "claude": Claude(),
    "codex": Codex(),
    "codex-in-code-mode": CodexCode(),
    "opencode": OpenCode(),
}
