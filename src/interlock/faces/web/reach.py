"""The names of this machine that reach the server, and the name of the token that every request needs."""

from __future__ import annotations

__all__ = ["LOOPBACK", "TOKEN"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "RALPH_SERVE_TOKEN"
