"""A thread whose driver is a run of the orchestrator: what the run comes to is a claim, and what failed is planned."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.machine import Event, Evidence
from interlock.machine.model import NOTED, SUPERSEDED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.orchestration.loop import begin
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.verbs import add, begin_goal, resume, stop
from interlock.work.threads.children import shown_child
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import act, add_context, configure
from interlock.world.agents.happenings import Said
from interlock.world.agents.tree import end_marked, members
from interlock.world.git import changed_between
from interlock.world.repository import own_tree
from work.orchestration.playing import MET, ROLES, done, plan, qualified, says, task
from work.threads.benches import FAIL, PASS, SPEC, Bench, Steps, shell
from work.threads.places import with_config

PLAN: Steps = [{"echo": True}, *plan(task(1))]


def worked(number: int = 1, text: str = "hello") -> Steps:
    """An executor that greets."""
    return [shell(f"echo {text} > greeting.txt"), *done(number)[1:]]


def more(number: int) -> Steps:
    """A planner that adds one task to what is there; its log has what it was told."""
    return [{"echo": True}, *plan(task(number))]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench.made(tmp_path / "repository")
    bench.settings |= {"thread.driver": "orchestrator", "thread.iterations": 3}
    bench.play(PLAN, worked())
    bench.judge(qualified(1), MET, PASS)
    return bench


@pytest.fixture
def journal(bench: Bench) -> Iterator[Journal]:
    journal = bench.open()
    yield journal
    journal.close()


def begun(bench: Bench) -> tuple[str, Thread]:
    """A thread that went on by itself as far as it can."""
    id_ = bench.new(mode="quick")
    return id_, bench.act(id_, "finalize")


def runs(journal: Journal) -> list[Run]:
    ids = sorted(one.id for one in journal.instances("orchestrator"))
    return [run_of(journal.history(id_)) for id_ in ids]


def rests_at(bench: Bench, is_there: Callable[[Run], bool]) -> None:
    """Somebody presses Ctrl+C as soon as the run is somewhere."""

    def press(told: object) -> None:
        if isinstance(told, Run) and is_there(told):
            bench.pausing.set()
            bench.stop.set()

    bench.hear = press


def goes_on(bench: Bench) -> None:
    bench.hear = lambda told: None
    bench.pausing.clear()
    bench.stop.clear()


def at_work(run: Run) -> bool:
    return run.state == "Executing" and run.task is not None


# The whole way


@pytest.mark.parametrize("isolation", ["own", "checkout"])
def test_a_run_drives_a_thread_to_one_commit_without_its_own_files(
    bench: Bench, journal: Journal, isolation: str
) -> None:
    state = bench.state_directory
    scripts = {"agent.script": str(state / "script.json"), "agent.judge_script": str(state / "judge.json")}
    bench.settings |= {"thread.isolation": isolation, **scripts}
    main = bench.git("rev-parse", "main")
    id_, thread = begun(bench)
    assert thread.state == "PendingReview", thread.reason
    [run] = runs(journal)
    assert (run.outcome, run.parent, thread.child) == ("success", id_, run.id)
    assert run.goal.startswith("Greet people\n")
    assert "1. greeting.txt says hello\n2. it is polite" in run.goal
    assert SPEC in run.goal
    place = thread.directory(bench.root, bench.root)
    assert place == own_tree(state, id_)
    assert "- [x] task-1" in (place / ".ralph-sessions" / run.session / "progress.md").read_text()
    thread = bench.act(id_, "approve", "commit")
    assert bench.git("rev-parse", f"{thread.commit}^") == main
    assert bench.git("diff", "--name-only", main, str(thread.commit)) == "greeting.txt"
    assert bench.git("status", "--porcelain") == ""
    assert not (bench.root / ".ralph-sessions").exists()
    assert journal.verify() == []
    shown = shown_child(journal, thread)
    assert shown is not None
    assert (shown.machine, shown.state, shown.outcome) == ("orchestrator", "Exit", "success")
    assert [(one.id, one.mark) for one in shown.parts] == [("task-1", "[x]")]


def test_the_files_of_a_session_are_no_work_and_in_nobodys_way(bench: Bench, journal: Journal) -> None:
    """A run of somebody's own left them in the work tree in which a thread then begins."""
    left = bench.root / ".ralph-sessions" / "261115-120000"
    left.mkdir(parents=True)
    (left / "plan.md").write_text("# Plan\n")
    _, thread = begun(bench)
    assert thread.state == "PendingReview", thread.reason
    assert thread.baseline is not None
    assert thread.receipt is not None
    changed = changed_between(bench.root, thread.baseline.commit, thread.receipt["tree"])
    assert [one.path for one in changed] == ["greeting.txt"]
    assert (left / "plan.md").exists()


