"""Instances whose entries say less than those of our drivers break no page: lists have them, and their own says why."""

from __future__ import annotations

import pytest

from interlock.journal import Transaction
from interlock.machine import Event, load_shipped
from journal.histories import paths
from work.attention.standings import DRIVER

from .sites import Site

_PAGES = {"thread": "thread", "story": "story", "orchestrator": "run", "session": "session", "ticket": "ticket"}
_LISTS = ("/", "/needed", "/board", "/threads", "/loops", "/sessions", "/journal", "/stats")


def _bare(site: Site, machine: str) -> list[str]:
    """An instance in each state, which was begun and moved with nothing but what the machine itself demands."""

    def work(transaction: Transaction, way: tuple[Event, ...]) -> str:
        id_ = transaction.create(machine, Event("created", DRIVER)).entry.instance
        for event in way:
            transaction.append(id_, event)
        return id_

    ways = [tuple(way) for way in paths(load_shipped(machine)).values()]
    return [site.journal.transact(lambda transaction, way=way: work(transaction, way)) for way in ways]  # type: ignore[misc]


@pytest.mark.parametrize("machine", _PAGES)
def test_bare_instances_break_no_page(site: Site, machine: str) -> None:
    made = _bare(site, machine)
    for path in _LISTS:
        answer = site.get(path)
        assert answer.status_code == 200, (path, answer.text.partition("<h1>")[2][:600])
    for id_ in made:
        answer = site.get(f"/{_PAGES[machine]}/{id_}")
        assert answer.status_code in (200, 404), (machine, id_, answer.text[-2000:])
        if answer.status_code == 404 and machine in ("thread", "story", "orchestrator"):
            assert "is incomplete" in answer.text
            assert f"/journal?instance={id_}" in answer.text
            assert id_ in site.page(f"/journal?instance={id_}")
