"""What a loop says while it runs: in a terminal a status that stays below the lines, else lines, or lines of JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

import msgspec
from msgspec.structs import asdict
from rich.live import Live

from interlock.faces.cli.looks import shade
from interlock.faces.cli.output import Output, clean, one_line
from interlock.faces.cli.styled import Text
from interlock.machine.states import shipped_state
from interlock.work.orchestration.news import AtWork, RunNews, words_of
from interlock.work.orchestration.record import Run
from interlock.work.stories.record import Loop
from interlock.work.stories.stuck import NoProgress
from interlock.work.threads.record import Thread
from interlock.work.views.values import spent_of
from interlock.world.agents.happenings import Failure, Said, UsedTool, Warned

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["LiveView", "Reporter"]

_LONGEST = 200
_ALL = 4000
_MINUTE = 60


class LiveView(Protocol):
    """What stays below the lines in a terminal, and what becomes a line of what is told."""

    def take(self, what: object) -> Sequence[object]:
        """Take in what is told; what is to be told of it."""
        ...

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult: ...


class Reporter:
    """Tells whoever watches; in a terminal also where the loop is right now."""

    def __init__(self, output: Output, *, streams: bool = True, is_verbose: bool = False) -> None:
        self._output = output
        self._streams = streams
        self._is_verbose = is_verbose
        self._console: Console | None = None if output.json else output.console()
        self._view: LiveView | None = None
        self._status = _Status()
        self._waiting: list[object] = []
        self._is_telling = False
        is_terminal = self._console is not None and output.width is not None
        self._live = Live(self._status, console=self._console, refresh_per_second=4) if is_terminal else None

    def watch(self, view: LiveView) -> None:
        """Show this from now on, in place of the line at the bottom."""
        self._view = view

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.update(self._view or self._status)
            self._live.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._live is not None:
            self._live.update(Text())  # what is over need not stay on the screen
            self._live.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Draw nothing meanwhile: somebody is asked on the same screen, and has to see the question."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def report(self, what: object) -> None:
        """Print it; what Ctrl+C says in the middle of a line is printed after that line."""
        self._waiting.append(what)
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._waiting:
                self._tell(self._waiting.pop(0))
        finally:
            self._is_telling = False

    def _tell(self, what: object) -> None:
        if not self._streams and isinstance(what, Said | UsedTool):
            return
        for one in (what,) if self._view is None else self._view.take(what):
            self._say(one)
        self._output.stdout.flush()

    def _say(self, what: object) -> None:
        if self._console is None:
            self._output.line(_data(what))
            return
        if self._view is None and isinstance(what, Loop | Thread | Run) and not self._status.enter(what):
            return
        line = _line(what, _ALL if self._is_verbose else _LONGEST)
        if line is not None:
            self._console.print(line, soft_wrap=True)


class _Status:
    """The line at the bottom: the state, where in it, for how long, and what was spent."""

    def __init__(self) -> None:
        self._what: Loop | Thread | Run | None = None
        self._since = time.monotonic()

    def enter(self, what: Loop | Thread | Run) -> bool:
        """Show this from now on; whether it is another state or iteration than before."""
        before, self._what = self._what, what
        is_new = before is None or (before.state, before.entered) != (what.state, what.entered)
        if is_new:
            self._since = time.monotonic()
        return is_new

    def __rich__(self) -> Text:
        what = self._what
        if what is None:
            return Text()
        seconds = int(time.monotonic() - self._since)
        spent = spent_of(what.spent() if isinstance(what, Loop) else what.spent)
        parts = [
            *_within(what),
            f"{seconds // _MINUTE}:{seconds % _MINUTE:02d}",
            spent.text,
        ]
        return Text.assemble((f"▶ {what.state}", _style(what)), "  ", " · ".join(filter(None, parts)))


def _style(what: Loop | Thread | Run) -> str:
    """The colour of its state."""
    machine = {Loop: "story", Thread: "thread", Run: "orchestrator"}[type(what)]
    return shade(shipped_state(machine, what.state)) or "bold"


def _within(what: Loop | Thread | Run) -> list[str]:
    """Where in it: the subtask and the attempt at it, the thread's title, the run's task."""
    match what:
        case Loop():
            return [*_within_loop(what), f"iteration {what.iteration}"]
        case Thread():
            return [one_line(what.title), f"iteration {what.iteration}"]
    return [one_line(what.task or what.goal)[:60]]


def _within_loop(loop: Loop) -> list[str]:
    """The subtask, and which attempt at it this is."""
    attempt = f"attempt {loop.attempt} of 3" if loop.attempt is not None else ""
    return [f"{one_line(loop.story or '')} {loop.task or ''}".strip(), attempt]


def _state_line(what: Loop | Thread | Run) -> Text:
    """A state that was entered, and where in the whole it is."""
    match what:
        case Loop():
            seconds, dollars, _ = what.spent()
            where = f"  {one_line(what.story or '')} {what.task or ''}" if what.story else ""
            more = (where, (f"  iteration {what.iteration}, {seconds:.0f} s, ${dollars:.2f}", "dim"))
        case Thread():
            more = ("", (f"  {one_line(what.title)}", "dim"))
        case Run():
            closed = what.closed
            done = f"  {closed} of {len(what.plan.tasks)} tasks closed" if what.plan.tasks else ""
            more = ("", (done, "dim"))
    return Text.assemble((what.state, _style(what)), *more)


def _run_line(what: AtWork | RunNews) -> Text:
    """Something that happens in a run."""
    if isinstance(what, AtWork):
        return Text(f"  ▸ {one_line(words_of(what))}", "bold")
    mark, style = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "")}[what.is_good]
    return Text(f"  {mark} {one_line(what.text)}", style)


def _line(what: object, tool_width: int) -> Text | None:
    match what:
        case Loop() | Thread() | Run():
            return _state_line(what)
        case AtWork() | RunNews():
            return _run_line(what)
        case Said(text):
            return Text("\n".join(f"  │ {one_line(line)[:_LONGEST]}" for line in text.splitlines()), "dim")
        case UsedTool(name, about):
            return Text(f"  › {one_line(name)} {one_line(about)[:tool_width]}", "blue")
        case NoProgress(attempt, facts):
            return Text(f"  ! no progress in attempt {attempt}: {one_line('; '.join(facts))}", "yellow")
        case Failure(kind, _, said):
            return Text(f"  ! limit ({kind}): {one_line(said)[:_LONGEST]}", "yellow")
        case Warned(text):
            return Text(f"  ! {one_line(text)[:_LONGEST]}", "yellow")
        case str() if what.startswith("<promise>"):  # the loop's own words, as they are
            return Text(clean(what))
        case str():
            return Text(f"  {one_line(what)}")
    return None


def _data(what: object) -> dict[str, object]:
    """One line of JSON for what happened."""
    match what:
        case AtWork():
            return {"event": "at_work", **asdict(what)}
        case RunNews():
            return {name: value for name, value in asdict(what).items() if name != "is_good"}
        case Run():
            told = {name: getattr(what, name) for name in ("id", "state", "task", "session")}
            return {"event": "state", **told}
        case Thread():
            told = {name: getattr(what, name) for name in ("id", "state", "iteration", "run")}
            return {"event": "state", **told}
        case Loop():
            told = {name: getattr(what, name) for name in ("state", "story", "task", "iteration")}
            return {"event": "state", **told}
        case str():
            return {"event": "told", "text": what}
    more = asdict(what) if isinstance(what, msgspec.Struct) else {}
    return {"event": type(what).__name__.lower(), **more}
