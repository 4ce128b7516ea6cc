"""One step: what proofs, effects, locks, counters and observation do, beyond what a table can show."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from interlock.machine import (
    Accepted,
    Actor,
    Event,
    Evidence,
    Machine,
    Refused,
    Snapshot,
    allowed,
    load_file,
    load_shipped,
    start,
    step,
)
from interlock.machine.form import MachineForm
from interlock.machine.load import compile_machine

from .walks import HOLDER, TASK, by, edited, proven, shipped_table

SOUND = Path(__file__).parent / "sound.toml"
THREAD, TICKET, STORY, SESSION = (load_shipped(name) for name in ("thread", "ticket", "story", "session"))


def _event(name: str, kind: str, to: str | None = None, command: str | None = None, **evidence: Any) -> Event:
    return Event(name, by(kind), to, command, "because", Evidence(**evidence) if evidence else None)


def _accepted(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted:
    result = step(machine, snapshot, event)
    assert isinstance(result, Accepted), result
    return result


def _code(machine: Machine, snapshot: Snapshot, event: Event) -> str:
    result = step(machine, snapshot, event)
    assert isinstance(result, Refused), result
    return result.code


def _thread(state: str, **changes: Any) -> Snapshot:
    return proven(shipped_table("thread"), state, task=None, **changes)


def _mended(edit: str, into: str) -> Machine:
    """The sound machine with a piece of its file replaced."""
    text = SOUND.read_text()
    assert edit in text
    return compile_machine(msgspec.convert(tomllib.loads(text.replace(edit, into)), MachineForm))


# Proofs


def test_a_gate_binds_the_approval_to_the_hash_that_was_approved() -> None:
    approve = _event("approve", "human", subjects={"tree": "hash of the tree"})
    approved = _accepted(THREAD, _thread("PendingReview", proofs={"finalize": "f", "receipt": "r"}), approve).snapshot
    assert approved.state == "Approved"
    assert approved.proofs["approve"] == "hash of the tree"


@pytest.mark.parametrize("subjects", [{}, {"tree": ""}])
def test_a_gate_without_the_hash_of_its_subject_is_not_passed(subjects: dict[str, str]) -> None:
    result = step(THREAD, _thread("PendingReview"), _event("approve", "human", subjects=subjects))
    assert isinstance(result, Refused)
    assert result.code in ("evidence_required", "evidence_invalid")


def test_approving_another_tree_than_the_proven_one_asks_for_a_new_receipt() -> None:
    assert _code(THREAD, _thread("PendingReview"), _event("approve", "human", subjects={"tree": "another"})) == (
        "proof_required"
    )


def test_another_tree_voids_approval_and_receipt_and_leaves_the_spec_alone() -> None:
    seen = _accepted(THREAD, _thread("ReadyToCommit"), _event("observed", "system", subjects={"tree": "another"}))
    assert seen.snapshot.proofs.keys() == {"finalize", "stuck"}
    assert seen.snapshot.subjects["tree"] == "another"
    assert _code(THREAD, seen.snapshot, _event("commit", "human", subjects={"tree": "another"})) == "proof_required"


def test_the_same_tree_seen_again_voids_nothing() -> None:
    before = _thread("ReadyToCommit")
    seen = _accepted(THREAD, before, _event("observed", "system", subjects={"tree": "hash of the tree"}))
    assert seen.snapshot == before


def test_committing_another_tree_than_the_approved_one_is_refused() -> None:
    assert _code(THREAD, _thread("ReadyToCommit"), _event("commit", "human", subjects={"tree": "another"})) == (
        "proof_required"
    )


def test_entering_a_state_that_changes_a_subject_voids_what_was_proven_of_it() -> None:
    rejected = _accepted(THREAD, _thread("PendingReview"), _event("reject", "human")).snapshot
    assert rejected.state == "Running"
    assert rejected.proofs.keys() == {"finalize", "stuck"}
    assert "tree" not in rejected.subjects


def test_a_row_can_void_a_proof_by_name() -> None:
    withdrawn = _accepted(THREAD, _thread("Approved"), _event("withdraw", "human")).snapshot
    assert withdrawn.proofs.keys() == {"finalize", "stuck", "commit", "receipt"}


def test_an_immutable_subject_refuses_another_hash_until_it_is_made_anew() -> None:
    another = _event("observed", "system", subjects={"spec": "another"})
    assert _code(THREAD, _thread("Finalized"), another) == "evidence_invalid"
    drafting = _accepted(THREAD, _thread("Finalized"), _event("reopen", "human")).snapshot
    assert "finalize" not in drafting.proofs
    assert _accepted(THREAD, drafting, another).snapshot.subjects["spec"] == "another"


# Moves after effects


def _committing(**pending: str) -> Snapshot:
    ready = _thread("ReadyToCommit", pending=pending)
    begun = _accepted(THREAD, ready, _event("commit", "human", subjects={"tree": "hash of the tree"}))
    assert begun.effects == ("git_commit",)
    return begun.snapshot


def _settled(key: object, result: object) -> Event:
    return _event("effect_settled", "system", data={"key": key, "result": result})


def test_a_move_after_its_effects_is_first_an_intent() -> None:
    begun = _committing()
    assert (begun.state, begun.outcome) == ("ReadyToCommit", None)
    assert begun.pending == {"git_commit": "git_commit"}
    assert begun.awaiting is not None


def test_a_move_after_its_effects_is_made_when_they_are_done() -> None:
    done = _accepted(THREAD, _committing(), _settled("git_commit", "done")).snapshot
    assert (done.state, done.outcome, done.awaiting, done.pending) == ("Done", "success", None, {})
    assert done.proofs.keys() >= {"finalize", "approve", "commit", "receipt"}


def test_a_failed_effect_leaves_the_state_and_takes_the_gate_back() -> None:
    failed = _accepted(THREAD, _committing(), _settled("git_commit", "failed")).snapshot
    assert (failed.state, failed.outcome, failed.awaiting, failed.pending) == ("ReadyToCommit", None, None, {})
    assert "commit" not in failed.proofs
    assert failed.proofs.keys() >= {"finalize", "approve", "receipt"}


@pytest.mark.parametrize("kind", ["human", "agent", "system"])
@pytest.mark.parametrize(
    "name", ["commit", "withdraw", "tree_changed", "abandon", "observed", "superseded", "nonsense"]
)
def test_while_an_effect_is_awaited_everything_else_is_refused(name: str, kind: str) -> None:
    result = step(THREAD, _committing(), _event(name, kind))
    assert isinstance(result, Refused)
    assert (result.code, result.allowed) == ("effect_pending", ())


def test_nothing_is_allowed_while_an_effect_is_awaited_or_after_the_end() -> None:
    assert allowed(THREAD, _thread("ReadyToCommit"))
    assert allowed(THREAD, _committing()) == ()
    assert allowed(THREAD, _thread("ReadyToCommit", outcome="superseded")) == ()


@pytest.mark.parametrize("kind", ["human", "agent"])
def test_nobody_but_the_system_settles_an_effect(kind: str) -> None:
    event = replace(_settled("git_commit", "done"), actor=by(kind))
    assert _code(THREAD, _committing(), event) == "effect_pending"


@pytest.mark.parametrize(
    ("key", "result", "code"),
    [
        ("another", "done", "effect_unknown"),
        (None, "done", "effect_unknown"),
        (["git_commit"], "done", "effect_unknown"),
        ("git_commit", "perhaps", "evidence_invalid"),
        ("git_commit", None, "evidence_invalid"),
    ],
)
def test_an_effect_is_settled_by_its_key_as_done_or_failed(key: object, result: object, code: str) -> None:
    assert _code(THREAD, _committing(), _settled(key, result)) == code


def test_another_effect_that_succeeds_does_not_make_the_awaited_move() -> None:
    settled = _accepted(THREAD, _committing(note="notify"), _settled("note", "done")).snapshot
    assert settled == _committing()


def test_another_effect_that_fails_does_not_take_the_awaited_move_back() -> None:
    settled = _accepted(THREAD, _committing(note="notify"), _settled("note", "failed")).snapshot
    assert settled == _committing()


def test_an_effect_that_was_begun_before_is_not_begun_again() -> None:
    ready = _thread("ReadyToCommit", pending={"git_commit": "git_commit"})
    event = _event("commit", "human", subjects={"tree": "hash of the tree"})
    assert _code(THREAD, ready, event) == "effect_pending"


# Locks


def _ticket(state: str, holder: str | None = None, rework: int = 0) -> Snapshot:
    return Snapshot(state, holder=holder, counters={"rework": rework} if rework else {})


def _lock(holder: str | None, kind: str = "agent", command: str = "research") -> Event:
    return _event("lock", kind, command=command if kind == "agent" else None, holder=holder, data={"x": 1})


def test_a_claim_makes_its_holder_the_holder() -> None:
    claimed = _accepted(TICKET, _ticket("Research Needed"), _lock(HOLDER)).snapshot
    assert (claimed.state, claimed.holder) == ("Research in Progress", HOLDER)


def test_a_claim_must_say_for_whom() -> None:
    assert _code(TICKET, _ticket("Research Needed"), _lock(None)) == "evidence_required"


def test_a_second_claim_by_the_holder_writes_nothing() -> None:
    held = _ticket("Research in Progress", HOLDER)
    again = _accepted(TICKET, held, _lock(HOLDER))
    assert (again.changed, again.snapshot) == (False, held)


def test_a_claim_of_what_another_holds_is_refused_with_the_holders_name() -> None:
    result = step(TICKET, _ticket("Research in Progress", HOLDER), _lock("run-2"))
    assert isinstance(result, Refused)
    assert result.code == "lock_held"
    assert HOLDER in result.message


def _complete(holder: str | None, kind: str = "agent") -> Event:
    return _event("handoff", kind, "Ready for Plan", "research" if kind == "agent" else None, holder=holder)


def test_only_the_holder_or_a_person_leaves_a_lock_state() -> None:
    held = _ticket("Research in Progress", HOLDER)
    assert _code(TICKET, held, _complete("run-2")) == "lock_held"
    assert _code(TICKET, held, _complete(None)) == "lock_held"
    for event in (_complete(HOLDER), _complete(None, "human")):
        left = _accepted(TICKET, held, event).snapshot
        assert (left.state, left.holder) == ("Ready for Plan", None)


def test_a_lock_state_that_nobody_holds_must_be_claimed_before_an_agent_leaves_it() -> None:
    entered = _accepted(TICKET, _ticket("Ready for Plan"), _event("handoff", "human", "Plan in Progress")).snapshot
    leave = _event("handoff", "agent", "Plan in Review", "plan", holder=HOLDER)
    assert entered.holder is None
    assert _code(TICKET, entered, leave) == "lock_unclaimed"
    claimed = _accepted(TICKET, entered, _lock(HOLDER, command="plan"))
    assert claimed.changed
    assert _accepted(TICKET, claimed.snapshot, leave).snapshot.state == "Plan in Review"


def test_a_released_lock_is_free_where_it_stays() -> None:
    release = _event("release", "agent", command="impl", holder=HOLDER)
    released = _accepted(TICKET, _ticket("In Progress", HOLDER), release).snapshot
    assert (released.state, released.holder, released.counters) == ("In Progress", None, {"rework": 1})
    assert _accepted(TICKET, released, _lock("run-2", command="impl")).snapshot.holder == "run-2"


@pytest.mark.parametrize(
    ("state", "back"),
    [
        ("Research in Progress", "Research Needed"),
        ("Plan in Progress", "Ready for Plan"),
        ("In Progress", "In Progress"),
    ],
)
def test_the_system_ends_the_lock_of_whoever_ended(state: str, back: str) -> None:
    expired = _accepted(TICKET, _ticket(state, HOLDER), _event("lock_expired", "system")).snapshot
    assert (expired.state, expired.holder, expired.counters) == (back, None, {"rework": 1})
    too_often = _accepted(TICKET, _ticket(state, HOLDER, rework=3), _event("lock_expired", "system")).snapshot
    assert (too_often.state, too_often.holder) == ("Human Needed", None)


# Counters


def _finished(limit: int, times: int) -> Snapshot:
    running = Snapshot("Running", settings={"iteration.limit": limit})
    for _ in range(times):
        running = _accepted(THREAD, running, _event("iteration_finished", "system")).snapshot
    return running


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_limit_of_a_counter_is_a_setting(limit: int) -> None:
    assert _finished(limit, limit - 1).state == "Running"
    assert _finished(limit, limit).state == "Stuck"


def test_a_limit_of_zero_is_never_reached() -> None:
    assert _finished(0, 100).state == "Running"


def test_settings_that_come_with_an_event_count_for_that_event() -> None:
    last = _event("iteration_finished", "system", settings={"iteration.limit": 1})
    assert _accepted(THREAD, Snapshot("Running"), last).snapshot.state == "Stuck"


def test_a_counter_kept_per_task_counts_each_task_by_itself() -> None:
    failed = _event("tests_failed", "system")
    first = _accepted(STORY, Snapshot("TEST", task=TASK), failed).snapshot
    assert first.counters == {f"retry:{TASK}": 1}
    other = _accepted(STORY, replace(first, state="TEST", task="task-2"), failed).snapshot
    assert other.counters == {f"retry:{TASK}": 1, "retry:task-2": 1}


def test_a_third_failed_attempt_of_a_task_blocks_it() -> None:
    snapshot, states = Snapshot("TEST", task=TASK), []
    for _ in range(3):
        snapshot = _accepted(STORY, replace(snapshot, state="TEST"), _event("tests_failed", "system")).snapshot
        states.append(snapshot.state)
    assert states == ["IMPLEMENT", "IMPLEMENT", "BLOCKER"]
    assert snapshot.counters == {f"retry:{TASK}": 3}


@pytest.mark.parametrize("current", [None, "another task"])
def test_a_person_who_unblocks_says_which_task(current: str | None) -> None:
    blocked = Snapshot("STORY_SELECT", task=current, counters={f"retry:{TASK}": 3})
    assert _code(STORY, blocked, _event("story_unblocked", "human")) == "evidence_required"
    unblocked = _accepted(STORY, blocked, _event("story_unblocked", "human", task=TASK)).snapshot
    assert unblocked.counters[f"retry:{TASK}"] == 0
    assert unblocked.task == current


@pytest.mark.parametrize("state", ["Research in Progress", "Plan in Progress", "In Progress"])
def test_the_lock_of_nobody_does_not_expire(state: str) -> None:
    assert _code(TICKET, Snapshot(state), _event("lock_expired", "system")) == "refused_by_rule"


def test_the_stuck_gate_is_for_the_diagnosis_that_led_there() -> None:
    running = Snapshot("Running", counters={"iteration": 5})
    event = Event("iteration_finished", by("system"), evidence=Evidence(subjects={"diagnosis": "what failed"}))
    stuck = _accepted(THREAD, running, event).snapshot
    assert stuck.subjects == {"diagnosis": "what failed"}
    other = Event("assist", by("human"), evidence=Evidence(subjects={"diagnosis": "something else"}))
    assert _code(THREAD, stuck, other) == "evidence_invalid"
    same = Event("assist", by("human"), evidence=Evidence(subjects={"diagnosis": "what failed"}))
    running = _accepted(THREAD, stuck, same).snapshot
    assert running.state == "Running"
    again = Event("models_exhausted", by("system"), evidence=Evidence(subjects={"diagnosis": "what failed then"}))
    stuck = _accepted(THREAD, running, again).snapshot
    assert (stuck.state, stuck.subjects, stuck.proofs) == ("Stuck", {"diagnosis": "what failed then"}, {})


def test_a_diagnosis_is_made_anew_only_on_the_way_to_stuck() -> None:
    running = Snapshot("Running", counters={"iteration": 1}, subjects={"diagnosis": "what failed"})
    event = Event("iteration_finished", by("system"), evidence=Evidence(subjects={"diagnosis": "something else"}))
    assert _code(THREAD, running, event) == "evidence_invalid"
    last = Snapshot("Running", counters={"iteration": 5}, subjects={"diagnosis": "what failed"})
    assert _accepted(THREAD, last, event).snapshot.state == "Stuck"


def test_only_the_system_fires_what_every_machine_knows() -> None:
    for kind in ("human", "agent"):
        assert _code(THREAD, Snapshot("Running"), _event("observed", kind)) == "actor_not_allowed"


def test_an_instance_is_not_begun_by_an_unknown_kind_of_actor() -> None:
    stranger = msgspec.structs.replace(by("agent"), kind="robot")
    result = start(THREAD, Event("created", stranger))
    assert isinstance(result, Refused)
    assert result.code == "unknown_actor"


def test_a_commit_sets_the_retries_of_its_task_back() -> None:
    committed = _accepted(
        STORY, Snapshot("COMMIT", task=TASK, counters={f"retry:{TASK}": 2}), _event("committed", "system")
    )
    assert committed.snapshot.counters == {f"retry:{TASK}": 0}
    assert committed.snapshot.task is None


def test_a_person_starts_a_counter_anew_that_a_person_resets() -> None:
    moved = _accepted(TICKET, _ticket("Human Needed", rework=3), _event("handoff", "human", "Ready for Plan")).snapshot
    assert moved.counters == {}


def test_a_person_who_gives_a_lock_back_is_not_counted_as_rework() -> None:
    released = _accepted(TICKET, _ticket("In Progress", HOLDER, rework=2), _event("release", "human")).snapshot
    assert released.counters.get("rework", 0) == 0


# Observation


def test_a_move_off_the_path_is_recorded_and_marked() -> None:
    skipped = _accepted(SESSION, Snapshot("idle"), _event("update_session_state", "agent", "committing"))
    assert skipped.off_path
    assert skipped.snapshot.state == "committing"
    assert skipped.warning is not None
    assert "analyzing" in skipped.warning


def test_the_same_state_again_is_a_success_with_a_warning() -> None:
    again = _accepted(SESSION, Snapshot("testing"), _event("update_session_state", "agent", "testing"))
    assert (again.off_path, again.snapshot) == (False, Snapshot("testing"))
    assert again.warning


@pytest.mark.parametrize(("tests", "off_path"), [("passed", False), ("unknown", False), ("failed", True)])
def test_committing_with_failed_tests_is_off_the_path(tests: str, off_path: bool) -> None:
    moved = _accepted(
        SESSION, Snapshot("testing"), _event("update_session_state", "agent", "committing", facts={"tests": tests})
    )
    assert (moved.snapshot.state, moved.off_path) == ("committing", off_path)


@pytest.mark.parametrize(("state", "off_path"), [("implementing", True), ("committing", False), ("reviewing", False)])
def test_success_is_on_the_path_only_after_committing(state: str, off_path: bool) -> None:
    done = _accepted(SESSION, Snapshot(state), _event("complete_ralph_session", "agent", facts={"outcome": "success"}))
    assert (done.snapshot.state, done.snapshot.outcome, done.off_path) == ("done", "success", off_path)


@pytest.mark.parametrize("to", ["idle", "done", "failed", "nowhere", None])
def test_a_session_is_never_reported_into_a_state_that_no_report_leads_to(to: str | None) -> None:
    result = step(SESSION, Snapshot("implementing"), _event("update_session_state", "agent", to))
    assert isinstance(result, Refused)
    assert result.code in ("target_required", "target_not_allowed", "unknown_state")


def test_what_is_recorded_off_the_path_is_reported_by_an_agent_only() -> None:
    assert _code(SESSION, Snapshot("idle"), _event("update_session_state", "human", "testing")) == "actor_not_allowed"


def test_in_a_machine_that_observes_a_move_off_the_path_into_an_end_is_an_end() -> None:
    observing = edited("ticket", enforcement="observe")
    ended = _accepted(observing, Snapshot("Research Needed"), _event("handoff", "human", "Done")).snapshot
    assert ended.state == "Done"
    assert _code(observing, ended, _event("handoff", "human", "Backlog")) == "terminal"


# Events that every machine has


def test_an_effect_is_intended_and_settled_without_moving() -> None:
    intended = _accepted(
        STORY, Snapshot("TEST"), _event("effect_intended", "system", data={"key": "run-7", "effect": "run_tests"})
    )
    assert intended.snapshot == Snapshot("TEST", pending={"run-7": "run_tests"})
    for outcome in ("done", "failed"):
        assert _accepted(STORY, intended.snapshot, _settled("run-7", outcome)).snapshot == Snapshot("TEST")


def test_an_effect_is_not_intended_twice_under_one_key() -> None:
    pending = Snapshot("TEST", pending={"run-7": "run_tests"})
    again = _event("effect_intended", "system", data={"key": "run-7", "effect": "run_tests"})
    assert _code(STORY, pending, again) == "effect_pending"


@pytest.mark.parametrize(
    "data", [{}, {"key": "k"}, {"effect": "e"}, {"key": 1, "effect": "e"}, {"key": "", "effect": "e"}]
)
def test_an_intended_effect_has_a_key_and_a_name(data: dict[str, Any]) -> None:
    assert _code(STORY, Snapshot("TEST"), _event("effect_intended", "system", data=data)) == "evidence_required"


def test_a_settled_effect_that_was_never_begun_is_unknown() -> None:
    assert _code(STORY, Snapshot("TEST"), _settled("run-7", "done")) == "effect_unknown"


def test_what_is_refused_of_an_effect_says_what_is_allowed_instead() -> None:
    result = step(STORY, Snapshot("TEST", task=TASK), _settled("run-7", "done"))
    assert isinstance(result, Refused)
    assert {one.event for one in result.allowed} >= {"tests_passed", "tests_failed"}


def test_settings_are_given_by_observing_them() -> None:
    seen = _accepted(THREAD, Snapshot("Drafting"), _event("observed", "system", settings={"mode": "quick"}))
    assert seen.snapshot == Snapshot("Drafting", settings={"mode": "quick"})


def test_a_superseded_instance_ends_where_it_stands() -> None:
    closed = _accepted(STORY, Snapshot("IMPLEMENT", task=TASK), _event("superseded", "system")).snapshot
    assert (closed.state, closed.outcome) == ("IMPLEMENT", "superseded")
    assert _code(STORY, closed, _event("code_written", "system")) == "terminal"
    assert _code(STORY, closed, _event("story_unblocked", "human", data={"story": "s"})) == "terminal"


def test_an_effect_that_was_begun_is_settled_after_the_end_too() -> None:
    ended = Snapshot("ERROR", outcome="setup_required", pending={"note": "notify"})
    settled = _accepted(STORY, ended, _settled("note", "done")).snapshot
    assert (settled.outcome, settled.pending) == ("setup_required", {})


@pytest.mark.parametrize("kind", ["human", "agent"])
@pytest.mark.parametrize("name", ["effect_intended", "effect_settled", "observed", "superseded"])
def test_the_events_that_every_machine_has_are_the_systems(name: str, kind: str) -> None:
    result = step(STORY, Snapshot("TEST"), _event(name, kind, data={"key": "k", "effect": "e"}))
    assert isinstance(result, Refused)


# Starting


def test_an_instance_starts_in_the_initial_state() -> None:
    started = start(THREAD, _event("created", "human", settings={"mode": "quick"}, subjects={"spec": "v1"}))
    assert started == Accepted(Snapshot("Drafting", settings={"mode": "quick"}, subjects={"spec": "v1"}))


@pytest.mark.parametrize(
    ("kind", "command", "code"),
    [
        ("agent", "split", None),
        ("human", None, None),
        ("agent", None, "command_required"),
        ("agent", "plan", "command_required"),
    ],
)
def test_another_start_is_for_its_command_or_a_person(kind: str, command: str | None, code: str | None) -> None:
    result = start(TICKET, _event("created", kind, "Research Needed", command))
    assert (result.code if isinstance(result, Refused) else None) == code


@pytest.mark.parametrize("to", ["Done", "In Progress", "Nowhere", "x" * 10_000])
def test_an_instance_starts_nowhere_else(to: str) -> None:
    result = start(TICKET, _event("created", "human", to))
    assert isinstance(result, Refused)
    assert result.code == "not_allowed"
    assert len(result.message) < 1000


def test_counters_can_be_brought_along_from_a_file() -> None:
    counters = {f"retry:{TASK}": 2, "exhausted:task-2": 1}
    started = start(STORY, _event("created", "system", data={"counters": counters}))
    assert started == Accepted(Snapshot("INIT", counters=counters))


@pytest.mark.parametrize(
    "counters",
    [
        [],
        "many",
        {"nonsense": 1},
        {"retry": 1},
        {"retry:": 1},
        {"retry:../../etc": 1},
        {f"retry:{TASK}": -1},
        {f"retry:{TASK}": True},
        {f"retry:{TASK}": "2"},
        {f"retry:{TASK}": 1.0},
        {f"retry:{TASK}": 10**9},
        {f"retry:{'x' * 201}": 1},
        {1: 1},
    ],
)
def test_counters_that_the_machine_does_not_have_are_refused(counters: object) -> None:
    result = start(STORY, _event("created", "system", data={"counters": counters}))
    assert isinstance(result, Refused)
    assert result.code == "evidence_invalid"


def test_a_counter_that_is_not_kept_per_task_is_brought_without_one() -> None:
    for counters, fits in (({"iteration": 3}, True), ({"iteration:task-1": 3}, False)):
        result = start(THREAD, _event("created", "system", data={"counters": counters}))
        assert isinstance(result, Accepted) == fits


def test_an_instance_does_not_start_with_evidence_of_the_wrong_shape() -> None:
    result = start(THREAD, _event("created", "human", settings={"mode": "reckless"}))
    assert isinstance(result, Refused)
    assert result.code == "setting_invalid"


# What is unknown or of the wrong shape


def test_a_state_that_the_machine_does_not_have_is_unknown() -> None:
    assert _code(THREAD, Snapshot("Nowhere"), _event("abandon", "human")) == "unknown_state"
    assert _code(TICKET, Snapshot("Backlog"), _event("handoff", "human", "Nowhere")) == "unknown_state"


def test_an_event_that_the_machine_does_not_have_is_unknown() -> None:
    assert _code(THREAD, Snapshot("Drafting"), _event("x" * 10_000, "human")) == "unknown_event"


def test_an_actor_of_no_kind_is_unknown() -> None:
    nobody = msgspec.structs.replace(by("human"), kind="robot")
    assert _code(THREAD, Snapshot("Drafting"), Event("assess", nobody)) == "unknown_actor"


def test_a_command_that_the_machine_does_not_have_is_unknown() -> None:
    assert _code(TICKET, Snapshot("Backlog"), _event("handoff", "agent", "Done", "deploy")) == "unknown_command"
    assert _code(TICKET, Snapshot("Backlog"), _event("handoff", "agent", "Done", "plan")) == "command_not_allowed"
    assert _code(TICKET, Snapshot("Backlog"), _event("handoff", "agent", "Done")) == "command_required"


@pytest.mark.parametrize(
    ("evidence", "code"),
    [
        ({"facts": {"planner": "perhaps"}}, "fact_invalid"),
        ({"facts": {"weather": "fine"}}, "fact_invalid"),
        ({"facts": {}}, "fact_required"),
        ({"facts": {"executor": "failed"}}, "fact_required"),
        ({"facts": {"planner": "completed"}, "settings": {"attempt.limit": -1}}, "setting_invalid"),
        ({"facts": {"planner": "completed"}, "settings": {"attempt.limit": "many"}}, "setting_invalid"),
        ({"facts": {"planner": "completed"}, "settings": {"weather": 1}}, "setting_invalid"),
        ({"facts": {"planner": "completed"}, "subjects": {"tree": "h"}}, "evidence_invalid"),
        ({"facts": {"planner": "completed"}, "task": ""}, "evidence_invalid"),
        ({"facts": {"planner": "completed"}, "task": "../secrets"}, "evidence_invalid"),
        ({"facts": {"planner": "completed"}, "task": "a:b"}, "evidence_invalid"),
        ({"facts": {"planner": "completed"}, "task": "a\nb"}, "evidence_invalid"),
        ({"facts": {"planner": "completed"}, "task": "x" * 201}, "evidence_invalid"),
    ],
)
def test_evidence_of_the_wrong_shape_is_refused(evidence: dict[str, Any], code: str) -> None:
    assert (
        _code(load_shipped("orchestrator"), Snapshot("Planning"), _event("planner_completed", "system", **evidence))
        == code
    )


@pytest.mark.parametrize("reason", [None, ""])
def test_a_needed_reason_must_be_given(reason: str | None) -> None:
    silent = Event("reject", by("human"), reason=reason)
    assert _code(THREAD, Snapshot("PendingReview"), silent) == "evidence_required"


def test_what_an_event_needs_is_asked_for_by_name() -> None:
    result = step(THREAD, Snapshot("PendingReview"), Event("reject", by("human"), reason=""))
    assert isinstance(result, Refused)
    assert result.code == "evidence_required"
    assert "reason" in result.message


def test_a_task_must_be_named_where_one_is_selected() -> None:
    assert _code(STORY, Snapshot("STORY_SELECT"), _event("task_selected", "system")) == "evidence_required"


def test_an_event_that_leads_elsewhere_than_it_says_is_refused() -> None:
    assert _code(THREAD, Snapshot("Drafting"), _event("assess", "human", "Done")) == "target_not_allowed"
    assert _accepted(THREAD, Snapshot("Drafting"), _event("assess", "human", "Assessing")).snapshot.state == "Assessing"


def test_an_event_without_evidence_is_the_same_as_one_with_nothing_in_it() -> None:
    """The fact is asked for in one state only, so the other is a plain move that takes a shorter way."""
    machine = _mended(
        'from = "*"\nto = "Dropped"\non = "drop"\nby = ["human"]',
        'from = "Review"\nto = "Draft"\non = "verified"\nby = ["system"]',
    )
    event = Event("verified", by("system"))
    assert step(machine, Snapshot("Review"), event) == step(
        machine, Snapshot("Review"), replace(event, evidence=Evidence())
    )


def test_a_snapshot_of_another_version_of_the_machine_is_refused_and_not_raised() -> None:
    for stranger in (
        Snapshot("ReadyToCommit", awaiting="ReadyToCommit --push--> Done", pending={"git_commit": "git_commit"}),
        Snapshot("Running", proofs={"forgotten": "h"}),
        Snapshot("Running", counters={"forgotten": 1}),
    ):
        for event in (_settled("git_commit", "done"), _event("iteration_finished", "system", subjects={"tree": "t"})):
            assert isinstance(step(THREAD, stranger, event), Accepted | Refused)


def test_an_actor_is_not_believed_by_its_id() -> None:
    pretender = Actor(by("agent").kind, "human", by("human").channel)
    approve = Event("approve", pretender, evidence=Evidence(subjects={"tree": "hash of the tree"}))
    assert _code(THREAD, _thread("PendingReview"), approve) == "person_needed"


def test_the_sound_machine_goes_from_its_start_to_its_success() -> None:
    machine, tree = load_file(SOUND), {"tree": "t"}
    snapshot = Snapshot("Draft")
    for event in (
        _event("begin", "agent", command="write"),
        _event("verified", "system", facts={"verdict": "good"}, subjects=tree),
        _event("approve", "human", subjects=tree),
        _event("publish", "human"),
    ):
        snapshot = _accepted(machine, snapshot, event).snapshot
    assert (snapshot.state, snapshot.outcome) == ("Done", "success")
