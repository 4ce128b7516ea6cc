"""The MCP project's inspector, on its command line: it lists our tools and calls them, over stdio and over HTTP."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faces.programs import RALPH, run
from interlock.faces.mcp.server import TOOLS

pytestmark = pytest.mark.node

REFUSED = 5
"""How the inspector exits when a tool answers that it refuses."""


class Answer(msgspec.Struct, frozen=True):
    """What the inspector printed, and how it ended."""

    code: int
    data: Any
    err: str


Ask = Callable[..., Answer]


@pytest.fixture(params=["stdio", "http"])
def ask(request: pytest.FixtureRequest, programs: Path, repository: Path, surroundings: dict[str, str]) -> Ask:
    """Asks our server one thing, over each transport."""
    over_http = request.param == "http"
    server = ["--transport", "http", request.getfixturevalue("served")] if over_http else []

    def ask(method: str, *words: str) -> Answer:
        after = [] if over_http else ["--", str(RALPH), "mcp"]
        done = subprocess.run(
            [programs / "mcp-inspector", "--cli", *server, "--method", method, *words, *after],
            cwd=repository,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Answer(done.returncode, json.loads(done.stdout or "null"), done.stderr)

    return ask


def _call(ask: Ask, tool: str, **given: str) -> Answer:
    return ask("tools/call", "--tool-name", tool, "--tool-arg", *(f"{name}={value}" for name, value in given.items()))


def test_the_inspector_lists_our_tools_and_finds_their_schemas_portable(ask: Ask) -> None:
    listed = ask("tools/list", "--strict")
    assert listed.code == 0, listed
    assert [tool["name"] for tool in listed.data["tools"]] == [tool.name for tool in TOOLS]
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert all(hints <= tool["annotations"].keys() and tool["outputSchema"] for tool in listed.data["tools"])


def test_the_inspector_begins_a_session(ask: Ask) -> None:
    begun = _call(ask, "create_ralph_session", ticketId="42")
    assert begun.code == 0, begun
    assert begun.data["structuredContent"]["state"] == "idle"
    assert json.loads(begun.data["content"][0]["text"]) == begun.data["structuredContent"]


def test_the_inspector_takes_a_session_to_its_end(ask: Ask, repository: Path, surroundings: dict[str, str]) -> None:
    made = run("session", "create", "--ticket", "42", "--json", cwd=repository, env=surroundings).data["session_id"]
    moved = _call(ask, "update_session_state", sessionId=made, state="analyzing")
    assert moved.code == 0, moved
    assert moved.data["structuredContent"]["newState"] == "analyzing"
    seen = _call(ask, "get_session_state", sessionId=made)
    assert seen.code == 0, seen
    ended = _call(ask, "complete_ralph_session", sessionId=made, outcome="failure", errorMessage="only looked")
    assert ended.code == 0, ended
    shown = run("session", "show", made, "--json", cwd=repository, env=surroundings).data
    assert [stay["state"] for stay in shown["state_history"]] == ["idle", "analyzing", "failed"]


def test_a_refusal_reaches_the_inspector_with_its_code(ask: Ask) -> None:
    refused = _call(ask, "update_session_state", sessionId="none", state="analyzing")
    assert refused.code == REFUSED, refused
    assert refused.data["isError"] is True
    assert "[unknown_session]" in refused.data["content"][0]["text"]


def test_the_inspector_finds_our_resources_and_our_prompts(ask: Ask) -> None:
    templates = ask("resources/templates/list").data["resourceTemplates"]
    assert "ralph://sessions/{id}" in [template["uriTemplate"] for template in templates]
    names = [prompt["name"] for prompt in ask("prompts/list").data["prompts"]]
    assert names[:2] == ["progress_reporting", "ralph-triage"]
    got = ask("prompts/get", "--prompt-name", "progress_reporting")
    assert "update_session_state" in json.dumps(got.data)
    got = ask("prompts/get", "--prompt-name", "ralph-plan", "--prompt-args", "number=19")
    assert '\\"number\\": 19' in json.dumps(got.data)
