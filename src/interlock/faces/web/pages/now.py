"""Now: what waits for a person first, then who is at work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.faces.web.page import Asked, Page, Sight

__all__ = ["PAGES"]

_MACHINES = ("ticket", "thread", "story", "orchestrator", "session")


def _look(sight: Sight, asked: Asked) -> Mapping[str, Any]:
    waiting: list[dict[str, str | None]] = []
    at_work: list[dict[str, str | None]] = []
    for name in _MACHINES:
        machine = sight.machines(name)
        for one in sight.journal.open_instances(name)[:200]:
            state = machine.form.states[one.state]
            row = {"machine": name, "id": one.id, "state": one.state, "icon": state.icon, "color": state.color}
            (waiting if state.human else at_work).append({**row, "since": one.updated})
    return {"waiting": waiting, "at_work": at_work}


PAGES = (Page("/", "now.html", _look, heading="Now", key="n"),)
