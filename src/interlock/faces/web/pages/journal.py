"""The journal: what happened, filtered and page by page, followed at its newest end; and one entry in its chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from interlock.errors import NotFound
from interlock.faces.web.lines import HOMES, line_of
from interlock.faces.web.page import EVERYTHING, PageKind, PageRequest, Sight
from interlock.journal import Entry, SearchPage, Sought
from interlock.machine import INTERNAL, SHIPPED, Machine

__all__ = ["PAGES", "number_in"]

_MOST: Final = 50
_LONGEST: Final = 200
_ID_LENGTH: Final = 26
_HIGHEST: Final = 2**62
_FIELDS: Final = ("machine", "instance", "event", "actor", "text")


class _Ways(msgspec.Struct, frozen=True):
    """Where the page leads: each an address, or None where there is nothing there."""

    newest: str
    older: str | None
    newer: str | None
    held: str
    """The same page, which then stays as it is."""


def _current_machine(sight: Sight, name: str) -> Machine | None:
    """The machine in force of a name that an instance has; its states may look otherwise than they did."""
    return sight.machines(name) if name in SHIPPED + INTERNAL else None


def number_in(asked: PageRequest, name: str) -> int | None:
    """A number that the address gives; None where it gives none that could be one."""
    given = asked.query.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None


def _look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    filled = {name: asked.query.get(name, "").replace("\0", "").strip()[:_LONGEST] for name in _FIELDS}
    before, after = number_in(asked, "before"), number_in(asked, "after")
    sought = Sought(**{**filled, "instance": _whole(sight, filled["instance"])})
    found = sight.journal.search(sought, before=before, after=after, most=_MOST)
    machines = {name: _current_machine(sight, name) for name in {machine for machine, _ in found.entries}}
    return {
        "filled": filled,
        "is_filtered": not sought.is_anything,
        "is_newest": before is None and after is None,
        "lines": [line_of(entry, machine, machines[machine]) for machine, entry in found.entries],
        "ways": _ways(filled, found),
        "machines": (*SHIPPED, *INTERNAL),
        "events": sorted({event for name in SHIPPED for event in sight.machines(name).actors} | {"created", "noted"}),
        "homes": HOMES,
    }


def _whole(sight: Sight, reference: str) -> str:
    """The id that some end of one stands for."""
    return sight.journal.instance(reference.removeprefix("…").lower()).id if reference else ""


def _ways(filled: Mapping[str, str], found: SearchPage) -> _Ways:
    kept = {name: value for name, value in filled.items() if value}
    newest = found.entries[0][1].seq if found.entries else 0
    return _Ways(
        newest=_address(kept),
        older=None if found.older is None else _address({**kept, "before": found.older}),
        newer=None if found.newer is None else _address({**kept, "after": found.newer}),
        held=_address({**kept, "before": newest + 1}),
    )


def _address(query: Mapping[str, object]) -> str:
    return f"/journal?{urlencode(query)}" if query else "/journal"


def _topics(asked: PageRequest) -> frozenset[str]:
    """What an entry must be of to change the page: an end of an id could be any instance's."""
    instance, machine = asked.query.get("instance", "").strip(), asked.query.get("machine", "").strip()
    if len(instance) == _ID_LENGTH:
        return frozenset({instance})
    return frozenset({machine}) if machine and not instance else EVERYTHING


# One entry


def _look_at_one(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    seq = int(asked.names["seq"])
    found = sight.journal.entry(seq) if 0 < seq < _HIGHEST else None
    if found is None:
        message = f"There is no entry {str(asked.names['seq'])[:30]} in this journal."
        raise NotFound("unknown_resource", message, "The journal's page leads to those that there are.")
    machine, entry = found
    earlier, later = sight.journal.entry(seq - 1), sight.journal.entry(seq + 1)
    return {
        "line": line_of(entry, machine, _current_machine(sight, machine)),
        "is_whole": entry.computed_hash() == entry.hash,
        "earlier": _neighbour(sight, earlier),
        "follows": earlier is None or earlier[1].hash == entry.previous,
        "later": _neighbour(sight, later),
        "is_followed": later is None or later[1].previous == entry.hash,
        "homes": HOMES,
    }


def _neighbour(sight: Sight, found: tuple[str, Entry] | None) -> object:
    return None if found is None else line_of(found[1], found[0], _current_machine(sight, found[0]))


PAGES = (
    PageKind("/journal", "journal.html", _look, _topics, heading="Journal", key="j"),
    PageKind("/journal/{seq:int}", "entry.html", _look_at_one),
)
