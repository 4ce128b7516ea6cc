"""PURE. What a run's entries add up to: a table of what each move says, and one of what was noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.journal import Entry
from interlock.machine.model import NOTED
from interlock.work.orchestration.record import Invocation, Run
from interlock.work.orchestration.values import Cycle, Mark, Part1, Part2, Plan, Report, Task

__all__ = ["run_of", "take"]

Data = dict[str, Any]
Tell = Callable[[Run, Entry, Data], None]


def run_of(entries: Iterable[Entry]) -> Run:
    """What these entries, all of one run from its first on, add up to."""
    run = Run()
    for entry in entries:
        take(run, entry)
    return run


def take(run: Run, entry: Entry) -> None:
    """Let a run be as it is after its next entry."""
    data = entry.decoded_evidence().data
    run.version, run.updated = entry.version, entry.time
    if entry.version == 1:
        run.id, run.started, run.state, run.entered = entry.instance, entry.time, entry.to_state, 1
        run.goal, run.session, run.roles = data["goal"], data["session"], dict(data["roles"])
        run.base, run.plan = data.get("base", ""), Plan(data["goal"])
    elif entry.event == NOTED:
        _NOTES.get(data.get("type", ""), _nothing)(run, entry, data)
    else:
        _move(run, entry, data)


def _move(run: Run, entry: Entry, data: Data) -> None:
    if entry.to_state != entry.from_state:
        run.moves.append((entry.from_state or "", entry.to_state, entry.time))
    run.state, run.entered, run.reason = entry.to_state, entry.version, entry.reason or ""
    _MOVES.get(entry.event, _nothing)(run, entry, data)
    if entry.to_state in ("Exit", "Failed"):
        run.outcome = "success" if entry.to_state == "Exit" else "failure"


def _nothing(run: Run, entry: Entry, data: Data) -> None:
    """It says nothing more than the state."""


def _mark(run: Run, id_: str, **values: Any) -> None:
    tasks = tuple(replace(one, **values) if one.id == id_ else one for one in run.plan.tasks)
    run.plan = replace(run.plan, tasks=tasks)


def _add(run: Run, tasks: Iterable[Data]) -> None:
    """Put more tasks behind those that are there; one that is known already stays as it is."""
    known = {one.id for one in run.plan.tasks}
    fresh = [msgspec.convert(one, Task) for one in tasks if one["id"] not in known]
    run.plan = replace(run.plan, tasks=(*run.plan.tasks, *fresh), version=run.plan.version + 1)


# What the moves say


def _resolved(run: Run, entry: Entry, data: Data) -> None:
    if "plan" in data:
        run.plan = msgspec.convert(data["plan"], Plan)
    run.task = entry.decoded_evidence().task
    run.mode = str(data.get("mode", run.mode))


def _planned(run: Run, entry: Entry, data: Data) -> None:
    run.complaint = str(data.get("complaint", ""))
    match entry.decoded_evidence().facts["planner"]:
        case "completed":
            run.mode, run.why, run.asked = "UPDATE", "", ()
            run.wishes = run.wishes[int(data["told"]) :]
        case "needs_qa_cycle" | "needs_clarification":
            run.asks, run.mode, run.asked = True, "QA_COORDINATE", tuple(data["questions"])
    if "goal" in data:
        run.plan = replace(run.plan, goal=data["goal"], text=data["text"], version=run.plan.version + 1)


def _selected(run: Run, entry: Entry, data: Data) -> None:
    run.task = entry.decoded_evidence().task
    run.receipt = None
    if run.task is not None:
        _mark(run, run.task, mark=Mark.WORKING)


def _executed(run: Run, entry: Entry, data: Data) -> None:
    run.complaint = str(data.get("complaint", ""))
    id_ = str(data["task"])
    answer = entry.decoded_evidence().facts["executor"]
    if answer != "invalid" and "part1" in data:
        number = len(run.reports.get(id_, ())) + 1  # a resumed run counts attempts anew, and overwrites no report
        _report(run, Report(id_, number, msgspec.convert(data["part1"], Part1)))
    if answer == "completed":
        _mark(run, id_, mark=Mark.PENDING)
    elif answer == "blocked":
        _mark(run, id_, mark=Mark.OPEN)
        run.why, run.mode, run.task = f"{id_} is blocked: {data['why']}", "UPDATE", None
    elif entry.to_state == "Failed":
        _mark(run, id_, mark=Mark.FAILED)
    elif data.get("counts", answer == "failed"):
        _again(run, id_)


def _again(run: Run, id_: str) -> None:
    known = run.find(id_)
    _mark(run, id_, mark=Mark.OPEN, attempt=(known.attempt if known else 0) + 1)
    run.task = None


def _report(run: Run, report: Report) -> None:
    run.reports.setdefault(report.task, []).append(report)


def _reviewed(run: Run, entry: Entry, data: Data) -> None:
    run.complaint = str(data.get("complaint", ""))
    id_ = str(data["task"])
    verdict = entry.decoded_evidence().facts["verdict"]
    reports = run.reports.get(id_, [])
    if "part2" in data and reports:
        reports[-1] = replace(reports[-1], part2=msgspec.convert(data["part2"], Part2))
        run.verdict = f"{id_}: {verdict}. {data['part2'].get('reasoning', '')}".strip()
    if verdict == "Qualified":
        _mark(run, id_, mark=Mark.DONE)
        run.task = None
    elif entry.to_state == "Failed":
        _mark(run, id_, mark=Mark.FAILED)
    elif entry.to_state == "Executing":
        _again(run, id_)


def _discovered(run: Run, entry: Entry, data: Data) -> None:
    _add(run, data["tasks"])
    run.task = None


def _needed(run: Run, entry: Entry, data: Data) -> None:
    run.why, run.mode, run.task = entry.reason or str(data.get("why", "")), "UPDATE", None


def _wished(run: Run, entry: Entry, data: Data) -> None:
    if run.task is not None:
        known = run.find(run.task)
        if known is not None and known.mark is Mark.WORKING:
            _mark(run, run.task, mark=Mark.OPEN)
    run.wishes.append(entry.reason or "")
    run.mode, run.task, run.asks = ("UPDATE" if run.plan.tasks else run.mode), None, False


_MOVES: Mapping[str, Tell] = {
    "session_resolved": _resolved,
    "planner_completed": _planned,
    "task_selected": _selected,
    "review_pending": _selected,
    "executor_completed": _executed,
    "reviewer_completed": _reviewed,
    "tasks_discovered": _discovered,
    "requirements_discovered": _needed,
    "requirements_added": _wished,
    "holistic_check_failed": _needed,
}


# What was noted


def _tasks(run: Run, entry: Entry, data: Data) -> None:
    """A part of the plan: what an entry holds is limited, and a plan is not."""
    given = tuple(msgspec.convert(one, Task) for one in data["tasks"])
    before = () if data["is_first"] else run.plan.tasks
    run.plan = replace(run.plan, tasks=(*before, *given))


def _invoked(run: Run, entry: Entry, data: Data) -> None:
    told = {name: data[name] for name in ("role", "mode", "task", "attempt", "agent", "ending", "seconds", "tokens")}
    run.invocations.append(Invocation(**told, cost_usd=data["cost_usd"] or 0.0, at=entry.time))


def _cycled(run: Run, entry: Entry, data: Data) -> None:
    run.cycles.append(msgspec.convert(data["cycle"], Cycle))
    run.asks, run.complaint = False, ""


def _verified(run: Run, entry: Entry, data: Data) -> None:
    run.receipt = data["receipt"]


def _limited(run: Run, entry: Entry, data: Data) -> None:
    run.limited[data["agent"]] = float(data["until"])


def _projected(run: Run, entry: Entry, data: Data) -> None:
    for name, sha256 in data["files"].items():
        run.projected.setdefault(name, []).append(sha256)


def _read_back(run: Run, entry: Entry, data: Data) -> None:
    """What a person changed in the files."""
    for id_, values in data.get("tasks", {}).items():
        changed = {name: Mark(value) if name == "mark" else value for name, value in values.items()}
        _mark(run, id_, **{key: tuple(value) if isinstance(value, list) else value for key, value in changed.items()})
    _add(run, data["added"]) if data.get("added") else None
    if data.get("cycles"):
        run.cycles = [msgspec.convert(one, Cycle) for one in data["cycles"]]


def _stopped(run: Run, entry: Entry, data: Data) -> None:
    run.stopped = str(data.get("reason", "")) or "a person said so"


def _resumed(run: Run, entry: Entry, data: Data) -> None:
    run.stopped = None


def _carried(run: Run, entry: Entry, data: Data) -> None:
    run.plan = replace(run.plan, goal=data["goal"], text=data["text"])
    run.cycles = [msgspec.convert(one, Cycle) for one in data["cycles"]]


def _reported(run: Run, entry: Entry, data: Data) -> None:
    _report(run, msgspec.convert(data["report"], Report))


_NOTES: Mapping[str, Tell] = {
    "carried": _carried,
    "report": _reported,
    "tasks": _tasks,
    "invoked": _invoked,
    "cycle": _cycled,
    "verified": _verified,
    "limited": _limited,
    "projected": _projected,
    "read_back": _read_back,
    "stopped": _stopped,
    "resumed": _resumed,
}
