"""Instances as lists show them: a page of the newest ones, each with what it was begun with; nothing is folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Final, TypeVar

import msgspec

from interlock.errors import NotFound
from interlock.faces.web.page import PageRequest, Sight
from interlock.journal import Entry, Instance
from interlock.machine import Machine
from interlock.work.driver.fold import INCOMPLETE

__all__ = ["InstanceRow", "Listed", "folded", "machine_of", "newest", "rows_of", "topic"]

Folded = TypeVar("Folded")

_PAGE: Final = 50
_LONGEST: Final = 300
_WHOLE: Final = 26


class InstanceRow(msgspec.Struct, frozen=True):
    """An instance in a list."""

    id: str
    machine: str
    state: str
    label: str
    icon: str
    color: str
    title: str
    outcome: str | None
    updated: str
    parent: str | None
    is_waiting: bool
    indicator: str = ""
    """The mark of a session's state, as the seed names it; empty for machines that have icons."""

    @property
    def name(self) -> str:
        return self.state


class Listed(msgspec.Struct, frozen=True):
    """A page of a list, and the address of the next one."""

    rows: list[InstanceRow]
    older: str | None
    is_first: bool


def newest(sight: Sight, asked: PageRequest, path: str, *machines: str) -> Listed:
    """The newest instances of some machines, from the one on that the address names."""
    before = asked.query.get("before", "")[:64] or None
    found = [one for name in machines for one in sight.journal.recent(name, _PAGE + 1, before=before)]
    shown = nlargest(_PAGE + 1, found, key=lambda one: one.id)
    older = f"{path}?before={shown[_PAGE - 1].id}" if len(shown) > _PAGE else None
    return Listed(rows_of(sight, shown[:_PAGE]), older, before is None)


def rows_of(sight: Sight, instances: Sequence[Instance]) -> list[InstanceRow]:
    """Instances as rows, titled by what they were begun with."""
    first = sight.journal.first_entries([one.id for one in instances])
    titles = {id_: _title(entry.decoded_evidence().data) for id_, entry in first.items()}
    return [_row(sight, one, titles.get(one.id, "")) for one in instances]


def _title(data: dict[str, object]) -> str:
    said = data.get("title") or data.get("goal") or data.get("role") or ""
    return " ".join(str(said).split())[:_LONGEST]


def _row(sight: Sight, one: Instance, title: str) -> InstanceRow:
    machine = sight.journal.machine_of(one)
    state = machine.states[one.state]
    return InstanceRow(
        id=one.id,
        machine=one.machine,
        state=one.state,
        label=machine.label(one.state),
        icon=state.icon or "",
        color=state.color or "gray",
        title=title,
        outcome=one.outcome,
        updated=one.updated,
        parent=one.parent,
        is_waiting=state.human and one.outcome is None,
        indicator=state.indicator or "" if one.machine == "session" else "",
    )


def machine_of(sight: Sight, instance: Instance) -> Machine:
    """The machine of an instance; the one in force where it is the same, as that has its states in their order."""
    own = sight.journal.machine_of(instance)
    now = sight.machines(instance.machine)
    return now if now.digest == own.digest else own


def folded(fold: Callable[[Sequence[Entry]], Folded], entries: Sequence[Entry]) -> Folded:
    """What entries add up to; where they do not say enough for it, it is said where they are to be seen."""
    try:
        return fold(entries)
    except INCOMPLETE:
        id_ = entries[0].instance
        message = f"The record of {id_} is incomplete: its entries do not say what those of a driver of ours say."
        raise NotFound("unknown_instance", message, f"/journal?instance={id_} shows all that it has.") from None


def topic(asked: PageRequest, machine: str) -> str:
    """What concerns the page of one instance: its entries, or its machine's where only the end of its id is named."""
    id_ = asked.names["id"]
    return id_ if len(id_) == _WHOLE else machine
