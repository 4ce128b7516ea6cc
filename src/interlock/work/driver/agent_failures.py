"""Agent failures for drivers: how long to wait for temporary ones, and the message for a person for the others.

The result of a run is stored in the note on its session, so drivers and status pages show the same.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from interlock.errors import InterlockError

# The other imports are where they are used: every look asks whether a run is hindered, and few find one.
if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.work.sessions.runs import RunSummary
    from interlock.world.agents.happenings import Failure
    from interlock.world.agents.result import Result

__all__ = [
    "AGAIN",
    "Wait",
    "clock",
    "end_text",
    "hindrance_of",
    "last_run",
    "prose",
    "remedy",
    "unavailable",
    "unusable",
    "wait_for",
    "waiting_text",
]

AGAIN: Final = "then run the same command again"
_FIRST, _LONGEST = 15.0, 300.0
"""Seconds until a provider without a reset time is tried again: at first, and at most."""
_FARTHEST = 100 * 365.25 * 86_400
"""Seconds; a reset time beyond is a mistake, such as milliseconds in the place of seconds."""
_RECENT = 20
"""The number of runs in which the previous one of an agent is looked for: in a rotation, others run in between."""


class Wait(msgspec.Struct, frozen=True):
    """The time to wait until, and the start of the wait if there is no reset time."""

    until: float
    since: float | None = None


def wait_for(failure: Failure | None, before: RunSummary | None, now: float, most: float) -> Wait | None:
    """Return how long to wait for a temporary failure; None after `most` seconds without a reset time.

    Without a reset time the intervals grow from 15 seconds to five minutes. `before` is the agent's previous run.
    A reset time that has passed, or comes sooner than that, does not count: an agent that names it again and again
    would be started without a pause.
    """
    until = failure.until if failure is not None else None
    if until is not None and now + _FIRST <= until <= now + _FARTHEST:
        return Wait(until)
    since = before.waits_since if before is not None and before.waits_since is not None else now
    if now - since >= most:
        return None
    return Wait(now + min(_LONGEST, max(_FIRST, now - since), most), since)


def last_run(journal: Journal, parent: str, agent: str | None = None) -> RunSummary | None:
    """Return what the newest run for an instance, or of an agent for it, came to; None where there was none.

    A run that is under way has come to nothing yet.
    """
    for one in journal.recent("session", 1 if agent is None else _RECENT, parent=parent):
        from interlock.work.sessions.runs import ran_of

        found = ran_of(journal.history(one.id)) if one.outcome is not None else None
        if found is not None and agent in (None, found[1].agent):
            return found[1]
    return None


def hindrance_of(journal: Journal, parent: str, now: float) -> RunSummary | None:
    """Return the newest run for an instance if it is blocked: waiting for a limit, or needing a person."""
    ran = last_run(journal, parent)
    if ran is None or not ran.why:
        return None
    from interlock.world.agents.result import UNUSABLE, Ending

    is_waiting = ran.ending == Ending.LIMITED and ran.until is not None and ran.until > now
    return ran if is_waiting or ran.ending in UNUSABLE else None


def remedy(ran: RunSummary) -> str:
    """Return what a person does about a run that only a person can help."""
    from interlock.world.agents.failures import told
    from interlock.world.agents.happenings import FailureKind
    from interlock.world.agents.result import Ending

    if ran.ending == Ending.NOT_INSTALLED or ran.failure not in set(FailureKind):
        return "Install it, or choose another agent"
    return told(ran.agent, FailureKind(ran.failure))[1]


def waiting_text(ran: RunSummary) -> str:
    """Return a line such as `waits until 14:05 for claude's limit`."""
    what = "limit" if ran.failure in ("session", "weekly", "rate") else "provider"
    return f"waits until {clock(ran.until or 0.0)} for {ran.agent}'s {what}"


def clock(moment: float) -> str:
    """Return a moment as people read it: the local time, with the date where it is not today's."""
    now = datetime.now(UTC).astimezone()
    there = datetime.fromtimestamp(min(moment, now.timestamp() + _FARTHEST)).astimezone()
    return f"{there:%H:%M}" if there.date() == now.date() else f"{there:%Y-%m-%d %H:%M}"


def end_text(agent: str, result: Result) -> str:
    """Return how a run ended in a sentence for people, without what the agent printed: that is in the run's log."""
    from interlock.world.agents.failures import told
    from interlock.world.agents.result import NO_ATTEMPTS, Ending

    if result.ending is Ending.NOT_INSTALLED:
        return f"{agent} cannot be started: it is not installed"
    if result.failure is not None:
        return told(agent, result.failure.kind)[0]
    if result.ending in NO_ATTEMPTS or result.ending is Ending.FINISHED:
        return f"{agent} {result.ending}"
    if str(result.ending).startswith("timed_out"):
        return f"{agent} took too long"
    code = "" if result.exit_code is None else f" (exit {result.exit_code})"
    return f"{agent} {'closed its output and did not end' if result.ending is Ending.LOST else 'failed'}{code}"


class _Ended(Protocol):
    """A run that is over, as its session or its driver tells it."""

    @property
    def ending(self) -> str: ...

    @property
    def failure(self) -> str: ...

    @property
    def why(self) -> str: ...


def prose(text: str) -> str:
    """Return what an agent printed without the lines that hold JSON: a provider's answer is for the log alone."""
    return "\n".join(line for line in text.splitlines() if '{"' not in line and "{'" not in line)


def unusable(agent: str, ran: _Ended, role: str = "") -> InterlockError:
    """Return the error of an agent that only a person can bring back: `agent_missing` or `agent_unusable`."""
    from interlock.world.agents.failures import told
    from interlock.world.agents.happenings import FailureKind
    from interlock.world.agents.result import Ending

    who = f" as the {role}" if role else ""
    if ran.ending == Ending.NOT_INSTALLED:
        return InterlockError(
            "agent_missing", f"The agent {agent} cannot be started{who}: it is not installed.", _MISSING
        )
    kind = FailureKind(ran.failure) if ran.failure in set(FailureKind) else FailureKind.SETUP
    says, do = told(agent.partition(":")[0], kind)
    return InterlockError("agent_unusable", f"{says}{who}. Nothing was counted.", f"{do}, {AGAIN}.")


_MISSING: Final = f"Install it, or choose another agent, {AGAIN}."


def unavailable(agent: str, ran: _Ended | None) -> InterlockError:
    """Return the error of an agent that was waited for as long as the settings say: `agent_unavailable`."""
    says = ran.why if ran is not None and ran.why else f"{agent} cannot work"
    hint = f"Look at its provider, or set agent.wait_minutes in ralph.toml, {AGAIN}."
    return InterlockError("agent_unavailable", f"{says}, and agent.wait_minutes is over.", hint)
