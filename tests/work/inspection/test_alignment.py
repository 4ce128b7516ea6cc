"""Two instances side by side: what is the same is beside each other, and nothing is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlock.journal import Entry
from interlock.journal.ids import time_text
from interlock.work.inspection.alignment import aligned, stays

STATES = ("idle", "analyzing", "implementing")


def _entry(version: int, event: str, came_from: str | None, to: str, seconds: int, reason: str | None = None) -> Entry:
    return Entry(
        version, "i", version, event, came_from, to, "agent", "a", "mcp", None, reason, "{}",
        time_text(seconds * 10**9), 0, None, None, "",
    )  # fmt: skip


def _way(*steps: tuple[str, int]) -> list[Entry]:
    """A session's entries: each state with the second that it is reported at."""
    states = [None, *(state for state, _ in steps)]
    return [_entry(at, "report", states[at - 1], to, seconds) for at, (to, seconds) in enumerate(steps, 1)]


def test_a_step_that_only_one_made_stands_alone() -> None:
    left = _way(("idle", 0), ("analyzing", 5), ("implementing", 9))
    right = _way(("idle", 100), ("implementing", 130))
    pairs = aligned(left, right)
    assert [pair.kind for pair in pairs] == ["same", "left", "same"]
    assert pairs[1].left is not None
    assert (pairs[1].left.entry.to_state, pairs[1].left.after, pairs[1].right) == ("analyzing", 5.0, None)
    assert pairs[2].right is not None
    assert pairs[2].right.after == 30.0


def test_the_same_step_for_another_reason_is_marked() -> None:
    left, right = [_entry(1, "x", None, "a", 0, "one")], [_entry(1, "x", None, "a", 0, "two")]
    [pair] = aligned(left, right)
    assert (pair.kind, pair.differs) == ("same", ("reason",))


def test_time_is_counted_by_state_with_the_last_one_up_to_now() -> None:
    left = _way(("idle", 0), ("analyzing", 5), ("idle", 9))
    found = {one.state: one for one in stays(left, _way(("idle", 0)), (20.0, 7.0))}
    assert (found["idle"].seconds, found["idle"].visits) == ((16.0, 7.0), (2, 1))
    assert (found["analyzing"].seconds, found["analyzing"].visits) == ((4.0, 0.0), (1, 0))


_steps = st.lists(st.sampled_from(STATES), min_size=1, max_size=12).map(
    lambda states: _way(*((state, second) for second, state in enumerate(states)))
)


@given(_steps, _steps)
def test_both_ways_are_there_whole_and_in_order(left: list[Entry], right: list[Entry]) -> None:
    pairs = aligned(left, right)
    assert [pair.left.entry for pair in pairs if pair.left] == left
    assert [pair.right.entry for pair in pairs if pair.right] == right
    assert all(pair.kind == "same" for pair in aligned(left, left))
    spent = stays(left, right, (50.0, 60.0))
    assert sum(one.seconds[0] for one in spent) == 50.0
    assert sum(one.seconds[1] for one in spent) == 60.0
