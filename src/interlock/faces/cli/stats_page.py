"""How the metrics look in a terminal: sections with a label at the left, and small plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from textwrap import wrap
from typing import Final

from interlock.faces.amounts import count_text, span_text
from interlock.faces.cli.looks import shade
from interlock.faces.cli.output import Output, one_line
from interlock.faces.cli.plots import bar, shares, sparkline
from interlock.faces.cli.styled import Text
from interlock.machine import load_shipped
from interlock.machine.form import State
from interlock.work.budget import DriverUsage
from interlock.work.orchestration.metrics import (
    ENDS,
    Overall,
    RunMetrics,
    SessionMetrics,
    TaskMetrics,
    rate,
    sessions_of,
)
from interlock.work.orchestration.tally import RoleUsage

__all__ = ["show_overall", "show_run", "show_work"]

_PIPED: Final = 80
_WIDEST: Final = 100
_NARROWEST: Final = 32
_NARROW: Final = 60
_LABEL: Final = 10
_SHARE: Final = 16
"""As much room as `  100% of 12,345` takes."""
_RECENT: Final = 8
_WIDEST_PLOT: Final = 32
_JOINED: Final = "\u00a0"
"""Between words of a sentence that stay in one line."""
_DRIVERS: Final = {"orchestrator": "runs", "story": "loops", "thread": "threads", "ticket": "tickets", "": "others"}
_OUTCOMES: Final = {
    "success": ("●", "green", "met their goal"),
    "failure": ("✕", "red", "failed"),
    "superseded": ("○", "bright_black", "superseded"),
    "open": ("◑", "yellow", "not ended"),
}
_STANDS: Final = {
    "qualified": ("█", "green"),
    "failed": ("▓", "red"),
    "closed": ("▒", "bright_black"),
    "open": ("░", "yellow"),
    "blocked": ("░", "yellow"),
}
"""What stands for each in a bar: told apart without colours, too."""


class _Page:
    """Lines below each other: a label, and what it is of."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.width = max(_NARROWEST, min(_WIDEST, output.width or _PIPED))
        self.is_narrow = self.width < _NARROW

    @property
    def room(self) -> int:
        """How wide what stands beside a label can be."""
        return self.width - _LABEL

    def line(self, line: Text) -> None:
        if self._output.width is not None:
            line.truncate(max(self._output.width, _NARROWEST))
        line.rstrip()
        self._output.print(line)

    def gap(self) -> None:
        self._output.print()

    def heading(self, text: str) -> None:
        self.gap()
        self.line(Text(text, "bold"))

    def section(self, label: str, lines: Iterable[Text]) -> None:
        """A label beside the first of some lines."""
        for place, line in enumerate(lines):
            self.line(Text.assemble((f"{label if not place else '':<{_LABEL}}", "bold"), line))

    def said(self, text: str, style: str = "") -> Iterator[Text]:
        """A sentence, in as many lines as it takes beside a label."""
        return (Text(line.replace(_JOINED, " "), style) for line in wrap(text, self.room))


def show_work(output: Output, work: Sequence[DriverUsage]) -> None:
    """All runs of agents, by what began them."""
    page = _Page(output)
    page.line(Text(f"{_plural(sum(one.runs for one in work), 'run')} of agents", "bold"))
    for one in work:
        used, name = one.used, _DRIVERS.get(one.machine, one.machine)
        parts = [_plural(one.runs, "run"), span_text(used.milliseconds), f"${used.usd:,.2f}"]
        parts += [] if page.is_narrow else [f"{count_text(used.tokens)} tokens"]
        page.line(Text(f"{name:<{_LABEL}}{'  '.join(parts)}"))
    page.gap()


def show_overall(output: Output, overall: Overall, runs: Sequence[RunMetrics]) -> None:
    """Everything there is."""
    page = _Page(output)
    number = len(overall.sessions)
    page.line(Text(f"{_plural(overall.runs, 'run')} in {_plural(number, 'session')}", "bold"))
    said = [(f"{mark} {overall.outcomes[one]} {what}", style) for one, (mark, style, what) in _OUTCOMES.items()
            if overall.outcomes.get(one)]  # fmt: skip
    for line in _flowed(said, page.width):
        page.line(line)
    page.gap()
    _show_times(page, overall)
    page.gap()
    _show_tasks(page, overall)
    page.gap()
    page.section("Q&A", _cycles(page, overall))
    page.gap()
    page.section("Sessions", _durations(page, overall))
    _show_agents(page, overall.used)
    _show_recent(page, runs)


