"""The look over everything: it costs the same however much there is."""

from __future__ import annotations

from pathlib import Path

from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.attention.overview import overview
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings

ANN = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)


def _waiting(journal: Journal, number: int) -> None:
    """A ticket and a thread that wait for a person."""
    evidence = Evidence(data={"title": f"Ticket {number}"}, names=(f"number:{number:012d}",))
    ticket = journal.create("ticket", Event("created", ANN, evidence=evidence)).entry.instance
    journal.append(ticket, Event("handoff", ANN, to="Human Needed", reason="asked"))
    journal.create("thread", Event("created", ANN, evidence=Evidence(data={"title": f"Thread {number}"})))


def _statements(journal: Journal) -> int:
    asked: list[str] = []

    def trace(cursor: object, statement: str, values: object) -> bool:
        asked.append(statement)
        return True

    reader = journal._store._reader  # type: ignore[attr-defined]
    reader.exec_trace = trace
    overview(journal, RecordCaches(), Settings(), None)
    reader.exec_trace = None
    return len(asked)


def test_an_overview_of_many_asks_as_often_as_one_of_few(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    for number in range(1, 4):
        _waiting(journal, number)
    overview(journal, RecordCaches(), Settings(), None)  # it catches up the projections
    few = _statements(journal)
    for number in range(4, 29):
        _waiting(journal, number)
    overview(journal, RecordCaches(), Settings(), None)
    many = _statements(journal)
    journal.close()
    assert many <= few + 2
