"""What was used is counted once: a task, a loop and a day, over restarts, deaths and loops."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from interlock.work.budget import Amount
from interlock.work.budget.books import Books
from interlock.work.stories.context import Limits
from interlock.work.stories.limits import LIMITS
from interlock.work.stories.verbs import limit, unblocked
from journal.histories import HUMAN
from work.stories.yards import IDLE, WORK, Ground, Steps

PAID: Steps = [{"usage": {"input": 1, "output": 1, "cached": 0}}, {"cost": 0.5}, *WORK]
DAY = "2026-01-01"
spents = st.builds(Amount, *(st.integers(0, 99),) * 3)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(("x", "y")), spents, spents, st.booleans())))
def test_every_run_is_paid_for_once_by_what_it_used_or_by_what_was_reserved(
    runs: list[tuple[str, str, Amount, Amount, bool]],
) -> None:
    books, expected = Books(), []
    for task, day, likely, used, dies in runs:
        books.reserve(task, day, likely)
        if not dies:
            books.settle(task, day, used)
        expected.append((task, day, likely if dies else used))

    def added(*those: Amount) -> Amount:
        return sum(those, Amount())

    assert books.total() == added(*(one for _, _, one in expected))
    for name in "ab":
        assert books.of_task(name) == added(*(one for task, _, one in expected if task == name))
    for name in ("x", "y"):
        assert books.of_day(name) == added(*(one for _, day, one in expected if day == name))


def test_a_run_is_likely_to_use_what_the_others_did() -> None:
    books = Books()
    assert books.likely() == Amount()
    for seconds in (1.0, 3.0):
        books.settle("a", DAY, Amount.of(seconds, 10, 0.5))
    books.reserve("a", DAY, books.likely())
    assert books.likely() == Amount.of(2.0, 10, 0.5)


def test_what_is_reserved_for_a_run_counts_until_the_run_is_settled(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",), "1-2": ("leave",)}).made()
    ground.drive(agents=[ground.agent(PAID)])
    reserved = [(one["role"], one["reserved"]["usd"], one["reserved"]["tokens"]) for one in ground.notes("begun")]
    assert reserved == [
        ("implementer", 0.0, 0),
        ("judge", 0.5, 2),
        ("implementer", 0.25, 1),
        ("judge", 0.333334, 2),
    ]
    assert ground.loop().spent()[1:] == (1.0, 4)


def test_a_run_whose_driver_died_has_cost_what_was_reserved_once(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",), "1-2": ("leave",)}).made()
    ground.drive(agents=[ground.agent(PAID)], limits=Limits(iterations=1))
    assert ground.loop().spent()[1:] == (0.5, 2)
    task = {"task": "story-1-2 1", "role": "implementer", "agent": "implementer", "at": "2026-01-01T00:00:00Z"}
    reserve = {"seconds": 1.0, "tokens": 2, "usd": 0.25}
    ground.note("begun", iteration=2, reserved=reserve, **task)
    assert ground.loop().spent()[1:] == (0.75, 4)
    ground.note("resumed")
    driven = ground.again().drive(agents=[ground.agent(PAID)], limits=Limits(loop_usd=2))
    assert driven.ended
    assert driven.loop.spent()[1:] == (1.25, 6)


def test_a_day_knows_of_all_its_loops_and_the_next_one_begins_anew(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    lazy = ground.agent([{"cost": 0.5}, *IDLE], name="lazy")
    assert ground.drive(agents=[lazy]).ended
    text = ground.progress_file.read_text()
    ground.progress_file.write_text(unblocked(text, "story-1-1"))
    limits = Limits(day_usd=2, day_iterations=9)
    second = ground.drive(agents=[lazy], limits=limits)
    assert second.loop.paused is not None
    assert (second.loop.paused.reason, ground.runs_of("lazy")) == ("the money for the day is used up", 4)
    assert second.loop.spent()[1] == 0.5
    day = second.loop.updated[:10]
    assert (second.loop.books.of_day(day).usd, second.loop.books.iterations[day]) == (2.0, 4)
    ground.clock.forward(86_400)
    ground.note("resumed")
    assert ground.drive(agents=[lazy], limits=limits).ended
    assert ground.runs_of("lazy") == 6


def test_every_limit_can_be_changed_while_the_loop_runs(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    ground.drive(limits=Limits(iterations=1), agents=[ground.agent(IDLE)])
    expected: dict[str, float] = {}
    for number, name in enumerate(LIMITS, 1):
        assert getattr(Limits(), name) in (0, 100)
        with closing(ground.journal()) as journal:
            limit(journal, HUMAN, name, number)
        expected[name] = number
        assert ground.loop().limits == expected
