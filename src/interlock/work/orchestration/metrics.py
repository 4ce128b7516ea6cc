"""PURE. The seed's five metrics: of a run, of a session over all its runs, and of everything there is.

time in each state, task success and failure rates, rework, Q&A cycles, end-to-end duration; and what agents used.

Times are milliseconds. Each millisecond of a run was work in one state, or a pause.
A task belongs to its session: what failed in one run and was qualified in the next is one task, that needed rework.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from interlock.work.orchestration.tally import RoleUsage, Tally, Tried
from interlock.work.orchestration.values import Mark

__all__ = ["ENDS", "Overall", "RunMetrics", "SessionMetrics", "TaskMetrics", "measured", "over", "rate", "sessions_of"]

ENDS: Final = {Mark.DONE: "qualified", Mark.FAILED: "failed", Mark.CLOSED: "closed", "": "open"}
"""The state of a task, by its mark."""


class TaskMetrics(msgspec.Struct, frozen=True):
    """The result of a task: in a run, or over all runs of a session."""

    id: str
    end: str
    """`qualified`, `failed`, `closed` or `open`."""
    qualified: int
    failed: int
    blocked: int
    is_carried: bool = False
    """True if it had ended before the run began; then it is not one of the run's."""

    @property
    def attempts(self) -> int:
        """The attempts that were judged; a blocked one leads to another plan, and is none."""
        return self.qualified + self.failed

    @property
    def rework(self) -> int:
        """The attempts beyond the first."""
        return max(0, self.attempts - 1)


class RunMetrics(msgspec.Struct, frozen=True):
    """One run."""

    id: str
    session: str
    goal: str
    state: str
    outcome: str | None
    began: int
    states: Mapping[str, int]
    """The time in each state with a driver at work."""
    rested: int
    """The time in which it was paused or had no driver."""
    entered: Mapping[str, int]
    tasks: tuple[TaskMetrics, ...]
    cycles: int
    used: Mapping[tuple[str, str], RoleUsage]
    """By role and agent."""
    is_resting: bool = False
    """True if it has not ended and has no driver now."""

    @property
    def worked(self) -> int:
        return sum(self.states.values())

    @property
    def duration(self) -> int:
        """From its beginning to its end, or to now."""
        return self.worked + self.rested

    @property
    def ended(self) -> int | None:
        return None if self.outcome is None else self.began + self.duration


def measured(id_: str, tally: Tally, now: int | None = None, *, is_driven: bool = True) -> RunMetrics:
    """A run as it stands now; without a `now`, only what is settled, which never becomes less.

    Of a run that has not ended, the time since its driver's last entry is work if it `is_driven` now, else a pause.
    """
    states, rested, unsettled = dict(tally.worked), tally.rested, dict(tally.unsettled) if now is not None else {}
    if now is not None and tally.outcome is None:
        passed = max(0, now - tally.last)
        if tally.is_stopped:
            rested += passed
        else:
            unsettled[tally.state] = unsettled.get(tally.state, 0) + passed
    if is_driven:
        for state, passed in unsettled.items():
            states[state] = states.get(state, 0) + passed
    else:
        rested += sum(unsettled.values())
    return RunMetrics(
        id=id_,
        session=tally.session,
        goal=tally.goal,
        state=tally.state,
        outcome=tally.outcome,
        began=tally.began,
        states=states,
        rested=rested,
        entered=tally.entered,
        tasks=tuple(_task(name, one) for name, one in tally.tasks.items()),
        cycles=tally.cycles,
        used={(role, agent): used for role, agents in tally.used.items() for agent, used in agents.items()},
        is_resting=tally.outcome is None and (tally.is_stopped or not is_driven),
    )


def _task(id_: str, tried: Tried) -> TaskMetrics:
    return TaskMetrics(id_, ENDS[tried.end], tried.qualified, tried.failed, tried.blocked, tried.is_carried)


# Sessions


class SessionMetrics(msgspec.Struct, frozen=True):
    """A session: every run on one directory, from the first on."""

    runs: tuple[RunMetrics, ...]

    @property
    def id(self) -> str:
        return self.runs[0].session

    @property
    def duration(self) -> int:
        """End to end: from the beginning of its first run to the end of its last, or to now."""
        return max(one.began + one.duration for one in self.runs) - self.runs[0].began

    @property
    def between(self) -> int:
        """The time between its runs, in which it waited for a person."""
        return max(0, self.duration - sum(one.duration for one in self.runs))

    @property
    def tasks(self) -> list[TaskMetrics]:
        """Its tasks, as they stand after the last run that had them, with the attempts of all."""
        found: dict[str, TaskMetrics] = {}
        for one in (task for run in self.runs for task in run.tasks):
            known = found.get(one.id)
            found[one.id] = one if known is None else _joined(known, one)
        return [one for one in found.values() if not one.is_carried]

    @property
    def ends(self) -> list[tuple[str, int]]:
        """Of each run that ended: how, and how long after the session's beginning."""
        first = self.runs[0].began
        return [(one.outcome, one.began + one.duration - first) for one in self.runs if one.outcome is not None]


