"""A session in a line, and its time in each state as parts of a whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.journal.ids import time_text
from interlock.machine import load_shipped
from interlock.work.sessions.record import ReportedState, SessionRecord
from interlock.work.sessions.summary import shares_of, summary_of

MACHINE = load_shipped("session")
STATES = [name for name, state in MACHINE.states.items() if not state.terminal]
BEGAN = 1_700_000_000


def _record(stays: list[tuple[str, int]], outcome: str | None = None) -> SessionRecord:
    """A session that stayed in these states, so many seconds in each."""
    at, found = BEGAN, []
    for state, seconds in stays:
        found.append(ReportedState(state, time_text(at * 10**9), {}))
        at += seconds
    if outcome is not None:
        found.append(ReportedState("done", time_text(at * 10**9), {}))
    last = time_text(at * 10**9)
    return SessionRecord(
        id="x",
        state=found[-1].state,
        outcome=outcome,
        started=found[0].since,
        updated=last,
        completed=last if outcome else None,
        stays=found,
        heard=float(at),
    )


@given(
    st.lists(st.tuples(st.sampled_from(STATES), st.integers(0, 10_000)), min_size=1, max_size=300),
    st.sampled_from([None, "success"]),
    st.integers(-10, 100_000),
)
def test_the_shares_are_a_whole_without_gaps(stays: list[tuple[str, int]], outcome: str | None, later: int) -> None:
    shares = shares_of(_record(stays, outcome), BEGAN + later)
    assert sum(one.part for one in shares) == pytest.approx(1)
    for before, after in pairwise(shares):
        assert after.start == pytest.approx(before.start + before.part)
    assert [one.is_open for one in shares].count(True) == (outcome is None and len(stays) <= 200)
    assert len(shares) <= 200


def test_a_state_that_goes_on_takes_what_passes() -> None:
    shares = shares_of(_record([("analyzing", 100), ("testing", 0)]), BEGAN + 400)
    assert [(one.state, round(one.part, 2)) for one in shares] == [("analyzing", 0.25), ("testing", 0.75)]


def test_it_is_silent_when_nothing_is_heard_for_longer_than_the_state_takes() -> None:
    record = _record([("testing", 0)])
    assert not summary_of(record, MACHINE, BEGAN + 300).is_silent
    assert summary_of(record, MACHINE, BEGAN + 301).is_silent
    assert not summary_of(_record([("testing", 5)], "success"), MACHINE, BEGAN + 9999).is_silent
