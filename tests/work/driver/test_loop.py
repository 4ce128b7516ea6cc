"""The driver's loop, on a real journal: steps in order, and what others do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from interlock.errors import InterlockError, Refusal
from interlock.journal import Entry, Journal, Lease, Transaction, open_journal
from interlock.machine import Event
from interlock.machine.model import NOTED
from interlock.work.driver import loop
from interlock.work.driver.context import DriverContext
from interlock.work.driver.fold import Fold
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.driver.record import DriverRecord, take_note
from interlock.work.driver.step import DriverStep, noted
from interlock.work.driver.system import NoEvent, StepFunction, StepResult
from interlock.work.settings.values import Settings
from journal.histories import AGENT, HUMAN, created, reports

PATH = ("idle", "analyzing", "implementing", "testing", "committing")


class Step(DriverStep[DriverContext, DriverRecord], frozen=True):
    """A session in one state."""


def _take(record: DriverRecord, entry: Entry) -> None:
    record.id, record.version, record.state = entry.instance, entry.version, entry.to_state
    take_note(record, entry, entry.decoded_evidence().data)


class Walk(msgspec.Struct):
    """A session that a driver leads through `PATH`."""

    journal: Journal
    id: str
    root: Path
    steps: Mapping[str, StepFunction[Step]]
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    pausing: threading.Event = msgspec.field(default_factory=threading.Event)
    refresh: Callable[[], None] = lambda: None
    left: list[str] = msgspec.field(default_factory=list)
    told: list[object] = msgspec.field(default_factory=list)
    pauses: Sequence[Event] | None = ()

    def tell(self, what: object) -> None:
        self.told.append(what.version if isinstance(what, DriverRecord) else what)

    @property
    def context(self) -> DriverContext:
        return DriverContext(
            journal=self.journal,
            root=self.root,
            state_directory=self.root,
            settings=Settings(),
            environment={},
            report=self.tell,
            stop=self.stop,
            pausing=self.pausing,
            wait=lambda seconds: None,
            refresh=lambda: self.refresh(),
        )

    def read(self, lease: Lease) -> Step:
        return Step.read(self.context, Fold(self.id, DriverRecord, _take), lease)

    def next(self, step: Step) -> StepFunction[Step] | None:
        return self.steps.get(step.snapshot.state)

    def enter(self, step: Step) -> bool:
        return True

    def settle(self, step: Step) -> bool:
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
        return loop.drive(self, self.context, lease).snapshot.state

    def events(self) -> list[tuple[str, str]]:
        return [(one.event, one.to_state) for one in self.journal.history(self.id)[1:]]


def _next(step: Step) -> StepResult:
    return reports(PATH[PATH.index(step.snapshot.state) + 1])


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    with closing(open_journal(tmp_path / "journal.db")) as journal:
        id_ = journal.create("session", created(AGENT)).entry.instance
        yield Walk(journal, id_, tmp_path, dict.fromkeys(PATH[:-1], _next))


def test_steps_are_taken_until_a_state_has_none(walk: Walk, tmp_path: Path) -> None:
    assert walk.drive(tmp_path) == PATH[-1]
    assert [state for _, state in walk.events()] == list(PATH[1:])
    assert walk.told.count("committed") == len(PATH) - 1
    reported = [one for one in walk.told if isinstance(one, int)]
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


def test_a_paused_instance_is_left_alone(walk: Walk, tmp_path: Path) -> None:
    walk.journal.append(walk.id, noted("paused", HUMAN, reason="lunch"))
    assert walk.drive(tmp_path) == "idle"
    walk.journal.append(walk.id, noted("resumed", HUMAN))
    assert walk.drive(tmp_path) == PATH[-1]


def test_the_record_of_a_step_takes_in_its_own_notes_and_keeps_the_version_it_began_with(
    walk: Walk, tmp_path: Path
) -> None:
    def step(step: Step) -> StepResult:
        step.note("limited", agent="claude", until=5.0)
        walk.journal.append(walk.id, noted("cooling", HUMAN, agent="codex", until=6.0))
        step.note("limited", agent="gemini", until=7.0)  # the note from elsewhere comes first, and is not lost
        assert (step.record.limited, step.record.cooling) == ({"claude": 5.0, "gemini": 7.0}, {"codex": 6.0})
        assert (step.since, step.record.version) == (1, 4)
        return NoEvent.STOP

    walk.steps = {"idle": step}
    assert walk.drive(tmp_path) == "idle"
