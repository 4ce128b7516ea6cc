"""What somebody says in the journal reaches whoever is steered, however much else is said at the same time."""

from __future__ import annotations

from pathlib import Path

from interlock.journal import open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.interrupts import Interrupts

ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)
CROWD = 1001
"""One more than are read of the journal at a time."""


def test_a_word_among_many_others_is_heard(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    thread = journal.create("thread", Event("created", ANN, evidence=Evidence(data={"title": "Greet"}))).entry.instance
    interrupts = Interrupts(journal, lambda entry: entry.event == "abandon")
    interrupts.listen_again()
    said = Event(NOTED, ANN, evidence=Evidence(data={"type": "context_added", "text": "Hurry."}))
    journal.transact(lambda transaction: [transaction.append(thread, said) for _ in range(CROWD)])
    journal.append(thread, Event("abandon", ANN))
    assert interrupts.is_set()
    journal.close()