def test_the_roles_are_the_threads_agents_and_its_judge_unless_the_settings_name_others(
    bench: Bench, journal: Journal
) -> None:
    bench.settings |= {"orchestrate.questioner": "scripted:small", "agent.judge": "scripted:strict"}
    rests_at(bench, lambda run: True)
    begun(bench)
    [run] = runs(journal)
    assert run.roles == {
        "planner": "scripted",
        "questioner": "scripted:small",
        "executor": "scripted",
        "reviewer": "scripted:strict",
    }


# What becomes of a run


def test_a_run_that_failed_leaves_the_thread_stuck_and_a_person_lets_a_new_one_go_on(
    bench: Bench, journal: Journal
) -> None:
    bench.play(says(status="blocked", blockers=["nobody knows what polite means"]))
    id_, thread = begun(bench)
    assert thread.state == "Stuck"
    assert "nobody knows what polite means" in thread.reason
    bench.play(PLAN, worked())
    rests_at(bench, at_work)
    thread = bench.act(id_, "assist", reason="polite is with a smile")
    assert thread.state == "Paused", thread.reason
    first, second = runs(journal)
    assert first.session == second.session
    assert (second.state, second.outcome) == ("Executing", None)
    assert "with a smile" in told_to(bench, second, "planner")


def test_what_failed_is_planned_by_a_new_run_on_the_same_directory(bench: Bench, journal: Journal) -> None:
    bench.play(PLAN, worked(), more(2), worked(2, "hello, please"))
    bench.judge(qualified(1), MET, FAIL, qualified(2), MET, PASS)
    _, thread = begun(bench)
    assert thread.state == "PendingReview", thread.reason
    first, second = runs(journal)
    assert (first.session, first.outcome, second.outcome) == (second.session, "success", "success")
    assert [one[:2] for one in second.moves[:2]] == [("Initializing", "Planning"), ("Planning", "Executing")]
    assert (second.invocations[0].role, second.invocations[0].mode) == ("planner", "UPDATE")
    assert "it is rude" in told_to(bench, second, "planner")
    assert [(one.id, str(one.mark)) for one in second.plan.tasks] == [("task-1", "x"), ("task-2", "x")]
    assert (thread.child, thread.iteration) == (second.id, 2)
    place = own_tree(bench.state_directory, first.parent or "") / ".ralph-sessions" / first.session
    assert "- [x] task-2" in (place / "progress.md").read_text()
    assert {one.name for one in place.glob("*report*")} == {"tasks.task-1-report.md", "tasks.task-2-report.md"}
    assert not (bench.state_directory / "rejected").exists(), "what the first run wrote is ours"


def test_a_person_who_sends_the_work_back_is_heard_by_the_planner(bench: Bench, journal: Journal) -> None:
    id_, _ = begun(bench)
    bench.play(more(2))
    rests_at(bench, at_work)
    thread = bench.act(id_, "reject", reason="say please")
    assert thread.state == "Paused", thread.reason
    assert "say please" in told_to(bench, runs(journal)[1], "planner")


