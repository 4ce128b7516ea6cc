"""The seed's document beside its tables: checks, menus, what is kept, git, modes, checkpoints, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError, Refusal
from interlock.faces.cli.thread_pages import diagnosis_text, menu_lines
from interlock.machine import Actor, ActorKind, Channel, load_shipped
from interlock.work.gates.presence import Person
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.record import Thread
from interlock.work.threads.showing import is_recommended
from interlock.work.threads.steps import STEPS
from interlock.work.threads.verbs import act, revise_spec
from interlock.work.views.thread import thread_view
from work.threads.benches import DONE, SPEC, Bench, Steps, shell
from work.threads.places import Facts, Places, with_config

MACHINE = load_shipped("thread")
requirement = pytest.mark.requirement

STUCK_MENU = """\
┌─────────────────────────────────────────────────────┐
│  STUCK: What would you like to do?                  │
├─────────────────────────────────────────────────────┤
│  [R] Revise spec     → Resets workspace, Drafting   │
│  [C] Reconfigure     → Configuring (keep changes)   │
│  [M] Manual assist   → Running (after human edits)  │
│  [A] Abandon         → Abandoned                    │
│  [D] Diagnose        → (view details, stay Stuck)   │
└─────────────────────────────────────────────────────┘"""
PAUSED_MENU = """\
┌─────────────────────────────────────────────────────┐
│  PAUSED: Loop interrupted                           │
├─────────────────────────────────────────────────────┤
│  Iteration: 3/10                                    │
│  Current model: scripted                            │
│  Criteria: 2/4 passing                              │
│                                                     │
│  [R] Resume          → Continue from here           │
│  [C] Reconfigure     → Change models/iterations     │
│  [A] Abandon         → Abandon thread               │
└─────────────────────────────────────────────────────┘"""
FOUR = """\
# Four

## Completion Criteria

- [ ] greeting.txt says hello
  - verify: `grep -q hello greeting.txt`
- [ ] there is a README
  - verify: `test -f README`
- [ ] it sings
  - verify: `test -f song`
- [ ] it dances
  - verify: `test -f dance`

<promise>COMPLETE</promise>
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


# States


def _states() -> list[Any]:
    return [pytest.param(one, marks=requirement(f"thread:state:{one.lower()}")) for one in MACHINE.states]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("state", _states())
def test_a_thread_in_a_state_says_so_and_waits_where_a_person_is_needed(places: Places, state: str) -> None:
    bench, id_ = places.at(state)
    thread, known = bench.thread(id_), MACHINE.states[state]
    phase = json.loads((bench.state_directory / "threads" / id_ / "thread.json").read_text())["phase"]
    assert (thread.state, phase["type"]) == (state, state)
    assert set(phase.get("data", {})) == set(known.carries)
    if (known.human and state != "Approved") or known.terminal:  # an approval has been given
        before = Facts.of(bench, id_)
        assert bench.drive(id_).state == state
        assert Facts.of(bench, id_) == before


@requirement("thread:initial")
def test_a_new_thread_is_drafting(bench: Bench) -> None:
    id_ = bench.new(None)
    [first] = bench.entries(id_)
    assert (first.event, first.to_state, bench.drive(id_).state) == ("created", "Drafting", "Drafting")


# Preflight checks


def _make_unfinished(bench: Bench, id_: str) -> None:
    (bench.root / "unfinished.txt").write_text("half of it\n")


def _detach(bench: Bench, id_: str) -> None:
    bench.git("switch", "-q", "--detach")


def _lose_agent(bench: Bench, id_: str) -> None:
    bench.settings["agent.command"] = "/nowhere/agent --now"
    with_config(bench, id_, agents=("command",))


def _lose_verifier(bench: Bench, id_: str) -> None:
    bench.settings["verify.commands"] = ("no-such-verifier --all",)


def _run_another(bench: Bench, id_: str) -> None:
    other = bench.new()
    bench.act(other, "finalize", "run")
    bench.git("switch", "-q", "main")


