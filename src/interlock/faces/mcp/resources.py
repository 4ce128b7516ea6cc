"""What can be read over MCP: sessions, their journal, the machines and their diagrams."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from interlock.errors import NotFound
from interlock.faces.drawing.diagram import mermaid
from interlock.faces.drawing.svg import svg
from interlock.faces.mcp.session_tools import state_of
from interlock.journal import Journal
from interlock.machine import SHIPPED, Machine
from interlock.machine.describe import describe, summarise
from interlock.work.sessions.verbs import MACHINE, find_session
from interlock.work.tickets.dashboard import dashboard
from interlock.work.tickets.queries import Filters, listed
from interlock.work.views.ticket import ticket_view

__all__ = ["TEMPLATES", "Readable", "read", "readable"]

_MOST = 20
_MOST_TICKETS = 200
JSON = "application/json"
MERMAID = "text/vnd.mermaid"


class Readable(msgspec.Struct, frozen=True):
    """One thing, or one kind of thing, that can be read."""

    uri: str
    name: str
    description: str
    type: str


TEMPLATES = (
    Readable("ralph://sessions/{id}", "session", "A session as it stands, with its history", JSON),
    Readable("ralph://sessions/{id}/journal", "session journal", "Every entry of a session", "application/jsonl"),
    Readable("ralph://tickets/{number}", "ticket", "A ticket with everything on it", JSON),
    Readable("ralph://machines/{name}", "machine", "A machine: its states and every edge", JSON),
    Readable("ralph://machines/{name}/diagram", "diagram", "A machine drawn in Mermaid", MERMAID),
    Readable("ralph://machines/{name}/diagram.svg", "picture", "A machine drawn as SVG", "image/svg+xml"),
)


def readable(journal: Journal) -> list[Readable]:
    """What there is to read now: the machines, and the newest sessions."""
    fixed = [
        Readable("ralph://sessions", "sessions", "The newest sessions", JSON),
        Readable("ralph://tickets", "tickets", "The open tickets, a line each", JSON),
        Readable("ralph://board", "board", "The pipeline at a glance", JSON),
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
    kinds = {"machines": _machine, "sessions": _session, "tickets": _ticket, "board": _board}
    if words is not None and words[1] in kinds:
        found = kinds[words[1]](journal, find, words[2], words[3])
        if found is not None:
            return found
    known = ", ".join(one.uri for one in TEMPLATES)
    raise NotFound("unknown_resource", f"There is nothing to read at {uri[:200]}.", f"There is: {known}.")


Found = tuple[str, str] | None


def _machine(journal: Journal, find: Callable[[str], Machine], name: str | None, part: str | None) -> Found:
    if name is None and part is None:
        return JSON, _json([summarise(find(one)) for one in SHIPPED])
    forms: dict[str | None, tuple[str, Callable[[Machine], str]]] = {
        None: (JSON, lambda machine: _json(describe(machine))),
        "diagram": (MERMAID, mermaid),
        "diagram.svg": ("image/svg+xml", svg),
    }
    if name is None or name not in SHIPPED or part not in forms:
        return None
    kind, drawn = forms[part]
    return kind, drawn(find(name))


def _session(journal: Journal, find: Callable[[str], Machine], reference: str | None, part: str | None) -> Found:
    if reference is None:
        return None if part is not None else (JSON, _recent(journal))
    if part is None:
        return JSON, _json(state_of(journal, find_session(journal, reference)))
    if part != "journal":
        return None
    session = find_session(journal, reference)
    return "application/jsonl", "\n".join(_json(entry) for entry in journal.history(session.id)) + "\n"


def _recent(journal: Journal) -> str:
    return _json([state_of(journal, one) for one in journal.recent(MACHINE, _MOST)])


def _ticket(journal: Journal, find: Callable[[str], Machine], number: str | None, part: str | None) -> Found:
    if part is not None:
        return None
    return JSON, _json(listed(journal, Filters(most=_MOST_TICKETS)) if number is None else ticket_view(journal, number))


def _board(journal: Journal, find: Callable[[str], Machine], name: str | None, part: str | None) -> Found:
    return (JSON, _json(dashboard(journal, find("ticket")))) if name is None and part is None else None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
