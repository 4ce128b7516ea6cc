"""PURE. The counts of a run, entry by entry: its time in each state, what became of its tasks, who was paid.

It holds only what the next entry needs, so it can be stored and continued. Times are milliseconds, as
entries have them: sums of them are exact.

Whether somebody was at work between two entries is known only afterwards. Every driver of a run writes with an epoch of
its own, and before it asks anybody: what passed between the last entry of one driver and the first of the next was
rest. Until the next entry of a driver, time is `unsettled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from interlock.journal import Entry
from interlock.machine.model import NOTED, SUPERSEDED
from interlock.machine.states import shipped_state
from interlock.work.formats.times import milliseconds_of
from interlock.work.orchestration.values import Mark

__all__ = ["RoleUsage", "Tally", "Tried", "take"]

Data = dict[str, Any]
Count = Callable[["Tally", Entry, Data], None]

_ENDS: Final = frozenset({Mark.DONE, Mark.FAILED, Mark.CLOSED})
_LONGEST_GOAL: Final = 200


class Tried(msgspec.Struct, omit_defaults=True):
    """The result of a task in a run."""

    end: str = ""
    """Its mark, where that is an end: `x`, `F` or `C`."""
    qualified: int = 0
    failed: int = 0
    """Attempts that a reviewer, our verifiers or the executor itself called failed."""
    blocked: int = 0
    is_carried: bool = False
    """True if it had ended before this run began."""


class RoleUsage(msgspec.Struct):
    """The usage of an agent in a role."""

    invocations: int = 0
    milliseconds: int = 0
    cost_usd: float = 0.0
    tokens: int = 0


class Tally(msgspec.Struct, omit_defaults=True):
    """A run as it is counted."""

    session: str = ""
    goal: str = ""
    """Its first line, cut."""
    state: str = ""
    outcome: str | None = None
    began: int = 0
    last: int = 0
    """The time of the last entry, or of its end. A clock that is set back does not take time away."""
    worked: dict[str, int] = {}
    """The time in each state with a driver at work."""
    rested: int = 0
    unsettled: dict[str, int] = {}
    """The time in each state since the last entry of a driver."""
    entered: dict[str, int] = {}
    """The number of entries into each state."""
    epoch: int | None = None
    is_stopped: bool = False
    tasks: dict[str, Tried] = {}
    task: str = ""
    """The one that was selected last."""
    cycles: int = 0
    cycle: int = 0
    """The number of the last one; a cycle can be told in parts."""
    used: dict[str, dict[str, RoleUsage]] = {}
    """By role, then by agent."""


def take(tally: Tally, entry: Entry) -> None:
    """Count the next entry of a run."""
    data = entry.decoded_evidence().data
    if entry.version == 1:
        tally.began = tally.last = milliseconds_of(entry.time)
        tally.session = data.get("session") or entry.instance
        tally.goal = data.get("goal", "").strip().partition("\n")[0][:_LONGEST_GOAL]
        tally.state, tally.entered = entry.to_state, {entry.to_state: 1}
        return
    if tally.outcome is None:
        _pass_time(tally, entry)
    if entry.event == NOTED:
        _NOTES.get(data.get("type", ""), _nothing)(tally, entry, data)
    elif tally.outcome is None:
        _move(tally, entry, data)


def _pass_time(tally: Tally, entry: Entry) -> None:
    now = max(tally.last, milliseconds_of(entry.time))
    passed, tally.last = now - tally.last, now
    if tally.is_stopped:
        tally.rested += passed
    elif passed:
        _add(tally.unsettled, tally.state, passed)
    if entry.epoch is not None:
        _settle(tally, is_work=tally.epoch in (None, entry.epoch))
        tally.epoch = entry.epoch


def _settle(tally: Tally, *, is_work: bool) -> None:
    """Count the time since the last driver's entry as work or as a pause."""
    for state, passed in tally.unsettled.items():
        if is_work:
            _add(tally.worked, state, passed)
        else:
            tally.rested += passed
    tally.unsettled = {}


def _add(to: dict[str, int], key: str, number: int) -> None:
    to[key] = to.get(key, 0) + number


