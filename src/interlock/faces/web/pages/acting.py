"""The pages at which a person shows that they are one: the login, and what a gate is about, with its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import escape

from interlock.errors import Refusal
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.presence import about
from interlock.work.gates.display import framed
from interlock.work.gates.statement import digest_of
from interlock.work.threads.reading import find_thread, read_thread

__all__ = ["PAGES"]


def _login(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    return {}


def _gate(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    """Exactly what the terminal shows, and what the code is bound to."""
    id_, event = find_thread(sight.journal, asked.names["id"]).id, asked.names["event"]
    gate = sight.gate(id_, event)
    if gate is None:
        raise Refusal("not_allowed", f"{event[:80]} needs no code here.", f"/thread/{id_} has what can be done.")
    return {
        "thread": read_thread(sight.journal, id_),
        "gate": gate,
        "lines": escape(framed(gate.shown).strip("\n")),  # safe as it is, and shown whole, however long
        "digest": digest_of(gate.shown),
        "about": about(gate.word, gate.question, gate.shown),
    }


PAGES = (
    PageKind("/login", "login.html", _login, topics=lambda asked: frozenset({"login"})),
    PageKind("/thread/{id}/gate/{event}", "gate.html", _gate, topics=lambda asked: frozenset({"login"})),
)
