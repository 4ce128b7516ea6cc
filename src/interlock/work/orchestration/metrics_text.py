"""PURE. The metrics in Prometheus' text exposition format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from interlock.work.orchestration.metrics import ENDS, Overall
from interlock.work.orchestration.tally import RoleUsage
from interlock.work.telemetry.exposition import by, family, sample, single, text

__all__ = ["BUCKETS", "prometheus_text"]

BUCKETS: Final = (10, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800)
"""The upper bounds of durations, in seconds: from 10 seconds to a week."""
_OUTCOMES: Final = ("success", "failure", "superseded")
_USED: Final[tuple[tuple[str, str, Callable[[RoleUsage], float]], ...]] = (
    ("ralph_invocations_total", "Runs of agents.", lambda one: one.invocations),
    ("ralph_agent_seconds_total", "Time of agents.", lambda one: _seconds(one.milliseconds)),
    ("ralph_agent_cost_usd_total", "What agents say they cost.", lambda one: round(one.cost_usd, 6)),
    ("ralph_agent_tokens_total", "Tokens, in and out.", lambda one: one.tokens),
)


def prometheus_text(overall: Overall) -> str:
    """The totals of runs, for a Prometheus server to scrape. Counters never shrink if only settled time is given."""
    return text(_lines(overall))


def _lines(overall: Overall) -> Iterator[str]:
    ended = {one: overall.outcomes.get(one, 0) for one in _OUTCOMES}
    yield from family("ralph_runs_total", "counter", "Runs that ended, by outcome.", by("outcome", ended))
    yield from single("ralph_runs_open", "gauge", "Runs that have not ended.", overall.outcomes.get("open", 0))
    yield from single(
        "ralph_sessions", "gauge", "Sessions: one run each, or several on one directory.", len(overall.sessions)
    )
    yield from _times(overall)
    yield from _work(overall)
    yield from single("ralph_qa_cycles_total", "counter", "Q&A cycles.", overall.all_cycles)
    yield from _histogram("ralph_run_duration_seconds", "From a run's beginning to its end.", overall.run_ends)
    said = "From a session's beginning to each end of a run of it."
    yield from _histogram("ralph_session_duration_seconds", said, overall.session_ends)
    yield from _agents(overall.used)


def _times(overall: Overall) -> Iterator[str]:
    states = {state: _seconds(spent) for state, spent in overall.states.items()}
    said = "Time in each state with a driver at work."
    yield from family("ralph_state_seconds_total", "counter", said, by("state", states))
    said = "How often each state was entered."
    yield from family("ralph_state_entries_total", "counter", said, by("state", overall.entered))
    said = "Time in which a run that had not ended was stopped or without a driver."
    yield from single("ralph_rest_seconds_total", "counter", said, _seconds(overall.rested))
    said = "Time between two runs of a session."
    yield from single("ralph_between_runs_seconds_total", "counter", said, _seconds(overall.between))


def _work(overall: Overall) -> Iterator[str]:
    ends = {one: overall.ends.get(one, 0) for one in ENDS.values()}
    yield from family("ralph_tasks", "gauge", "Tasks, by how they stand.", by("end", ends))
    judged = {"qualified": overall.qualified, "failed": overall.failed, "blocked": overall.blocked}
    said = "Attempts at tasks, by what became of them."
    yield from family("ralph_attempts_total", "counter", said, by("outcome", judged))
    said = "Attempts at a task beyond its first."
    yield from single("ralph_rework_total", "counter", said, overall.rework)


def _agents(used: Mapping[tuple[str, str], RoleUsage]) -> Iterator[str]:
    for name, said, value in _USED:
        samples = [({"role": role, "agent": agent}, value(one)) for (role, agent), one in used.items()]
        yield from family(name, "counter", said, samples)


def _histogram(name: str, said: str, ends: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Durations by outcome, each counted in every bucket that it is not above."""
    yield from family(name, "histogram", said, ())
    known: dict[str, list[int]] = {}
    for outcome, duration in ends:
        known.setdefault(outcome, []).append(duration)
    for outcome, durations in known.items():
        for bound in BUCKETS:
            count = sum(one <= bound * 1000 for one in durations)
            yield sample(f"{name}_bucket", {"outcome": outcome, "le": str(bound)}, count)
        yield sample(f"{name}_bucket", {"outcome": outcome, "le": "+Inf"}, len(durations))
        yield sample(f"{name}_sum", {"outcome": outcome}, _seconds(sum(durations)))
        yield sample(f"{name}_count", {"outcome": outcome}, len(durations))


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000
