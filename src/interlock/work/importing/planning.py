"""What would come of a batch, against what the journal has: what is made, what is there already, what is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from interlock.journal import Entry, Instance, Journal, Transaction
from interlock.machine import Machine
from interlock.work.importing.forms import Form
from interlock.work.importing.imported import Batch, Imported, SkippedItem, invalid
from interlock.work.tickets.fields import MAX_PROSE, MAX_TITLE, MAX_WORD, plain_fields
from interlock.work.tickets.numbers import MACHINE
from interlock.work.tickets.record import TicketRecord
from interlock.work.tickets.ticket_table import TICKETS, card_of
from interlock.world.redaction import redacted

__all__ = ["MOST", "ImportPlan", "ImportedBefore", "alias_of", "checked", "fields_of", "find", "in_order", "plan"]

MOST: Final = 2_000
"""How many pieces of work are imported at once."""
_COMPARED: Final = ("title", "body", "priority", "labels", "assignees")
_MOST_WORDS: Final = 100
_CUT: Final = "… (cut; the source has all of it)"
_DONE: Final = "done already; --with-done makes a closed ticket of it"


class ImportedBefore(msgspec.Struct, frozen=True):
    """Something that was imported before."""

    item: Imported
    number: int
    changed: tuple[str, ...]
    """What is different in the source since then; it is told, and not written."""


class ImportPlan(msgspec.Struct, frozen=True):
    """What an import makes, and what it does not."""

    form: Form
    make: tuple[Imported, ...]
    """In the order in which they are made: what is waited for comes first."""
    known: tuple[ImportedBefore, ...]
    left: tuple[SkippedItem, ...]


def plan(journal: Journal, form: Form, batch: Batch, *, with_done: bool, drops_missing: bool) -> ImportPlan:
    """What would be done now."""
    before = {item.id: found for item in batch.items if (found := find(journal, form, item.id))}
    batch = checked(
        batch, lambda id_: id_ in before or find(journal, form, id_) is not None, drops_missing=drops_missing
    )
    new = [item for item in batch.items if item.id not in before]
    make = [item for item in new if with_done or not item.is_done]
    if len(make) > MOST:
        raise invalid(form.title, f"it has {len(make)} pieces of work, and {MOST} are imported at once", "Divide it.")
    done = [SkippedItem(item.id, item.title, _DONE) for item in new if item.is_done and not with_done]
    firsts = journal.first_entries([ticket.id for ticket in before.values()])
    machine = journal.current(MACHINE)
    with journal.projected(TICKETS) as sql:  # the journal itself is not read meanwhile: it would wait for this
        cards = {id_: card_of(sql, ticket.id) for id_, ticket in before.items()}
    known = [
        _known(fields_of(machine, form, item), item, before[item.id], cards[item.id], firsts[before[item.id].id])
        for item in batch.items
        if item.id in before
    ]
    return ImportPlan(form, tuple(in_order(make)), tuple(known), (*done, *batch.left))


def find(journal: Journal | Transaction, form: Form, id_: str) -> Instance | None:
    """The ticket that was made of something, if any."""
    return journal.named(MACHINE, f"alias:{alias_of(form, id_)}")


def alias_of(form: Form, id_: str) -> str:
    """What a ticket is known by that was made of this."""
    return f"{form.name}:{id_}"


def _known(
    fields: dict[str, Any], item: Imported, ticket: Instance, card: TicketRecord, first: Entry
) -> ImportedBefore:
    """What was imported before, and what the source says now that it neither said then nor the ticket says."""
    said = first.decoded_evidence().data
    empty: dict[str, Any] = {"labels": [], "assignees": [], "body": "", "priority": None}
    changed = [
        name
        for name in _COMPARED
        if fields.get(name, empty.get(name)) not in (said.get(name, empty.get(name)), getattr(card, name))
    ]
    changed += ["done"] if item.is_done and ticket.outcome is None else []
    return ImportedBefore(item, card.number, tuple(changed))


def fields_of(machine: Machine, form: Form, item: Imported) -> dict[str, Any]:
    """The plain fields of the ticket that something becomes, made to fit."""
    title = redacted(item.title)
    is_long = len(title) > MAX_TITLE
    given = {
        "title": f"{title[: MAX_TITLE - 1].rstrip()}…" if is_long else title,
        "body": _body(form, item, is_long=is_long),
        "priority": item.priority,
        "labels": _words(item.labels),
        "assignees": _words(item.assignees),
    }
    return plain_fields(machine, {name: value for name, value in given.items() if value})


def _words(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name[:MAX_WORD].strip() for name in names))[:_MOST_WORDS]


def _body(form: Form, item: Imported, *, is_long: bool) -> str:
    """What it says, what must hold in the end as a list that a spec can take up, and where it came from."""
    criteria = "\n".join(f"- [ ] {one}" for one in item.criteria)
    came = f"Imported from {item.link or f'{form.title}: {item.id}'}."
    parts = [
        item.title if is_long else "",
        item.body,
        f"## Acceptance Criteria\n\n{criteria}" if criteria else "",
    ]
    text = "\n\n".join(part for part in parts if part)
    room = MAX_PROSE - len(came) - 10
    if len(text) > room:
        text = f"{text[: room - len(_CUT)]}{_CUT}"
    return f"{text}\n\n---\n\n{came}" if text else came


def checked(batch: Batch, is_known: Callable[[str], bool], *, drops_missing: bool = False) -> Batch:
    """The batch, if it can be written; `is_known` says whether an id was imported before.

    With `drops_missing`, links to what is nowhere are left out, and not refused.
    """
    items = _once(batch)
    here = set(items) | {one.id for one in batch.left}
    known = {id_: id_ in here or is_known(id_) for item in items.values() for id_ in _references(item)}
    if drops_missing:
        items = {id_: _without(item, known) for id_, item in items.items()}
    else:
        _refuse_missing(items.values(), known)
    _refuse_circle({one.id: one.blocked_by for one in items.values()}, items, "wait for each other")
    _refuse_circle({one.id: (one.parent,) for one in items.values() if one.parent}, items, "are parts of each other")
    _refuse_circle(_waits(items.values()), items, "wait for each other, because a whole waits for its parts")
    return replace(batch, items=tuple(items.values()))


def _waits(items: Collection[Imported]) -> dict[str, tuple[str, ...]]:
    """The blockers and the parts that each waits for."""
    waits = {item.id: item.blocked_by for item in items}
    for item in items:
        if item.parent in waits:
            waits[item.parent] = (*waits[item.parent], item.id)
    return waits


def _once(batch: Batch) -> dict[str, Imported]:
    items: dict[str, Imported] = {}
    for item in batch.items:
        other = items.setdefault(item.id, item)
        if other is not item:
            raise invalid(item.where, f"it has the id {item.id!r}, and so has {other.where}", "Give one another id.")
    return items


def _references(item: Imported) -> tuple[str, ...]:
    return (*item.blocked_by, *((item.parent,) if item.parent else ()))


def _without(item: Imported, known: dict[str, bool]) -> Imported:
    parent = item.parent if item.parent and known[item.parent] else None
    return replace(item, parent=parent, blocked_by=tuple(one for one in item.blocked_by if known[one]))


def _refuse_missing(items: Collection[Imported], known: dict[str, bool]) -> None:
    for item in items:
        missing = next((one for one in _references(item) if not known[one]), None)
        if missing is not None:
            hint = "Mend it there, or leave out such links with --drop-missing."
            raise invalid(item.where, f"{item.id} refers to {missing!r}, which is neither there nor here", hint)


def _refuse_circle(graph: dict[str, tuple[str, ...]], items: dict[str, Imported], how: str) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        way = error.args[1]
        named = ", ".join(way[:10])
        raise invalid(items[way[0]].where, f"these {how}: {named}", "Take out one of these links there.") from None


def in_order(items: Collection[Imported]) -> list[Imported]:
    """What is waited for before what waits; else in the order of the source."""
    places = {item.id: place for place, item in enumerate(items)}
    by_id = {item.id: item for item in items}
    sorter = TopologicalSorter({item.id: [one for one in item.blocked_by if one in by_id] for item in items})
    sorter.prepare()
    ready, done = list(sorter.get_ready()), []
    while ready:
        ready.sort(key=places.__getitem__, reverse=True)
        done.append(by_id[ready.pop()])
        sorter.done(done[-1].id)
        ready += sorter.get_ready()
    return done
