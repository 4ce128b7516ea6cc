"""Back in time: an instance after any of its entries is what it was then, and it is told why."""

from __future__ import annotations

import pytest

from interlock.errors import NotFound, Tampered
from interlock.journal import Journal
from interlock.machine import SHIPPED, Event, Evidence, load_shipped
from interlock.machine.model import NOTED
from interlock.work.inspection.time_travel import moment_of, retold
from journal.histories import AGENT, HUMAN, SYSTEM, created, paths, reports


@pytest.mark.parametrize("name", SHIPPED)
def test_every_moment_of_a_way_is_what_was_recorded_then(sqlite_journal: Journal, name: str) -> None:
    machine = load_shipped(name)
    longest = max(paths(machine).values(), key=len)
    made = sqlite_journal.create(name, created())
    recorded = [made, *(sqlite_journal.append(made.entry.instance, event) for event in longest)]
    for version, one in enumerate(recorded, 1):
        moment = moment_of(sqlite_journal, one.entry.instance, version)
        assert (moment.entry, moment.snapshot) == (one.entry, one.snapshot)
        assert moment.came.to_state == one.snapshot.state
        assert moment.way[-1] == moment.came
        assert {proof.name: proof.hash for proof in moment.proofs} == one.snapshot.proofs
        for proof in moment.proofs:
            assert proof.entry.version <= version
    newest = moment_of(sqlite_journal, made.entry.instance)
    assert newest.snapshot == recorded[-1].snapshot
    assert moment_of(sqlite_journal, made.entry.instance[-8:]) == newest


def test_the_way_holds_what_moved_it_and_the_cause_is_the_last_of_that(sqlite_journal: Journal) -> None:
    session = sqlite_journal.create("session", created(SYSTEM)).entry.instance
    sqlite_journal.append(session, reports("analyzing"))
    moved = sqlite_journal.append(session, reports("implementing")).entry
    sqlite_journal.append(session, Event(NOTED, AGENT, evidence=Evidence(data={"type": "x"})))
    moment = moment_of(sqlite_journal, session)
    assert moment.came == moved
    assert [one.to_state for one in moment.way] == ["idle", "analyzing", "implementing"]
    assert moment.changes == ()


def test_what_an_entry_changed_is_told(sqlite_journal: Journal) -> None:
    thread = sqlite_journal.create("thread", created(HUMAN)).entry.instance
    seen = Event("observed", SYSTEM, evidence=Evidence(subjects={"spec": "abc"}))
    sqlite_journal.append(thread, seen)
    [change] = [one for one in moment_of(sqlite_journal, thread).changes if one.kind == "subject"]
    assert (change.name, change.before, change.after) == ("spec", None, "abc")


@pytest.mark.parametrize("version", [0, -1, 2, 10**30])
def test_a_moment_that_never_was_is_not_found(sqlite_journal: Journal, version: int) -> None:
    session = sqlite_journal.create("session", created(SYSTEM)).entry.instance
    with pytest.raises(NotFound) as refused:
        moment_of(sqlite_journal, session, version)
    assert refused.value.code == "unknown_resource"


def test_entries_that_cannot_have_been_made_are_not_believed(sqlite_journal: Journal) -> None:
    thread = sqlite_journal.create("thread", created(HUMAN)).entry.instance
    sqlite_journal.append(thread, Event("abandon", HUMAN))
    entries = sqlite_journal.history(thread)
    with pytest.raises(Tampered) as refused:
        retold(sqlite_journal.instance(thread), load_shipped("thread"), [*entries, entries[-1]])
    assert refused.value.code == "journal_tampered"
