"""The journal's, machines' and stats' pages read as much of a long journal as of a short one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from starlette.routing import Match, Route

from exhaustive import EXHAUSTIVE
from faces.journals import AGENT, PERSON, SYSTEM, reports
from interlock.faces.web.page import PageRequest, Sight
from interlock.faces.web.pages import PAGES
from interlock.faces.web.rendering import Renderer
from interlock.journal import Journal, Transaction
from interlock.journal.sqlite import SqliteStore
from interlock.machine import Event, Evidence, load_shipped
from interlock.machine.model import NOTED
from interlock.work.orchestration.ledger import RUNS
from interlock.work.settings.values import Settings
from interlock.work.telemetry.metrics import metrics_text

from .counting import Count, Counted
from .sites import NOBODY

FEW, MANY = 1_000, 50_000 if EXHAUSTIVE else 4_000
RUNS_AMONG = {FEW: 400, MANY: 1_000}


def _filled(journal: Journal, number: int) -> None:
    """So many instances: sessions and threads, some runs, and a thread on which the last word is said."""

    def work(transaction: Transaction, many: int) -> None:
        for place in range(many // 2):
            session = transaction.create("session", Event("created", SYSTEM)).entry.instance
            if place % 4 == 0:
                transaction.append(session, reports("analyzing", "going on"))
            transaction.create("thread", Event("created", PERSON, evidence=Evidence(data={"title": f"n {place}"})))

    def runs(transaction: Transaction) -> None:
        for place in range(RUNS_AMONG[number]):
            data = {"goal": "g", "session": f"s{place}", "roles": {}, "base": ""}
            transaction.create("orchestrator", Event("created", SYSTEM, evidence=Evidence(data=data)))

    for _ in range(number // 1_000):
        journal.transact(lambda transaction: work(transaction, 1_000))
    journal.transact(runs)
    last = journal.recent("thread", 1)[0].id
    for _ in range(60):
        journal.append(last, Event(NOTED, AGENT, evidence=Evidence(data={"message": "a needle"})))
    with journal.projected(RUNS):
        pass


def _addresses(journal: Journal) -> dict[str, str]:
    newest = journal.recent("thread", 2)
    sessions = [session for session in journal.recent("session", 12) if session.version == 1]
    return {
        "the newest": "/journal",
        "an instance": f"/journal?instance={newest[0].id}",
        "a machine": "/journal?machine=thread",
        "a text that is there": "/journal?text=needle",
        "a text that is not": "/journal?text=haystack",
        "an event that is not": "/journal?event=nothing",
        "the oldest": "/journal?after=0",
        "an entry": "/journal/500",
        "a moment": f"/at/{newest[0].id}?version=30",
        "two": f"/compare?left={sessions[0].id}&right={sessions[1].id}",
        "which two": "/compare",
        "the machines": "/machines",
        "a machine's page": "/machine/thread",
        "stats": "/stats",
    }


def _costs(tmp_path: Path, number: int) -> dict[str, Count]:
    count = Count()
    journal = Journal(Counted(SqliteStore(tmp_path / f"{number}.db", time.time_ns), count))
    _filled(journal, number)
    sight = Sight(journal, tmp_path, None, Settings(), load_shipped)
    renderer = Renderer([], NOBODY)
    found = {}
    for name, address in _addresses(journal).items():
        _show(renderer, sight, address)
        count.queries = count.rows = 0
        _show(renderer, sight, address)
        found[name] = Count(count.queries, count.rows)
    metrics_text(journal, sight.watch, sight.settings, None)  # it catches up
    count.queries = count.rows = 0
    metrics_text(journal, sight.watch, sight.settings, None)
    found["metrics"] = Count(count.queries, count.rows)
    journal.close()
    return found


def _show(renderer: Renderer, sight: Sight, address: str) -> None:
    path, _, query = address.partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "path_params": {}}
    for page in PAGES:
        match, child = Route(page.route, lambda request: None).matches(scope)
        if match is Match.FULL:
            given = dict(pair.split("=") for pair in query.split("&") if pair)
            asked = PageRequest(address, child["path_params"], given)
            values = {**page.look(sight, asked), "asked": asked, "now": sight.now, "page": page}
            assert renderer.page(page.template, values)
            assert renderer.regions(page.template, values) or "entry" in page.template
            return
    raise AssertionError(address)


@pytest.mark.exhaustive
def test_a_page_reads_as_much_of_many_instances_as_of_a_thousand(tmp_path: Path) -> None:
    few, many = _costs(tmp_path, FEW), _costs(tmp_path, MANY)
    for name, cost in few.items():
        assert many[name] == cost, name
        assert cost.rows < 1_000, name
