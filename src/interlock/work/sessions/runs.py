"""What a driver writes down of an agent's run on the run's session: how it ended, what it used, which tools it called.

It is one note a run, `type` is `run`. Traces and metrics are made of it. What was asked and said is in it only where a
person wants to see it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.machine import ActorKind, Channel
from interlock.machine.model import NOTED
from interlock.world.agents.happenings import Happening, UsedTool
from interlock.world.agents.result import Result

__all__ = ["DIED", "RUN", "UNKNOWN", "Called", "RunSummary", "Tools", "data_of", "may_tell", "ran_of", "result_of"]

RUN: Final = "run"
DIED: Final = "driver_died"
"""How a run ended whose driver died with it."""
UNKNOWN: Final = "unknown"
"""How a run ended whose session had ended before, and whose driver did not come to write it down."""
_MOST: Final = 500
"""So many calls of tools are kept of a run; all are counted."""
_NAME, _ABOUT, _WORDS = 100, 200, 4000


class Called(msgspec.Struct, frozen=True, array_like=True):
    """One call of a tool, as the agent told it: until it told the next thing. Times are milliseconds since 1970."""

    tool: str
    at: int
    until: int
    about: str = ""


class RunSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of an agent."""

    agent: str
    ending: str
    model: str = ""
    seconds: float = 0.0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost_usd: float | None = None
    calls: int = 0
    """How many calls of tools there were, with those that are not kept."""
    tools: tuple[Called, ...] = ()
    asked: str = ""
    said: str = ""
    failure: str = ""
    """The kind of its failure, where one is known."""
    until: float | None = None
    """The time to wait until."""
    waits_since: float | None = None
    """The start of a wait without a reset time."""
    why: str = ""
    """The failure as a sentence for people."""

    @property
    def words(self) -> str:
        """It in one line."""
        used = f"{self.input + self.cached} tokens in, {self.output} out"
        cost = f", ${self.cost_usd:.4f}" if self.cost_usd is not None else ""
        return f"the run of {self.agent} ended ({self.ending}): {used}{cost}, {self.calls} calls of tools"


class Tools:
    """Takes in what happens during a run; the calls of tools are kept, what they are about only where it is wanted."""

    def __init__(self, now: Callable[[], float], *, keeps_words: bool) -> None:
        self._now = now
        self._keeps_words = keeps_words
        self._open: Called | None = None
        self._kept: list[Called] = []
        self.count = 0

    def take(self, happening: Happening) -> None:
        if self._open is None and not isinstance(happening, UsedTool):
            return
        at = int(self._now() * 1000)
        self._close(at)
        if isinstance(happening, UsedTool):
            self.count += 1
            about = happening.about[:_ABOUT] if self._keeps_words else ""
            self._open = Called(happening.name[:_NAME], at, at, about)

    def end(self) -> tuple[Called, ...]:
        """All that are kept, when the run has ended."""
        if self._open is not None:
            self._close(int(self._now() * 1000))
        return tuple(self._kept)

    def _close(self, at: int) -> None:
        if self._open is not None and len(self._kept) < _MOST:
            self._kept.append(msgspec.structs.replace(self._open, until=max(at, self._open.at)))
        self._open = None


def result_of(
    result: Result,
    agent: str,
    model: str | None,
    tools: Tools,
    words: tuple[str, str] | None,
    wait: tuple[float, float | None] | None = None,
    why: str = "",
) -> RunSummary:
    """What came of a run; `words` are what was asked and said, where they are wanted, `wait` until and since when."""
    asked, said = words or ("", "")
    usage = result.usage
    return RunSummary(
        agent,
        str(result.ending),
        model or "",
        round(result.seconds, 3),
        usage.input,
        usage.output,
        usage.cached,
        result.cost_usd,
        tools.count,
        tools.end(),
        asked[:_WORDS],
        said[-_WORDS:],
        failure=str(result.failure.kind) if result.failure is not None else "",
        until=wait[0] if wait is not None else None,
        waits_since=wait[1] if wait is not None else None,
        why=why,
    )


def data_of(ran: RunSummary) -> dict[str, Any]:
    """It as a note holds it."""
    known: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(ran))
    return {"message": ran.words, **known}


def may_tell(entry: Entry) -> bool:
    """Whether an entry may tell of a run; almost none does, and that is seen without decoding it."""
    is_drivers = (entry.actor_kind, entry.channel) == (ActorKind.SYSTEM, Channel.DRIVER)
    return is_drivers and entry.event == NOTED and f'"{RUN}"' in entry.evidence


def ran_of(entries: Iterable[Entry]) -> tuple[Entry, RunSummary] | None:
    """The run that a session's entries tell of, and which entry does; None where none does."""
    for entry in entries:
        if not may_tell(entry):
            continue
        data = entry.decoded_evidence().data
        if data.get("type") == RUN:
            try:
                return entry, convert(data, RunSummary)
            except msgspec.ValidationError:
                continue
    return None
