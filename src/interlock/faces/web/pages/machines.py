"""The machines: drawn with what is in their states now, told in tables, and what the checker says of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.errors import NotFound
from interlock.faces.drawing.svg import svg
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.portraits import portrait_of, report_of
from interlock.faces.web.rendering import drawn
from interlock.faces.web.trial import MOST_BYTES
from interlock.machine import INTERNAL, SHIPPED, Machine
from interlock.world.machines import checked, is_warning

__all__ = ["PAGES", "TRIAL", "without_trial"]


@lru_cache(maxsize=32)
def _told(machine: Machine) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """A machine's tables and what the checker found, which is the same for as long as the machine is."""
    report = checked(machine, os.environ)
    softer = {one.code for one in report.findings if is_warning(machine.name, one.code, os.environ)}
    return portrait_of(machine), report_of(report, softer)


def _look_at_all(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    counts = sight.journal.counts_by_state()
    machines = []
    for name in SHIPPED:
        portrait, report = _told(sight.machines(name))
        there = counts.get(name, {})
        by_state = [(state, there[state["name"]]) for state in portrait["states"] if there.get(state["name"])]
        machines.append({**portrait, "report": report, "by_state": by_state, "open": sum(there.values())})
    return {"machines": machines, **without_trial()}


def _look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    name = asked.names["name"]
    if name not in SHIPPED + INTERNAL:  # and nothing that is a path
        raise NotFound("unknown_machine", f"There is no machine {name[:80]!r}.", f"There are {', '.join(SHIPPED)}.")
    machine = sight.machines(name)
    portrait, report = _told(machine)
    counts = sight.journal.counts_by_state().get(name, {})
    known = {state["name"] for state in portrait["states"]}
    return {
        "machine": portrait,
        "report": report,
        "counts": counts,
        "elsewhere": {state: number for state, number in counts.items() if state not in known},
        "drawing": drawn(svg(machine, is_styled=False, counts=counts)),
    }


def _topics(asked: PageRequest) -> frozenset[str]:
    return frozenset({asked.names["name"]})


# One's own


def without_trial() -> dict[str, Any]:
    """What the form is given before anything was dropped in."""
    return {"text": "", "error": None, "machine": None, "report": None, "drawing": "", "most": MOST_BYTES // 1024}


def _look_at_form(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    return without_trial()


TRIAL = PageKind("/machines/check", "machine_check.html", _look_at_form)
PAGES = (
    PageKind("/machines", "machines.html", _look_at_all, heading="Machines", key="m"),
    TRIAL,
    PageKind("/machine/{name}", "machine.html", _look, _topics),
)
