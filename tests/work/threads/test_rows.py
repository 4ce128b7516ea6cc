"""Every row of the thread's table, in a real repository: what is in it happens, and what is not changes nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from interlock.errors import InterlockError
from interlock.journal import Entry
from interlock.machine import ActorKind, Event, Evidence, Transition, load_shipped
from interlock.machine.form import RefusalForm
from interlock.machine.model import BUILTIN
from interlock.work.driver.agent_run import DRIVER
from interlock.work.gates.presence import Person
from interlock.work.threads.attending import look, step_of
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.projecting import project
from interlock.work.threads.reading import read_thread
from interlock.work.threads.verbs import act
from seeds.manifest import TRANSITIONS
from work.threads.benches import AGENT, FAIL, IDLE, Bench, Steps
from work.threads.places import Facts, Places, drive_until, rest, with_config

MACHINE = load_shipped("thread")
Do = Callable[[Bench, str], object]
REVISE: Steps = [{"say": "ISSUE: say which hello\nVERDICT: REVISE"}, {"finish": True}]
PAID: Steps = [{"say": "that was dear"}, {"usage": {"input": 10, "output": 10, "cached": 0}}]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


# How each row is made to happen


def _edit(bench: Bench, id_: str = "") -> None:
    (bench.root / "greeting.txt").write_text("hello, all\n")


def _and_drive(first: Do, state: str) -> Do:
    def do(bench: Bench, id_: str) -> None:
        first(bench, id_)
        drive_until(bench, id_, state)

    return do


def _nothing(bench: Bench, id_: str) -> None:
    """The driver goes on by itself."""


def _append(kind: ActorKind, name: str, *, edits: bool = False, reason: str | None = None) -> Do:
    """A row that its kind of actor may make and that nothing of ours makes: straight into the journal."""

    def do(bench: Bench, id_: str) -> None:
        if edits:
            _edit(bench)
        journal = bench.open()
        try:
            context = bench.context(journal)
            look(step_of(context, id_, None))
            tree = journal.instance(id_).snapshot.subjects.get("tree")
            evidence = Evidence(subjects={"tree": tree}) if tree is not None else None
            actor = {ActorKind.SYSTEM: DRIVER, ActorKind.AGENT: AGENT}[kind]
            journal.append(id_, Event(name, actor, reason=reason, evidence=evidence))
            project(context, read_thread(journal, id_))
        finally:
            journal.close()

    return do


def _person(name: str) -> Do:
    return lambda bench, id_: bench.act(id_, name, reason="because", drives=False)


def _playing(*iterations: Steps) -> Do:
    return lambda bench, id_: bench.play(*iterations)


def _judging(*iterations: Steps) -> Do:
    return lambda bench, id_: bench.judge(*iterations)


def _with_budget(first: Do) -> Do:
    def do(bench: Bench, id_: str) -> None:
        with_config(bench, id_, budget_tokens=10)
        first(bench, id_)

    return do


def _without_end(bench: Bench, id_: str) -> None:
    bench.settings["agent.wait_minutes"] = 0
    bench.play([{"limit": {"kind": "overloaded", "until": None, "said": "overloaded"}}, {"exit": 1}])


def _unfinished(bench: Bench, id_: str) -> None:
    (bench.root / "unfinished.txt").write_text("half of it\n")


def _elsewhere(bench: Bench, id_: str) -> None:
    bench.git("switch", "-q", "main")


def _interrupted(bench: Bench, id_: str) -> None:
    bench.pausing.set()


def _commit(bench: Bench, id_: str) -> None:
    bench.act(id_, "commit")


def _polish_changed(bench: Bench, id_: str) -> None:
    _edit(bench)
    bench.act(id_, "polished", drives=False)


def _revise(bench: Bench, id_: str) -> None:
    bench.act(id_, "revise")


HUMAN: dict[tuple[str, str, str], Do] = {
    ("Running", "pause", "Paused"): rest,
    ("Verifying", "verification_stopped", "Running"): rest,
    ("Polishing", "polished", "Verifying"): _polish_changed,
    ("Stuck", "revise", "Drafting"): _revise,
    ("PendingReview", "revise", "Drafting"): _revise,
    ("ReadyToCommit", "commit", "Done"): _commit,
}
"""A person's moves that are more than a verb; all others are the verb of their event."""
SYSTEM: dict[tuple[str, str, str], Do] = {
    ("Finalized", "run", "Preflight"): _nothing,
    ("Preflight", "checks_passed", "Configuring"): _nothing,
    ("Preflight", "checks_failed", "PreflightFailed"): _unfinished,
    ("Configuring", "start", "Running"): _nothing,
    ("Running", "claims_done", "Verifying"): _nothing,
    ("Running", "iteration_finished", "Running"): _playing(IDLE),
    ("Verifying", "criteria_passed", "Implemented"): _nothing,
    ("Implemented", "ready", "PendingReview"): _nothing,
    ("Approved", "prepare", "ReadyToCommit"): _nothing,
    ("Assessing", "revise", "Drafting"): _playing(REVISE),
    ("Verifying", "criteria_failed", "Running"): _judging(FAIL),
    ("Running", "iteration_finished", "Stuck"): _playing(IDLE, IDLE),
    ("Running", "models_exhausted", "Stuck"): _without_end,
    ("Verifying", "criteria_failed", "Stuck"): _judging(FAIL, FAIL),
    ("Running", "budget_exhausted", "Stuck"): _with_budget(_playing([*PAID, {"finish": True}])),
    ("Verifying", "budget_exhausted", "Stuck"): _with_budget(_judging([*PAID, *FAIL])),
    ("Running", "driver_failed", "Stuck"): _elsewhere,
    ("Approved", "tree_changed", "PendingReview"): _edit,
    ("ReadyToCommit", "tree_changed", "PendingReview"): _edit,
    ("Running", "pause", "Paused"): _interrupted,
    ("Verifying", "verification_stopped", "Running"): _interrupted,
}
"""What the driver finds, so that it makes a row of its own."""
NOBODY: dict[tuple[str, str, str, ActorKind], Do] = {
    ("Running", "claims_done", "Verifying", ActorKind.AGENT): _append(ActorKind.AGENT, "claims_done"),
    ("Polishing", "polished", "Implemented", ActorKind.SYSTEM): _append(ActorKind.SYSTEM, "polished"),
    ("Polishing", "polished", "Verifying", ActorKind.SYSTEM): _append(ActorKind.SYSTEM, "polished", edits=True),
    ("Implemented", "reverify", "Verifying", ActorKind.SYSTEM): _append(ActorKind.SYSTEM, "reverify", edits=True),
    ("PendingReview", "reverify", "Verifying", ActorKind.SYSTEM): _append(ActorKind.SYSTEM, "reverify", edits=True),
}
"""Rows that the table gives to a kind of actor by whom no verb makes them alone."""


