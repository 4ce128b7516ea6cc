"""What is known of a run so far, and what that makes of it in the end."""

from __future__ import annotations

from collections import deque

from interlock.world.agents import failures
from interlock.world.agents.agent import Now
from interlock.world.agents.happenings import (
    ContextUsed,
    Cost,
    Cure,
    Failure,
    Finished,
    Happening,
    Said,
    Usage,
    UsedTool,
)
from interlock.world.agents.own import is_ours
from interlock.world.agents.promise import plain, promise
from interlock.world.agents.result import Ending
from interlock.world.redaction import redacted

__all__ = ["Account"]

_LINES = 40
_WIDTH = 2000
"""How many of the last lines are told, and how much of each."""
_LINES_KEPT = 4 * _LINES
_WIDTH_KEPT = 4 * _WIDTH
"""How much more is kept until the end, so that a secret is seen as a whole and taken out as one."""
_COMPLAINTS = 20
"""How many of the last lines on stderr are searched for a failure."""


class Account:
    """Takes in what happens and what was printed; says in the end how it ended."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._promise: str | None = None
        """The promise of the last message."""
        self._kept: str | None = None
        """The promise of an earlier message, while nothing but our own tools was called since."""
        self._lines: deque[bytes] = deque(maxlen=_LINES_KEPT)
        self._last = b""
        self._complaints: deque[bytes] = deque(maxlen=_COMPLAINTS)
        self.usage = Usage()
        self.cost: float | None = None
        self.context: float | None = None
        self.failure: Failure | None = None
        self.finished: Finished | None = None

    @property
    def promise(self) -> str | None:
        """The promise of the last message, or of one after which the agent only reported.

        An agent that is reminded to complete its session does so and says it, and that is not more work.
        """
        return self._promise or self._kept

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines of both streams, without secrets."""
        text = redacted(plain(b"\n".join(self._lines).decode("utf-8", "replace")))
        return tuple(line[:_WIDTH] for line in text.splitlines()[-_LINES:])

    def take(self, happening: Happening) -> None:
        match happening:
            case Said(text) if text.strip():
                self._promise = promise(text)
            case UsedTool(name):
                self._kept = (self._promise or self._kept) if is_ours(name) else None
            case Usage():
                self.usage += happening
            case Cost(usd):
                self.cost = (self.cost or 0.0) + usd
            case ContextUsed(percent):
                self.context = percent
            case Failure():
                self.failure = happening
            case Finished():
                self.finished = happening

    def printed(self, line: bytes) -> None:
        """A line on stdout."""
        if self._keep(line):
            self._last = line[:_WIDTH]

    def complained(self, line: bytes) -> None:
        """A line on stderr."""
        if self._keep(line):
            self._complaints.append(line[:_WIDTH])

    def _keep(self, line: bytes) -> bool:
        if is_telling := bool(line) and not line.isspace():
            self._lines.append(line[:_WIDTH_KEPT])
        return is_telling

    def conclude(self, exit_code: int | None) -> Ending:
        """Return the ending of a run that exited on its own. A failure counts only if the run did not succeed."""
        finished = self.finished
        failed = exit_code != 0 or (finished is not None and not finished.ok)
        if not failed and (self.failure is None or finished is not None):
            self.failure = None
            return Ending.FINISHED
        self.failure = self.failure or self._banner()
        return _ENDINGS[failures.cure_of(self.failure.kind)] if self.failure else Ending.FAILED

    def _banner(self) -> Failure | None:
        """Return the failure that a failed run announced in its last lines, newest first."""
        last = (*reversed(self._complaints), self._last)
        said = (self.finished.said if self.finished else "", *(line.decode("utf-8", "replace") for line in last))
        for text in said:
            for line in reversed(plain(text).splitlines()):
                if found := failures.banner(line, self._now()):
                    return Failure(found.kind, found.until, redacted(found.said))
        return None


_ENDINGS = {Cure.WAIT: Ending.LIMITED, Cure.PERSON: Ending.NEEDS_PERSON, Cure.NONE: Ending.FAILED}
