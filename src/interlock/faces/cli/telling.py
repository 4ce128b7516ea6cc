"""What a loop says while it runs: in a terminal a status that stays below the lines, else lines, or lines of JSON."""

from __future__ import annotations

import time
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.text import Text

from interlock.faces.cli.output import Output, clean, one_line
from interlock.work.stories.record import Loop
from interlock.world.agents.happenings import LimitReached, Said, UsedTool, Warned

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Teller"]

_LONGEST = 200
_STYLES = {"IMPLEMENT": "yellow", "TEST": "cyan", "VALIDATE": "cyan", "COMMIT": "green", "BLOCKER": "bold red"}
_MINUTE = 60


class Teller:
    """Tells whoever watches; in a terminal also where the loop is right now."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._console: Console | None = None if output.json else output.console()
        self._status = _Status()
        is_terminal = self._console is not None and output.width is not None
        self._live = Live(self._status, console=self._console, refresh_per_second=4) if is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._live is not None:
            self._live.update(Text())  # what is over need not stay on the screen
            self._live.stop()

    def tell(self, what: object) -> None:
        if self._console is None:
            self._output.line(_data(what))
        else:
            if isinstance(what, Loop):
                self._status.enter(what)
            line = _line(what)
            if line is not None:
                self._console.print(line, soft_wrap=True)
        self._output.stdout.flush()


class _Status:
    """The line at the bottom: state, subtask, attempt, iteration, for how long, and what was spent."""

    def __init__(self) -> None:
        self._loop: Loop | None = None
        self._since = time.monotonic()

    def enter(self, loop: Loop) -> None:
        self._loop, self._since = loop, time.monotonic()

    def __rich__(self) -> Text:
        loop = self._loop
        if loop is None:
            return Text()
        seconds = int(time.monotonic() - self._since)
        spent, dollars, tokens = loop.spent()
        known = loop.progress.story(loop.story) if loop.story else None
        attempt = f"attempt {min(known.retry_count, 2) + 1} of 3" if known and loop.state == "IMPLEMENT" else ""
        parts = [
            f"{one_line(loop.story or '')} {loop.task or ''}".strip(),
            attempt,
            f"iteration {loop.iteration}",
            f"{seconds // _MINUTE}:{seconds % _MINUTE:02d}",
            f"{spent:.0f} s of agents, ${dollars:.2f}, {tokens} tokens",
        ]
        return Text.assemble(
            (f"▶ {loop.state}", _STYLES.get(loop.state, "bold")), "  ", " · ".join(filter(None, parts))
        )


def _line(what: object) -> Text | None:
    match what:
        case Loop():
            seconds, dollars, _ = what.spent()
            where = f"  {one_line(what.story or '')} {what.task or ''}" if what.story else ""
            spent = f"  iteration {what.iteration}, {seconds:.0f} s, ${dollars:.2f}"
            return Text.assemble((what.state, _STYLES.get(what.state, "bold")), where, (spent, "dim"))
        case Said(text):
            return Text(f"  │ {one_line(text)[:_LONGEST]}", "dim")
        case UsedTool(name, about):
            return Text(f"  › {one_line(name)} {one_line(about)[:_LONGEST]}", "blue")
        case LimitReached(kind, _, said):
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
        case Loop():
            told = {name: getattr(what, name) for name in ("state", "story", "task", "iteration")}
            return {"event": "state", **told}
        case str():
            return {"event": "told", "text": what}
    more = asdict(what) if is_dataclass(what) and not isinstance(what, type) else {}
    return {"event": type(what).__name__.lower(), **more}