CHECKS: dict[str, tuple[Callable[[Bench, str], None], str, str]] = {
    "git": (_make_unfinished, "git_state", "'unfinished.txt'"),
    "baseline": (_detach, "baseline_capturable", "branch"),
    "models": (_lose_agent, "models_available", "/nowhere/agent"),
    "verifiers": (_lose_verifier, "verifiers_available", "no-such-verifier --all"),
    "conflicts": (_run_another, "no_concurrent_run", 'isolation = "own"'),
}


@pytest.mark.parametrize("name", [pytest.param(one, marks=requirement(f"thread:preflight:{one}")) for one in CHECKS])
def test_a_check_that_fails_is_named_and_what_is_mended_passes(bench: Bench, name: str) -> None:
    spoil, check, said = CHECKS[name]
    id_ = bench.new()
    bench.act(id_, "finalize")
    spoil(bench, id_)
    before = Facts.of(bench, id_)
    thread = bench.act(id_, "run")
    assert thread.state == "PreflightFailed"
    assert [one["name"] for one in thread.checks if not one["passed"]] == [check]
    assert said in thread.reason
    after = Facts.of(bench, id_)
    assert (after.branch, after.refs, after.files) == (before.branch, before.refs, before.files)


@requirement("thread:preflight:spec")
def test_the_spec_is_looked_at_before_it_is_finalized_and_again_before_it_is_built(bench: Bench) -> None:
    for text, said in ((SPEC.replace("<promise>COMPLETE</promise>", ""), "promise"), ("# Greet\n", "criteria")):
        id_ = bench.new(text)
        with pytest.raises(Refusal, match=said) as caught:
            bench.act(id_, "finalize")
        assert caught.value.code == "spec_invalid"
        assert bench.thread(id_).state == "Drafting"
    id_ = bench.new()
    names = {one["name"] for one in bench.act(id_, "finalize", "run").checks}
    assert {"spec_has_promise", "criteria_parseable"} <= names


@requirement("thread:preflight:all-named")
def test_every_check_that_fails_is_named_and_a_retry_finds_what_was_mended(bench: Bench) -> None:
    id_ = bench.new()
    bench.act(id_, "finalize")
    _make_unfinished(bench, id_)
    _lose_verifier(bench, id_)
    thread = bench.act(id_, "run")
    assert [one["name"] for one in thread.checks if not one["passed"]] == ["git_state", "verifiers_available"]
    assert len(thread.reason.splitlines()) == 3
    (bench.root / "unfinished.txt").unlink()
    bench.settings["verify.commands"] = ("true",)
    assert bench.act(id_, "retry").state == "Configuring"


@requirement("thread:preflight:managed-branch")
def test_unfinished_work_on_the_threads_own_branch_is_its_own(places: Places) -> None:
    bench, id_ = places.at("Paused")
    assert "unfinished" not in bench.git("status", "--porcelain")
    (bench.root / "unfinished.txt").write_text("half of it\n")
    assert bench.git("branch", "--show-current") == f"ralf/{id_}"
    assert bench.act(id_, "reconfigure", "start").state == "Implemented"


# Stuck


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, str]:
    """Two of four, then one of four: the first iteration came closest."""
    bench = Bench.made(tmp_path_factory.mktemp("stuck") / "repository")
    bench.settings["thread.iterations"] = 2
    id_ = bench.new(SPEC, mode="quick")
    journal = bench.open()
    try:
        revise_spec(bench.context(journal), id_, bench.person.actor, FOUR)
    finally:
        journal.close()
    said: Steps = [{"promise": "COMPLETE"}, {"finish": True}]
    near: Steps = [shell("echo hello > greeting.txt"), {"say": "I can greet."}, *said]
    far: Steps = [shell("echo hm > greeting.txt"), {"say": "I forgot it."}, *said]
    bench.play(near, far)
    assert bench.act(id_, "finalize").state == "Stuck"
    return bench, id_


@requirement("thread:stuck:menu")
def test_the_menu_of_stuck_is_drawn_as_the_seed_draws_it(stuck: tuple[Bench, str]) -> None:
    bench, id_ = stuck
    assert "\n".join(_menu(bench, id_)) == STUCK_MENU


def _menu(bench: Bench, id_: str) -> list[str]:
    journal = bench.open()
    try:
        return menu_lines(thread_view(journal, id_, bench.root), MACHINE)
    finally:
        journal.close()