def show_run(output: Output, overall: Overall, run: RunMetrics, runs: Sequence[RunMetrics]) -> None:
    """One run, and the session that it is a part of."""
    page = _Page(output)
    mark, style, _ = _OUTCOMES[run.outcome or "open"]
    page.line(Text(one_line(run.goal), "bold"))
    stands = f"{mark} {run.state}{', resting' if run.is_resting else ''}"
    page.line(Text.assemble((stands, style), (f"  {run.id[-8:]}  session {run.session}", "dim")))
    page.gap()
    _show_times(page, overall)
    page.gap()
    _show_tasks(page, overall)
    page.gap()
    page.section("Q&A", page.said(_plural(run.cycles, "cycle")))
    page.section("Duration", page.said(_run_span(run)))
    [session] = sessions_of(runs)
    if len(runs) > 1:
        page.section("Session", page.said(_session_span(session)))
    _show_agents(page, overall.used)


def _run_span(run: RunMetrics) -> str:
    rest = f", {_span(run.rested)} of it resting" if run.rested else ""
    return f"{_span(run.duration)}{rest}{'' if run.outcome else ', so far'}"


def _session_span(session: SessionMetrics) -> str:
    between = f", {_span(session.between)} of it between runs" if session.between else ""
    return f"{_span(session.duration)} end to end in {len(session.runs)} runs{between}"


def _span(milliseconds: int) -> str:
    """How long, for a sentence."""
    return span_text(milliseconds).replace(" ", _JOINED)


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _flowed(parts: Sequence[tuple[str, str]], width: int) -> Iterator[Text]:
    """Parts beside each other, in as many lines as they take."""
    line = Text()
    for text, style in parts:
        if line and line.cell_len + 3 + len(text) > width:
            yield line
            line = Text()
        line.append("   " if line else "").append(text, style)
    if line:
        yield line


# Time


def _show_times(page: _Page, overall: Overall) -> None:
    """A bar for each state. Rest has none: it may be years, and nothing else would be seen beside it."""
    states = load_shipped("orchestrator").states
    known = [one for one in states if overall.entered.get(one) and not states[one].terminal]
    spent = {one: overall.states.get(one, 0) for one in known}
    most, spans = max(spent.values(), default=0), [span_text(one) for one in (*spent.values(), overall.rested)]
    names, times = max(map(len, known), default=0) + 2, max(map(len, spans))
    width = page.width - names - times - (0 if page.is_narrow else 14) - 4
    for name, span in zip(known, spans, strict=False):
        state = _state(name, states[name])
        line = Text.assemble(state, " " * (names + 2 - state.cell_len))
        line.append(f"{bar(spent[name], most, width):<{width}}", shade(states[name])).append(f"  {span:>{times}}")
        if not page.is_narrow:
            share = _percent(rate(spent[name], overall.worked - spent[name]))
            line.append(f"  {share:>4}  {f'{overall.entered[name]:,}×':>6}", "dim")
        page.line(line)
    if overall.rested:
        page.line(Text(f"{'· resting':<{names + width + 2}}  {spans[-1]:>{times}}", "dim"))


def _state(name: str, state: State) -> Text:
    return Text(f"{state.icon or '·'} {name}", shade(state))


# Tasks


def _show_tasks(page: _Page, overall: Overall) -> None:
    ends = {one: overall.ends.get(one, 0) for one in ENDS.values()}
    page.section("Tasks", _shared(page, ends, "none yet"))
    judged = {"qualified": overall.qualified, "failed": overall.failed, "blocked": overall.blocked}
    page.section("Attempts", _shared(page, judged, "none yet"))
    page.section("Rework", _rework(page, overall))


def _shared(page: _Page, counts: Mapping[str, int], nothing: str) -> Iterator[Text]:
    """A bar of parts with the share of what went well, and a legend below it."""
    if not sum(counts.values()):
        yield Text(nothing, "dim")
        return
    good = rate(counts["qualified"], counts["failed"])
    told = "" if good is None else f"  {good:.0%} of {counts['qualified'] + counts['failed']:,}"
    line = Text()
    for (name, _), width in zip(counts.items(), shares(list(counts.values()), page.room - _SHARE), strict=True):
        line.append(_STANDS[name][0] * width, _STANDS[name][1])
    yield line.append(told)
    legend = [(f"{_STANDS[name][0]} {count:,} {name}", "dim") for name, count in counts.items() if count]
    yield from _flowed(legend, page.room)


