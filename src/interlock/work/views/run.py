"""A run of the orchestrator: its plan, who drives it and who is at work, what it needs, and what a person can do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.journal import Entry, Journal
from interlock.work.orchestration.needs import RunNeed, need_of
from interlock.work.orchestration.reading import successor
from interlock.work.orchestration.record import ActiveRole, Run
from interlock.work.orchestration.store import DIRECTORY
from interlock.work.orchestration.values import Mark
from interlock.work.sessions.record import record_of
from interlock.work.views.values import DrivenView, Driver, driver_of, spent_of

__all__ = ["Counts", "RoleAtWork", "RunView", "TaskRow", "counts_of", "run_view"]

_FAILED = "failure"


class Counts(msgspec.Struct, frozen=True):
    """How often something was done that may not be done forever, each with its limit; 0 is no limit."""

    cycle: int = 0
    cycles: int = 0
    replan: int = 0
    replans: int = 0
    attempts: int = 0
    """The most attempts at a task."""


class RoleAtWork(ActiveRole, frozen=True):
    """The role that was asked, and has not answered yet."""

    doing: str
    """What was heard last of its agent."""


class TaskRow(msgspec.Struct, frozen=True):
    """A task, and where it stands."""

    id: str
    mark: Mark
    attempt: int
    description: str


class RunView(DrivenView, frozen=True, kw_only=True, rename="camel"):
    """The current state of a run, or its state after one of its earlier entries."""

    parent: str | None
    """The thread that drives it."""
    session: str
    """The name of its directory."""
    directory: str
    """Where its files are, from the root of the repository."""
    goal: str
    started_at: str
    base: str
    """The commit that the work began on."""
    commit: str | None
    """The last commit of its work; None if it made none."""
    branch: str
    """The branch that has that commit."""
    follows: str | None
    successor: str | None
    """The run that continues where this one failed."""
    is_halted: bool
    """True if it paused by itself: a budget is used up, or the roles changed."""
    roles: dict[str, str]
    tasks: list[TaskRow]
    closed: int
    """The number of tasks that are done, or will not be done."""
    task: str | None
    cycles: int
    verdict: str | None
    invocations: int
    wishes: list[str]
    """What a person added, and no plan was made with yet."""
    at_work: RoleAtWork | None
    counts: Counts
    needs: RunNeed | None
    """What a run that failed needs of a person."""
    choices: list[str]


def run_view(
    journal: Journal, run: Run, entries: Sequence[Entry] | None = None, *, is_now: bool = True, trouble: str = ""
) -> RunView:
    """The view of a run whose entries were read."""
    machine = journal.machine_of(journal.instance(run.id))
    entries = journal.history(run.id) if entries is None else entries
    driver = driver_of(journal, machine.name, run.id, entries)
    later = successor(journal, run) if run.outcome == _FAILED else None
    return RunView(
        id=run.id,
        machine=machine.name,
        title=run.goal,
        state=run.state,
        label=machine.label(run.state),
        outcome=run.outcome,
        updated_at=run.updated,
        reason=run.reason or None,
        driver=driver,
        paused=run.paused.reason if run.paused is not None else None,
        spent=spent_of(run.spent),
        trouble=trouble,
        parent=run.parent,
        session=run.session,
        directory=f"{DIRECTORY}/{run.session}",
        goal=run.goal,
        started_at=run.started,
        base=run.base,
        commit=run.commit,
        branch=run.branch,
        follows=run.follows,
        successor=later,
        is_halted=run.paused is not None and run.paused.needs_person,
        roles=run.roles,
        tasks=[TaskRow(one.id, one.mark, one.attempt, one.description) for one in run.plan.tasks],
        closed=run.closed,
        task=run.task,
        cycles=len(run.cycles),
        verdict=run.verdict or None,
        invocations=len(run.invocations),
        wishes=run.untold,
        at_work=_at_work(journal, run, driver),
        counts=counts_of(journal, run.id),
        needs=need_of(run, entries[run.entered - 1]) if run.outcome == _FAILED else None,
        choices=_choices(run, is_driven=driver is not None) if is_now else [],
    )


def _choices(run: Run, *, is_driven: bool) -> list[str]:
    """The verbs that steer it; one that a thread drives is steered by the thread."""
    if run.parent is not None or run.outcome not in (None, _FAILED):
        return []
    if run.outcome is not None:
        return ["resume"]
    return ["add", "stop"] if is_driven else ["resume", "add"]


def counts_of(journal: Journal, id_: str) -> Counts:
    """How often it was asked and planned again."""
    instance = journal.instance(id_)
    snapshot, settings = instance.snapshot, journal.machine_of(instance).settings

    def limit(name: str) -> int:
        return int(snapshot.settings.get(f"{name}.limit", settings[f"{name}.limit"]))

    counted = snapshot.counters
    return Counts(
        cycle=counted.get("qa_cycle", 0),
        cycles=limit("qa_cycle"),
        replan=counted.get("planning_retry", 0),
        replans=limit("planning_retry"),
        attempts=limit("attempt"),
    )


def _at_work(journal: Journal, run: Run, driver: Driver | None) -> RoleAtWork | None:
    asked = run.at_work
    if asked is None or driver is None:
        return None
    return RoleAtWork(**msgspec.structs.asdict(asked), doing=_doing(journal, run))


def _doing(journal: Journal, run: Run) -> str:
    """What was heard last of the agent at work, by its session."""
    found = [one for one in journal.open_instances("session") if one.parent == run.id]
    if not found:
        return ""
    record = record_of(journal.history(found[-1].id))
    heard = next(reversed(record.running.values()), record.last)
    return heard.message if heard is not None and heard.type != "state_change" else ""
