"""The view of a gate: what is shown beforehand is what a person is then asked, and what the approval is for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person, Presence
from interlock.work.threads.loop import drive
from interlock.work.threads.verbs import act, gate_at
from interlock.work.views.encoding import as_data
from work.threads.benches import Bench


class _Asked(msgspec.Struct, frozen=True):
    """Somebody who says yes, and remembers what was asked."""

    inner: Presence
    asked: list[tuple[str, str, str]] = msgspec.field(default_factory=list)

    @property
    def actor(self) -> Any:
        return self.inner.actor

    def enter(self, journal: Journal) -> None:
        self.inner.enter(journal)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        self.asked.append((shown, question, word))
        return True

    def sign(self, statement: bytes, keys: Any) -> Any:
        return self.inner.sign(statement, keys)


def _passed(context: DriverContext, id_: str, event: str, somebody: _Asked) -> dict[str, Any]:
    """Pass a gate, with its view beforehand; the statement of the approval."""
    gate = gate_at(context, id_, event)
    assert gate is not None
    act(context, id_, Person(somebody.actor, lambda: somebody, lambda: True), event)
    assert somebody.asked.pop() == (gate.shown, gate.question, gate.word)
    [entry] = [one for one in context.journal.history(id_) if one.event == event]
    statement: dict[str, Any] = entry.decoded_evidence().data["approval"]["statement"]
    assert (statement["gate"], statement["subject"], statement["hash"]) == (gate.gate, gate.subject, gate.sha256)
    drive(context, id_)
    found: dict[str, Any] = as_data(gate)
    return found


def test_a_person_is_asked_at_each_gate_exactly_what_its_view_says(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    somebody = _Asked(bench.person.presence())
    id_ = bench.new()
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        spec = _passed(context, id_, "finalize", somebody)
        assert spec.keys() == {"event", "gate", "subject", "sha256", "shown", "question", "word"}
        assert (spec["event"], spec["subject"], spec["word"]) == ("finalize", "spec", "finalize")
        assert gate_at(context, id_, "run") is None
        with pytest.raises(Refusal):
            gate_at(context, id_, "approve")
        bench.act(id_, "run", "start", "ready")
        assert "+hello" in _passed(context, id_, "approve", somebody)["shown"]
        assert "one commit on" in _passed(context, id_, "commit", somebody)["shown"]
