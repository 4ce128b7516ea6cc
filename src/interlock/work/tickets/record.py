"""What is written on a ticket, besides where it stands: what its entries add up to."""

# Annotations are not postponed here: msgspec would compile each of them when the type is first decoded.

from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.work.tickets.numbers import number_of

__all__ = ["COMMENTED", "EDITED", "PROJECTED", "TicketDocument", "TicketRecord", "Tracked", "folded"]

EDITED = "edited"
"""The type of a note that changes what is written: `set`, `add` and `remove`, each by field."""
COMMENTED = "commented"
PROJECTED = "projected"
"""The type of a note that says how the ticket stands on the tracker's board."""


class TicketDocument(msgspec.Struct, frozen=True):
    """A document that was made for a ticket, and where it lies."""

    kind: str
    path: str


class Tracked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ticket on a tracker's board, as it was last seen there."""

    item: str
    issue: str
    number: int
    url: str
    upto: int = 0
    """The last entry of the ticket that the board shows."""
    state: str | None = None
    is_open: bool = True
    fields: dict[str, Any] = {}
    """The plain fields as they were there."""
    outside: str | None = None
    """The state that somebody set there and that is not ours; it waits for a person."""
    verdict: str | None = None
    """Why it waits."""
    stale: bool = False
    """Whether a person said that the board is to be put right."""


class TicketRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is written on a ticket."""

    number: int = 0
    title: str = ""
    body: str = ""
    estimate: str | None = None
    priority: str | None = None
    labels: list[str] = []
    assignees: list[str] = []
    parent: str | None = None
    """The instance of the ticket that this one is a part of."""
    blocked_by: list[str] = []
    """The instances of the tickets that must end before this one is taken up."""
    artifacts: list[TicketDocument] = []
    commits: list[str] = []
    pull_requests: list[str] = []
    stub: bool = False
    since: str = ""
    """When it came to the state that it is in."""
    held_by: str | None = None
    """Who claimed it last."""
    shown: int = 0
    """The last entry that a tracker has to show."""
    tracked: Tracked | None = None


_FIELDS = frozenset(TicketRecord.__struct_fields__) - {"number", "stub", "since", "held_by", "shown", "tracked"}


def folded(card: TicketRecord, entry: Entry) -> TicketRecord:
    """The card after one more entry of its ticket."""
    evidence = entry.decoded_evidence()
    data = evidence.data
    if entry.version == 1:
        written = {name: value for name, value in data.items() if name in _FIELDS}
        number = number_of(evidence.names) or int(data.get("number", 0))
        made = convert(written, TicketRecord)
        return replace(made, number=number, stub=bool(data.get("stub")), since=entry.time, shown=entry.seq)
    if entry.event == "noted":
        return _noted(card, entry, data)
    if entry.from_state != entry.to_state:
        card = replace(card, since=entry.time)
    held_by = entry.actor_id if evidence.holder else card.held_by
    return replace(card, held_by=held_by, shown=entry.seq)


def _noted(card: TicketRecord, entry: Entry, data: dict[str, Any]) -> TicketRecord:
    match data.get("type"):
        case "projected":
            return replace(card, tracked=convert(data["tracked"], Tracked))
        case "edited":
            return replace(_edited(card, data), stub=False, shown=entry.seq)
        case "commented":
            return replace(card, shown=entry.seq)
    return card


def _edited(card: TicketRecord, data: dict[str, Any]) -> TicketRecord:
    written = {name: msgspec.to_builtins(getattr(card, name)) for name in _FIELDS}
    written |= {name: value for name, value in data.get("set", {}).items() if name in _FIELDS}
    for name, added in data.get("add", {}).items():
        written[name] = [*written[name], *[one for one in added if one not in written[name]]]
    for name, removed in data.get("remove", {}).items():
        written[name] = [one for one in written[name] if one not in removed]
    return replace(card, **{name: getattr(convert(written, TicketRecord), name) for name in _FIELDS})
