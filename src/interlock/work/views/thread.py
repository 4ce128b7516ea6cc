"""A thread: its spec, its place, what was tried and proven, the gates, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.journal import Entry, Instance, Journal
from interlock.machine import Machine, Snapshot
from interlock.machine.states import shipped_state
from interlock.work.driver.lease_holders import is_driven
from interlock.work.threads.children import ChildView, shown_child
from interlock.work.threads.choices import Choice, choices
from interlock.work.threads.history import Passing, ThreadMove, TryResult, moves_of, passings_of, tries_of
from interlock.work.threads.record import Baseline, Config, Diagnosis, Thread
from interlock.work.threads.replay import thread_of
from interlock.work.threads.showing import is_recommended
from interlock.work.threads.spec import parse_spec
from interlock.work.threads.ticket_link import Above, ticket_of
from interlock.work.views.values import DrivenView, driver_of, spent_of

__all__ = ["CriterionView", "ThreadView", "is_live", "thread_view", "view_of_thread"]

_DRAFTING: Final = "Drafting"
_PAUSED: Final = "Paused"
_REVIEWED: Final = "PendingReview"
_CONFIGURE: Final = "ralph thread configure"
_HEADINGS: Final = {"Stuck": "STUCK: What would you like to do?", "Paused": "PAUSED: Loop interrupted"}
"""The headings of the seed's menus."""


class CriterionView(msgspec.Struct, frozen=True, rename="camel"):
    """One criterion of the spec, and how it was judged."""

    number: int
    text: str
    met: bool | None
    """None before anything was judged."""
    why: str = ""
    by: str = ""
    command: str = ""


class ThreadView(DrivenView, frozen=True, kw_only=True, rename="camel"):
    """The current state of a thread, or its state after one of its earlier entries."""

    mode: str
    entered_at: str
    ticket: Above | None
    child: ChildView | None
    """The story loop or the run that drives it."""
    iteration: int
    iterations: int
    """The most of them; 0 is no limit."""
    config: Config | None
    spec_revision: int
    spec_sha256: str | None
    baseline: Baseline | None
    branch: str | None
    work_tree: str | None
    run: str | None
    checks: list[dict[str, Any]]
    receipt: dict[str, Any] | None
    criteria: list[CriterionView]
    is_judged: bool
    """True if the criteria were judged in this run."""
    proofs: Mapping[str, str]
    subjects: Mapping[str, str]
    diagnosis: Diagnosis | None
    message: str | None
    commit: str | None
    kept: list[str]
    tries: list[TryResult]
    moves: list[ThreadMove]
    gates: list[Passing]
    """The gates that were passed."""
    refused: list[dict[str, Any]]
    choices: list[Choice]
    heading: str
    """What the seed's menu says above its choices; empty where the state has none."""
    counts_iterations: bool
    """True if its state belongs to an iteration."""
    is_recommended: bool
    """True if approving can be recommended now."""
    is_live: bool
    """True if an agent or a verifier may print something now."""
    needs_driver: bool
    """True if it continues by itself once it is driven, and no process drives it."""
    is_drafting: bool
    """True if its spec is being written."""
    is_specified: bool
    """True once the implementation has begun; before that, the spec is what there is to see."""
    may_draft: bool
    may_tell: bool
    may_configure: bool
    may_undo: bool

    @property
    def agent(self) -> str | None:
        """The agent that implemented last."""
        return next((one.agent for one in reversed(self.tries) if one.role == "implementer"), None)

    @property
    def met(self) -> int:
        """The number of criteria that are met."""
        return sum(bool(one.met) for one in self.criteria)


def is_live(journal: Journal, thread: Instance) -> bool:
    """True if an agent or a verifier may print something now."""
    if thread.outcome is not None:
        return False
    return shipped_state(thread.machine, thread.state).driven or is_driven(journal, thread.machine, thread.id)


def thread_view(journal: Journal, id_: str, base: Path) -> ThreadView:
    """The view of a thread; `base` is the directory that places are relative to."""
    entries = journal.history(id_)
    return view_of_thread(journal, journal.instance(id_), entries, thread_of(entries), base)


def view_of_thread(
    journal: Journal,
    instance: Instance,
    entries: Sequence[Entry],
    thread: Thread,
    base: Path,
    at: int | None = None,
    trouble: str = "",
) -> ThreadView:
    """The view of a thread whose entries were read; `at` is the number of the last one, if later ones are left out."""
    machine, id_ = journal.machine_of(instance), instance.id
    snapshot = instance.snapshot if at is None else journal.snapshot(id_, at)
    state, known = shipped_state(machine.name, thread.state), thread.revision
    is_open = at is None and thread.outcome is None
    driver = driver_of(journal, instance.machine, id_, entries)
    return ThreadView(
        id=id_,
        machine=machine.name,
        title=thread.title,
        state=thread.state,
        label=machine.label(thread.state),
        outcome=thread.outcome,
        updated_at=thread.updated,
        reason=thread.reason or None,
        driver=driver,
        paused=thread.reason if thread.state == _PAUSED else None,
        spent=spent_of(thread.spent),
        trouble=trouble,
        mode=thread.mode,
        entered_at=thread.entered_at,
        ticket=ticket_of(journal, thread),
        child=shown_child(journal, thread),
        iteration=snapshot.counters.get("iteration", 1),
        iterations=_limit(machine, snapshot),
        config=thread.config,
        spec_revision=known.number if known else 0,
        spec_sha256=known.sha256 if known else None,
        baseline=thread.baseline,
        branch=thread.branch,
        work_tree=str(thread.place.directory(base)) if thread.place is not None else None,
        run=thread.run,
        checks=thread.checks,
        receipt=thread.receipt,
        criteria=_criteria(thread),
        is_judged=bool(thread.judged),
        proofs=dict(snapshot.proofs),
        subjects=dict(snapshot.subjects),
        diagnosis=thread.diagnosis,
        message=thread.message or None,
        commit=thread.commit,
        kept=thread.kept,
        tries=tries_of(entries),
        moves=moves_of(entries),
        gates=passings_of(entries),
        refused=thread.refused,
        choices=choices(machine, thread.state) if is_open else [],
        heading=_HEADINGS.get(thread.state, ""),
        counts_iterations="iteration" in state.carries,
        is_recommended=is_recommended(thread, snapshot) and thread.state == _REVIEWED,
        is_live=thread.outcome is None and (state.driven or driver is not None),
        needs_driver=is_open and state.driven and not thread.is_assessed and driver is None,
        is_drafting=thread.state == _DRAFTING,
        is_specified=machine.states[thread.state].phase != machine.states[machine.form.initial].phase,
        may_draft=is_open and thread.state == _DRAFTING,
        may_tell=is_open and state.tree == "owned",
        may_configure=is_open and any(_CONFIGURE in one.command for one in state.next),
        may_undo=is_open and thread.state == _DRAFTING and bool(thread.kept),
    )


def _limit(machine: Machine, snapshot: Snapshot) -> int:
    return int(snapshot.settings.get("iteration.limit", machine.settings["iteration.limit"]))


def _criteria(thread: Thread) -> list[CriterionView]:
    """What must be true, as it was judged; before that, as the spec says it."""
    if thread.judged:
        return [
            CriterionView(one["number"], one["text"], bool(one["met"]), one.get("why", ""), one.get("by", ""))
            for one in thread.judged
        ]
    spec = parse_spec(thread.revision.text).criteria if thread.revision is not None else ()
    return [CriterionView(one.number, one.text, None, command=one.command or "") for one in spec]