def _diagnosis(stuck: tuple[Bench, str]) -> Any:
    known = stuck[0].thread(stuck[1]).diagnosis
    assert known is not None
    return known


PRESERVED: dict[str, tuple[Callable[[Any], object], object, str]] = {
    "spec-version": (lambda one: one.spec_revision, 2, "Spec version: v2"),
    "iterations": (lambda one: one.iterations_attempted, 2, "Iterations: 2, by scripted"),
    "criteria": (
        lambda one: (one.passed, len(one.failed), one.best_criteria_passed, one.total_criteria),
        (("there is a README",), 3, 2, 4),
        "✓ there is a README",
    ),
    "closest": (lambda one: "I can greet." in one.closest, True, "│ I can greet."),
    "diff": (lambda one: one.stat, "A greeting.txt", "A greeting.txt"),
}


@pytest.mark.parametrize("name", [pytest.param(one, marks=requirement(f"thread:stuck:{one}")) for one in PRESERVED])
def test_stuck_preserves_what_the_seed_lists(stuck: tuple[Bench, str], name: str) -> None:
    look, expected, shown = PRESERVED[name]
    assert look(_diagnosis(stuck)) == expected
    assert shown in diagnosis_text(_diagnosis(stuck))


@requirement("thread:stuck:diagnosis-file")
def test_thread_json_has_the_diagnosis(stuck: tuple[Bench, str]) -> None:
    bench, id_ = stuck
    phase = json.loads((bench.state_directory / "threads" / id_ / "thread.json").read_text())["phase"]
    told = phase["data"]["diagnosis"]
    assert (told["iterations_attempted"], told["models_tried"]) == (2, ["scripted"])
    assert (told["best_criteria_passed"], told["total_criteria"]) == (2, 4)


# Paused


@requirement("thread:paused:menu")
@requirement("thread:paused:progress-kept")
def test_a_pause_keeps_the_progress_and_shows_where_it_stands(bench: Bench) -> None:
    bench.settings["thread.iterations"] = 10
    id_ = bench.new(FOUR, mode="quick")

    def press(told: object) -> None:
        if isinstance(told, Thread) and told.state == "Running" and told.iteration == 3:
            bench.pausing.set()

    bench.hear = press
    thread = bench.act(id_, "finalize")
    assert thread.state == "Paused"
    assert "\n".join(_menu(bench, id_)) == PAUSED_MENU
    assert (bench.root / "greeting.txt").read_text() == "hello\n"
    bench.pausing.clear()
    bench.hear = lambda told: None
    bench.play([shell("touch song dance"), *DONE])
    assert bench.act(id_, "resume").state == "PendingReview"
    assert [one.number for one in bench.thread(id_).iterations if one.role == "implementer"] == [1, 2, 3]


# Git


@requirement("thread:git:baseline")
def test_the_baseline_is_the_branch_and_the_commit_and_a_branch_is_made(places: Places) -> None:
    bench, id_ = places.at("Finalized")
    bench.git("switch", "-qc", "feature")
    bench.git("commit", "-q", "--allow-empty", "-m", "more")
    thread = bench.act(id_, "run")
    base = thread.baseline
    assert base is not None
    assert (base.branch, base.commit) == ("feature", bench.git("rev-parse", "feature"))
    assert bench.git("branch", "--show-current") == thread.branch == f"ralf/{id_}"
    assert bench.git("rev-parse", "HEAD") == base.commit
    file = json.loads((bench.state_directory / "threads" / id_ / "thread.json").read_text())
    assert file["baseline"] == {"branch": "feature", "commit_sha": base.commit, "captured_at": base.at}


class _Unwilling:
    """Somebody at a terminal who answers something else than the word."""

    def __init__(self, bench: Bench) -> None:
        self._inner = bench.person.presence()
        self.actor = self._inner.actor
        self.asked: list[str] = []

    def enter(self, journal: Any) -> None:
        self._inner.enter(journal)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        self.asked.append(shown)
        return False

    def sign(self, statement: bytes, keys: Any) -> None:
        return None


