"""How a run of the orchestrator looks in a terminal: its tasks, who is at work, the last verdict, what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from interlock.faces.cli.output import Output, one_line
from interlock.faces.cli.styled import Text
from interlock.work.orchestration.news import words_of
from interlock.work.orchestration.values import CLOSED_MARKS

if TYPE_CHECKING:
    from interlock.work.orchestration.needs import RunNeed
    from interlock.work.orchestration.reading import RunRow
    from interlock.work.orchestration.values import Task
    from interlock.work.views.run import Counts, RunView, TaskRow
    from interlock.work.views.values import Spent

__all__ = ["counted", "show_run", "show_runs", "spent_line", "task_lines"]

_STYLES = {"x": "green", "P": "cyan", "/": "yellow", "F": "bold red", "C": "dim", " ": ""}
_SHOWN = 40
_LONGEST = 400


def task_lines(tasks: Sequence[Task | TaskRow], current: str | None, most: int, attempts: int = 0) -> Iterator[Text]:
    """The tasks with their marks and attempts: where there are many, those around the current one, and counts."""
    if not tasks:
        return
    here = next((place for place, one in enumerate(tasks) if one.id == current), None)
    if here is None:
        here = next((place for place, one in enumerate(tasks) if one.mark not in CLOSED_MARKS), len(tasks) - 1)
    start = max(0, min(here - most // 2, len(tasks) - most))
    shown = tasks[start : start + most]
    yield from _others(tasks[:start], "before")
    for one in shown:
        again = f" (attempt {one.attempt}{_of(attempts)})" if one.attempt > 1 else ""
        line = (
            f"{'▸' if one.id == current else ' '} [{one.mark}] {one_line(one.id)}{again}  {one_line(one.description)}"
        )
        yield Text(line, _STYLES[one.mark])
    yield from _others(tasks[start + most :], "after")


def _others(tasks: Sequence[Task | TaskRow], where: str) -> Iterator[Text]:
    if tasks:
        counts = Counter(str(one.mark) for one in tasks)
        yield Text(f"  … {len(tasks)} {where}: {', '.join(f'{n} [{mark}]' for mark, n in counts.items())}", "dim")


def counted(tasks: Sequence[Task | TaskRow], counts: Counts) -> str:
    """How far it is, and what is used up of what may not be done forever."""
    parts = []
    if tasks:
        closed = sum(one.mark in CLOSED_MARKS for one in tasks)
        parts.append(f"{closed} of {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'} closed")
    if counts.cycle:
        parts.append(f"Q&A cycle {counts.cycle}{_of(counts.cycles)}")
    if counts.replan:
        parts.append(f"planning retry {counts.replan}{_of(counts.replans)}")
    return " · ".join(parts)


def _of(limit: int) -> str:
    return f" of {limit}" if limit else ""


def spent_line(invocations: int, spent: Spent) -> Text:
    """What agents have used."""
    return Text(f"{'1 run' if invocations == 1 else f'{invocations} runs'}, {spent.text}", "dim")


def _need_lines(need: RunNeed) -> Iterator[Text]:
    """What a run that failed needs of a person."""
    yield Text(one_line(need.says), "bold red")
    for line in need.details:
        yield Text(f"  │ {one_line(line)[:_LONGEST]}")
    for place, question in enumerate(need.questions, 1):
        yield Text(f"  {place}. {one_line(question)}")
    yield Text(f"It needs you: {need.help}", "bold")


def show_run(output: Output, view: RunView, *, all_tasks: bool = False, hints: bool = True) -> None:
    """The page of one run; with what to type next, unless that is said elsewhere."""
    for line in _page(view, all_tasks=all_tasks):
        output.print(line)
    for line in _next(view) if hints else ():
        output.print(line)


def _page(view: RunView, *, all_tasks: bool) -> Iterator[Text]:
    yield Text(one_line(view.goal), "bold").append(f"   {view.id[-8:]}", "dim")
    style = {"success": "bold green", "failure": "bold red"}.get(view.outcome or "", "bold yellow")
    rests = "" if view.outcome or view.driver else "  rests"
    yield Text.assemble((f"{view.state}{rests}", style), f"  {counted(view.tasks, view.counts)}")
    yield from _who(view)
    yield from task_lines(view.tasks, view.task, len(view.tasks) if all_tasks else _SHOWN, view.counts.attempts)
    if view.verdict:
        yield Text(f"last verdict  {_short(view.verdict)}", "dim")
    if view.needs is not None:
        yield from _need_lines(view.needs)
    elif view.reason and view.outcome:
        yield Text(_short(view.reason), "green")
    for wish in view.wishes:
        yield Text(f"for the planner: {_short(wish)}")
    yield Text(f"files  {view.directory}", "dim")
    yield spent_line(view.invocations, view.spent)


def _short(text: str) -> str:
    return one_line(" ".join(text.split()))[:_LONGEST]


def _who(view: RunView) -> Iterator[Text]:
    """Who drives it and who is at work; or why nobody does."""
    driver = view.driver
    if driver is not None:
        since = f" since {driver.since[11:19]}" if driver.since else ""
        yield Text(f"driven by {one_line(driver.name)}{since} UTC" if since else f"driven by {one_line(driver.name)}")
    elif view.outcome is None:
        yield Text(f"nobody drives it{f': {_short(view.paused)}' if view.paused else ''}", "yellow")
    if view.at_work is not None:
        asked, doing = view.at_work, f"; {_short(view.at_work.doing)}" if view.at_work.doing else ""
        yield Text(f"at work: {_short(words_of(asked))}, since {asked.at[11:19]} UTC{doing}")


def _next(view: RunView) -> Iterator[Text]:
    if view.successor is not None:
        yield _hint(f"status {view.successor[-8:]}", "it went on as another run")
    elif view.outcome == "success":
        if view.commit is not None:
            shown = f"git log -p {view.base[:10]}..{view.commit[:10]}"
            yield Text.assemble(("→ ", "green"), (shown, "bold"), f"  see what was done, on {view.branch}")
    elif view.outcome is not None:
        yield _hint('resume --say "…"', "say what should change, and go on")
        yield _hint("resume", "go on, after you mended it")
    elif view.driver is not None:
        yield _hint('add "…"', "give it more to do")
        yield _hint("stop", "let it rest")
    else:
        yield _hint("resume", "go on")
        yield _hint('add "…"', "give it more to do first")


def _hint(verb: str, does: str) -> Text:
    return Text.assemble(("→ ", "green"), (f"ralph orchestrate {verb}", "bold"), f"  {does}")


def show_runs(output: Output, rows: Sequence[RunRow]) -> None:
    """The runs, a line each."""
    for row in rows:
        style = {"success": "green", "failure": "red"}.get(row.outcome or "", "yellow")
        closed = f"{row.closed}/{row.tasks}"
        line = Text(f"{row.id[-8:]}  {row.session:<13}  ").append(f"{row.state:<12}", style)
        line.append(f"  {closed:>7}  {one_line(row.goal)}")
        if output.width is not None:
            line.truncate(output.width)
        output.print(line)
