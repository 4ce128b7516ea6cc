"""`ralph stats`: what all runs of agents used, what the runs of the orchestrator took, and what came of them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from interlock.errors import UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.place import opened
from interlock.journal import unknown_instance
from interlock.journal.ids import time_text

if TYPE_CHECKING:
    from interlock.work.budget import DriverUsage
    from interlock.work.orchestration.metrics import Overall, RunMetrics, TaskMetrics

__all__ = ["VERBS"]

_RECENT = 20
_BEGIN = '→ ralph orchestrate "GOAL"  begins a run'


def _stats(call: CommandCall) -> None:
    if call.arguments.prometheus and call.output.json:
        raise UsageError("usage", "Prometheus' text is no JSON.", "Give --json or --prometheus.")
    from interlock.work.orchestration.metrics import over

    run, runs, work = _asked(call)
    chosen = runs if run is None else [run]
    overall = over(chosen)
    if call.arguments.prometheus:
        from interlock.work.orchestration.metrics_text import prometheus_text

        call.output.text(prometheus_text(overall))
        return
    data = overall_data(overall)
    if run is None:
        data["agent_runs"] = [work_data(one) for one in work]
        data["recent"] = [run_data(one) for one in reversed(runs[-_RECENT:])]
    else:
        data["run"] = {**run_data(run), "tasks": [task_data(one) for one in run.tasks]}
        data["session"] = session_data(runs)
    call.output.result(data, lambda: _show(call, overall, run, runs, work))


def _asked(call: CommandCall) -> tuple[RunMetrics | None, list[RunMetrics], list[DriverUsage]]:
    """The run that is asked for with all of its session; or none, all that there are, and all runs of agents."""
    from interlock.work.budget import used_by_driver
    from interlock.work.orchestration.ledger import all_runs, runs_of_session

    reference, is_settled = call.arguments.run, call.arguments.prometheus
    with opened(call) as journal:
        if reference:
            if journal is None:
                raise unknown_instance(reference)
            return *runs_of_session(journal, reference, is_settled=is_settled), []
        if journal is None:
            return None, [], []
        return None, all_runs(journal, is_settled=is_settled), used_by_driver(journal)


def _show(
    call: CommandCall, overall: Overall, run: RunMetrics | None, runs: Sequence[RunMetrics], work: Sequence[DriverUsage]
) -> None:
    if not runs and not work:
        call.output.text(
            'No agent has run yet, so there is nothing to count.\n→ ralph orchestrate "GOAL"  begins a run'
        )
        return
    from interlock.faces.cli.stats_page import show_overall, show_run, show_work

    if run is None:
        if work:
            show_work(call.output, work)
        if runs:
            show_overall(call.output, overall, runs)
        else:
            call.output.text(f"The orchestrator has not run yet.\n{_BEGIN}")
    else:
        show_run(call.output, overall, run, runs)


# As programs read it


def overall_data(overall: Overall) -> dict[str, Any]:
    """What runs add up to."""
    from interlock.work.orchestration.metrics import ENDS, rate

    ends = {one: overall.ends.get(one, 0) for one in ENDS.values()}
    ended = [duration for outcome, duration in overall.sessions if outcome is not None]
    return {
        "runs": {
            "total": overall.runs,
            **{one: overall.outcomes.get(one, 0) for one in ("success", "failure", "superseded", "open")},
        },
        "sessions": {
            "total": len(overall.sessions),
            "ended": len(ended),
            "median_seconds": _seconds(median(ended)) if ended else None,
            "longest_seconds": _seconds(max(ended)) if ended else None,
            "between_runs_seconds": _seconds(overall.between),
        },
        "time": {
            "working_seconds": _seconds(overall.worked),
            "resting_seconds": _seconds(overall.rested),
            "states": {
                state: {"seconds": _seconds(overall.states.get(state, 0)), "entered": entered}
                for state, entered in overall.entered.items()
            },
        },
        "tasks": {**ends, "success_rate": _rounded(rate(ends["qualified"], ends["failed"]))},
        "attempts": {
            "qualified": overall.qualified,
            "failed": overall.failed,
            "blocked": overall.blocked,
            "success_rate": _rounded(rate(overall.qualified, overall.failed)),
        },
        "rework": {
            "attempts": overall.rework,
            "tasks": overall.tried_again,
            "frequency": _rounded(rate(overall.tried_again, overall.tried - overall.tried_again)),
            "tasks_by_attempts": _keyed(overall.attempts),
            "most": [{"session": session, **task_data(one)} for session, one in overall.reworked],
        },
        "cycles": {"total": overall.all_cycles, "runs_by_cycles": _keyed(overall.cycles)},
        "agents": [
            {
                "role": role,
                "agent": agent,
                "invocations": one.invocations,
                "seconds": _seconds(one.milliseconds),
                "usd": round(one.cost_usd, 6),
                "tokens": one.tokens,
            }
            for (role, agent), one in overall.used.items()
        ],
    }


def work_data(driven: DriverUsage) -> dict[str, Any]:
    """The runs of agents that drivers of one kind began."""
    used = driven.used
    return {
        "driver": driven.machine or None,
        "runs": driven.runs,
        "seconds": round(used.seconds, 3),
        "usd": round(used.usd, 6),
        "tokens": used.tokens,
    }


def run_data(run: RunMetrics) -> dict[str, Any]:
    """One run in short."""
    return {
        "id": run.id,
        "session": run.session,
        "goal": run.goal,
        "state": run.state,
        "outcome": run.outcome,
        "resting": run.is_resting,
        "started": _time(run.began),
        "ended": None if run.ended is None else _time(run.ended),
        "seconds": _seconds(run.duration),
        "working_seconds": _seconds(run.worked),
        "resting_seconds": _seconds(run.rested),
        "cycles": run.cycles,
    }


def task_data(task: TaskMetrics) -> dict[str, Any]:
    """What became of a task."""
    return {
        "task": task.id,
        "end": task.end,
        "attempts": task.attempts,
        "failed": task.failed,
        "blocked": task.blocked,
        "carried": task.is_carried,
    }


def session_data(runs: Sequence[RunMetrics]) -> dict[str, Any]:
    """All runs of one session, end to end."""
    from interlock.work.orchestration.metrics import sessions_of

    [session] = sessions_of(runs)
    return {
        "session": session.id,
        "runs": [one.id for one in session.runs],
        "seconds": _seconds(session.duration),
        "between_runs_seconds": _seconds(session.between),
        "tasks": [task_data(one) for one in session.tasks],
    }


def _keyed(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(number): counts[number] for number in sorted(counts)}


def _seconds(milliseconds: float) -> float:
    return round(milliseconds / 1000, 3)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _time(milliseconds: int) -> str:
    return time_text(milliseconds * 1_000_000)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", help="a run's id or the end of it; without one, all runs")
    parser.add_argument("--prometheus", action="store_true", help="as text that a Prometheus server reads")


VERBS = (Verb("", "time in each state, success, rework, questions and durations", _stats, _arguments),)