@requirement("thread:git:reset-asks")
@pytest.mark.parametrize("state", ["Stuck", "PendingReview"])
def test_a_reset_asks_first_and_a_no_changes_nothing(places: Places, state: str) -> None:
    bench, id_ = places.at(state)
    before, somebody = Facts.of(bench, id_), _Unwilling(bench)
    person = Person(somebody.actor, lambda: somebody, lambda: True)
    journal = bench.open()
    try:
        with pytest.raises(Refusal) as caught:
            act(bench.context(journal), id_, person, "revise")
    finally:
        journal.close()
    assert caught.value.code == "gate_declined"
    assert "This will reset changes. Continue?" in somebody.asked[0]
    after = Facts.of(bench, id_)
    assert (after.snapshot, after.branch, after.refs, after.files) == (
        *(before.snapshot, before.branch, before.refs, before.files),
    )


@requirement("thread:git:reset")
def test_a_reset_checks_out_the_baseline_and_deletes_the_branch_and_no_commit_of_the_user_moves(
    places: Places,
) -> None:
    bench, id_ = places.at("Stuck")
    (bench.root / "staged.txt").write_text("staged\n")
    bench.git("add", "staged.txt")
    bench.git("branch", "other")
    bench.git("commit", "-qm", "an agent's or a person's")
    made = bench.git("rev-parse", "HEAD")
    (bench.root / "untracked.txt").write_text("untracked\n")
    before = Facts.of(bench, id_)
    thread = bench.act(id_, "revise")
    after = Facts.of(bench, id_)
    assert (thread.state, thread.baseline) == ("Drafting", None)
    assert after.branch == "ref: refs/heads/main"
    assert after.refs == {name: at for name, at in before.refs.items() if name != f"refs/heads/ralf/{id_}"}
    assert after.files == {"README": b"a project\n"}
    assert made in bench.git("log", "--all", "--format=%H")
    journal = bench.open()
    try:
        undo_reset(bench.context(journal), thread)
    finally:
        journal.close()
    back = Facts.of(bench, id_)
    assert (back.branch, back.refs, back.files) == (before.branch, before.refs, before.files)


@requirement("thread:git:completion")
def test_done_is_one_commit_on_the_branch_and_merging_is_the_users(places: Places) -> None:
    bench, id_ = places.at("ReadyToCommit")
    message, main = bench.thread(id_).message, bench.git("rev-parse", "main")
    thread = bench.act(id_, "commit")
    assert thread.commit == bench.git("rev-parse", f"ralf/{id_}")
    assert bench.git("log", "-1", "--format=%B", thread.commit or "") == message.strip()
    assert bench.git("log", "--format=%an <%ae>", "-1") == "Ann <ann@example.org>"
    assert bench.git("rev-parse", "main") == main
    bench.git("switch", "-q", "main")
    bench.git("merge", "-q", "--ff-only", f"ralf/{id_}")
    assert (bench.root / "greeting.txt").read_text() == "hello\n"


# Modes


def _assessed(bench: Bench, id_: str) -> tuple[str, ...]:
    bench.play([{"say": "VERDICT: READY"}, {"finish": True}])
    return (bench.act(id_, "assess").state, bench.act(id_, "finalize", drives=False).state)


@requirement("thread:quick:assessment")
def test_assessment_is_a_persons_choice_in_methodical_and_skipped_in_quick_mode(places: Places) -> None:
    bench, id_ = places.at("Drafting")
    assert _assessed(bench, id_) == ("Assessing", "Finalized")
    bench, id_ = places.at("Drafting", "quick")
    bench.act(id_, "finalize")
    assert "Assessing" not in bench.states(id_)


@requirement("thread:quick:configuration")
def test_configuration_is_manual_in_methodical_and_the_defaults_in_quick_mode(places: Places) -> None:
    bench, id_ = places.at("Preflight")
    assert bench.drive(id_).state == "Configuring"
    bench, id_ = places.at("Preflight", "quick")
    thread = bench.drive(id_)
    assert thread.state == "PendingReview"
    assert thread.config is not None
    assert (thread.config.agents, thread.config.iterations) == (("scripted",), 2)


