"""Pages cost the same however many instances there are: rows and queries are counted, not time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.pages import PAGES
from interlock.faces.web.rendering import Renderer
from interlock.journal import Journal, Transaction
from interlock.journal.sqlite import SqliteStore
from interlock.machine import Event, Evidence, load_shipped
from interlock.work.settings.values import Settings
from interlock.work.tickets.numbers import new_name
from interlock.work.tickets.ticket_table import TICKETS
from work.attention.standings import AGENT, DRIVER, PERSON

from .counting import Count, Counted
from .sites import NOBODY

MANY = 23_000 if EXHAUSTIVE else 2_000
"""Tickets; with the sessions and threads beside them, fifty thousand instances where everything is tried."""
FEW = 500
SHOWN = {one: one for one in ("/", "/needed", "/board", "/sessions")} | {"/ticket/{number:int}": "/ticket/7"}
"""The pages, by their routes, that all instances could be on."""


def _filled(path: Path, number: int) -> tuple[Journal, Count]:
    """A journal with so many tickets, as many sessions, of which some are open, and some threads."""
    count = Count()
    journal = Journal(Counted(SqliteStore(path, time.time_ns), count))
    ended = Evidence(facts={"outcome": "success"}, data={"outcome": "success"})

    def work(transaction: Transaction, first: int) -> None:
        for place in range(first, first + 500):
            title = Evidence(data={"title": f"Number {place}"}, names=(new_name(transaction),))
            transaction.create("ticket", Event("created", PERSON, evidence=title))
            if place % 5 == 0:
                thread = Event("created", PERSON, evidence=Evidence(data={"title": f"Thread {place}"}))
                transaction.create("thread", thread)
            session = transaction.create("session", Event("created", AGENT)).entry.instance
            if place % 5:
                transaction.append(session, Event("complete_ralph_session", DRIVER, evidence=ended))

    for first in range(0, number, 500):
        journal.transact(lambda transaction, first=first: work(transaction, first))  # type: ignore[misc]
    with journal.projected(TICKETS):
        return journal, count


def _costs(tmp_path: Path, number: int) -> dict[str, Count]:
    journal, count = _filled(tmp_path / f"{number}.db", number)
    renderer = Renderer([page for page in PAGES if page.heading], NOBODY)
    found = {}
    for page in PAGES:
        if page.route in SHOWN:
            sight = Sight(journal, tmp_path, None, Settings(), load_shipped)
            _shown(renderer, sight, page)  # templates are compiled once
            count.queries = count.rows = 0
            _shown(renderer, sight, page)
            found[page.route] = Count(count.queries, count.rows)
    journal.close()
    return found


def _shown(renderer: Renderer, sight: Sight, page: PageKind) -> str:
    asked = PageRequest(SHOWN[page.route], {"number": "7"}, {})
    given = page.look(sight, asked)
    return renderer.page(page.template, {**given, "asked": asked, "now": sight.now, "page": page})


@pytest.mark.exhaustive
def test_a_page_reads_as_much_of_many_tickets_as_of_five_hundred(tmp_path: Path) -> None:
    few, many = _costs(tmp_path, FEW), _costs(tmp_path, MANY)
    assert few.keys() == many.keys() == SHOWN.keys()
    for route in SHOWN:
        assert many[route] == few[route], route
        assert many[route].queries < 400, route
