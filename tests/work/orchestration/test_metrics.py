"""What is counted of runs: by hand for a few, and what must hold for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.journal import Entry, Journal, open_journal
from interlock.journal.ids import time_text
from interlock.work.formats.times import milliseconds_of
from interlock.work.orchestration.changes import Added, Closed, Unticked
from interlock.work.orchestration.contracts import Role, example_of
from interlock.work.orchestration.loop import begin, drive
from interlock.work.orchestration.metrics import RunMetrics, measured, over, rate, sessions_of
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.tally import Tally, take
from interlock.work.orchestration.values import Task
from interlock.work.orchestration.verbs import resume
from journal.histories import Clock
from work.orchestration.playing import MET, ROLES, done, gone_on, plan, qualified, says, task
from work.orchestration.runs_made import Made, note, tally_of
from work.orchestration.ways import Journeys
from work.threads.benches import Bench

NOW = 4_000_000_000_000
"""A time after all others."""


# Counted by hand, of runs that were driven


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(tmp_path: Path, clock: Clock) -> Bench:
    """A repository in which every role takes 1,000 seconds, by its clock."""
    made = Bench.made(tmp_path / "repository")
    made.now = clock
    made.hear = lambda told: clock.forward(1000) if _at_work(told) else None
    return made


def _at_work(told: object) -> str:
    """The role that is asked now."""
    return told.at_work.role if isinstance(told, Run) and told.at_work is not None else ""


def _found(journal: Journal, id_: str) -> RunMetrics:
    return measured(id_, tally_of(journal.history(id_)), round(journal.now() * 1000))


def _thousands(run: RunMetrics) -> dict[str, int]:
    """The time in each state in thousands of seconds; what the clock's own milliseconds add is far less than one."""
    return {state: rounded for state, spent in run.states.items() if (rounded := round(spent / 1e6))}


ASKS = says(status="needs_qa_cycle", goal="All parts", plan="# Plan", questions=["How many?"])
ANSWERS = says(**{**example_of(Role.QUESTIONER), "summary": "Two, as README says."})


def test_a_run_is_counted_as_it_was_driven(bench: Bench) -> None:
    bench.play(ASKS, ANSWERS, plan(task(1), task(2)), done(1), done(1), done(2))
    bench.judge(qualified(1, "Failed"), qualified(1), qualified(2), MET)
    journal = bench.open()
    try:
        context = bench.context(journal)
        ended = drive(context, begin(context, "All parts are there", "261115-120000", ROLES))
        assert ended.outcome == "success", ended.reason
        run = _found(journal, ended.id)
    finally:
        journal.close()
    assert _thousands(run) == {"Planning": 3, "Executing": 3, "Reviewing": 3, "Complete": 1}
    assert (run.rested, run.cycles) == (0, 1)
    assert run.duration == milliseconds_of(ended.moves[-1][2]) - milliseconds_of(ended.started)
    assert {one.id: (one.end, one.attempts, one.rework) for one in run.tasks} == {
        "task-1": ("qualified", 2, 1),
        "task-2": ("qualified", 1, 0),
    }
    assert {role: used.invocations for (role, _), used in run.used.items()} == {
        "planner": 2,
        "questioner": 1,
        "executor": 3,
        "reviewer": 3,
        "holistic": 1,
    }
    overall = over([run])
    assert rate(overall.ends["qualified"], overall.ends.get("failed", 0)) == 1.0
    assert rate(overall.qualified, overall.failed) == 2 / 3
    assert (overall.rework, overall.tried_again, overall.attempts) == (1, 1, {1: 1, 2: 1})


def test_a_session_goes_on_over_its_runs(bench: Bench, clock: Clock) -> None:
    """Three failed attempts in one run and a good one in the next are one task, that needed rework three times."""
    bench.settings["verify.commands"] = ("test -f mended",)
    bench.play(plan(task(1)), done(1), done(1), done(1))
    journal = bench.open()
    try:
        context = bench.context(journal)
        failed = drive(context, begin(context, "All parts are there", "261115-120000", ROLES))
        assert failed.outcome == "failure"
        clock.forward(50_000)
        (bench.root / "mended").write_text("")
        bench.git("add", "mended")
        bench.git("commit", "-qm", "what was missing")
        bench.play(done(1))
        bench.judge(qualified(1), MET)
        ended = drive(context, resume(context, bench.person, failed))
        assert ended.outcome == "success", ended.reason
        runs = [_found(journal, failed.id), _found(journal, ended.id)]
    finally:
        journal.close()
    [session] = sessions_of(reversed(runs))
    assert [run.id for run in session.runs] == [failed.id, ended.id]
    assert [(one.end, one.attempts, one.rework) for one in session.tasks] == [("qualified", 4, 3)]
    assert [run.tasks[0].end for run in runs] == ["failed", "qualified"]
    assert round(session.between / 1e6) == 50
    assert session.duration == session.between + sum(run.duration for run in runs)
    overall = over(runs)
    assert (overall.runs, len(overall.sessions), overall.ends) == (2, 1, {"qualified": 1})
    assert (overall.qualified, overall.failed, overall.outcomes) == (1, 3, {"failure": 1, "success": 1})


