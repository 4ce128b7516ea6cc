"""One look at a journal: a transaction in which everything is of the same moment and nothing is asked twice.

What a page shows of many instances is read for all of them in a few statements: `read_histories` and its like know the
answers to the questions that are asked for each of them afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from interlock.journal.entry import Instance
from interlock.journal.projection import Projection
from interlock.journal.reading import (
    find_instance,
    find_instances,
    find_newest_children,
    find_open_children,
    find_open_children_of,
    find_recent,
    read_histories,
    read_history,
)
from interlock.journal.store import Sql

__all__ = ["Look", "Looks"]

Answer = TypeVar("Answer")


class Look:
    """The transaction of a look, and every answer that it has given."""

    def __init__(self, sql: Sql, projections: tuple[Projection, ...]) -> None:
        self.sql = sql
        self.projections = projections
        """Those that are up to date in it."""
        self._answers: dict[tuple[object, ...], Any] = {}

    def ask(self, find: Callable[..., Answer], *question: object) -> Answer:
        """Return what `find` answers; it is called once for each question."""
        key = (find, *question)
        if key not in self._answers:
            self._answers[key] = find(self.sql, *question)
        answer: Answer = self._answers[key]
        return answer

    def know(self, find: Callable[..., object], answers: Mapping[tuple[object, ...], object]) -> None:
        """Keep answers that were found together, each by its question."""
        self._answers.update({(find, *question): answer for question, answer in answers.items()})

    def know_instances(self, instances: Iterable[Instance]) -> None:
        """Keep instances that were found by something else than their ids."""
        self.know(find_instance, {(one.id,): one for one in instances})

    def read_instances(self, ids: Iterable[str]) -> None:
        """Find several instances, for `Journal.instance`."""
        self.know_instances(find_instances(self.sql, list(ids)))

    def read_histories(self, after: Mapping[str, int]) -> None:
        """Read the entries of several instances, those after a version of each, for `Journal.history`."""
        found = read_histories(self.sql, after)
        self.know(read_history, {(id_, version, None): found[id_] for id_, version in after.items()})

    def read_children(self, parents: Iterable[str], machine: str) -> None:
        """Find the open children of several instances, for `Journal.open_children`."""
        found = find_open_children_of(self.sql, asked := list(parents), machine)
        self.know(find_open_children, {(parent, machine): found.get(parent, []) for parent in asked})
        self.know_instances(one for some in found.values() for one in some)

    def read_newest_children(self, parents: Iterable[str], machine: str) -> None:
        """Find the newest child of several instances, for `Journal.recent`."""
        found = find_newest_children(self.sql, asked := list(parents), machine)
        self.know(find_recent, {(machine, 1, parent, None): found.get(parent, []) for parent in asked})


class Looks(threading.local):
    """The look that each thread has begun; None outside of one."""

    current: Look | None = None
