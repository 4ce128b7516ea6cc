"""Where a run stands right now: what its entries say, who drives it, who is at work, and what it needs."""

from __future__ import annotations

import msgspec

from interlock.journal import Journal
from interlock.journal.leases import Lease
from interlock.work.driver.lease_holders import current_driver
from interlock.work.orchestration.needs import RunNeed, need_of
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.store import DIRECTORY
from interlock.work.sessions.record import record_of

__all__ = ["Counts", "Driver", "RunStatus", "counts_of", "standing_of"]


class Counts(msgspec.Struct, frozen=True):
    """How often something was done that may not be done forever, each with its limit; 0 is no limit."""

    cycle: int = 0
    cycles: int = 0
    replan: int = 0
    replans: int = 0
    attempts: int = 0
    """How many attempts a task has."""


class Driver(msgspec.Struct, frozen=True):
    """The process that drives a run, and since when."""

    name: str
    since: str | None


class RunStatus(msgspec.Struct, frozen=True):
    """A run, and all that is so around it."""

    run: Run
    counts: Counts
    directory: str
    """Where its files are, from the root of the repository."""
    driver: Driver | None = None
    doing: str = ""
    """What was heard last of the agent that is at work; `run.at_work` says who that is."""
    need: RunNeed | None = None
    """What a run that failed needs of a person."""
    successor: str | None = None
    """The run that goes on where this one failed."""


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


def standing_of(journal: Journal, run: Run, successor: str | None = None) -> RunStatus:
    """Where a run stands, for somebody who looks at it from outside."""
    lease = current_driver(journal, MACHINE, run.id)
    return RunStatus(
        run=run,
        counts=counts_of(journal, run.id),
        directory=f"{DIRECTORY}/{run.session}",
        driver=_driver(journal, run, lease) if lease is not None else None,
        doing=_doing(journal, run) if lease is not None and run.at_work is not None else "",
        need=_need(journal, run),
        successor=successor,
    )


def _need(journal: Journal, run: Run) -> RunNeed | None:
    """What a run needs that failed; None of any other."""
    if run.outcome != "failure":
        return None
    return need_of(run, journal.history(run.id, run.entered - 1)[0])


def _driver(journal: Journal, run: Run, lease: Lease) -> Driver:
    """Who holds the lease; since its first entry under it, where it has written one."""
    since = next((one.time for one in journal.history(run.id) if one.epoch == lease.epoch), None)
    return Driver(str(lease.holder), since)


def _doing(journal: Journal, run: Run) -> str:
    """What was heard last of the agent at work, by its session."""
    found = [one for one in journal.open_instances("session") if one.parent == run.id]
    if not found:
        return ""
    record = record_of(journal.history(found[-1].id))
    running = [*record.running.values()]
    heard = running[-1] if running else record.last
    return heard.message if heard is not None and heard.type != "state_change" else ""