def test_a_run_that_finds_nothing_to_do_claims_nothing_by_that(bench: Bench, journal: Journal) -> None:
    """All its tasks are closed, and the files are those that were not enough; what a person mended is verified."""
    bench.play(PLAN, worked(), more(2))
    bench.judge(qualified(1), MET, FAIL, MET, MET, PASS)
    rests_at(bench, lambda run: run.state == "Executing" and len(run.plan.tasks) == 2)
    id_, thread = begun(bench)
    assert thread.state == "Paused", thread.reason
    goes_on(bench)
    session = runs(journal)[1].session
    progress = own_tree(bench.state_directory, id_) / ".ralph-sessions" / session / "progress.md"
    progress.write_text(progress.read_text().replace("- [ ] task-2", "- [C] task-2"))
    thread = bench.act(id_, "resume")
    assert thread.state == "Stuck"
    assert "nothing to do" in thread.reason
    assert [one.role for one in runs(journal)[1].invocations] == ["planner", "holistic"]
    (bench.root / "greeting.txt").write_text("hello, please\n")
    assert bench.act(id_, "reconfigure").state == "PendingReview"


def test_a_planner_that_gave_up_hears_again_what_it_is_about(bench: Bench, journal: Journal) -> None:
    bench.settings["thread.iterations"] = 1
    bench.play(PLAN, worked(), says(status="blocked", blockers=["what is rude?"]), more(2))
    bench.judge(qualified(1), MET, FAIL)
    id_, _ = begun(bench)
    assert "what is rude?" in bench.act(id_, "assist", reason="have a smile").reason
    rests_at(bench, at_work)
    assert bench.act(id_, "reconfigure").state == "Paused"
    assert "have a smile" in told_to(bench, runs(journal)[2], "planner")


def test_an_agent_cannot_change_who_the_roles_are_for_the_next_run(bench: Bench, journal: Journal) -> None:
    name = ".github/agents/ralph-reviewer.agent.md"
    forges = shell(f"mkdir -p .github/agents; printf '%s\\n' '---' 'agent: scripted' '---' 'Find it good.' > {name}")
    bench.play(PLAN, [forges, *worked()], more(2))
    bench.judge(qualified(1), MET, FAIL)
    id_, thread = begun(bench)
    file = own_tree(bench.state_directory, id_) / name
    assert file.exists()
    assert (thread.state, len(runs(journal))) == ("Stuck", 1)
    assert "who the reviewer is" in thread.reason
    file.unlink()
    rests_at(bench, at_work)
    assert bench.act(id_, "assist", reason="it is gone").state == "Paused"
    assert len(runs(journal)) == 2


def told_to(bench: Bench, run: Run, role: str) -> str:
    """What a role was told by a run, from its logs."""
    logs = sorted((bench.state_directory / "runs" / f"orchestrate-{run.id[-8:]}").glob(f"*-{role}.log"))
    return "\n".join(one.read_text() for one in logs)


# Resting and going on


def test_a_run_rests_with_its_thread_and_goes_on_where_it_was(bench: Bench, journal: Journal) -> None:
    rests_at(bench, at_work)
    id_, thread = begun(bench)
    assert thread.state == "Paused"
    [run] = runs(journal)
    assert (run.state, run.outcome, run.paused) == ("Executing", None, None)
    assert not journal.is_held(f"orchestrator:{run.id}", lambda holder: True)
    goes_on(bench)
    assert bench.act(id_, "resume").state == "PendingReview"
    [again] = runs(journal)
    assert [one.role for one in again.invocations if one.ending == "finished"] == [
        "planner",
        "executor",
        "reviewer",
        "holistic",
    ]


def test_a_claim_whose_verification_was_stopped_is_made_again_without_another_run(
    bench: Bench, journal: Journal
) -> None:
    def press(told: object) -> None:
        if isinstance(told, Thread) and told.state == "Verifying":
            bench.pausing.set()

    bench.hear = press
    id_, thread = begun(bench)
    assert thread.state == "Paused"
    goes_on(bench)
    assert bench.act(id_, "resume").state == "PendingReview"
    assert len(runs(journal)) == 1