def _edge(row: Transition) -> tuple[str, str, str]:
    return row.source, row.on, row.to


def _way(row: Transition, kind: ActorKind) -> Do:
    if (*_edge(row), kind) in NOBODY:
        return NOBODY[(*_edge(row), kind)]
    if kind is ActorKind.HUMAN:
        return HUMAN.get(_edge(row), _person(row.on))
    return _and_drive(SYSTEM[_edge(row)], row.to)


def _requirements(row: Transition) -> list[str]:
    """The rows of the seed that this one is."""
    return [
        one["id"]
        for one in TRANSITIONS
        if one["machine"] == "thread" and (one["from"], one["on"], one["to"]) == _edge(row)
    ]


def _rows() -> list[ParameterSet]:
    return [
        pytest.param(
            row,
            ActorKind(kind),
            id=f"{row.id} by {kind}",
            marks=[pytest.mark.requirement(one) for one in _requirements(row)],
        )
        for row in MACHINE.transitions
        for kind in row.by
    ]


@pytest.mark.sampled(0)
@pytest.mark.parametrize(("row", "kind"), _rows())
def test_a_row_of_the_table_happens(places: Places, row: Transition, kind: ActorKind) -> None:
    mode = "quick" if row.when == "mode == 'quick'" else "methodical"
    bench, id_ = places.at(row.source, mode)
    before = Facts.of(bench, id_)
    _way(row, kind)(bench, id_)
    after = Facts.of(bench, id_)
    [*_, entry] = [one for one in bench.entries(id_) if one.event == row.on]
    assert entry.seq > before.head
    _check_entry(row, kind, entry)
    _check_state(row, kind, before, after, bench, id_)
    _check_git(row, before, after, bench, id_)


