"""What can be read over MCP: sessions, their journal, the machines and their diagrams."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from interlock.errors import NotFound
from interlock.faces.mcp.tools import state_of
from interlock.journal import Journal
from interlock.machine import SHIPPED, Machine
from interlock.machine.describe import describe, summarise
from interlock.machine.diagram import mermaid
from interlock.machine.svg import svg
from interlock.work.sessions.verbs import MACHINE, find_session

__all__ = ["TEMPLATES", "Readable", "read", "readable"]

_MOST = 20
JSON = "application/json"
MERMAID = "text/vnd.mermaid"


@dataclass(frozen=True, slots=True)
class Readable:
    """One thing, or one kind of thing, that can be read."""

    uri: str
    name: str
    description: str
    type: str


TEMPLATES = (
    Readable("ralph://sessions/{id}", "session", "A session as it stands, with its history", JSON),
    Readable("ralph://sessions/{id}/journal", "session journal", "Every entry of a session", "application/jsonl"),
    Readable("ralph://machines/{name}", "machine", "A machine: its states and every edge", JSON),
    Readable("ralph://machines/{name}/diagram", "diagram", "A machine drawn in Mermaid", MERMAID),
    Readable("ralph://machines/{name}/diagram.svg", "picture", "A machine drawn as SVG", "image/svg+xml"),
)


def readable(journal: Journal) -> list[Readable]:
    """What there is to read now: the machines, and the newest sessions."""
    fixed = [
        Readable("ralph://sessions", "sessions", "The newest sessions", JSON),
        Readable("ralph://machines", "machines", "The machines, a line each", JSON),
    ]
    for name in SHIPPED:
        fixed += [
            Readable(f"ralph://machines/{name}", name, f"The machine {name}", JSON),
            Readable(f"ralph://machines/{name}/diagram", f"{name} diagram", f"{name} in Mermaid", MERMAID),
        ]
    sessions = [
        Readable(f"ralph://sessions/{one.id}", f"session {one.id[-6:]}", f"In {one.state}", JSON)
        for one in journal.recent(MACHINE, _MOST)
    ]
    return fixed + sessions


def read(uri: str, journal: Journal, find: Callable[[str], Machine]) -> tuple[str, str]:
    """What a URI leads to: its type and its text."""
    words = re.fullmatch(r"ralph://([a-z]+)(?:/([A-Za-z0-9_-]{1,64}))?(?:/([a-z.]+))?", uri)
    match words.groups() if words else None:
        case ("machines", None, None):
            return JSON, _json([summarise(find(name)) for name in SHIPPED])
        case ("machines", str(name), None) if name in SHIPPED:
            return JSON, _json(describe(find(name)))
        case ("machines", str(name), "diagram") if name in SHIPPED:
            return MERMAID, mermaid(find(name))
        case ("machines", str(name), "diagram.svg") if name in SHIPPED:
            return "image/svg+xml", svg(find(name))
        case ("sessions", None, None):
            return JSON, _json([state_of(journal, one) for one in journal.recent(MACHINE, _MOST)])
        case ("sessions", str(reference), None):
            return JSON, _json(state_of(journal, find_session(journal, reference)))
        case ("sessions", str(reference), "journal"):
            session = find_session(journal, reference)
            lines = [_json(entry) for entry in journal.history(session.id)]
            return "application/jsonl", "\n".join(lines) + "\n"
    known = ", ".join(one.uri for one in TEMPLATES)
    raise NotFound("unknown_resource", f"There is nothing to read at {uri[:200]}.", f"There is: {known}.")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
