"""What each driver does when the day's budget is used up: it rests as with one of its own, and says which it is."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.journal.ids import time_text
from interlock.work.attention.overview import attention
from interlock.work.budget import day_usage
from interlock.work.driver.agent_run import AgentRequest, end_orphaned_runs, run_agent
from interlock.work.driver.step import noted
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.notifying.news import news_of
from interlock.work.orchestration.beginning import begin, roles_of
from interlock.work.orchestration.loop import drive
from interlock.work.settings.values import Settings
from interlock.work.threads.dialogue import say
from interlock.world.notices.notice import Kind
from work.orchestration.playing import MET, SESSION, done, plan, qualified, task
from work.stories.yards import WORK, Ground
from work.threads.benches import DONE, Bench, Steps
from work.ticket_driver.ways import Way, made

SETTING = "budget.day_usd"
DOLLAR: Steps = [{"cost": 1.0}]
IDLE: Steps = [*DOLLAR, {"say": "I looked around."}, {"finish": True}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench.made(tmp_path / "repository")
    bench.settings[SETTING] = 1
    return bench


def _sessions(journal: Journal) -> int:
    return len(journal.instances("session"))


def _told(journal: Journal, id_: str) -> list[Kind]:
    """What people are told of an instance."""
    instance = journal.instance(id_)
    machine = journal.machine_of(instance)
    found = (news_of(one, machine, instance.snapshot, instance.parent) for one in journal.history(id_))
    return [one.kind for one in found if one is not None]


@pytest.mark.parametrize(
    ("plays", "states", "sessions"),
    [(IDLE, ["Running", "Stuck"], 1), ([*DOLLAR, *DONE], ["Running", "Verifying", "Stuck"], 1)],
    ids=["before an iteration", "before the judge"],
)
def test_a_thread_is_stuck(bench: Bench, plays: Steps, states: list[str], sessions: int) -> None:
    bench.play(plays)
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert bench.states(id_)[-len(states) :] == states
    assert SETTING in thread.reason
    assert "$1.00 of $1.00" in thread.reason
    with closing(bench.open()) as journal:
        assert journal.history(id_)[-1].event == "budget_exhausted"
        assert _told(journal, id_)[-1] is Kind.BUDGET
        assert _sessions(journal) == sessions
        settings = Settings.of("[budget]\nday_usd = 1\n")
        spent = attention(journal, RecordCaches(), settings, bench.root).spending[0]
        assert (spent.what, spent.usd, spent.runs, spent.share) == ("all work", 1.0, sessions, 1.0)
    bench.settings[SETTING] = 9
    bench.play(DONE)
    assert bench.act(id_, "assist", reason="there is more now").state == "PendingReview"


@pytest.mark.parametrize("driver", ["story", "orchestrator"])
def test_a_thread_whose_child_may_use_no_more_is_stuck_for_that_reason(bench: Bench, driver: str) -> None:
    bench.settings |= {"thread.driver": driver, "story.tests": ("true",)}
    bench.play([*DOLLAR, *(plan(task(1)) if driver == "orchestrator" else [*WORK, {"finish": True}])])
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert (thread.state, SETTING in thread.reason) == ("Stuck", True), thread.reason
    with closing(bench.open()) as journal:
        assert journal.history(id_)[-1].event == "budget_exhausted"
        assert _sessions(journal) == 1


def test_a_story_loop_pauses_and_no_attempt_is_counted(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    most = Settings({**Settings().values, "agent.sandbox": "none", SETTING: 1})
    agent = ground.agent([*DOLLAR, *WORK])
    paused = ground.drive(agents=[agent], settings=most).loop
    assert paused.paused is not None
    assert SETTING in paused.paused.reason
    assert (paused.paused.cause, ground.runs_of(), ground.runs_of("judge")) == ("budget", 1, 0)
    with closing(ground.journal()) as journal:
        [loop] = journal.instances("story")
        begun = [one for one in journal.history(loop.id) if one.decoded_evidence().data.get("type") == "begun"]
        assert len(begun) == 1, "what did not begin is not reserved either"
        assert _told(journal, loop.id) == [Kind.BUDGET]
        journal.append(loop.id, noted("resumed"))
    assert ground.drive(agents=[agent]).loop.outcome == "all_complete"


def test_a_run_rests_and_goes_on_when_there_is_more(bench: Bench) -> None:
    bench.play([*DOLLAR, *plan(task(1))], done(1))
    bench.judge(qualified(1), MET)
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        id_ = begin(context, "All of it", SESSION, roles_of(context, {}))
        run = drive(context, id_)
        assert run.paused is not None
        assert SETTING in run.paused.reason
        assert (run.paused.cause, len(run.invocations), run.at_work, _sessions(journal)) == ("budget", 1, None, 1)
        assert _told(journal, id_) == [Kind.BUDGET]
        bench.settings[SETTING] = 9
        journal.append(id_, noted("resumed"))
        assert drive(bench.context(journal), id_).outcome == "success"


@pytest.fixture
def way(tmp_path: Path) -> Way:
    way = made(tmp_path / "repository", **{SETTING: 1})
    with closing(way.open()) as journal:
        _spend(way, journal)
    return way


def _spend(way: Way, journal: Journal) -> None:
    """Use up the day by a run of another thread."""
    way.play(IDLE)
    context = way.context(journal)
    ticket = journal.instances("ticket")[0].id
    run_agent(context, AgentRequest(context.agent("scripted"), "other", "Work.", ticket, way.state_directory / "log"))


def test_a_walk_stops_where_the_ticket_is_and_holds_nothing(way: Way) -> None:
    with closing(way.open()) as journal:
        head = journal.head()
    walked = way.walk()
    assert (walked.ticket.state, walked.stop.failed, walked.ticket.held_by) == ("Backlog", True, None)
    assert "$1.00 of $1.00" in walked.stop.why
    assert SETTING in walked.stop.hint
    with closing(way.open()) as journal:
        assert journal.head() == head, "nothing is written"
        assert journal.is_held("way:prepare", lambda holder: True) is False
    assert way.walk().stop == walked.stop, "however often"


def test_what_nobody_is_asked_is_not_said(bench: Bench) -> None:
    bench.play(IDLE)
    id_ = bench.new(None)
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        say(context, id_, bench.person.actor, "Greet people.")
        with pytest.raises(InterlockError) as refused:
            say(context, id_, bench.person.actor, "And loudly.")
        assert refused.value.code == "budget_exhausted"
    assert [one.content for one in bench.thread(id_).messages] == ["Greet people.", "I looked around."]


def test_a_run_whose_driver_died_costs_what_was_reserved_for_it_once(way: Way) -> None:
    way.settings[SETTING] = 9
    with closing(way.open()) as journal:
        context, ticket = way.context(journal), journal.instances("ticket")[0].id
        day = time_text(int(journal.now() * 1e9))[:10]

        def died() -> None:
            raise KeyboardInterrupt

        log = way.state_directory / "log"
        request = AgentRequest(context.agent("scripted"), "died", "Work.", ticket, log, on_start=died)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                run_agent(context, request)
            end_orphaned_runs(way.context(journal), ticket)
            end_orphaned_runs(way.context(journal), ticket)
        assert (day_usage(journal, day).used.usd, day_usage(journal, day).runs) == (3.0, 3)
        assert [one for one in journal.instances("session") if one.outcome is None] == []
