"""How people and programs reach Interlock over HTTP: the dashboard, MCP at /mcp, /events and /metrics.

app         what is served where; `guards` says who may ask, `browsers` whose browser it is
pages       the pages, by concept; `page` says what one is, `rendering` makes them, `templates` say how they look
hub         one reader of the journal for all who look, so that the pages live
forms       what browsers send; `moves` calls the verbs, `drivers` starts what goes on by itself
acting      only for the person who started it at a terminal; `presence` and `codes` prove that at each gate
trial       a machine of one's own, checked by the program `trying` in a process of its own
lines, lists, looks, patches, plots, portraits
            entries, instances, states, diffs, numbers and machines as plain values that templates print
patience    who says nothing for long is let go
"""

from __future__ import annotations

__all__ = ["LOOPBACK", "TOKEN"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine that reach the server."""
TOKEN = "RALPH_SERVE_TOKEN"
"""The environment variable with the token that every request needs."""
