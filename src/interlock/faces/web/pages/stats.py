"""Stats: the five metrics of the orchestrator's runs, over time, and what agents cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from interlock.faces.amounts import count_text, span_text
from interlock.faces.web.looks import look_of
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.plots import HEIGHT, WIDTH, ColumnPart, Plot, plot_of
from interlock.journal.ids import is_suffix, time_text
from interlock.machine import Machine
from interlock.work.orchestration.ledger import recent_runs
from interlock.work.orchestration.metrics import Overall, RunMetrics, over, rate
from interlock.work.orchestration.trends import Day, by_day

__all__ = ["PAGES"]

_MOST_RUNS: Final = 300
"""So many runs are looked at, the newest; older ones are on a page of their own."""
_MOST_DAYS: Final = 60
_LISTED: Final = 15
_ID_LENGTH: Final = 26
_OUTCOMES: Final = {"success": "good", "failure": "bad", "superseded": "calm", "open": "warn"}
_ENDS: Final = {"qualified": "good", "failed": "bad", "closed": "calm", "open": "warn"}


def _look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    before = asked.query.get("before", "")
    given = before if len(before) == _ID_LENGTH and is_suffix(before) else None
    runs, has_older = recent_runs(sight.journal, _MOST_RUNS, given)
    overall, days = over(runs), by_day(runs)
    ended = [duration for outcome, duration in overall.sessions if outcome is not None]
    return {
        "overall": overall,
        "older": runs[0].id if has_older else None,
        "is_older": given is not None,
        "states": _states(sight.machines("orchestrator"), overall),
        "rested": span_text(overall.rested) if overall.rested else "",
        "facts": list(_facts(overall, ended)),
        "plots": _plots(days[-_MOST_DAYS:]),
        "width": WIDTH,
        "height": HEIGHT,
        "agents": _agents(overall),
        "reworked": [(session, task) for session, task in overall.reworked],
        "runs": [_run(one, sight) for one in reversed(runs[-_LISTED:])],
    }


def _states(machine: Machine, overall: Overall) -> list[tuple[Any, str, int, str, float]]:
    """Each state that was entered: how it looks, its time, how often, its share, and the length of its bar of 100."""
    known = [name for name in machine.states if overall.entered.get(name) and not machine.states[name].terminal]
    most = max([overall.states.get(name, 0) for name in known], default=0) or 1
    found = []
    for name in known:
        spent = overall.states.get(name, 0)
        share = _percent(rate(spent, overall.worked - spent))
        found.append((look_of(machine, name), span_text(spent), overall.entered[name], share, spent / most * 100))
    return found


def _facts(overall: Overall, ended: Sequence[int]) -> Iterator[tuple[str, str, str]]:
    """The numbers to read first: what, how much, and a word more."""
    outcomes = ", ".join(f"{overall.outcomes[one]} {one}" for one in _OUTCOMES if overall.outcomes.get(one))
    yield "Runs", f"{overall.runs:,}", outcomes
    ends = overall.ends
    judged = rate(ends.get("qualified", 0), ends.get("failed", 0))
    yield (
        "Tasks that succeed",
        _percent(judged) or "–",
        f"{ends.get('qualified', 0)} qualified, {ends.get('failed', 0)} failed",
    )
    again = rate(overall.tried_again, overall.tried - overall.tried_again)
    yield "Rework", _percent(again) or "–", f"{overall.rework} attempts beyond the first"
    yield "Q&A cycles", f"{overall.all_cycles:,}", f"{overall.all_cycles / max(1, overall.runs):.1f} a run"
    typical = span_text(median(ended)) if ended else "–"
    yield "End to end", typical, f"median; {span_text(max(ended))} the longest" if ended else "none has ended"
    used = overall.used.values()
    tokens = f"{count_text(sum(one.tokens for one in used))} tokens"
    yield "Cost", f"${sum(one.cost_usd for one in used):,.2f}", tokens


def _plots(days: Sequence[Day]) -> list[Plot]:
    dates = [day.date for day in days]

    def one(
        title: str, kind: str, value: Callable[[Day], float | None], text: Callable[[float], str], most: float = 0
    ) -> Plot:
        values = [value(day) for day in days]
        return plot_of(
            title, dates, [[] if there is None else [ColumnPart(there, kind)] for there in values], text, most
        )

    def parts(title: str, kinds: Mapping[str, str], counts: Callable[[Day], Mapping[str, int]]) -> Plot:
        stacks = [[ColumnPart(counts(day).get(name, 0), kind, name) for name, kind in kinds.items()] for day in days]
        return plot_of(title, dates, stacks, _number)

    return [
        parts("Runs by outcome", _OUTCOMES, lambda day: day.overall.outcomes),
        one("Time at work", "busy", lambda day: day.overall.worked, span_text),
        parts("Tasks by how they stand", _ENDS, lambda day: day.overall.ends),
        one("Tasks that succeed", "good", _success, lambda share: f"{share:.0f} %", 100),
        one("Attempts beyond the first", "warn", lambda day: day.overall.rework, _number),
        one("Q&A cycles", "busy", lambda day: day.overall.all_cycles, _number),
        one("Session end to end, median", "busy", lambda day: day.duration, span_text),
        one("Cost", "bad", lambda day: day.cost_usd, lambda cost: f"${cost:,.2f}"),
        one("Tokens", "calm", lambda day: day.tokens, count_text),
    ]


def _success(day: Day) -> float | None:
    return None if day.success is None else 100 * day.success


def _agents(overall: Overall) -> list[tuple[str, ...]]:
    return [
        (
            role,
            agent,
            f"{one.invocations:,}",
            span_text(one.milliseconds),
            f"${one.cost_usd:,.2f}",
            count_text(one.tokens),
        )
        for (role, agent), one in sorted(overall.used.items())
    ]


def _run(run: RunMetrics, sight: Sight) -> dict[str, Any]:
    return {
        "id": run.id,
        "goal": run.goal,
        "look": look_of(sight.machines("orchestrator"), run.state),
        "is_resting": run.is_resting,
        "began": time_text(run.began * 1_000_000),
        "took": span_text(run.duration),
        "tasks": f"{sum(one.end == 'qualified' for one in run.tasks)} of {len(run.tasks)}",
        "cycles": run.cycles,
        "cost": f"${sum(one.cost_usd for one in run.used.values()):,.2f}",
    }


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _number(value: float) -> str:
    return f"{value:,.0f}"


PAGES = (PageKind("/stats", "stats.html", _look, lambda asked: frozenset({"orchestrator"}), heading="Stats", key="c"),)