def _rework(page: _Page, overall: Overall) -> Iterator[Text]:
    if not overall.tried:
        yield Text("none yet", "dim")
        return
    if not overall.rework:
        yield Text("none: every task was qualified or failed at its first attempt" if not page.is_narrow else "none")
        return
    again = overall.tried_again / overall.tried
    said = f"{_plural(overall.rework, 'attempt')} beyond the first, at {overall.tried_again:,} of "
    yield from page.said(f"{said}{_plural(overall.tried, 'task')} ({again:.0%})")
    yield from _histogram(page, overall.attempts, "attempt", "task")
    for session, task in overall.reworked:
        yield Text.assemble(
            (f"{task.attempts}× ", "bold"), one_line(task.id), (f"  {_where(overall, session, task)}", "dim")
        )


def _where(overall: Overall, session: str, task: TaskMetrics) -> str:
    return task.end if overall.runs == 1 else f"{session}, {task.end}"


def _histogram(page: _Page, counts: Mapping[int, int], what: str, of: str) -> Iterator[Text]:
    """How many there are of each number, a bar each."""
    most = max(counts.values())
    labels = {number: _plural(number, what) for number in sorted(counts)}
    left = max(map(len, labels.values()))
    right = max(len(_plural(count, of)) for count in counts.values())
    width = max(4, min(_WIDEST_PLOT, page.room - left - right - 3))
    for number, label in labels.items():
        drawn = bar(counts[number], most, width)
        yield Text.assemble(f"{label:<{left}} ", (drawn, "cyan"), f" {_plural(counts[number], of)}")


# Questions and durations


def _cycles(page: _Page, overall: Overall) -> Iterator[Text]:
    total = overall.all_cycles
    yield Text(f"{_plural(total, 'cycle')}, {total / overall.runs:.1f} a run")
    if total and overall.runs > 1:
        yield from _histogram(page, overall.cycles, "cycle", "run")


def _durations(page: _Page, overall: Overall) -> Iterator[Text]:
    ended = [duration for outcome, duration in overall.sessions if outcome is not None]
    if ended:
        yield from page.said(f"{_span(round(median(ended)))} end to end (median), {_span(max(ended))} the longest")
        if len(ended) > 1:
            shown = min(len(ended), page.room, _WIDEST_PLOT)
            plot = (sparkline(ended, shown), "cyan")
            yield from _flowed([plot, (f"the last {shown}, oldest first", "dim")], page.room)
    else:
        yield Text("none has ended yet", "dim")
    if overall.between:
        yield from page.said(f"{_span(overall.between)} between runs, waiting for a person", "dim")


# Agents and runs


def _show_agents(page: _Page, used: Mapping[tuple[str, str], RoleUsage]) -> None:
    if not used:
        return
    page.heading("Agents")
    rows = [
        (one_line(role), one_line(agent), _plural(one.invocations, "run"), span_text(one.milliseconds),
         f"${one.cost_usd:,.2f}", count_text(one.tokens))
        for (role, agent), one in used.items()
    ]  # fmt: skip
    if page.is_narrow:
        for role, agent, runs, time, cost, _ in rows:
            page.line(Text.assemble(f"{role}  ", (agent, "dim")))
            page.line(Text(f"  {runs}  {time}  {cost}"))
        return
    widths = [max(len(row[place]) for row in rows) for place in range(6)]
    for role, agent, *numbers in rows:
        line = Text.assemble(f"{role:<{widths[0]}}  ", (f"{agent:<{widths[1]}}", "dim"))
        for place, number in enumerate(numbers, 2):
            line.append(f"  {number:>{widths[place]}}")
        page.line(line.append(" tokens", "dim"))


def _show_recent(page: _Page, runs: Sequence[RunMetrics]) -> None:
    page.heading("The last runs")
    shown = runs[: -_RECENT - 1 : -1]
    spans = max(len(span_text(one.duration)) for one in shown)
    for one in shown:
        mark, style, _ = _OUTCOMES[one.outcome or "open"]
        line = Text.assemble((f"{mark} ", style), (one.id[-8:], "bold"), f"  {span_text(one.duration):>{spans}}  ")
        page.line(line.append(one_line(one.goal)))
    page.gap()
    page.line(Text("→ ralph stats RUN  one of them", "dim"))