def test_time_without_a_driver_is_rest(bench: Bench, clock: Clock) -> None:
    bench.play(plan(task(1)), done(1))
    bench.judge(qualified(1), MET)
    heard = bench.hear

    def hear(told: object) -> None:
        heard(told)
        if _at_work(told) == "executor":
            bench.pausing.set()  # it rests when this attempt is over

    bench.hear = hear
    journal = bench.open()
    try:
        context = bench.context(journal)
        id_ = begin(context, "All parts are there", "261115-120000", ROLES)
        assert gone_on(context, id_).outcome is None
        clock.forward(20_000)
        bench.pausing.clear()
        bench.hear = heard
        assert gone_on(context, id_).outcome == "success"
        run = _found(journal, id_)
    finally:
        journal.close()
    assert round(run.rested / 1e6) == 20
    assert _thousands(run) == {"Planning": 1, "Executing": 1, "Reviewing": 1, "Complete": 1}


def test_marks_are_those_of_the_plan(journeys: Journeys) -> None:
    found = set()
    for journey in (journeys["straight"], journeys["blocked"], journeys["rejected_thrice"]):
        entries = journey.stage.entries(journey.ended.id)
        marks = {one.id: str(one.mark) for one in run_of(entries).plan.tasks}
        assert {id_: one.end for id_, one in tally_of(entries).tasks.items()} == marks
        found |= set(marks.values())
    assert found == {"x", "C", "F"}


# Made as entries


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[Journal]:
    opened = open_journal(tmp_path / "journal.db", now=clock)
    yield opened
    opened.close()


def test_between_stopped_and_resumed_it_rests(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1000, ["task-1"])
    made.say("stopped")
    clock.forward(30_000)
    made.say("resumed")
    made.attempt(2000, "task-1")
    made.finish(1000)
    run = _found(journal, made.id)
    assert round(run.rested / 1e6) == 30
    assert _thousands(run) == {"Planning": 1, "Executing": 2, "Reviewing": 2, "Complete": 1}


def test_what_an_agent_took_after_a_rest_is_work(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1000, ["task-1"])
    made.execute(1000, "task-1")
    made.rest(40_000)
    made.review(3000, "task-1")
    run = _found(journal, made.id)
    assert (round(run.rested / 1e6), _thousands(run)["Reviewing"]) == (40, 3)


def test_of_a_run_under_way_the_present_counts_and_is_work_only_if_somebody_is_at_work(
    journal: Journal, clock: Clock
) -> None:
    made = Made(journal, clock)
    made.plan(1000, ["task-1"])
    tally, now = tally_of(journal.history(made.id)), round(journal.now() * 1000) + 7_000_000
    driven, alone = measured(made.id, tally, now), measured(made.id, tally, now, is_driven=False)
    assert (round(driven.states["Executing"] / 1e6), driven.rested, driven.is_resting) == (7, 0, False)
    assert ("Executing" in alone.states, round(alone.rested / 1e6), alone.is_resting) == (False, 7, True)
    assert driven.duration == alone.duration == now - driven.began
    assert driven.ended is None
    assert measured(made.id, tally).duration <= driven.duration - 7_000_000


def test_the_third_answer_that_cannot_be_used_is_a_failed_attempt(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1, ["task-1"])
    made.execute(1, "task-1", "invalid")
    made.answer(1, "task-1", "invalid")
    assert tally_of(journal.history(made.id)).tasks["task-1"].failed == 0
    made.answer(1, "task-1", "invalid", is_over=True)
    made.attempt(1, "task-1")
    [one] = _found(journal, made.id).tasks
    assert (one.failed, one.qualified) == (1, 1)


def test_what_a_person_changed_in_the_files_counts(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1, ["task-1", "task-2"])
    made.attempt(1, "task-1")
    changes = msgspec.to_builtins([Unticked("task-1"), Closed("task-2"), Added(Task("task-3", "more"))])
    made.write(note("read_back", changes=changes, files=[]))
    assert {one.id: one.end for one in _found(journal, made.id).tasks} == {
        "task-1": "open",
        "task-2": "closed",
        "task-3": "open",
    }
    made.attempt(1, "task-1")
    assert _found(journal, made.id).tasks[0].rework == 1


def test_a_cycle_that_is_told_in_parts_is_one(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1, ["task-1"], cycles=2)
    made.write(note("cycle", cycle={"number": 2}))
    assert _found(journal, made.id).cycles == 2


def test_a_blocked_task_is_neither_success_nor_failure(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1, ["task-1"])
    made.execute(1, "task-1", "blocked")
    [one] = _found(journal, made.id).tasks
    assert (one.end, one.attempts, one.blocked) == ("open", 0, 1)
    assert rate(over([_found(journal, made.id)]).qualified, 0) is None