def _joined(one: TaskMetrics, later: TaskMetrics) -> TaskMetrics:
    return TaskMetrics(
        one.id,
        later.end,
        one.qualified + later.qualified,
        one.failed + later.failed,
        one.blocked + later.blocked,
        one.is_carried and later.is_carried,
    )


def sessions_of(runs: Iterable[RunMetrics]) -> list[SessionMetrics]:
    """Runs by session; runs and sessions in the order in which they began."""
    known: dict[str, list[RunMetrics]] = {}
    for one in runs:
        known.setdefault(one.session, []).append(one)
    return [SessionMetrics(tuple(sorted(those, key=lambda one: (one.began, one.id)))) for those in known.values()]


# All of it


class Overall(msgspec.Struct, frozen=True):
    """The totals of several runs."""

    runs: int = 0
    outcomes: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The runs by outcome: `success`, `failure`, `superseded`; and those that are `open`."""
    states: Mapping[str, int] = msgspec.field(default_factory=dict)
    entered: Mapping[str, int] = msgspec.field(default_factory=dict)
    rested: int = 0
    between: int = 0
    """The time that sessions waited between two of their runs."""
    ends: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The tasks by their state; see `ENDS`."""
    qualified: int = 0
    failed: int = 0
    blocked: int = 0
    rework: int = 0
    attempts: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The tasks by the number of their attempts, of those that had any."""
    reworked: tuple[tuple[str, TaskMetrics], ...] = ()
    """The tasks that needed the most attempts, with their sessions."""
    cycles: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The runs by the number of their Q&A cycles."""
    sessions: tuple[tuple[str | None, int], ...] = ()
    """Of each session, in the order of their beginnings: how its last run ended, and its duration end to end."""
    run_ends: tuple[tuple[str, int], ...] = ()
    """Of each run that ended: how, and its duration."""
    session_ends: tuple[tuple[str, int], ...] = ()
    """The same, from the beginning of its session on."""
    used: Mapping[tuple[str, str], RoleUsage] = msgspec.field(default_factory=dict)

    @property
    def worked(self) -> int:
        return sum(self.states.values())

    @property
    def all_cycles(self) -> int:
        return sum(number * runs for number, runs in self.cycles.items())

    @property
    def tried(self) -> int:
        """The number of tasks with an attempt that was judged."""
        return sum(self.attempts.values())

    @property
    def tried_again(self) -> int:
        """The number of those with more than one."""
        return sum(tasks for number, tasks in self.attempts.items() if number > 1)


def over(runs: Sequence[RunMetrics], most_reworked: int = 5) -> Overall:
    """The totals of these runs. With only some runs of a session, tasks are counted as if they had begun there."""
    sessions = sessions_of(runs)
    tasks = [(session.id, task) for session in sessions for task in session.tasks]
    again = [one for one in reversed(tasks) if one[1].rework]
    worst = sorted(again, key=lambda one: -one[1].attempts)  # the newest first of those with as many
    return Overall(
        runs=len(runs),
        outcomes=Counter(one.outcome or "open" for one in runs),
        states=_sum(one.states for one in runs),
        entered=_sum(one.entered for one in runs),
        rested=sum(one.rested for one in runs),
        between=sum(one.between for one in sessions),
        ends=Counter(task.end for _, task in tasks),
        qualified=sum(task.qualified for _, task in tasks),
        failed=sum(task.failed for _, task in tasks),
        blocked=sum(task.blocked for _, task in tasks),
        rework=sum(task.rework for _, task in tasks),
        attempts=Counter(task.attempts for _, task in tasks if task.attempts),
        reworked=tuple(worst[:most_reworked]),
        cycles=Counter(one.cycles for one in runs),
        sessions=tuple((one.runs[-1].outcome, one.duration) for one in sessions),
        run_ends=tuple((one.outcome, one.duration) for one in runs if one.outcome is not None),
        session_ends=tuple(end for one in sessions for end in one.ends),
        used=_used(runs),
    )


def _sum(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in several:
        found.update(one)
    return dict(found)


def _used(runs: Iterable[RunMetrics]) -> dict[tuple[str, str], RoleUsage]:
    """The usage by role and agent."""
    found: dict[tuple[str, str], RoleUsage] = {}
    for key, one in (pair for run in runs for pair in run.used.items()):
        known = found.setdefault(key, RoleUsage())
        known.invocations += one.invocations
        known.milliseconds += one.milliseconds
        known.cost_usd += one.cost_usd
        known.tokens += one.tokens
    return found


def rate(good: int, bad: int) -> float | None:
    """The share of the good; None where there is neither."""
    return good / (good + bad) if good + bad else None