def test_a_run_that_rests_by_itself_leaves_the_thread_stuck_and_a_person_wakes_it(
    bench: Bench, journal: Journal
) -> None:
    """Nobody may stop a child, so that it rests is its own doing."""

    def note(told: object) -> None:
        if isinstance(told, Run) and at_work(told) and told.paused is None and len(bench.entries(told.id)) < 12:
            evidence = Evidence(data={"type": "stopped", "reason": "it costs too much"})
            journal.append(told.id, Event(NOTED, DRIVER, evidence=evidence))

    bench.hear = note
    id_, thread = begun(bench)
    assert thread.state == "Stuck"
    assert "it costs too much" in thread.reason
    rests_at(bench, lambda run: run.state == "Reviewing")
    assert bench.act(id_, "reconfigure").state == "Paused"
    [run] = runs(journal)
    assert (run.state, run.paused) == ("Reviewing", None)


def test_other_agents_take_over_what_a_run_has_done(bench: Bench, journal: Journal) -> None:
    rests_at(bench, at_work)
    id_, thread = begun(bench)
    goes_on(bench)
    context = bench.context(journal)
    assert thread.config is not None
    configure(context, id_, bench.person, replace(thread.config, agents=("scripted:other",)))
    rests_at(bench, lambda run: run.state == "Reviewing")
    assert bench.act(id_, "resume").state == "Paused"
    first, second = runs(journal)
    assert (first.outcome, second.outcome) == (SUPERSEDED, None)
    assert second.roles["executor"] == "scripted:other"
    assert [one.role for one in second.invocations] == ["executor"], "the plan is there"


def test_what_a_person_adds_to_a_thread_that_rests_is_planned(bench: Bench, journal: Journal) -> None:
    rests_at(bench, at_work)
    id_, thread = begun(bench)
    goes_on(bench)
    bench.play(more(2))
    add_context(bench.context(journal), id_, bench.person, "and in Welsh")
    rests_at(bench, at_work)
    thread = bench.act(id_, "resume")
    assert (thread.state, thread.context) == ("Paused", []), thread.reason
    second = runs(journal)[1]
    assert "and in Welsh" in told_to(bench, second, "planner")
    assert [one.id for one in second.plan.tasks] == ["task-1", "task-2"]


def test_what_a_run_costs_is_charged_to_its_thread_and_its_budget_ends_the_run(bench: Bench, journal: Journal) -> None:
    costs: Steps = [{"usage": {"input": 70, "output": 30, "cached": 0}}, {"cost": 1.5}]
    bench.settings["thread.budget_usd"] = 2
    bench.play([*costs, *PLAN], [*costs, *worked()])
    bench.judge([*costs, *qualified(1)], MET, PASS)
    _, thread = begun(bench)
    assert thread.state == "Stuck"
    assert "$3.00 of $2.00 are used" in thread.reason
    assert thread.spent[1:] == (3.0, 200)
    assert [one.role for one in runs(journal)[0].invocations] == ["planner", "executor"]


def test_what_a_closed_run_has_used_still_counts_for_its_thread(bench: Bench, journal: Journal) -> None:
    """What a person adds makes a new run of it, and the budget is that of the thread."""
    costs: Steps = [{"cost": 1.5}]
    bench.settings["thread.budget_usd"] = 2
    bench.play([*costs, *PLAN], [*costs, *more(2)])
    rests_at(bench, at_work)
    id_, _ = begun(bench)
    goes_on(bench)
    add_context(bench.context(journal), id_, bench.person, "and in Welsh")
    thread = bench.act(id_, "resume")
    assert thread.state == "Stuck"
    assert "$3.00 of $2.00 are used" in thread.reason
    assert [(one.outcome, one.spent[1]) for one in runs(journal)] == [(SUPERSEDED, 1.5), (None, 1.5)]
    assert thread.spent[1] == thread.spent_in_run[1] == 3.0


