"""Failures of agents end as they should: a person is told and nothing is counted, or what passes is waited for."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sys import executable

import pytest

from interlock.errors import InterlockError
from interlock.work.attention.overview import attention
from interlock.work.attention.tree import tree
from interlock.work.driver.agent_failures import Wait, clock, wait_for
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.verbs import begin_goal, roles_of
from interlock.work.sessions.runs import RunSummary
from interlock.world.agents.happenings import Failure, FailureKind
from work.orchestration.playing import MET, done, plan, qualified, task
from work.threads.benches import DONE, PASS, STORY_MET, Bench, Steps
from work.ticket_driver.ways import Way, commands, made, planned

RAW = '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'


def fails(kind: str, until: float | None = None) -> Steps:
    """A run that something keeps from its work, with the provider's own answer on stderr."""
    return [{"complain": RAW}, {"limit": {"kind": kind, "until": until, "said": RAW}}, {"exit": 1}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def _refused(bench: Bench, id_: str, *events: str) -> InterlockError:
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, *events) if events else bench.drive(id_)
    return caught.value


def _status(bench: Bench) -> tuple[list[str], list[str]]:
    """What waits for a person, and what waits by itself."""
    with closing(bench.open()) as journal:
        seen = attention(journal, RecordCaches(), bench.context(journal).settings, bench.root)
        waits = [one.waits for root in tree(journal, RecordCaches(), seen.waiting).roots for one in (root, *root.below)]
        return [one.why for one in seen.waiting if one.is_gate], [one for one in waits if one]


# How long


def test_a_known_end_is_waited_for_and_an_unknown_one_in_growing_pauses_up_to_the_limit() -> None:
    known = Failure(FailureKind.WEEKLY, 5000.0, "")
    unknown = Failure(FailureKind.NETWORK, None, "")
    found = wait_for(known, None, 100.0, 60.0)
    assert found is not None
    assert (found.until, found.since) == (5000.0, None)
    waits, now, before = [], 1000.0, None
    while (found := wait_for(unknown, before, now, 3600.0)) is not None:
        waits.append(found.until - now)
        before, now = RunSummary("claude", "limited", waits_since=found.since), found.until
    assert waits[:6] == [15, 15, 30, 60, 120, 240]
    assert max(waits) == 300
    assert 3600 <= now - 1000 <= 3900
    assert wait_for(unknown, None, 1000.0, 0.0) is None


@pytest.mark.parametrize("until", [0.0, 4990.0, 5001.0, 1.8e12, 1e300])
def test_an_end_that_has_passed_or_cannot_be_true_is_an_unknown_one(until: float) -> None:
    told = Failure(FailureKind.SESSION, until, "")
    assert wait_for(told, None, 5000.0, 3600.0) == Wait(5015.0, 5000.0)
    assert wait_for(told, RunSummary("claude", "limited", waits_since=1000.0), 5000.0, 3600.0) is None
    assert clock(until)


# A thread


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["login", "credit", "account", "model", "setup"])
def test_what_a_person_must_fix_stops_a_thread_at_once_and_costs_nothing(bench: Bench, kind: str) -> None:
    bench.play(fails(kind), DONE)
    id_ = bench.new(mode="quick")
    error = _refused(bench, id_, "finalize")
    assert error.code == "agent_unusable"
    assert "{" not in error.message + error.hint
    thread = bench.thread(id_)
    assert (thread.state, thread.iteration, bench.waited) == ("Running", 1, [])
    needed, _ = _status(bench)
    assert any("scripted" in one and "{" not in one for one in needed)
    assert bench.drive(id_).state == "PendingReview"
    assert bench.thread(id_).iteration == 1


@pytest.mark.parametrize("command", ["/bin/true", "/bin/false"])
def test_an_agent_that_exits_at_once_uses_no_iteration(bench: Bench, command: str) -> None:
    bench.settings |= {"agent.name": "command", "agent.judge": "scripted", "agent.command": command}
    id_ = bench.new(mode="quick")
    error = _refused(bench, id_, "finalize")
    assert (error.code, "exited at once" in error.message) == ("agent_unusable", True)
    assert bench.thread(id_).iteration == 1
    assert _refused(bench, id_).code == "agent_unusable", "and again, as often as somebody tries"


