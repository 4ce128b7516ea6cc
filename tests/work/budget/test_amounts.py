"""The arithmetic of the day's budget: whatever runs cost, settle in any order or die, none begins over the limit."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.work.budget import NOTHING, Amount, DayUsage, likely, limits_of, refusal
from interlock.work.settings.values import Settings

AMOUNTS = st.builds(Amount, st.integers(0, 100_000), st.integers(0, 1_000), st.integers(0, 5_000_000))
LIMITS = st.builds(Amount, st.integers(0, 300_000), st.integers(0, 3_000), st.integers(0, 9_000_000))
KINDS = ("milliseconds", "tokens", "microdollars")


def _within(one: Amount, most: Amount) -> bool:
    return all(not getattr(most, kind) or getattr(one, kind) <= getattr(most, kind) for kind in KINDS)


@settings(max_examples=examples(600))
@given(LIMITS, st.lists(st.tuples(st.sampled_from(["begin", "settle", "die"]), st.integers(0, 9), AMOUNTS)))
def test_no_run_begins_that_would_pass_the_limit(most: Amount, moves: list[tuple[str, int, Amount]]) -> None:
    """And the whole day passes it by no more than what runs used beyond what was reserved for them."""
    reserved: list[Amount] = []
    open_: list[int] = []
    known: list[Amount] = []
    costs: list[Amount] = []
    for what, place, used in moves:
        day = DayUsage(sum(costs, NOTHING), len(costs), likely(sum(known, NOTHING), len(known)))
        if what == "begin":
            if refusal(most, day) is None:
                assert _within(day.used + day.likely, most)
                open_.append(len(costs))
                reserved.append(day.likely)
                costs.append(day.likely)
            else:
                assert any(
                    getattr(most, kind) and getattr(day.used + day.likely, kind) >= getattr(most, kind)
                    for kind in KINDS
                )
        elif open_:
            run = open_.pop(place % len(open_))
            if what == "settle":  # one that died keeps its reserve
                costs[run] = used
                known.append(used)
    for kind in KINDS:
        beyond = sum(
            max(0, getattr(cost, kind) - getattr(had, kind)) for cost, had in zip(costs, reserved, strict=True)
        )
        assert not getattr(most, kind) or sum(getattr(one, kind) for one in costs) <= getattr(most, kind) + beyond


@given(st.lists(AMOUNTS, min_size=1, max_size=4))
def test_the_order_of_settling_changes_nothing(used: list[Amount]) -> None:
    sums = {(sum(order, NOTHING), likely(sum(order, NOTHING), len(order))) for order in permutations(used)}
    assert len(sums) == 1
    [(total, average)] = sums
    for kind in KINDS:
        assert 0 <= getattr(average, kind) * len(used) - getattr(total, kind) < len(used), "rounded up"


@pytest.mark.parametrize(
    ("key", "used", "next_", "said"),
    [
        ("budget.day_usd", Amount.of(0, 0, 4.2), Amount.of(0, 0, 0.9), "$4.20 of $5.00 are used or reserved"),
        ("budget.day_tokens", Amount(tokens=5), NOTHING, "5 tokens of 5 tokens"),
        ("budget.day_minutes", Amount.of(299, 0, None), Amount.of(2, 0, None), "5.0 minutes of 5.0 minutes"),
    ],
)
def test_it_is_told_what_is_used_of_what_and_which_setting_it_is(
    key: str, used: Amount, next_: Amount, said: str
) -> None:
    most = limits_of(Settings.of(f"[budget]\n{key.partition('.')[2]} = 5\n"))
    refused = refusal(most, DayUsage(used, 1, next_))
    assert refused is not None
    assert (refused.code, said in refused.message, key in refused.hint) == ("budget_exhausted", True, True), refused
    assert refusal(most, DayUsage(NOTHING, 0, most)) is None, "what fits exactly may begin"
    assert refusal(limits_of(Settings()), DayUsage(used, 1, next_)) is None, "0 is no limit"


def test_what_an_agent_does_not_tell_or_tells_wrongly_gives_nothing_back() -> None:
    assert Amount.of(1.2345, 7, None) == Amount(1234, 7, 0)
    assert Amount.of(-1, -5, -3.0) == NOTHING
