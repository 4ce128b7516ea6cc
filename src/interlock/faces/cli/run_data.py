"""A run of the orchestrator as programs read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.work.orchestration.needs import RunNeed
    from interlock.work.orchestration.record import Run
    from interlock.work.orchestration.run_status import RunStatus

__all__ = ["around", "data_of", "row_of"]


def data_of(run: Run, need: RunNeed | None = None) -> dict[str, Any]:
    """A run as programs read it."""
    seconds, dollars, tokens = run.spent
    return {
        "id": run.id,
        "session": run.session,
        "goal": run.goal,
        "state": run.state,
        "outcome": run.outcome,
        "reason": run.reason or None,
        "stopped": run.paused.reason if run.paused is not None else None,
        "roles": run.roles,
        "tasks": [
            {"id": one.id, "mark": str(one.mark), "attempt": one.attempt, "description": one.description}
            for one in run.plan.tasks
        ],
        "task": run.task,
        "cycles": len(run.cycles),
        "verdict": run.verdict or None,
        "invocations": len(run.invocations),
        "spent": {"seconds": round(seconds, 3), "usd": round(dollars, 4), "tokens": tokens},
        "needs": None if need is None else _need(need),
    }


def _need(need: RunNeed) -> dict[str, Any]:
    from msgspec.structs import asdict

    return {**asdict(need), "cause": str(need.cause)}


def around(standing: RunStatus) -> dict[str, Any]:
    """What is so around a run: its directory, its driver, who is at work."""
    from msgspec.structs import asdict

    worker = standing.run.at_work
    return {
        "directory": standing.directory,
        "driver": None if standing.driver is None else asdict(standing.driver),
        "at_work": None if standing.driver is None or worker is None else {**asdict(worker), "doing": standing.doing},
        "counts": asdict(standing.counts),
        "successor": standing.successor,
    }


def row_of(run: Run) -> dict[str, Any]:
    """A run in a list of them."""
    tasks = run.plan.tasks
    told = {name: getattr(run, name) for name in ("id", "session", "goal", "state", "outcome", "started", "updated")}
    return {**told, "tasks": len(tasks), "closed": sum(one.mark in "xC" for one in tasks)}