def _check_entry(row: Transition, kind: ActorKind, entry: Entry) -> None:
    expected = row.source if row.after_effects else row.to
    assert (entry.from_state, entry.to_state, entry.actor_kind) == (row.source, expected, kind)
    if row.needs:
        assert entry.reason
    if row.gate:
        given = entry.decoded_evidence().data["approval"]["statement"]
        subject = MACHINE.proofs[row.gate].subject
        assert (given["gate"], given["event"], given["subject"]) == (row.gate, row.on, subject)
        assert given["hash"] == entry.decoded_evidence().subjects[subject]


def _check_state(row: Transition, kind: ActorKind, before: Facts, after: Facts, bench: Bench, id_: str) -> None:
    stopped = row.on == "verification_stopped"  # the pause that follows is in the same transaction
    to = "Paused" if stopped else row.to
    thread = bench.thread(id_)
    assert (thread.state, after.snapshot.state) == (to, to)
    file = json.loads((bench.state_directory / "threads" / id_ / "thread.json").read_text())
    assert file["phase"]["type"] == to
    assert set(file["phase"].get("data", {})) == set(MACHINE.states[to].carries)
    iteration = row.set.get("iteration", before.snapshot.counters.get("iteration", 1) + row.count.get("iteration", 0))
    if row.to != "Stuck":  # on the way there other iterations may have been counted
        assert after.snapshot.counters.get("iteration", 1) == iteration
    if MACHINE.states[to].carries == ["iteration"]:
        assert file["phase"]["data"]["iteration"] == iteration
    if row.gate:
        assert row.gate in after.snapshot.proofs or row.gate == "stuck"
    for voided in row.voids:
        assert voided in before.snapshot.proofs
        assert voided not in after.snapshot.proofs
    if row.receipt:
        assert after.snapshot.proofs[row.receipt] == bench.git("rev-parse", f"{_tree(bench)}^{{tree}}")


def _tree(bench: Bench) -> str:
    """The tree of all that is in the work tree."""
    bench.git("add", "-A")
    return bench.git("write-tree")


def _check_git(row: Transition, before: Facts, after: Facts, bench: Bench, id_: str) -> None:
    own = f"refs/heads/ralf/{id_}"
    main = before.refs["refs/heads/main"]
    if row.effects == ("reset_workspace",):
        assert (after.branch, after.refs) == ("ref: refs/heads/main", {"refs/heads/main": main})
        assert after.files == {"README": b"a project\n"}
        assert bench.git("status", "--porcelain") == ""
        assert after.kept.keys() > before.kept.keys()
        _bring_back(bench, id_)
        back = Facts.of(bench, id_)
        assert (back.branch, back.refs, back.files) == (before.branch, before.refs, before.files)
        assert back.snapshot.state == "Drafting"
    elif row.effects == ("git_commit",):
        made = bench.thread(id_).commit
        assert (after.branch, after.refs) == (f"ref: {own}", {"refs/heads/main": main, own: made})
        assert bench.git("rev-parse", f"{made}^") == main
        assert bench.git("rev-parse", f"{made}^{{tree}}") == before.snapshot.proofs["approve"]
    elif row.on == "checks_passed":
        assert (after.branch, after.refs) == (f"ref: {own}", {"refs/heads/main": main, own: main})
        assert after.files == before.files
    elif row.on == "driver_failed":
        assert after.branch == "ref: refs/heads/main"
        assert after.refs == before.refs
    else:
        assert (after.branch, after.refs) == (before.branch, before.refs)
        changed = {name for name in {*before.files, *after.files} if before.files.get(name) != after.files.get(name)}
        assert changed <= {"greeting.txt", "unfinished.txt"}  # by the agent, or by whoever this test plays
        if row.gate or (row.by == ("human",) and not row.effects):
            assert not changed


