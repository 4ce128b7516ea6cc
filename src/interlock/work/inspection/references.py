"""What an instance is called: its machine, its number where it has one, and its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.errors import InterlockError
from interlock.work.tickets.numbers import find_ticket, known_ticket, number_of
from interlock.work.tickets.ticket_table import TICKETS, find_line

if TYPE_CHECKING:
    from interlock.journal import Instance, Journal
    from interlock.work.inspection.record_caches import RecordCaches

__all__ = ["Reference", "called", "meant", "pointer_to", "reference_to"]

_LONGEST = 200
_SHORTEST_END = 4
"""So many digits can be the end of an id as well as a number."""


class Reference(msgspec.Struct, frozen=True):
    """An instance, as people speak of it."""

    machine: str
    id: str
    title: str
    number: int | None = None
    """The number of a ticket."""


def reference_to(journal: Journal, watch: RecordCaches, id_: str | None) -> Reference | None:
    """What an instance is called; None where there is none."""
    if id_ is None:
        return None
    try:
        return called(journal, watch, journal.instance(id_))
    except InterlockError:
        return None


def pointer_to(journal: Journal, id_: str) -> Reference | None:
    """The same without its title, for which much would have to be read."""
    try:
        instance = journal.instance(id_)
    except InterlockError:
        return None
    first = journal.history(instance.id, most=1)[0] if instance.machine == "ticket" else None
    number = number_of(first.decoded_evidence().names) or None if first is not None else None
    return Reference(instance.machine, instance.id, "", number)


def called(journal: Journal, watch: RecordCaches, instance: Instance) -> Reference:
    """What an instance is called."""
    number: int | None = None
    match instance.machine:
        case "ticket":
            with journal.look(TICKETS):
                line = journal.ask(find_line, instance.id)
            number, title = (line.number, line.title) if line is not None else (None, "")
        case "thread":
            with watch.lock:
                title = watch.threads.of(journal, instance).title
        case "story":
            with watch.lock:
                loop = watch.loops.of(journal, instance)
                title = f"stories: {loop.story}" if loop.story else "story loop"
        case "orchestrator":
            with watch.lock:
                title = watch.runs.of(journal, instance).goal
        case _:
            title = ""
    first = " ".join(title.split())
    return Reference(instance.machine, instance.id, first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…", number)


def meant(journal: Journal, text: str) -> Instance:
    """What somebody means by a text: a ticket by its number, `7` or `#7`; anything by its id or the end of it."""
    said = text.strip().removeprefix("…").lower()
    digits = said.removeprefix("#")
    if not (digits.isascii() and digits.isdigit()):
        return journal.instance(said)
    if said.startswith("#") or len(digits) < _SHORTEST_END:
        return known_ticket(journal, digits)
    return find_ticket(journal, digits) or journal.instance(digits)
