"""PURE. What must hold among pieces of work before any of them is written: ids, references, no circles."""

from __future__ import annotations

from collections.abc import Callable, Collection
from graphlib import CycleError, TopologicalSorter
from typing import Final

from msgspec.structs import replace

from interlock.work.importing.imported import Batch, Imported, invalid

__all__ = ["MOST", "checked", "in_order"]

MOST: Final = 2_000
"""How many pieces of work are imported at once."""


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
