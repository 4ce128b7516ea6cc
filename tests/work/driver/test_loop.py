"""The driver's loop, on a real journal: steps in order, and what others do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal, Lease, Transaction, open_journal
from interlock.machine import Event, Snapshot
from interlock.machine.model import NOTED
from interlock.work.driver import loop
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.driver.notes import noted
from interlock.work.driver.system import NoEvent, StepFunction, StepResult
from journal.histories import AGENT, HUMAN, created, reports

PATH = ("idle", "analyzing", "implementing", "testing", "committing")


class Record(msgspec.Struct, frozen=True):
    id: str
    version: int


class Step(msgspec.Struct, frozen=True):
    record: Record
    snapshot: Snapshot
    lease: Lease


class Walk(msgspec.Struct):
    """A session that a driver leads through `PATH`; it is also the driver's context."""

    journal: Journal
    id: str
    steps: Mapping[str, StepFunction[Step]]
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    pausing: threading.Event = msgspec.field(default_factory=threading.Event)
    refresh: Callable[[], None] = lambda: None
    left: list[str] = msgspec.field(default_factory=list)
    told: list[object] = msgspec.field(default_factory=list)
    pauses: Sequence[Event] | None = ()

    def tell(self, what: object) -> None:
        self.told.append(what)

    def read(self, lease: Lease) -> Step:
        found = self.journal.instance(self.id)
        return Step(Record(self.id, found.version), found.snapshot, lease)

    def enter(self, step: Step) -> bool:
        return True

    def settle(self, step: Step) -> bool:
        return False

    def is_paused(self, step: Step) -> bool:
        return False

    def pause(self, step: Step) -> Sequence[Event] | None:
        return self.pauses

    def overspent(self, step: Step, refusal: Refusal) -> StepResult:
        return noted("overspent")

    def append(self, transaction: Transaction, step: Step, events: Sequence[Event]) -> Callable[[], None]:
        for event in events:
            transaction.append(self.id, event, lease=step.lease)
        return lambda: self.told.append("committed")

    def leave(self, step: Step) -> None:
        self.left.append(step.snapshot.state)

    def close(self) -> None:
        self.left.append("closed")

    def drive(self, state_directory: Path) -> str:
        lease = self.journal.acquire(f"session:{self.id}", process_holder(), 60, is_present)
        return loop.drive(self, self, lease).snapshot.state

    def events(self) -> list[tuple[str, str]]:
        return [(one.event, one.to_state) for one in self.journal.history(self.id)[1:]]


def _next(step: Step) -> StepResult:
    return reports(PATH[PATH.index(step.snapshot.state) + 1])


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    with closing(open_journal(tmp_path / "journal.db")) as journal:
        id_ = journal.create("session", created(AGENT)).entry.instance
        yield Walk(journal, id_, dict.fromkeys(PATH[:-1], _next))


def test_steps_are_taken_until_a_state_has_none(walk: Walk, tmp_path: Path) -> None:
    assert walk.drive(tmp_path) == PATH[-1]
    assert [state for _, state in walk.events()] == list(PATH[1:])
    assert walk.told.count("committed") == len(PATH) - 1
    reported = [one.version for one in walk.told if isinstance(one, Record)]
    assert reported == [1, 2, 3, 4], "each state with a step once, and not the last one"
    assert walk.left == [PATH[-1], "closed"]


def test_what_came_of_a_step_is_dropped_where_someone_moved_the_instance_meanwhile(walk: Walk, tmp_path: Path) -> None:
    tries: list[str] = []

    def slow(step: Step) -> StepResult:
        tries.append(step.snapshot.state)
        walk.journal.append(walk.id, reports("testing"))  # a report from elsewhere
        return [noted("made"), reports("implementing")]

    walk.steps = {**walk.steps, "analyzing": slow}
    assert walk.drive(tmp_path) == PATH[-1]
    assert tries == ["analyzing"]
    assert walk.events() == [
        ("update_session_state", "analyzing"),
        ("update_session_state", "testing"),
        ("update_session_state", "committing"),
    ]


def test_a_note_from_elsewhere_drops_nothing(walk: Walk, tmp_path: Path) -> None:
    def slow(step: Step) -> StepResult:
        walk.journal.append(walk.id, noted("context_added", HUMAN, text="Hurry."))
        return reports("implementing")

    walk.steps = {**walk.steps, "analyzing": slow}
    assert walk.drive(tmp_path) == PATH[-1]
    assert [state for event, state in walk.events() if event != NOTED] == list(PATH[1:])


def test_a_refused_append_is_an_error_only_where_nobody_else_wrote(walk: Walk, tmp_path: Path) -> None:
    unknown = Event("fly", AGENT)
    others = iter([True])

    def step(step: Step) -> StepResult:
        if next(others, False):
            walk.journal.append(walk.id, noted("context_added", HUMAN, text="Hurry."))
            return unknown
        return reports("implementing")

    walk.steps = {**walk.steps, "analyzing": step}
    assert walk.drive(tmp_path) == PATH[-1]

    walk.steps = {PATH[-1]: lambda _: unknown}
    with pytest.raises(InterlockError):
        walk.drive(tmp_path)
    assert walk.left[-1] == "closed"


def test_an_interrupt_pauses_after_the_step_that_runs(walk: Walk, tmp_path: Path) -> None:
    walk.pauses = [noted("paused")]

    def step(step: Step) -> StepResult:
        walk.pausing.set()
        return reports("implementing")

    walk.steps = {**walk.steps, "analyzing": step}
    assert walk.drive(tmp_path) == "implementing"
    assert walk.events()[-1] == (NOTED, "implementing")


def test_a_decision_that_the_journal_holds_is_no_interrupt(walk: Walk, tmp_path: Path) -> None:
    walk.pausing.set()
    walk.refresh = walk.pausing.clear
    assert walk.drive(tmp_path) == PATH[-1]


def test_a_state_that_is_not_interrupted_takes_its_step(walk: Walk, tmp_path: Path) -> None:
    walk.pauses = None
    walk.stop.set()
    assert walk.drive(tmp_path) == PATH[-1]


def test_a_step_without_an_event_is_taken_again_or_waits_for_a_person(walk: Walk, tmp_path: Path) -> None:
    results = iter([NoEvent.RETRY, NoEvent.RETRY, NoEvent.STOP])
    walk.steps = {"idle": lambda _: next(results)}
    assert walk.drive(tmp_path) == "idle"
    assert next(results, None) is None
    assert walk.left == ["idle", "closed"]


def test_a_budget_that_is_used_up_is_the_systems_to_decide_and_other_refusals_are_raised(
    walk: Walk, tmp_path: Path
) -> None:
    codes = iter(["budget_exhausted", "wrong_branch"])

    def step(step: Step) -> StepResult:
        raise Refusal(next(codes), "No.", "Later.")

    walk.steps = {"idle": step}
    with pytest.raises(Refusal) as caught:
        walk.drive(tmp_path)
    assert caught.value.code == "wrong_branch"
    assert walk.events() == [(NOTED, "idle")]