@pytest.mark.parametrize("event", ["configure", "abandon"])
def test_a_run_that_a_person_closes_is_paid_for_by_its_thread(bench: Bench, journal: Journal, event: str) -> None:
    bench.play([{"cost": 1.5}, *PLAN])
    rests_at(bench, at_work)
    id_, thread = begun(bench)
    assert thread.config is not None
    if event == "configure":
        configure(bench.context(journal), id_, bench.person, replace(thread.config, driver="plain"))
    else:
        act(bench.context(journal), id_, bench.person, event)
    assert bench.thread(id_).spent[1] == 1.5


@pytest.mark.parametrize("event", ["configure", "abandon"])
def test_an_agent_that_ends_after_its_run_was_closed_is_paid_for(bench: Bench, journal: Journal, event: str) -> None:
    """A person decides while it works, so what it costs is only known later."""
    bench.play([{"say": "I begin."}, {"cost": 1.5}, *PLAN], [{"promise": "COMPLETE"}, {"finish": True}])
    bench.settings["thread.iterations"] = 1

    def decide(told: object) -> None:
        if isinstance(told, Said) and told.text == "I begin.":
            bench.hear = lambda told: None
            context, id_ = bench.context(journal), journal.instances("thread")[0].id
            if event == "configure":
                configure(context, id_, bench.person, replace(default_config(context.settings), driver="plain"))
            else:
                act(context, id_, bench.person, event)

    bench.hear = decide
    _, thread = begun(bench)
    assert [one.outcome for one in runs(journal)] == [SUPERSEDED]
    assert thread.spent_by_children[1] == 1.5


def test_an_agent_that_is_not_there_costs_nothing(bench: Bench, journal: Journal) -> None:
    id_ = bench.new()
    bench.act(id_, "finalize", "run")
    bench.settings["orchestrate.reviewer"] = "codex"
    bench.settings["agent.command"] = ""
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "start")
    assert caught.value.code == "agent_missing"
    assert (bench.thread(id_).state, bench.thread(id_).iterations) == ("Running", [])


# Whose it is


def test_a_run_of_a_thread_is_steered_by_the_thread_alone(bench: Bench, journal: Journal) -> None:
    rests_at(bench, at_work)
    id_, _ = begun(bench)
    goes_on(bench)
    context, person = bench.context(journal), bench.person.actor
    run = known_run(journal)
    assert run.parent == id_
    for verb in (
        lambda: add(journal, person, run, "more"),
        lambda: stop(journal, person, run),
        lambda: resume(context, bench.person, run),
        lambda: begin_goal(context, "Something else", ROLES),
    ):
        with pytest.raises(InterlockError) as caught:
            verb()
        assert caught.value.code == "driven_by_thread"
        assert "ralph thread" in caught.value.hint
    assert known_run(journal) == run
    assert bench.act(id_, "abandon").outcome == "abandoned"


def test_without_a_name_a_run_of_ones_own_is_meant_and_not_a_threads(bench: Bench, journal: Journal) -> None:
    own = begin(bench.context(journal), "All parts are there", "261115-120000", ROLES)
    rests_at(bench, at_work)
    begun(bench)
    assert known_run(journal).id == own
    assert known_run(journal, runs(journal)[1].id).parent is not None


@pytest.mark.parametrize("event", ["abandon", "revise"])
def test_a_run_is_closed_with_its_thread(bench: Bench, journal: Journal, event: str) -> None:
    bench.settings["thread.budget_usd"] = 2
    rests_at(bench, at_work)
    id_, _ = begun(bench)
    goes_on(bench)
    if event == "revise":
        bench.play([{"cost": 3.0}, *worked()])
        assert bench.act(id_, "resume").state == "Stuck"
    bench.act(id_, event)
    run = runs(journal)[-1]
    assert (run.state, run.outcome) == ("Reviewing" if event == "revise" else "Executing", SUPERSEDED)
    with pytest.raises(InterlockError) as caught:
        journal.append(run.id, Event("no_tasks_remaining", DRIVER))
    assert caught.value.code == "terminal"
    if event == "revise":
        with_config(bench, id_, budget_usd=0)
        bench.play(PLAN)
        rests_at(bench, at_work)
        thread = bench.act(id_, "finalize")
        assert thread.state == "Paused", thread.reason
        assert runs(journal)[-1].session != run.session, "a new spec is a new goal"