def _bring_back(bench: Bench, id_: str) -> None:
    journal = bench.open()
    try:
        undo_reset(bench.context(journal), bench.thread(id_))
    finally:
        journal.close()


def test_every_row_that_the_system_may_make_is_made_to_happen() -> None:
    made = {_edge(row) for row in MACHINE.transitions if "system" in row.by}
    assert made == {*SYSTEM, *((a, b, c) for a, b, c, kind in NOBODY if kind is ActorKind.SYSTEM)}


# What is not in the table

_REFUSED = ("actor_not_allowed", "not_allowed", "person_needed", "terminal")
KINDS = (ActorKind.HUMAN, ActorKind.AGENT, ActorKind.SYSTEM)
_OF_KIND = {ActorKind.SYSTEM: DRIVER, ActorKind.AGENT: AGENT}
OUTSIDE = {
    (state, kind): [event for event in sorted(MACHINE.actors) if (state, event, kind) not in MACHINE.rules]
    for state, kind in itertools.product(MACHINE.states, KINDS)
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("state", "kind"), OUTSIDE, ids=lambda one: str(one))
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(places: Places, state: str, kind: ActorKind) -> None:
    bench, id_ = places.at(state)
    before = Facts.of(bench, id_)
    for event in OUTSIDE[state, kind]:
        with pytest.raises(InterlockError) as caught:
            _attempt(bench, id_, event, kind)
        assert caught.value.code in _REFUSED, event
    assert Facts.of(bench, id_) == before


def _attempt(bench: Bench, id_: str, event: str, kind: ActorKind) -> None:
    """By a verb where it is a person's, else by what the driver and the hooks have: the journal itself."""
    journal = bench.open()
    try:
        if kind is ActorKind.HUMAN:
            act(bench.context(journal), id_, bench.person, event, reason="because")
        else:
            evidence = Evidence(data={"reason": "because"})
            journal.append(id_, Event(event, _OF_KIND[kind], reason="because", evidence=evidence))
    finally:
        journal.close()


@pytest.mark.parametrize("row", MACHINE.form.refusals, ids=lambda row: row.because)
def test_what_the_table_refuses_is_refused_with_its_reason(places: Places, row: RefusalForm) -> None:
    for state in [row.source] if isinstance(row.source, str) else row.source:
        bench, id_ = places.at(state)
        before = Facts.of(bench, id_)
        with pytest.raises(InterlockError, match=row.because):
            _attempt(bench, id_, row.on, ActorKind.SYSTEM)
        assert Facts.of(bench, id_) == before


@pytest.mark.sampled(6)
@pytest.mark.parametrize("state", MACHINE.states)
def test_no_verb_moves_a_thread_for_an_agent(places: Places, state: str) -> None:
    bench, id_ = places.at(state)
    before = Facts.of(bench, id_)
    for event in sorted(set(MACHINE.actors) - BUILTIN):
        journal = bench.open()
        try:
            with pytest.raises(InterlockError) as caught:
                act(bench.context(journal), id_, _nobody(), event, reason="because")
        finally:
            journal.close()
        assert caught.value.code == "person_needed", event
    after = Facts.of(bench, id_)
    new = [one for one in bench.entries(id_) if one.seq > before.head]
    assert {one.event for one in new} <= {"noted"}
    assert {one.decoded_evidence().data["type"] for one in new} <= {"gate_refused"}
    assert (after.snapshot.state, after.branch, after.refs, after.files) == (
        *(before.snapshot.state, before.branch, before.refs, before.files),
    )


def _nobody() -> Person:
    from interlock.errors import Refusal

    def absent() -> Any:
        raise Refusal("person_needed", "There is nobody.", "Be somebody.")

    return Person(AGENT, absent, lambda: False)