def test_a_run_that_is_superseded_has_ended(journal: Journal, clock: Clock) -> None:
    made = Made(journal, clock)
    made.plan(1000, ["task-1"])
    made.leave()
    clock.forward(5000)
    made.supersede()
    clock.forward(5000)
    run = _found(journal, made.id)
    assert (run.outcome, run.state, round(run.rested / 1e6)) == ("superseded", "Executing", 5)
    assert run.ended is not None
    assert run.ended < round(journal.now() * 1000) - 4_000_000


# What must always hold


def _entry(
    version: int, time: int, event: str, states: tuple[str, str], epoch: int | None, data: dict[str, object]
) -> Entry:
    evidence = {"facts": {"session": "new"}, "data": data}
    return Entry(
        seq=version,
        instance="r",
        version=version,
        event=event,
        from_state=states[0],
        to_state=states[1],
        actor_kind="system",
        actor_id="driver",
        channel="test",
        command=None,
        reason=None,
        evidence=msgspec.json.encode(evidence).decode(),
        time=time_text(time * 1_000_000),
        off_path=0,
        epoch=epoch,
        key=None,
        previous="",
    )


_STATES = ("Planning", "Executing", "Reviewing", "Complete", "Exit", "Failed")
_NOTES = st.sampled_from(["stopped", "resumed", "projected", "cycle"]).map(
    lambda type_: {"type": type_, "cycle": {"number": 1}}
)
_AGENTS = st.integers(0, 10**7).map(
    lambda ms: {"type": "invoked", "role": "planner", "agent": "a", "seconds": ms / 1000, "cost_usd": None, "tokens": 1}
)
_STEPS = st.lists(
    st.tuples(
        st.integers(-(10**5), 10**8),
        st.one_of(st.sampled_from(_STATES[:4] * 3 + _STATES[4:]), _NOTES, _AGENTS),
        st.one_of(st.none(), st.integers(0, 1)),
    ),
    max_size=30,
)


@st.composite
def _histories(draw: st.DrawFn) -> list[Entry]:
    """Any order of moves and notes, by drivers that follow each other and by others, and a clock that is set back."""
    time, epoch, state = draw(st.integers(0, 10**12)), 1, "Initializing"
    born: dict[str, object] = {"goal": "a goal", "session": "a session"}
    entries = [_entry(1, time, "created", ("", state), None, born)]
    for passed, what, newer in draw(_STEPS):
        time, epoch = max(0, time + passed), epoch + (newer or 0)
        by = None if newer is None else epoch
        if isinstance(what, str):
            entries.append(_entry(len(entries) + 1, time, "session_resolved", (state, what), by, {}))
            state = what
        else:
            entries.append(_entry(len(entries) + 1, time, "noted", (state, state), by, what))
        if state in _STATES[4:]:
            break
    return entries


@given(_histories(), st.booleans())
def test_every_millisecond_of_a_run_is_in_one_state_or_rest(entries: list[Entry], is_driven: bool) -> None:
    times = [milliseconds_of(one.time) for one in entries]
    run = measured("r", tally_of(entries), NOW, is_driven=is_driven)
    end = NOW if run.outcome is None else max(times)
    assert sum(run.states.values()) + run.rested == run.duration == end - times[0]
    assert all(spent >= 0 for spent in (*run.states.values(), run.rested))
    assert not run.states.keys() & {"Exit", "Failed"}


@given(_histories())
def test_what_is_settled_never_becomes_less(entries: list[Entry]) -> None:
    tally, before = Tally(), measured("r", Tally())
    for entry in entries:
        take(tally, entry)
        after = measured("r", tally)
        assert all(after.states.get(state, 0) >= spent for state, spent in before.states.items())
        assert after.rested >= before.rested
        before = after
    assert before.duration <= measured("r", tally, NOW).duration


@given(_histories(), st.integers(0, 40))
def test_a_tally_that_was_put_aside_goes_on(entries: list[Entry], place: int) -> None:
    kept = msgspec.json.decode(msgspec.json.encode(tally_of(entries[:place])), type=Tally)
    for entry in entries[place:]:
        take(kept, entry)
    assert kept == tally_of(entries)


@given(st.lists(_histories(), max_size=4), st.lists(_histories(), max_size=4))
def test_what_runs_add_up_to_is_the_sum_of_its_parts(some: list[list[Entry]], others: list[list[Entry]]) -> None:
    def runs(name: str, several: list[list[Entry]]) -> list[RunMetrics]:
        found = [(f"{name}{number}", tally_of(entries)) for number, entries in enumerate(several)]
        for id_, tally in found:
            tally.session = id_
        return [measured(id_, tally, NOW) for id_, tally in found]

    one, other = over(runs("a", some)), over(runs("b", others))
    both = over([*runs("a", some), *runs("b", others)])
    for name in ("runs", "worked", "rested", "between", "all_cycles", "rework", "tried"):
        assert getattr(both, name) == getattr(one, name) + getattr(other, name), name
    assert (both.sessions, both.run_ends) == (one.sessions + other.sessions, one.run_ends + other.run_ends)


def test_without_runs_there_are_no_rates() -> None:
    overall = over([])
    assert (overall.runs, overall.worked, rate(overall.qualified, overall.failed)) == (0, 0, None)
