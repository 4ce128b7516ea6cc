"""One view of each thing, in the states of its machine: whole, encodable, with the error that driving ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.machine import load_shipped
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.verbs import stop
from interlock.work.stories.reading import known_loop
from interlock.work.threads.replay import thread_of
from interlock.work.views.encoding import as_data
from interlock.work.views.failure import failure_of
from interlock.work.views.loop import loop_view
from interlock.work.views.run import run_view
from interlock.work.views.thread import thread_view, view_of_thread
from interlock.work.views.values import DrivenView
from work.attention.standings import PERSON, loop_in, noted, run_in, thread_in

_DRIVEN = DrivenView.__struct_fields__


def _code(error: InterlockError | None) -> str | None:
    return None if error is None else error.code


def _encoded(view: DrivenView) -> dict[str, object]:
    """What `--json` prints, and so what programs read."""
    told: dict[str, object] = json.loads(json.dumps(as_data(view)))
    assert [*told][: len(_DRIVEN)] == [*_DRIVEN]
    assert (told["state"], told["machine"]) == (view.state, view.machine)
    return told


@pytest.mark.parametrize("state", load_shipped("thread").states)
def test_a_thread_in_every_state(sqlite_journal: Journal, state: str) -> None:
    machine = load_shipped("thread")
    view = thread_view(sqlite_journal, thread_in(sqlite_journal, state), Path("/"))
    _encoded(view)
    assert (view.state, view.label) == (state, machine.label(state))
    known = machine.states[state]
    assert bool(view.choices) is not known.terminal
    assert bool(view.heading) is bool(known.menu)
    assert view.counts_iterations is ("iteration" in known.carries)
    assert (view.paused is not None) is (state == "Paused")
    assert view.needs_driver <= view.is_live, "what nobody drives would print something, if it were driven"
    expected = {"Stuck": "thread_stuck", "PreflightFailed": "preflight_failed"}.get(state)
    assert _code(failure_of(view)) == expected


def test_the_past_of_a_thread_offers_nothing(sqlite_journal: Journal) -> None:
    id_ = thread_in(sqlite_journal, "Stuck")
    instance, entries = sqlite_journal.instance(id_), sqlite_journal.history(id_)[:1]
    view = view_of_thread(sqlite_journal, instance, entries, thread_of(entries), Path("/"), at=1)
    assert view.state == load_shipped("thread").form.initial
    assert {view.needs_driver, view.may_draft, view.may_tell, view.may_configure, view.may_undo} == {False}
    assert view.choices == []


@pytest.mark.parametrize("state", ["INIT", "STORY_SELECT", "IMPLEMENT", "TEST"])
def test_a_loop_that_has_not_ended(sqlite_journal: Journal, state: str) -> None:
    loop_in(sqlite_journal, state)
    view = loop_view(sqlite_journal, known_loop(sqlite_journal))
    _encoded(view)
    assert view.state == state
    assert view.choices[:2] == ["resume", "pause"], "nobody drives it"
    assert failure_of(view) is None
    assert _code(failure_of(view, is_interrupted=True)) == "interrupted"


def test_a_loop_that_paused_by_itself_needs_a_person(sqlite_journal: Journal) -> None:
    id_ = loop_in(sqlite_journal, "IMPLEMENT")
    noted(sqlite_journal, id_, "paused", reason="the money is used up", cause="budget", halted=True)
    view = loop_view(sqlite_journal, known_loop(sqlite_journal))
    assert (view.paused, _code(failure_of(view))) == ("the money is used up", "loop_paused")
    assert "pause" not in view.choices


@pytest.mark.parametrize(
    ("state", "event", "code"),
    [("STORY_SELECT", "only_blocked_left", "loop_blocked"), ("INIT", "progress_missing", "setup_required")],
)
def test_how_a_loop_ended(sqlite_journal: Journal, state: str, event: str, code: str) -> None:
    loop_in(sqlite_journal, state, event)
    view = loop_view(sqlite_journal, known_loop(sqlite_journal))
    assert view.choices == []
    assert _code(failure_of(view)) == _code(failure_of(view, is_interrupted=True)) == code


@pytest.mark.parametrize("state", load_shipped("orchestrator").states)
def test_a_run_in_every_state(sqlite_journal: Journal, state: str) -> None:
    id_ = run_in(sqlite_journal, state)
    view = run_view(sqlite_journal, known_run(sqlite_journal, id_))
    _encoded(view)
    assert (view.state, view.goal) == (state, view.title)
    assert view.choices == {None: ["resume", "add"], "failure": ["resume"]}.get(view.outcome, [])
    assert (view.needs is not None) is (view.outcome == "failure")
    assert _code(failure_of(view)) == ("run_failed" if view.outcome == "failure" else None)


def test_a_run_that_paused_by_itself_needs_a_person_and_one_that_was_paused_does_not(sqlite_journal: Journal) -> None:
    id_ = run_in(sqlite_journal, "Planning")
    noted(sqlite_journal, id_, "stopped", reason="the money is used up")
    view = run_view(sqlite_journal, known_run(sqlite_journal, id_))
    assert (view.paused, view.is_halted, _code(failure_of(view))) == ("the money is used up", True, "run_rests")
    stop(sqlite_journal, PERSON, known_run(sqlite_journal, id_), "tomorrow")
    view = run_view(sqlite_journal, known_run(sqlite_journal, id_))
    assert (view.paused, view.is_halted, failure_of(view)) == ("tomorrow", False, None)