@pytest.mark.parametrize("change", ["made", "rewritten", "removed"])
def test_an_agent_that_changed_a_file_was_not_idle_whatever_time_the_file_has(bench: Bench, change: str) -> None:
    """The kernel's clock for files lags behind ours, and a program can set the time of a file."""
    script, kept = bench.root.parent / "agent.py", bench.root / "kept"
    kept.mkdir()
    (kept / "file").write_text("one")
    bench.git("add", "-A")
    bench.git("commit", "-q", "-m", "A file")
    code = {"made": "made.write_text('')", "rewritten": "file.write_text('two')", "removed": "file.unlink()"}[change]
    script.write_text(
        f"import os, pathlib\nfile, made = pathlib.Path('kept/file'), pathlib.Path('made')\n{code}\n"
        "for one in (file, made):\n    if one.exists():\n        os.utime(one, (1, 1))\n"
    )
    bench.settings |= {"agent.name": "command", "agent.judge": "scripted", "agent.command": f"{executable} {script}"}
    bench.settings["thread.iterations"] = 1
    assert bench.act(bench.new(mode="quick"), "finalize").state == "Stuck"


def test_another_agent_takes_the_turn_of_one_that_cannot_work(bench: Bench) -> None:
    bench.settings |= {"agent.rotation": ("command", "scripted"), "agent.command": "/bin/false"}
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert (thread.state, thread.iteration) == ("PendingReview", 1)


def test_a_judge_that_cannot_work_costs_the_implementer_nothing(bench: Bench) -> None:
    bench.judge(fails("credit"), PASS)
    id_ = bench.new(mode="quick")
    error = _refused(bench, id_, "finalize")
    assert (error.code, "judge" in error.message) == ("agent_unusable", True)
    assert bench.drive(id_).state == "PendingReview"
    roles = [one.role for one in bench.thread(id_).iterations]
    assert (roles, bench.thread(id_).iteration) == (["implementer", "judge", "judge"], 1)


def test_what_passes_is_waited_for_and_shown(bench: Bench) -> None:
    bench.play(fails("session", 4_000_000_000), DONE)
    id_ = bench.new(mode="quick")
    shown: list[list[str]] = []

    def look(told: object) -> None:
        if isinstance(told, str) and "waiting until" in told:
            shown.append(_status(bench)[1])
            bench.pausing.set()

    bench.hear = look
    assert bench.act(id_, "finalize").state == "Paused"
    [[waits]] = shown
    assert waits.startswith("waits until 2096-10-02 ")
    assert waits.endswith(" for scripted's limit")


def test_an_end_that_nobody_knows_is_waited_for_no_longer_than_the_settings_say(bench: Bench) -> None:
    bench.settings["agent.wait_minutes"] = 0
    bench.play(fails("overloaded"))
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert (thread.state, thread.iteration, bench.waited) == ("Stuck", 1, [])
    assert "agent.wait_minutes" in thread.reason


def test_agents_that_take_turns_are_not_waited_for_longer_than_the_settings_say_either(bench: Bench) -> None:
    elapsed = [0.0]
    bench.now = lambda: int((1_700_000_000 + elapsed[0]) * 10**9)
    bench.settings |= {
        "agent.rotation": ("command", "scripted"),
        "agent.command": "sh -c 'echo looking; echo Connection refused >&2; exit 1'",
        "agent.wait_minutes": 10,
    }
    bench.play(*[fails("overloaded")] * 100)

    def waiting(told: object) -> None:
        if isinstance(told, str) and "waiting until" in told:
            elapsed[0] += 60
            if elapsed[0] > 3600:
                bench.pausing.set()

    bench.hear = waiting
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert (thread.state, thread.iteration, "agent.wait_minutes" in thread.reason) == ("Stuck", 1, True)