def _move(tally: Tally, entry: Entry, data: Data) -> None:
    if entry.to_state != tally.state:
        _add(tally.entered, entry.to_state, 1)
    if entry.event in _SELECTS:
        tally.task = entry.decoded_evidence().task or tally.task
    _MOVES.get(entry.event, _nothing)(tally, entry, data)
    tally.state = entry.to_state
    tally.outcome = SUPERSEDED if entry.event == SUPERSEDED else shipped_state("orchestrator", entry.to_state).outcome
    if tally.outcome is not None and tally.unsettled:
        _settle(tally, is_work=False)  # another process ended it; no driver was at work


def _nothing(tally: Tally, entry: Entry, data: Data) -> None:
    """Ignore an entry in which nothing is counted."""


def _tried(tally: Tally, id_: str) -> Tried:
    return tally.tasks.setdefault(id_, Tried())


# What the moves say

_SELECTS: Final = frozenset({"session_resolved", "task_selected", "review_pending"})


def _executed(tally: Tally, entry: Entry, data: Data) -> None:
    task = _tried(tally, tally.task)
    answer = entry.decoded_evidence().facts["executor"]
    is_last = entry.to_state == "Failed"
    if answer == "blocked":
        task.blocked += 1
    elif answer == "failed" or data.get("is_over"):  # or there was no answer that could be used, for the third time
        task.failed += 1
    if is_last:
        _mark(task, Mark.FAILED)


def _reviewed(tally: Tally, entry: Entry, data: Data) -> None:
    task = _tried(tally, tally.task)
    verdict = entry.decoded_evidence().facts["verdict"]
    if verdict == "Qualified":
        task.qualified += 1
        _mark(task, Mark.DONE)
    elif verdict == "Failed" or entry.to_state != "Reviewing":
        task.failed += 1
    if entry.to_state == "Failed":
        _mark(task, Mark.FAILED)


def _discovered(tally: Tally, entry: Entry, data: Data) -> None:
    for one in data["tasks"]:
        _tried(tally, one["id"])


_MOVES: Final[Mapping[str, Count]] = {
    "executor_completed": _executed,
    "reviewer_completed": _reviewed,
    "tasks_discovered": _discovered,
}


# What was noted


def _tasks(tally: Tally, entry: Entry, data: Data) -> None:
    """A part of the plan; no plan loses a task that another had."""
    for one in data["tasks"]:
        _mark(_tried(tally, one["id"]), one.get("mark", Mark.OPEN), is_carried=tally.state == "Initializing")


def _mark(task: Tried, mark: str, *, is_carried: bool = False) -> None:
    end = str(mark) if mark in _ENDS else ""
    if end != task.end:
        task.end, task.is_carried = end, is_carried and bool(end)


def _read_back(tally: Tally, entry: Entry, data: Data) -> None:
    """Count what a person changed in the files."""
    for one in data["changes"]:
        match one["type"]:
            case "Unticked":
                _mark(_tried(tally, one["task"]), Mark.OPEN)
            case "Closed":
                _mark(_tried(tally, one["task"]), Mark.CLOSED)
            case "Added":
                _tried(tally, one["task"]["id"])


def _cycled(tally: Tally, entry: Entry, data: Data) -> None:
    number = data["cycle"]["number"]
    tally.cycles += number != tally.cycle
    tally.cycle = number


def _invoked(tally: Tally, entry: Entry, data: Data) -> None:
    used = tally.used.setdefault(data["role"], {}).setdefault(data["agent"], RoleUsage())
    used.invocations += 1
    used.milliseconds += round(data["seconds"] * 1000)
    used.cost_usd += data["cost_usd"] or 0.0
    used.tokens += data["tokens"]


def _stopped(tally: Tally, entry: Entry, data: Data) -> None:
    tally.is_stopped = True


def _resumed(tally: Tally, entry: Entry, data: Data) -> None:
    tally.is_stopped = False


_NOTES: Final[Mapping[str, Count]] = {
    "tasks": _tasks,
    "read_back": _read_back,
    "cycle": _cycled,
    "invoked": _invoked,
    "paused": _stopped,
    "stopped": _stopped,
    "resumed": _resumed,
}
