"""How our server and our hook are written down for each agent: in the files of a repository, and for one run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = [
    "CLAUDE_EVENTS",
    "CODEX_EVENTS",
    "PASSED_ON",
    "SERVER",
    "claude_hook",
    "codex_hook",
    "local_server",
    "opencode_plugin",
    "opencode_server",
    "toml",
]

SERVER: Final = "ralph"
"""What our MCP server is called, everywhere."""
PASSED_ON: Final = (
    "RALPH_DATABASE_URL",
    "RALPH_JOURNAL",
    "RALPH_ROOT",
    "RALPH_SESSION_ID",
    "RALPH_SOCKET",
    "RALPH_STATE_MACHINE_CONFIG",
    "XDG_STATE_HOME",
)
"""The names that our server needs from the environment, for agents that hand on none that is not named."""

CLAUDE_EVENTS: Final[Mapping[str, int]] = {
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "SessionStart": 10,
    "Stop": 10,
    "SessionEnd": 10,
    "UserPromptSubmit": 10,
}
"""The events whose hook is ours, and how many seconds it may take."""
# Codex has no event for a tool that failed, and warns about more than 3 seconds at a session's end.
CODEX_EVENTS: Final[Mapping[str, int]] = {
    event: 3 if event == "SessionEnd" else seconds
    for event, seconds in CLAUDE_EVENTS.items()
    if event != "PostToolUseFailure"
}
_HOOK_LINE = 'const HOOK = "ralph-hook"\n'


def local_server(command: tuple[str, ...]) -> dict[str, Any]:
    """A server that the agent starts, as Claude Code, Gemini CLI and Qwen Code have it."""
    return {"command": command[0], "args": list(command[1:])}


def opencode_server(command: tuple[str, ...]) -> dict[str, Any]:
    """A server that OpenCode starts."""
    return {"type": "local", "command": list(command)}


def claude_hook(program: str, event: str) -> dict[str, Any]:
    """Our hook for an event of Claude Code, which runs it without a shell."""
    return {"type": "command", "command": program, "args": [_word(event)], "timeout": CLAUDE_EVENTS[event]}


def codex_hook(program: str, event: str) -> dict[str, Any]:
    """Our hook for an event of Codex, which knows no form without a shell."""
    return {"type": "command", "command": shlex.join([program, _word(event)]), "timeout": CODEX_EVENTS[event]}


def _word(event: str) -> str:
    """An event as `ralph-hook` calls it."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("-")


def opencode_plugin(program: str) -> str:
    """The plugin by which OpenCode calls our hook."""
    text = _plugin()
    assert _HOOK_LINE in text
    return text.replace(_HOOK_LINE, f"const HOOK = {json.dumps(program)}\n", 1)


@cache
def _plugin() -> str:
    return Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")


def toml(value: object) -> str:
    """A value in one line of TOML: texts, numbers, lists and tables."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)
