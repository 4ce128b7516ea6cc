"""Who can reach the server: this machine, by these names of it; and others only with the token of this name."""

from __future__ import annotations

__all__ = ["LOOPBACK", "TOKEN"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "RALPH_SERVE_TOKEN"