@pytest.mark.parametrize("driver", ["story", "orchestrator"])
def test_a_driver_of_a_thread_costs_nothing_either(bench: Bench, driver: str) -> None:
    bench.settings |= {"thread.driver": driver, "thread.iterations": 1}
    work: tuple[Steps, ...] = (DONE,) if driver == "story" else (plan(task(1)), [*DONE[:1], *done(1)])
    bench.play(fails("login"), *work)
    bench.judge(*((STORY_MET,) if driver == "story" else (qualified(1), MET)), PASS)
    id_ = bench.new(mode="quick")
    assert _refused(bench, id_, "finalize").code == "agent_unusable"
    assert (bench.thread(id_).state, bench.thread(id_).iteration) == ("Running", 1)
    assert bench.drive(id_).state == "PendingReview"


def test_what_a_failing_agent_printed_is_not_the_reason_for_which_a_thread_is_stuck(bench: Bench) -> None:
    bench.settings["thread.iterations"] = 1
    bench.play([{"tool": {"name": "Bash", "about": "ls"}}, {"complain": f"boom\n{RAW}"}, {"exit": 1}])
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert (thread.state, "boom" in thread.reason, "{" in thread.reason) == ("Stuck", True, False)


# A run


def test_a_run_whose_agent_cannot_work_stays_where_it_is(bench: Bench) -> None:
    bench.play(plan(task(1)), fails("login"), fails("credit"), done(1))
    bench.judge(qualified(1), MET)
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        run = begin_goal(context, "All is well", roles_of(context, {}))
        for said in ("not logged in", "no credit"):
            with pytest.raises(InterlockError, match=said) as caught:
                drive(context, run)
            assert caught.value.code == "agent_unusable"
            assert journal.instance(run).snapshot.counters.get("attempt:task-1", 1) == 1
        assert drive(context, run).outcome == "success"
        assert known_run(journal, run).outcome == "success"


# A ticket


@pytest.fixture
def way(tmp_path: Path) -> Way:
    return made(tmp_path / "repository")


def test_a_ticket_whose_agent_cannot_work_stays_and_the_same_command_goes_on(way: Way) -> None:
    way.play(fails("login"), fails("login"), fails("credit"), commands()[0], fails("login"))
    for said in ("not logged in", "not logged in", "no credit"):
        walked = way.walk()
        assert (walked.ticket.state, walked.stop.failed) == ("Backlog", True)
        assert said in walked.stop.why
        assert "{" not in walked.stop.why + walked.stop.hint
        assert any(said in one for one in _status(way)[0])
    assert way.walk().ticket.state == "Research Needed"
    assert _status(way)[0] != []


def test_a_ticket_waits_for_a_limit_whose_end_is_known(way: Way) -> None:
    shown: list[list[str]] = []
    way.hear = lambda told: shown.append(_status(way)[1]) if "waits until" in str(told) else None
    way.play(fails("session", 4_000_000_000), commands()[0], fails("login"))
    walked = way.walk()
    assert (walked.ticket.state, len(way.waited)) == ("Research Needed", 1)
    [[waits]] = shown
    assert waits.endswith(" for scripted's limit")


def test_the_trail_of_a_ticket_has_no_output_of_an_agent_that_failed(way: Way) -> None:
    crash: Steps = [{"tool": {"name": "Bash", "about": "ls"}}, {"complain": RAW}, {"exit": 1}]
    way.play(crash)
    walked = way.walk()
    assert walked.ticket.state == "Human Needed"
    with closing(way.open()) as journal:
        [ticket] = journal.instances("ticket")
        trail = [one.reason or "" for one in journal.history(ticket.id)]
    assert "the last time, scripted failed (exit 1)" in trail[-1]
    assert not any("{" in one for one in trail)


def test_a_spec_that_an_agent_could_not_write_is_asked_for_again(way: Way) -> None:
    planned(way, "# No spec\n", state="In Progress")
    way.play(fails("login"), fails("rate", 4_000_000_000), DONE)
    walked = way.walk()
    assert "not logged in" in walked.stop.why
    walked = way.walk()
    assert len(way.waited) == 1
    assert "spec is yours to write" in walked.stop.why
