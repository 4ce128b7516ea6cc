"""The login files of agents: what of them an agent in a sandbox gets, and when their tokens expire.

With a refresh token, whoever has it gets new tokens for a long time, and most providers accept each only once. So it
stays outside, and the agent's own program refreshes the login there (`logins`).
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

__all__ = ["CLAUDE", "CODEX", "ENVIRONMENT", "GEMINI", "OPENCODE", "OPENCODE_MCP", "QWEN", "LoginFile"]

_WITHHELD: Final = "withheld"
_MALFORMED: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)


class LoginFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with a login, in one of the agent's directories."""

    name: str
    withheld: str = ""
    """The key of refresh tokens, at any depth; without one, the agent gets the file as it is."""
    instead: str | None = None
    """The text in their place; None if the agent takes a file without the key."""
    refreshing: tuple[str, ...] = ()
    """A command of the agent that refreshes a login that expires in less than five minutes, and asks no model."""
    expiry: Callable[[Any], float | None] | None = None
    """Gives the time at which an access token expires that can be refreshed."""

    def shown(self, content: bytes) -> bytes | None:
        """Return what the agent gets; None if it is not known where the refresh tokens are."""
        if not self.withheld:
            return content
        with suppress(*_MALFORMED):
            found = json.loads(content)
            if isinstance(found, dict):
                return json.dumps(self._without_secrets(found), indent=2).encode()
        return None

    def _without_secrets(self, value: object) -> object:
        if isinstance(value, list):
            return [self._without_secrets(one) for one in value]
        if not isinstance(value, dict):
            return value
        kept = {name: self._without_secrets(one) for name, one in value.items()}
        secret = value.get(self.withheld)
        if not isinstance(secret, str) or not secret or list(value.values()).count(secret) > 1:
            return kept  # OpenCode keeps some access tokens under both names
        del kept[self.withheld]
        return kept if self.instead is None else {**kept, self.withheld: self.instead}

    def expires(self, content: bytes) -> float | None:
        """Return the time at which the access token expires, if the file says it and it can be refreshed."""
        with suppress(*_MALFORMED):
            return self.expiry(json.loads(content)) if self.expiry is not None else None
        return None


def _of_claude(content: Any) -> float | None:
    login = content["claudeAiOauth"]
    return float(login["expiresAt"]) / 1000 if login["refreshToken"] else None


def _of_codex(content: Any) -> float | None:
    tokens = content["tokens"]
    claims = tokens["access_token"].split(".")[1]
    return float(json.loads(urlsafe_b64decode(claims + "=="))["exp"]) if tokens["refresh_token"] else None


CLAUDE: Final = LoginFile(
    name=".credentials.json",
    withheld="refreshToken",  # an empty one counts as logged out
    refreshing=("claude", "auth", "status"),
    expiry=_of_claude,
)
CODEX: Final = LoginFile(
    name="auth.json",
    withheld="refresh_token",
    instead=_WITHHELD,
    refreshing=("codex", "mcp", "list"),
    expiry=_of_codex,
)
OPENCODE: Final = LoginFile(name="opencode/auth.json", withheld="refresh", instead=_WITHHELD)
OPENCODE_MCP: Final = LoginFile(name="opencode/mcp-auth.json", withheld="refreshToken")
GEMINI: Final = LoginFile(name="oauth_creds.json")
"""With its refresh token, which Google does not replace when it is used."""
QWEN: Final = LoginFile(name="oauth_creds.json", withheld="refresh_token", instead=_WITHHELD)
ENVIRONMENT: Final = LoginFile(name=".env")