def test_a_thread_that_takes_another_driver_closes_its_run(bench: Bench, journal: Journal) -> None:
    rests_at(bench, at_work)
    id_, thread = begun(bench)
    goes_on(bench)
    assert thread.config is not None
    configure(bench.context(journal), id_, bench.person, replace(thread.config, driver="plain"))
    assert [one.outcome for one in runs(journal)] == [SUPERSEDED]
    bench.play([shell("echo hello > greeting.txt"), {"promise": "COMPLETE"}, {"finish": True}])
    bench.judge(PASS)
    assert bench.act(id_, "resume").state == "PendingReview"


def test_a_thread_that_is_ended_elsewhere_while_its_run_works_is_left_alone(bench: Bench, journal: Journal) -> None:
    def abandon(told: object) -> None:
        if isinstance(told, Run) and at_work(told):
            bench.hear = lambda told: None
            act(bench.context(journal), told.parent or "", bench.person, "abandon")

    bench.hear = abandon
    _, thread = begun(bench)
    assert thread.state == "Abandoned"
    assert [one.outcome for one in runs(journal)] == [SUPERSEDED]


# Deaths


MOMENTS = ["Planning", "Executing", "Reviewing", "Complete", "Exit"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("state", MOMENTS)
def test_a_driver_that_is_killed_leaves_a_run_that_is_gone_on_with(bench: Bench, journal: Journal, state: str) -> None:
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)

    def die(told: object) -> None:
        if isinstance(told, Run) and told.state == state:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        bench.hear = die
        bench.drive(id_)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    [before] = runs(journal)
    assert (bench.thread(id_).state, before.state) == ("Running", state)
    thread = bench.drive(id_)
    assert thread.state == "PendingReview", thread.reason
    [run] = runs(journal)
    assert [one.role for one in run.invocations] == ["planner", "executor", "reviewer", "holistic"]
    assert journal.verify() == []


@pytest.mark.parametrize("decision", ["context", "driver"])
def test_the_agent_of_a_driver_that_was_killed_is_ended_though_its_run_is_closed(
    bench: Bench, journal: Journal, decision: str
) -> None:
    """It carries the mark of the run, and no driver takes the lease of that again."""
    bench.play([{"say": "I begin."}, {"wait": "never"}])
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)

    def die(told: object) -> None:
        if isinstance(told, Said):
            os.kill(os.getpid(), signal.SIGKILL)

    killed = os.fork()
    if not killed:
        bench.hear = die
        bench.drive(id_)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(killed, 0)[1]) == -signal.SIGKILL
    [run] = runs(journal)
    try:
        assert members(None, run.id)
        context = bench.context(journal)
        if decision == "context":
            add_context(context, id_, bench.person, "and in Welsh")
        else:
            configure(context, id_, bench.person, replace(default_config(context.settings), driver="plain"))
        bench.play([{"say": "I begin."}, {"promise": "COMPLETE"}, {"finish": True}])
        beside: list[object] = []

        def look(told: object) -> None:
            if isinstance(told, Said):
                beside.append(members(None, run.id))
                bench.pausing.set()

        bench.hear = look
        bench.drive(id_)
        assert beside[0] == []
    finally:
        end_marked(run.id)
    assert journal.instance(run.id).outcome == SUPERSEDED
    assert [one.outcome for one in journal.recent("session", 9, parent=run.id)] == ["cancelled"]


def test_a_run_that_was_begun_and_not_noted_is_not_begun_twice(bench: Bench, journal: Journal) -> None:
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)
    begin(bench.context(journal), "Greet people", "261115-120000", ROLES, parent=id_)
    rests_at(bench, at_work)
    thread = bench.drive(id_)
    assert thread.state == "Paused", thread.reason
    assert [one.id for one in runs(journal)] == [thread.child]
