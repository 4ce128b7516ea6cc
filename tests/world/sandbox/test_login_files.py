"""What of the files with logins an agent gets, and when their tokens expire."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from interlock.world.sandbox import login_files
from interlock.world.sandbox.homes import HOMES
from interlock.world.sandbox.login_files import LoginFile


def _token(claims: object) -> str:
    return f"e30.{urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2ln"


_CODEX = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "last_refresh": "2026-01-01T00:00:00Z"}
SHOWN: dict[str, tuple[LoginFile, Any, Any]] = {
    "Claude Code, also for servers of MCP": (
        login_files.CLAUDE,
        {
            "claudeAiOauth": {"accessToken": "a", "refreshToken": "r", "expiresAt": 1, "scopes": ["s"]},
            "mcpOAuth": {"one": {"accessToken": "b", "refreshToken": "q"}},
        },
        {
            "claudeAiOauth": {"accessToken": "a", "expiresAt": 1, "scopes": ["s"]},
            "mcpOAuth": {"one": {"accessToken": "b"}},
        },
    ),
    "Claude Code, logged out": (
        login_files.CLAUDE,
        {"claudeAiOauth": {"accessToken": "", "refreshToken": "", "expiresAt": 0}},
        {"claudeAiOauth": {"accessToken": "", "refreshToken": "", "expiresAt": 0}},
    ),
    "Codex": (
        login_files.CODEX,
        {**_CODEX, "tokens": {"id_token": "i", "access_token": "a", "refresh_token": "r", "account_id": "c"}},
        {**_CODEX, "tokens": {"id_token": "i", "access_token": "a", "refresh_token": "withheld", "account_id": "c"}},
    ),
    "OpenCode, also a token that is both": (
        login_files.OPENCODE,
        {
            "openai": {"type": "oauth", "refresh": "r", "access": "a", "expires": 1},
            "github-copilot": {"type": "oauth", "refresh": "same", "access": "same", "expires": 0},
            "anthropic": {"type": "api", "key": "k"},
        },
        {
            "openai": {"type": "oauth", "refresh": "withheld", "access": "a", "expires": 1},
            "github-copilot": {"type": "oauth", "refresh": "same", "access": "same", "expires": 0},
            "anthropic": {"type": "api", "key": "k"},
        },
    ),
    "OpenCode's servers of MCP": (
        login_files.OPENCODE_MCP,
        {"one": {"tokens": {"accessToken": "a", "refreshToken": "r"}, "serverUrl": "u"}},
        {"one": {"tokens": {"accessToken": "a"}, "serverUrl": "u"}},
    ),
    "Gemini": (
        login_files.GEMINI,
        {"access_token": "a", "refresh_token": "r", "expiry_date": 1},
        {"access_token": "a", "refresh_token": "r", "expiry_date": 1},
    ),
    "Qwen": (
        login_files.QWEN,
        {"access_token": "a", "refresh_token": "r", "expiry_date": 1},
        {"access_token": "a", "refresh_token": "withheld", "expiry_date": 1},
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_agent_gets_its_login_without_the_tokens_that_refresh_it(name: str) -> None:
    file, content, shown = SHOWN[name]
    given = file.shown(json.dumps(content).encode())
    assert given is not None
    assert json.loads(given) == shown


@pytest.mark.parametrize("content", [b"", b"login", b"[]", b'"refreshToken"', b"{", b"\xff"])
def test_a_file_that_is_not_understood_is_not_given(content: bytes) -> None:
    assert login_files.CLAUDE.shown(content) is None


def test_a_file_without_tokens_of_that_kind_is_given_as_it_is() -> None:
    assert login_files.ENVIRONMENT.shown(b"GEMINI_API_KEY=x\n") == b"GEMINI_API_KEY=x\n"


def test_the_end_of_a_token_is_known_only_where_it_can_be_refreshed() -> None:
    claude = {"accessToken": "a", "refreshToken": "r", "expiresAt": 5000}
    codex = {"access_token": _token({"exp": 7}), "refresh_token": "r"}
    assert login_files.CLAUDE.expires(json.dumps({"claudeAiOauth": claude}).encode()) == 5
    assert login_files.CODEX.expires(json.dumps({"tokens": codex}).encode()) == 7
    for one in (claude, codex):
        one[next(key for key in one if key.lower().startswith("refresh"))] = ""
    assert login_files.CLAUDE.expires(json.dumps({"claudeAiOauth": claude}).encode()) is None
    assert login_files.CODEX.expires(json.dumps({"tokens": codex}).encode()) is None


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "null", '{"tokens": null}', '{"tokens": {"access_token": "a"}}', '{"claudeAiOauth": {}}']
    + [
        json.dumps({"tokens": {"access_token": f"e30.{claims}.c", "refresh_token": "r"}}) for claims in ("", "ä", "e30")
    ],
)
def test_a_file_of_another_form_has_no_end(content: str) -> None:
    assert login_files.CLAUDE.expires(content.encode()) is None
    assert login_files.CODEX.expires(content.encode()) is None


def test_every_login_is_refreshed_outside_by_the_program_of_its_agent() -> None:
    for name, home in HOMES.items():
        for file in (file for directory in home.directories for file in directory.logins):
            assert file.refreshing[:1] in ((), (name,))
            assert bool(file.refreshing) == (file.expiry is not None)
