"""What goes wrong around a thread: bad settings, limits, meddled files, other branches; and its other drivers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.stories.progress import FILE
from interlock.work.stories.progress_file import parse
from interlock.work.stories.record import Loop
from interlock.work.stories.verbs import pause as pause_story
from interlock.work.stories.verbs import steerable
from interlock.work.threads.dialogue import polish, say
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import revise_spec
from interlock.world.repository import own_tree
from work.threads.benches import DONE, FAIL, IDLE, PASS, SPEC, STORY_MET, Bench, Steps, WaitingClock, shell
from work.threads.places import Places, drive_until, rest, with_config

READY: Steps = [{"say": "All is clear.\nVERDICT: READY"}, {"finish": True}]
BROKEN: Steps = [{"say": "I begin."}, {"complain": "no network"}, {"exit": 3}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


def _refused(bench: Bench, id_: str, event: str) -> str:
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, event)
    return caught.value.code


# Before it begins


@pytest.mark.parametrize(
    ("settings", "check"),
    [
        ({"verify.commands": ()}, "verifiers_available"),
        ({"thread.iterations": 0}, "loop_bounded"),
        ({"agent.name": "nobody"}, "models_available"),
        ({"agent.script": ""}, "models_available"),
        ({"agent.judge": "command", "agent.command": "/nowhere/judge"}, "models_available"),
    ],
    ids=lambda one: one if isinstance(one, str) else next(iter(one)),
)
def test_settings_with_which_no_loop_can_end_are_found_before_it_begins(
    bench: Bench, settings: dict[str, object], check: str
) -> None:
    bench.settings.update(settings)
    id_ = bench.new("# Greet\n\n## Criteria\n\n- it is polite\n\n<promise>COMPLETE</promise>\n", mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PreflightFailed"
    assert check in [one["name"] for one in thread.checks if not one["passed"]]
    assert bench.git("branch", "--show-current") == "main"


def test_a_repository_without_a_commit_has_nothing_to_go_back_to(bench: Bench) -> None:
    bench.git("update-ref", "-d", "HEAD")
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PreflightFailed"
    assert "baseline_capturable" in [one["name"] for one in thread.checks if not one["passed"]]
    bench.git("commit", "-qm", "the first")
    assert bench.act(id_, "retry").state == "PendingReview"


def test_a_branch_of_that_name_that_is_somebody_elses_is_left_alone(bench: Bench) -> None:
    id_ = bench.new()
    bench.git("switch", "-qc", f"ralf/{id_}")
    bench.git("commit", "-q", "--allow-empty", "-m", "somebody's")
    theirs = bench.git("rev-parse", "HEAD")
    bench.git("switch", "-q", "main")
    thread = bench.act(id_, "finalize", "run")
    assert thread.state == "PreflightFailed"
    assert "Thread Branch" in thread.reason
    assert bench.git("rev-parse", f"ralf/{id_}") == theirs
    bench.git("branch", "-qD", f"ralf/{id_}")
    assert bench.act(id_, "retry").state == "Configuring"


def test_what_a_verifier_floods_or_rings_is_a_reason_all_the_same(bench: Bench) -> None:
    bench.settings |= {"verify.commands": ("printf '\\007'; yes ring | head -c 90000; false",), "thread.iterations": 1}
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "Stuck"
    assert "verifier printf: exit 1" in thread.reason


# The spec


def test_a_ready_spec_waits_for_a_person_and_is_assessed_once(bench: Bench) -> None:
    bench.play(READY)
    id_ = bench.new()
    assert bench.act(id_, "assess").state == "Assessing"
    assert bench.drive(id_).state == "Assessing"
    assert [one.role for one in bench.thread(id_).iterations] == ["assessor"]
    assert "All is clear." in bench.thread(id_).assessment
    assert bench.act(id_, "finalize", drives=False).state == "Finalized"


def test_an_assessor_that_fails_says_nothing_of_the_spec(bench: Bench) -> None:
    bench.play(BROKEN, READY)
    id_ = bench.new()
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "assess")
    assert caught.value.code == "agent_failed"
    assert bench.drive(id_).is_assessed


def test_talk_makes_revisions_and_is_kept(bench: Bench) -> None:
    answer = f"Better:\n```markdown\n{SPEC.replace('polite', 'very polite')}```"
    bench.play([{"say": answer}, {"finish": True}], [{"say": "Which hello?"}, {"finish": True}], BROKEN)
    id_ = bench.new()
    journal = bench.open()
    try:
        context, ann = bench.context(journal), bench.person.actor
        thread = say(context, id_, ann, "be very polite")
        assert [one.by for one in thread.revisions] == [ann.id, "scripted"]
        assert "very polite" in thread.revisions[-1].text
        assert len(say(context, id_, ann, "and now?").revisions) == 2
        with pytest.raises(InterlockError) as caught:
            say(context, id_, ann, "hello?")
        assert caught.value.code == "agent_failed"
        said = [(one.role, one.content) for one in bench.thread(id_).messages]
        assert said[2:] == [("user", "and now?"), ("assistant", "Which hello?"), ("user", "hello?")]
        bench.act(id_, "finalize")
        with pytest.raises(InterlockError) as caught:
            say(context, id_, ann, "more")
        assert caught.value.code == "not_allowed"
        with pytest.raises(InterlockError) as caught:
            revise_spec(context, id_, ann, "# More")
        assert caught.value.code == "not_allowed"
    finally:
        journal.close()
    assert (bench.state_directory / "threads" / id_ / "spec" / "v1.md").read_text() == SPEC


# Agents: turns, limits, rest


def _other(bench: Bench, text: str) -> None:
    """A second agent, which is a command."""
    (bench.state_directory / "other.sh").write_text(text)
    bench.settings |= {
        "agent.command": f"/bin/sh {bench.state_directory}/other.sh",
        "agent.rotation": ("scripted", "command"),
    }


def test_agents_take_turns(bench: Bench) -> None:
    bench.play(IDLE)
    _other(bench, "echo I look on\n")
    bench.settings["thread.iterations"] = 3
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "Stuck"
    assert [one.agent for one in thread.iterations] == ["scripted", "command", "scripted"]
    assert thread.diagnosis is not None
    assert thread.diagnosis.models_tried == ("scripted", "command")


def test_who_has_reached_a_limit_is_passed_over_and_not_counted(bench: Bench) -> None:
    bench.play([{"limit": {"kind": "session", "until": 4_000_000_000, "said": "enough"}}])
    _other(bench, "echo I look on\n")
    bench.settings["thread.iterations"] = 2
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "Stuck"
    assert [(one.number, one.agent) for one in thread.iterations] == [(1, "scripted"), (1, "command"), (2, "command")]
    assert bench.waited == []


def test_where_all_have_reached_a_limit_it_waits_and_counts_nothing(bench: Bench) -> None:
    clock = WaitingClock()
    bench.now, bench.waited = clock, clock
    bench.settings["thread.iterations"] = 1
    bench.play([{"limit": {"kind": "session", "until": 1_700_000_600, "said": "enough"}}], DONE)
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PendingReview"
    assert sum(clock) == pytest.approx(600, abs=1)
    noted = [one.decoded_evidence().data for one in bench.entries(id_) if one.event == "noted"]
    assert [one["agent"] for one in noted if one["type"] == "limited"] == ["scripted"]


def test_a_judge_that_has_reached_a_limit_is_waited_for(bench: Bench) -> None:
    clock = WaitingClock()
    bench.now, bench.waited = clock, clock
    bench.judge([{"limit": {"kind": "session", "until": 1_700_000_300, "said": "enough"}}], PASS)
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "PendingReview"
    assert sum(clock) == pytest.approx(300, abs=1)
    entries = bench.entries(thread.id)
    assert "criteria_failed" not in [one.event for one in entries]
    assert [one.decoded_evidence().data.get("type") for one in entries].count("limited") == 1


def test_an_agent_that_fails_is_an_iteration_and_the_next_is_told_how(bench: Bench) -> None:
    bench.play(BROKEN, [{"echo": True}, *DONE])
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "PendingReview"
    log = (bench.state_directory / "runs" / (thread.run or "") / "output.log").read_text()
    assert "What was wrong last time" in log
    assert "(exit 3)" in log


# Files that somebody meddled with


def test_what_git_was_told_not_to_look_at_is_not_approved_or_committed(places: Places) -> None:
    bench, id_ = places.at("PendingReview")
    bench.git("add", "-A")
    bench.git("update-index", "--assume-unchanged", "README")
    (bench.root / "README").write_text("something else\n")
    done = bench.act(id_, "approve", "commit")
    assert done.state == "Done"
    assert bench.git("show", f"{done.commit}:README") == "a project"
    assert (bench.root / "README").read_text() == "something else\n"


@pytest.mark.parametrize("state", ["Implemented", "PendingReview", "ReadyToCommit"])
def test_a_checkout_on_another_branch_is_not_touched_and_in_nobodys_way(places: Places, state: str) -> None:
    bench, id_ = places.at(state)
    events = ["ready", "approve", "commit"][("Implemented", "PendingReview", "ReadyToCommit").index(state) :]
    bench.git("stash", "-qu")
    bench.git("switch", "-q", "main")
    (bench.root / "README").write_text("mine\n")
    done = bench.act(id_, *events)
    assert (done.state, bench.git("show", f"{done.commit}:greeting.txt")) == ("Done", "hello")
    assert bench.git("show", f"{done.commit}:README") == "a project"
    assert bench.git("branch", "--show-current") == "main"
    assert bench.git("status", "--porcelain") == "M README"


def test_what_changed_after_the_proof_is_not_approved_until_it_is_proven_again(places: Places) -> None:
    bench, id_ = places.at("PendingReview")
    (bench.root / "greeting.txt").write_text("hello again\n")
    assert _refused(bench, id_, "approve") == "proof_required"
    bench.act(id_, "reverify")
    assert bench.act(id_, "ready", "approve").state == "ReadyToCommit"
    (bench.root / "greeting.txt").write_text("hello once more\n")
    assert bench.drive(id_).state == "PendingReview"
    (bench.root / "greeting.txt").write_text("nothing\n")
    bench.judge(PASS)
    thread = bench.act(id_, "reverify", drives=False)
    drive_until(bench, id_, "Running")
    assert bench.thread(id_).state == "Running"
    assert "greeting.txt says hello" in (bench.entries(id_)[-1].reason or "")
    assert thread.state == "Verifying"


def test_an_edit_of_thread_json_gains_nothing_and_is_set_aside(places: Places) -> None:
    bench, id_ = places.at("PendingReview")
    path = bench.state_directory / "threads" / id_ / "thread.json"
    for text in (
        '{"schema_version": 99}',
        "{",
        json.dumps({**json.loads(path.read_text()), "phase": {"type": "Done"}}),
    ):
        path.write_text(text)
        assert bench.drive(id_).state == "PendingReview"
        assert json.loads(path.read_text())["phase"] == {"type": "PendingReview"}
    kept = [one.read_text() for one in (bench.state_directory / "rejected").iterdir()]
    assert len(kept) == 3


def test_settings_of_git_that_change_while_the_loop_runs_end_it(bench: Bench) -> None:
    bench.play([shell(f"git -C {bench.root} config alias.st status"), *IDLE], DONE)
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "Stuck"
    assert "settings, hooks or attributes" in thread.reason


def test_polish_by_an_agent_is_proven_again(places: Places) -> None:
    bench, id_ = places.at("Polishing")
    bench.play([shell("echo notes > NOTES"), {"finish": True}], BROKEN)
    journal = bench.open()
    try:
        polish(bench.context(journal), id_, "write notes")
        with pytest.raises(InterlockError) as caught:
            polish(bench.context(journal), id_, "write more")
        assert caught.value.code == "agent_failed"
    finally:
        journal.close()
    before = len(bench.states(id_))
    assert bench.act(id_, "polished").state == "Implemented"
    assert bench.states(id_)[before:] == ["Verifying", "Implemented"]


# A verification that was stopped


def _stop_verifying(bench: Bench, id_: str, event: str | None = None) -> None:
    """Press Ctrl+C as soon as a thread is verified; the press is over then."""

    def press(told: object) -> None:
        if isinstance(told, Thread) and told.state == "Verifying":
            bench.pausing.set()

    bench.hear = press
    thread = bench.act(id_, event) if event is not None else bench.drive(id_)
    bench.hear = lambda told: None
    bench.pausing.clear()
    assert thread.state == "Paused"


def _implementers(bench: Bench, id_: str) -> int:
    return sum(one.role == "implementer" for one in bench.thread(id_).iterations)


@pytest.mark.parametrize("by", ["driver", "person"])
def test_a_claim_whose_verification_was_stopped_is_verified_without_another_agent(places: Places, by: str) -> None:
    bench, id_ = places.at("Verifying")
    if by == "driver":
        _stop_verifying(bench, id_)
    else:
        rest(bench, id_)
    assert bench.thread(id_).attempted == 1
    thread = bench.act(id_, "resume")
    assert (thread.state, thread.iteration, _implementers(bench, id_)) == ("Implemented", 1, 1)
    assert thread.iterations[0].verified


@pytest.mark.parametrize("driver", ["plain", "story"])
def test_finished_work_that_is_verified_again_is_not_edited_after_a_pause(places: Places, driver: str) -> None:
    bench, id_ = places.at("Implemented")
    with_config(bench, id_, driver=driver)
    bench.play([shell("echo hello again > greeting.txt"), *DONE[1:]])
    _stop_verifying(bench, id_, "reverify")
    _stop_verifying(bench, id_, "resume")
    thread = bench.act(id_, "resume")
    assert (thread.state, _implementers(bench, id_)) == ("Implemented", 1)
    assert (bench.root / "greeting.txt").read_text() == "hello\n"


def test_a_claim_is_verified_whatever_branch_a_person_has_checked_out(places: Places) -> None:
    bench, id_ = places.at("Verifying")
    rest(bench, id_)
    bench.git("switch", "-qc", "mine")
    thread = bench.act(id_, "resume")
    assert (thread.state, bench.git("branch", "--show-current")) == ("Implemented", "mine")


def test_who_reconfigures_after_a_verification_was_stopped_gets_another_iteration(places: Places) -> None:
    bench, id_ = places.at("Verifying")
    rest(bench, id_)
    bench.play(DONE)
    assert bench.act(id_, "reconfigure", "start").state == "Implemented"
    assert _implementers(bench, id_) == 2


def test_who_sends_work_back_that_was_verified_again_gets_another_iteration(places: Places) -> None:
    bench, id_ = places.at("Implemented")
    _stop_verifying(bench, id_, "reverify")
    bench.act(id_, "resume", "ready")
    bench.play([{"echo": True}, *DONE])
    assert bench.act(id_, "reject", reason="say please").state == "Implemented"
    assert _implementers(bench, id_) == 2
    log = (bench.state_directory / "runs" / (bench.thread(id_).run or "") / "output.log").read_text()
    assert "say please" in log


# A story loop as the driver


def _storied(bench: Bench) -> str:
    bench.settings |= {"thread.driver": "story", "story.tests": ("true",), "thread.iterations": 2}
    bench.judge(STORY_MET)
    bench.play([shell("echo hello > greeting.txt"), {"finish": True}])
    return bench.new(mode="quick")


def test_a_story_loop_drives_a_thread_to_its_review(bench: Bench) -> None:
    id_ = _storied(bench)
    main = bench.git("rev-parse", "main")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PendingReview", thread.reason
    assert bench.git("rev-parse", "main") == main
    assert thread.child is not None
    thread = bench.act(id_, "approve", "commit")
    assert bench.git("rev-parse", f"{thread.commit}^") == main


def test_what_failed_is_the_next_story(bench: Bench) -> None:
    id_ = _storied(bench)
    bench.judge(STORY_MET, FAIL)

    def press(told: object) -> None:
        if isinstance(told, Loop) and told.story == "fix-1":
            bench.pausing.set()
            bench.stop.set()

    bench.hear = press
    thread = bench.act(id_, "finalize")
    assert thread.state == "Paused", thread.reason


def test_what_failed_is_one_story_however_often_its_loop_cannot_begin(bench: Bench) -> None:
    id_ = _storied(bench)
    test = bench.root.parent / "try"
    bench.settings["story.tests"] = (str(test),)
    bench.play([shell("echo hello >> greeting.txt"), {"finish": True}])
    bench.judge(STORY_MET, FAIL, STORY_MET, PASS)

    def install() -> None:
        test.write_text("#!/bin/sh\n")
        test.chmod(0o700)

    install()
    bench.hear = lambda told: test.unlink(missing_ok=True) if str(told).startswith("✗") else None
    for _ in range(3):
        with pytest.raises(InterlockError) as caught:
            bench.act(id_, *(["finalize"] if bench.thread(id_).state == "Drafting" else ["pause", "resume"]))
        assert caught.value.code == "verifiers_missing"
    install()
    assert bench.drive(id_).state == "PendingReview"
    stories = parse((bench.root / FILE).read_text()).stories
    assert [(one.id, one.status) for one in stories] == [("story-1-1", "complete"), ("fix-1", "complete")]


def test_a_story_loop_that_is_blocked_leaves_the_thread_stuck(bench: Bench) -> None:
    id_ = _storied(bench)
    bench.settings["story.tests"] = ("false",)
    thread = bench.act(id_, "finalize")
    assert thread.state == "Stuck"
    assert "blocked" in thread.reason


def test_a_story_loops_claim_whose_verification_was_stopped_is_made_again(bench: Bench) -> None:
    """The loop has nothing more to do; that its claim was never answered is no reason to be stuck."""
    id_ = _storied(bench)

    def press(told: object) -> None:
        if isinstance(told, Thread) and told.state == "Verifying":
            bench.pausing.set()

    bench.hear = press
    assert bench.act(id_, "finalize").state == "Paused"
    bench.hear = lambda told: None
    bench.pausing.clear()
    thread = bench.act(id_, "resume")
    assert thread.state == "PendingReview", thread.reason


def test_a_story_loop_that_rests_by_itself_is_woken_by_a_persons_decision(bench: Bench) -> None:
    id_ = _storied(bench)
    bench.settings |= {"story.budget_tokens": 10, "story.tests": ("false",)}
    bench.play(
        [{"usage": {"input": 70, "output": 7, "cached": 0}}, shell("echo hello > greeting.txt"), {"finish": True}]
    )
    thread = bench.act(id_, "finalize")
    assert (thread.state, "rests" in thread.reason) == ("Stuck", True), thread.reason
    assert thread.spent[2] == 77, "what its loop used"
    bench.settings |= {"story.budget_tokens": 0, "story.tests": ("true",)}
    assert bench.act(id_, "reconfigure").state == "PendingReview"


def test_a_person_who_helps_a_story_loop_that_rests_is_heard_by_its_next_agent_once(bench: Bench) -> None:
    id_ = _storied(bench)
    bench.settings |= {"story.budget_tokens": 10, "story.tests": ("false",)}
    costs: Steps = [{"echo": True}, {"usage": {"input": 70, "output": 7, "cached": 0}}]
    bench.play([*costs, shell("echo hello >> greeting.txt"), {"finish": True}])
    assert bench.act(id_, "finalize").state == "Stuck"
    bench.settings["story.budget_tokens"] = 0
    thread = bench.act(id_, "assist", reason="say it with a smile")
    assert thread.state == "Stuck", "its tests fail, so its next agents come to nothing"
    logs = sorted((bench.state_directory / "runs").rglob("*.log"), key=lambda one: one.stat().st_mtime_ns)
    prompts = [text for text in (one.read_text() for one in logs) if "greeting.txt says hello" in text]
    assert ["say it with a smile" in one for one in prompts] == [False, True, False]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("event", ["abandon", "revise"])
def test_a_story_loop_is_its_threads_and_closed_with_it(bench: Bench, event: str) -> None:
    id_ = _storied(bench)

    def press(told: object) -> None:
        if isinstance(told, Loop):
            bench.pausing.set()
            bench.stop.set()

    bench.hear = press
    assert bench.act(id_, "finalize").state == "Paused"
    bench.hear = lambda told: None
    bench.stop.clear()
    bench.pausing.clear()
    journal = bench.open()
    try:
        [child] = journal.open_instances("story")
        assert child.parent == id_
        with pytest.raises(InterlockError) as caught:
            pause_story(journal, bench.person.actor)
        assert caught.value.code == "driven_by_thread"
        with pytest.raises(InterlockError) as caught:
            steerable(journal, child.id)
        assert caught.value.code == "driven_by_thread"
        if event == "revise":
            bench.settings["story.tests"] = ("false",)
            assert bench.act(id_, "resume").state == "Stuck"
        bench.act(id_, event)
        assert journal.open_instances("story") == []
    finally:
        journal.close()


# Work trees of their own


@pytest.mark.parametrize("isolation", ["own", "worktree"])
def test_two_threads_run_side_by_side_in_trees_of_their_own(bench: Bench, isolation: str) -> None:
    bench.settings["thread.isolation"] = isolation
    main = bench.git("rev-parse", "main")
    (bench.root / "unfinished.txt").write_text("mine\n")
    ids = [bench.new(), bench.new()]
    for id_ in ids:
        bench.act(id_, "finalize", "run", "start")
    for id_ in ids:
        thread = bench.thread(id_)
        place = thread.directory(bench.root, bench.root)
        assert (thread.state, place) == ("Implemented", own_tree(bench.state_directory, id_))
        assert (place / "greeting.txt").read_text() == "hello\n"
    assert not (bench.root / "greeting.txt").exists()
    assert bench.git("branch", "--show-current") == "main"
    done = bench.act(ids[0], "ready", "approve", "commit")
    assert bench.git("rev-parse", f"{done.commit}^") == main
    back = bench.act(ids[1], "ready", "revise")
    assert back.state == "Drafting"
    assert not own_tree(bench.state_directory, ids[1]).exists()
    assert (bench.root / "unfinished.txt").read_text() == "mine\n"
    assert bench.git("branch", "--format=%(refname:short)").split() == ["main", f"ralf/{ids[0]}"]
    journal = bench.open()
    try:
        undo_reset(bench.context(journal), back)
    finally:
        journal.close()
    assert (own_tree(bench.state_directory, ids[1]) / "greeting.txt").read_text() == "hello\n"
