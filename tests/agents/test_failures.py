"""Real Claude Code, Codex and OpenCode whose provider refuses them: each kind of failure is told from the others."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agents.drivers import AGENTS, Agent, Place, Unavailable
from agents.test_running import flags
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.catalogue import find_agent
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import run

pytestmark = pytest.mark.agents

ANTHROPIC = {
    "login": (401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
    "credit": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API.",
            },
        },
    ),
    "model": (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-none"}}),
}
OPENAI = {
    "login": (401, {"error": {"message": "Incorrect API key provided: sk-none.", "code": "invalid_api_key"}}),
    "credit": (
        429,
        {
            "error": {
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "type": "insufficient_quota",
                "code": "insufficient_quota",
            }
        },
    ),
    "model": (404, {"error": {"message": "The model `gpt-none` does not exist", "code": "model_not_found"}}),
}


@contextmanager
def _refusing(status: int, body: dict[str, Any]) -> Iterator[str]:
    """A provider on loopback that answers every question in one way; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _run(driver: Agent, place: Place, url: str, log: Path) -> Result:
    try:
        words, more = driver.command(place, url, "")
    except Unavailable as reason:
        pytest.skip(f"not run: {reason}")
    environment = {**place.environment, **more, "CLAUDE_CODE_MAX_RETRIES": "1"}
    time_outs = TimeOuts(wall=150)
    marker = f"refused-{driver.name}-{os.getpid()}"
    arguments = flags(driver.name, words)
    assignment = Assignment("Do it.", place.repository, log, environment, time_outs, arguments=arguments, marker=marker)
    return run(find_agent(driver.name, {"program": words[0]}), assignment, lambda told: None, threading.Event())


@pytest.mark.parametrize("kind", ["login", "credit", "model"])
@pytest.mark.parametrize("name", ["claude", "codex", "opencode"])
def test_what_a_person_must_fix_is_told_by_its_kind(
    name: str, kind: str, set_up: Callable[[Agent], Place], tmp_path: Path
) -> None:
    driver = AGENTS[name]
    place = set_up(driver)
    status, body = (ANTHROPIC if name == "claude" else OPENAI)[kind]
    with _refusing(status, body) as url:
        result = _run(driver, place, url, tmp_path / "log")
    assert result.failure is not None, result
    assert (result.ending, str(result.failure.kind)) == (Ending.NEEDS_PERSON, kind), result
