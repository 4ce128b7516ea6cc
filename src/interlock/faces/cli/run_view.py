"""A run of the orchestrator while it is driven: the plan, who is at work and the last verdict, below the lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.faces.cli.output import one_line
from interlock.faces.cli.run_pages import counted, spent_line, task_lines
from interlock.faces.cli.styled import Text
from interlock.work.orchestration.news import AtWork, news_of, words_of
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.values import Task
from interlock.work.views.run import Counts, counts_of
from interlock.work.views.values import Spent, spent_of
from interlock.world.agents.happenings import Said, UsedTool

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from interlock.journal import Journal

__all__ = ["RunDisplay"]

_MINUTE = 60
_FEWEST, _MOST = 3, 9
_AROUND = 8
"""How many lines there are besides the tasks, with one for the prompt."""


class _Glance(msgspec.Struct, frozen=True):
    """What is shown of a run. It is drawn in another thread, so it must not change under its hands."""

    state: str
    entered: int
    tasks: tuple[Task, ...]
    task: str | None
    verdict: str
    invocations: int
    spent: Spent
    counts: Counts
    verifies: bool


class RunDisplay:
    """What happens in a run, from where it stands now on; and how it looks."""

    def __init__(
        self, journal: Journal, id_: str, *, is_whole: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._journal = journal
        self._id = id_
        self._is_whole = is_whole
        """Whether the answers are told, too, as the agents give them."""
        self._clock = clock
        self._version = journal.instance(id_).version
        self._seen: _Glance | None = None
        self._since = clock()
        self._worker: tuple[AtWork, float] | None = None
        self._doing: tuple[str, float] | None = None

    def take(self, what: object) -> Sequence[object]:
        """Take in what is told; what is to be told of it."""
        match what:
            case Run(id=self._id):
                return self._run(what)
            case Said(text):
                if is_answer(text) and not self._is_whole:
                    return ()  # the form that was asked for; what it says is told once it is checked
                self._doing = (text, self._clock())
            case UsedTool(name, about):
                self._doing = (f"› {name} {about}", self._clock())
        return (what,)

    def _run(self, run: Run) -> list[object]:
        entries = self._journal.history(self._id, self._version)
        told: list[object] = [one for one in map(news_of, entries) if one is not None]
        worker = told[-1] if told and isinstance(told[-1], AtWork) and run.at_work is not None else None
        self._version = max(self._version, *(one.version for one in entries)) if entries else self._version
        before, self._seen = self._seen, self._glance(run)
        if before is None or before.entered != run.entered:
            self._since = self._clock()
        if before is None or before.state != run.state:
            told.append(run)
        self._worker, self._doing = (worker, self._clock()) if isinstance(worker, AtWork) else None, None
        return told

    def _glance(self, run: Run) -> _Glance:
        return _Glance(
            state=run.state,
            entered=run.entered,
            tasks=run.plan.tasks,
            task=run.task,
            verdict=run.verdict,
            invocations=len(run.invocations),
            spent=spent_of(run.spent),
            counts=counts_of(self._journal, self._id),
            verifies=run.is_verifying,
        )

    # Drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        seen = self._seen
        if seen is None:
            return
        most = max(_FEWEST, min(_MOST, console.height - _AROUND))
        for line in self._lines(seen, most):
            line.truncate(options.max_width)
            yield line

    def _lines(self, seen: _Glance, most: int) -> Iterator[Text]:
        parts = [counted(seen.tasks, seen.counts), self._ago(self._since)]
        yield Text.assemble((f"▶ {seen.state}", "bold"), "  ", " · ".join(filter(None, parts)))
        yield from task_lines(seen.tasks, seen.task, most, seen.counts.attempts)
        yield from self._at_work(seen)
        if seen.verdict:
            yield Text(f"last verdict  {one_line(' '.join(seen.verdict.split()))}", "dim")
        yield spent_line(seen.invocations, seen.spent)

    def _at_work(self, seen: _Glance) -> Iterator[Text]:
        """Who is at work, for how long, and what was heard of it last."""
        worker, doing = self._worker, self._doing
        if worker is not None:
            yield Text(f"{self._ago(worker[1])} at work  {one_line(words_of(worker[0]))}", "cyan")
        elif seen.verifies:
            yield Text("our verifiers are at work", "cyan")
        if doing is not None:
            yield Text(f"{self._ago(doing[1])} ago  {one_line(' '.join(doing[0].split()))}", "dim")

    def _ago(self, since: float) -> str:
        seconds = int(self._clock() - since)
        return f"{seconds // _MINUTE}:{seconds % _MINUTE:02d}"


def is_answer(text: str) -> bool:
    """Whether what an agent says is its answer: JSON, alone or as a block of code."""
    return text.lstrip().startswith(("{", "```json"))