@requirement("thread:quick:polish")
def test_polish_is_asked_for_in_methodical_and_skipped_in_quick_mode(places: Places) -> None:
    bench, id_ = places.at("Verifying")
    assert bench.drive(id_).state == "Implemented"
    bench, id_ = places.at("Verifying", "quick")
    assert bench.drive(id_).state == "PendingReview"
    assert "Polishing" not in bench.states(id_)


@requirement("thread:quick:review")
def test_review_is_a_persons_in_both_with_a_recommendation_in_quick_mode(places: Places) -> None:
    recommended = {}
    for mode in ("methodical", "quick"):
        bench, id_ = places.at("PendingReview", mode)
        assert bench.drive(id_).state == "PendingReview"
        journal = bench.open()
        try:
            recommended[mode] = is_recommended(bench.thread(id_), journal.instance(id_).snapshot)
            (bench.root / "greeting.txt").write_text("hello again\n")
            bench.drive(id_)
            assert not is_recommended(bench.thread(id_), journal.instance(id_).snapshot)
        finally:
            journal.close()
    assert recommended == {"methodical": False, "quick": True}


@requirement("thread:quick:commit")
def test_commit_is_a_persons_in_both(places: Places) -> None:
    for mode in ("methodical", "quick"):
        bench, id_ = places.at("ReadyToCommit", mode)
        assert bench.drive(id_).state == "ReadyToCommit"
        assert bench.git("rev-parse", f"ralf/{id_}") == bench.git("rev-parse", "main")


# Checkpoints

CHECKPOINTS = {
    "finalize": ("Drafting", ("finalize",)),
    "stuck": ("Stuck", ("revise", "reconfigure", "assist")),
    "approve": ("PendingReview", ("approve",)),
    "commit": ("ReadyToCommit", ("commit",)),
}


@pytest.mark.parametrize(
    "gate", [pytest.param(one, marks=requirement(f"thread:checkpoint:{one}")) for one in CHECKPOINTS]
)
@pytest.mark.parametrize("mode", ["methodical", "quick"])
def test_a_checkpoint_always_needs_a_person(places: Places, gate: str, mode: str) -> None:
    state, events = CHECKPOINTS[gate]
    bench, id_ = places.at(state, mode)
    assert bench.drive(id_).state == state
    for event in events:
        journal = bench.open()
        try:
            with pytest.raises(InterlockError) as caught:
                act(bench.context(journal), id_, _agent(), event)
        finally:
            journal.close()
        assert caught.value.code == "person_needed"
    thread = bench.thread(id_)
    assert thread.state == state
    assert [one["who"] for one in thread.refused] == ["claude"] * len(events)


def _agent() -> Person:
    def absent() -> Any:
        raise Refusal("person_needed", "There is nobody.", "Be somebody.")

    return Person(Actor(ActorKind.AGENT, "claude", Channel.CLI), absent, lambda: False)


# Files

WAITING = ("Finalized", "Configuring", "Implemented")
"""The states with a step of the driver's that waits for a person in methodical mode."""


@pytest.mark.sampled(4)
@requirement("thread:files:survive")
@pytest.mark.parametrize("state", [one for one in MACHINE.states if one not in STEPS or one in WAITING])
def test_the_files_are_made_anew_from_the_journal_in_every_state(places: Places, state: str) -> None:
    bench, id_ = places.at(state)
    before = Facts.of(bench, id_)
    for one in sorted((bench.state_directory / "threads" / id_).rglob("*"), reverse=True):
        one.unlink() if one.is_file() else one.rmdir()
    bench.drive(id_)
    assert Facts.of(bench, id_).written == before.written


@requirement("thread:files:written")
def test_all_that_is_stored_lies_where_the_seed_says(places: Places) -> None:
    bench, id_ = places.at("Done")
    own, thread = bench.state_directory, bench.thread(id_)
    assert json.loads((own / "threads" / id_ / "thread.json").read_text())["current_run_id"] == thread.run
    assert (own / "threads" / id_ / "spec" / "v1.md").read_text() == SPEC
    run = json.loads((own / "runs" / (thread.run or "") / "run.json").read_text())
    assert (run["id"], run["thread_id"]) == (thread.run, id_)
    assert "All of it is there." in (own / "runs" / (thread.run or "") / "output.log").read_text()
