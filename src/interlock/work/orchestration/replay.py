"""PURE. The fold of a run's entries: one table for its moves, and one for its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.journal.entry import CREATED
from interlock.machine import ActorKind
from interlock.machine.model import NOTED, SUPERSEDED
from interlock.machine.states import shipped_state
from interlock.work.driver.fold import fold
from interlock.work.driver.record import Beginning, begin_run, end_run, take_note
from interlock.work.orchestration.changes import Answered, Change, Replanned, applied
from interlock.work.orchestration.order import PLANNING
from interlock.work.orchestration.record import ActiveRole, Invocation, Proven, Run
from interlock.work.orchestration.values import Cycle, Mark, Part1, Part2, Plan, QuestionStatus, Task, TaskReport

__all__ = ["change", "run_of", "take"]

_SUBJECT = 100
"""The most characters of the first line of a commit's message."""
Data = dict[str, Any]
Tell = Callable[[Run, Entry, Data], None]

_INIT, _BRAINSTORM, _RESEARCH, _BREAKDOWN = PLANNING


def run_of(entries: Iterable[Entry]) -> Run:
    """The run that these entries, from its first on, add up to."""
    return fold(Run(), take, entries)


def take(run: Run, entry: Entry) -> None:
    """Update the run with its next entry."""
    data = entry.decoded_evidence().data
    run.version, run.updated = entry.version, entry.time
    if (run.left or run.found) and entry.actor_kind == ActorKind.SYSTEM and data.get("type") != "projected":
        run.left = {}  # a driver continues only after it has written all files
        run.found = {} if run.projected else run.found
    if entry.version == 1:
        run.id, run.started, run.state, run.entered = entry.instance, entry.time, entry.to_state, 1
        run.goal, run.session, run.roles = data["goal"], data["session"], dict(data["roles"])
        run.base, run.plan, run.files = data["base"], Plan(data["goal"]), dict(data["files"])
        run.follows, run.parent = data["follows"], data[CREATED].get("parent")
        run.chosen = tuple(data.get("chosen", ()))
    elif entry.event == NOTED:
        take_note(run, entry, data)
        _NOTES.get(data.get("type", ""), _nothing)(run, entry, data)
    else:
        _move(run, entry, data)


def _move(run: Run, entry: Entry, data: Data) -> None:
    if entry.to_state != entry.from_state:
        run.moves.append((entry.from_state or "", entry.to_state, entry.time))
    run.state, run.entered, run.reason = entry.to_state, entry.version, entry.reason or ""
    if entry.event != "network_failed":  # what is asked for again is asked for in the same words
        run.complaint, run.unusable = str(data.get("complaint", "")), 0
    _MOVES.get(entry.event, _nothing)(run, entry, data)
    if entry.to_state == "Planning" and entry.from_state not in ("Planning", "Initializing"):
        run.planning[_BREAKDOWN] = Mark.WORKING
    run.outcome = SUPERSEDED if entry.event == SUPERSEDED else shipped_state("orchestrator", entry.to_state).outcome


def _nothing(run: Run, entry: Entry, data: Data) -> None:
    """Ignore an entry that says nothing more than the state."""


def _mark(run: Run, id_: str, **values: Any) -> None:
    tasks = tuple(replace(one, **values) if one.id == id_ else one for one in run.plan.tasks)
    run.plan = replace(run.plan, tasks=tasks)


def _list(run: Run, tasks: tuple[Task, ...]) -> None:
    """Set the tasks and their order."""
    run.plan = replace(run.plan, tasks=tasks)
    run.words += 1


# What the moves say


def _resolved(run: Run, entry: Entry, data: Data) -> None:
    run.task = entry.decoded_evidence().task
    run.mode = "UPDATE" if run.plan.tasks else "INITIALIZE"
    if entry.to_state == "Planning":
        step = _BREAKDOWN if run.plan.tasks else _INIT
        run.planning = {**dict.fromkeys(PLANNING, Mark.OPEN), **run.planning, step: Mark.WORKING}
    else:
        run.planning = {**dict.fromkeys(PLANNING, Mark.DONE), **run.planning}


def _planned(run: Run, entry: Entry, data: Data) -> None:
    answer = entry.decoded_evidence().facts["planner"]
    if answer == "invalid":
        return
    run.planning[_INIT] = Mark.DONE
    if answer == "completed":
        run.mode, run.why, run.asked, run.told = "UPDATE", "", (), int(data["told"])
        for step in (_BRAINSTORM, _RESEARCH):
            is_over = run.planning.get(step) in (Mark.DONE, Mark.WORKING)
            run.planning[step] = Mark.DONE if is_over else Mark.CLOSED
        run.planning[_BREAKDOWN] = Mark.DONE
    elif answer in ("needs_qa_cycle", "needs_clarification"):
        run.asks, run.mode, run.asked = str(data.get("asks", "RESEARCH")), "QA_COORDINATE", tuple(data["questions"])
        run.planning[_BRAINSTORM] = Mark.WORKING if run.asks == "BRAINSTORM" else Mark.DONE
        run.planning[_RESEARCH] = Mark.OPEN if run.asks == "BRAINSTORM" else Mark.WORKING
        run.cycle, run.asked_at = len(run.cycles) + 1, entry.time
    if "goal" in data:
        run.plan = replace(run.plan, goal=data["goal"], text=data["text"], version=run.plan.version + 1)
        run.words += 1


def _selected(run: Run, entry: Entry, data: Data) -> None:
    run.task = entry.decoded_evidence().task
    if run.task is not None:
        _mark(run, run.task, mark=Mark.WORKING)
        if data.get("tree"):
            run.before.setdefault(run.task, str(data["tree"]))


def _pending(run: Run, entry: Entry, data: Data) -> None:
    run.task = entry.decoded_evidence().task


def _executed(run: Run, entry: Entry, data: Data) -> None:
    id_ = str(data["task"])
    answer = entry.decoded_evidence().facts["executor"]
    if answer != "invalid" and "part1" in data:
        # A resumed run counts attempts again from 1, and overwrites no report.
        number = max((one.attempt for one in run.reports.get(id_, ())), default=0) + 1
        _report(run, TaskReport(id_, number, convert(data["part1"], Part1)))
    if answer == "completed":
        _mark(run, id_, mark=Mark.PENDING)
        run.receipt = None  # whatever was verified before, this was not in it
    elif answer == "blocked":
        _mark(run, id_, mark=Mark.FAILED if entry.to_state == "Failed" else Mark.OPEN)
        run.why, run.mode, run.task = f"{id_} is blocked: {data['why']}", "UPDATE", None
    elif entry.to_state == "Failed":
        _mark(run, id_, mark=Mark.FAILED)
    elif data["is_over"]:
        _again(run, id_)


def _again(run: Run, id_: str) -> None:
    known = run.find(id_)
    _mark(run, id_, mark=Mark.OPEN, attempt=(known.attempt if known else 0) + 1)
    run.task = None


def _report(run: Run, report: TaskReport) -> None:
    run.reports.setdefault(report.task, []).append(report)


def _reviewed(run: Run, entry: Entry, data: Data) -> None:
    id_ = str(data["task"])
    verdict = entry.decoded_evidence().facts["verdict"]
    reports = run.reports.get(id_, [])
    if "part2" in data and reports:
        reports[-1] = replace(reports[-1], part2=convert(data["part2"], Part2))
        why = data["part2"].get("feedback") or data["part2"].get("reasoning", "")
        run.verdict = f"{id_}: {verdict}. {why}".strip()
    if verdict == "Qualified":
        known = run.find(id_)
        _prove(run, entry, f"{id_}: {known.description if known is not None else ''}")
        _mark(run, id_, mark=Mark.DONE)
        run.task = None
    elif entry.to_state == "Failed":
        _mark(run, id_, mark=Mark.FAILED)
    elif entry.to_state == "Executing":
        _again(run, id_)


def _goal_met(run: Run, entry: Entry, data: Data) -> None:
    _prove(run, entry, run.goal)


def _prove(run: Run, entry: Entry, subject: str) -> None:
    """Note the tree of the receipt as the one to be committed; a run that a thread drives commits nothing."""
    if run.beginning is not None and run.receipt is not None:
        run.proven = Proven(str(run.receipt["tree"]), " ".join(subject.split())[:_SUBJECT].rstrip(" :"), entry.version)


def _discovered(run: Run, entry: Entry, data: Data) -> None:
    """More tasks behind those that are there; one that is known already stays as it is."""
    known = {one.id for one in run.plan.tasks}
    fresh = tuple(convert(one, Task) for one in data["tasks"] if one["id"] not in known)
    _list(run, (*run.plan.tasks, *fresh))
    run.discovered += len(fresh)
    run.task = None


def _needed(run: Run, entry: Entry, data: Data) -> None:
    run.why, run.mode, run.task = entry.reason or str(data.get("why", "")), "UPDATE", None


def _wished(run: Run, entry: Entry, data: Data) -> None:
    known = run.find(run.task or "")
    if known is not None and known.mark is Mark.WORKING:
        _mark(run, known.id, mark=Mark.OPEN)
    run.wishes.append(entry.reason or "")
    run.mode, run.task, run.asks = ("UPDATE" if run.plan.tasks else run.mode), None, ""


def _unreached(run: Run, entry: Entry, data: Data) -> None:
    run.retry_at = float(data.get("until", 0.0))


_MOVES: Mapping[str, Tell] = {
    "session_resolved": _resolved,
    "planner_completed": _planned,
    "task_selected": _selected,
    "review_pending": _pending,
    "executor_completed": _executed,
    "reviewer_completed": _reviewed,
    "tasks_discovered": _discovered,
    "requirements_discovered": _needed,
    "requirements_added": _wished,
    "holistic_check_failed": _needed,
    "holistic_check_passed": _goal_met,
    "network_failed": _unreached,
}


# What was noted


def _placed(run: Run, entry: Entry, data: Data) -> None:
    run.beginning, run.tree = Beginning(data["branch"], data["commit"]), data["tree"]


def _committed(run: Run, entry: Entry, data: Data) -> None:
    run.proven, run.commit, run.branch = None, data["commit"] or run.commit, data["branch"]


def _tasks(run: Run, entry: Entry, data: Data) -> None:
    """A part of the plan: what an entry holds is limited, and a plan is not."""
    given = tuple(convert(one, Task) for one in data["tasks"])
    _list(run, (*(() if data["is_first"] else run.plan.tasks), *given))


def _asked(run: Run, entry: Entry, data: Data) -> None:
    told = {name: data[name] for name in ("role", "mode", "task", "attempt", "agent")}
    run.at_work, run.is_foreign = ActiveRole(**told, at=entry.time), True
    begin_run(run, data["task"] or "", entry, data)


def _invoked(run: Run, entry: Entry, data: Data) -> None:
    paid = end_run(run, data["task"] or "", entry, data)
    run.invocations.append(Invocation(**paid, mode=data["mode"], task=data["task"], attempt=data["attempt"]))
    if not data.get("guarded"):  # else the files may hold what the agent wrote, until what came of it is written
        run.at_work, run.is_foreign = None, False


def _released(run: Run, entry: Entry, data: Data) -> None:
    run.at_work, run.is_foreign = None, False


def _unusable(run: Run, entry: Entry, data: Data) -> None:
    run.unusable += 1
    run.complaint = str(data["complaint"])


def _cycled(run: Run, entry: Entry, data: Data) -> None:
    """One cycle, or more of the one that was begun."""
    cycle = convert(data["cycle"], Cycle)
    known = [one for one in run.cycles if one.number != cycle.number]
    run.cycles = [*known, cycle]
    is_open = any(one.status is not QuestionStatus.ANSWERED for one in cycle.questions)
    goes_on = run.asks == "BRAINSTORM" and is_open
    run.planning[_BRAINSTORM] = Mark.DONE
    run.planning[_RESEARCH] = Mark.WORKING if goes_on else Mark.DONE
    run.asks, run.complaint, run.unusable = "RESEARCH" if goes_on else "", "", 0
    run.asked_at = entry.time


def _verifying(run: Run, entry: Entry, data: Data) -> None:
    run.is_foreign = True


def _verified(run: Run, entry: Entry, data: Data) -> None:
    run.receipt, run.is_foreign = data["receipt"], False


def _projected(run: Run, entry: Entry, data: Data) -> None:
    for name, sha256 in data["files"].items():
        if name in run.projected:
            run.left.setdefault(name, set()).add(run.projected[name])
        run.projected[name] = sha256


def _read_back(run: Run, entry: Entry, data: Data) -> None:
    """Apply what a person changed in the files."""
    change(run, convert(data["changes"], tuple[Change, ...]), entry.time)
    for name, sha256 in data["files"].items():
        run.left.setdefault(name, set()).add(sha256)


def _beside(run: Run, entry: Entry, data: Data) -> None:
    """A file as a person wrote it, or more of it."""
    name = data["file"]
    run.beside[name] = ("" if data["is_first"] else run.beside.get(name, "")) + data["text"]


def change(run: Run, changes: Sequence[Change], at: str) -> None:
    """Apply a person's changes to a run."""
    _list(run, applied(run.plan.tasks, changes))
    for one in changes:
        if isinstance(one, Replanned):
            run.plan = replace(run.plan, text=one.text)
        elif isinstance(one, Answered):
            run.cycles = [_with_answer(cycle, one) for cycle in run.cycles]
            run.asked_at = at


def _with_answer(cycle: Cycle, answer: Answered) -> Cycle:
    if cycle.number != answer.cycle:
        return cycle
    questions = (answer.question if one.number == answer.question.number else one for one in cycle.questions)
    return replace(cycle, questions=tuple(questions))


def _resumed(run: Run, entry: Entry, data: Data) -> None:
    run.files, run.roles = dict(data.get("files", run.files)), dict(data.get("roles", run.roles))


def _carried(run: Run, entry: Entry, data: Data) -> None:
    """Take over the plan of the run before it on the same directory."""
    run.plan = replace(run.plan, goal=data["goal"], text=data["text"])
    run.told, run.why = int(data["told"]), str(data["why"])
    run.planning = {name: Mark(mark) for name, mark in data["planning"].items()}
    run.asked_at = entry.time


def _carried_more(run: Run, entry: Entry, data: Data) -> None:
    """More of that: an entry holds only so much."""
    run.projected.update(data.get("projected", {}))
    run.found.update(data.get("found", {}))
    run.wishes += data.get("wishes", ())
    run.cycles += [convert(one, Cycle) for one in data.get("cycles", ())]
    if "report" in data:
        _report(run, convert(data["report"], TaskReport))
    if "part2" in data:
        reports = run.reports[data["task"]]
        reports[-1] = replace(reports[-1], part2=convert(data["part2"], Part2))


_NOTES: Mapping[str, Tell] = {
    "placed": _placed,
    "committed": _committed,
    "carried": _carried,
    "carried_more": _carried_more,
    "tasks": _tasks,
    "asked": _asked,
    "invoked": _invoked,
    "released": _released,
    "unusable": _unusable,
    "cycle": _cycled,
    "verifying": _verifying,
    "verified": _verified,
    "projected": _projected,
    "read_back": _read_back,
    "beside": _beside,
    "resumed": _resumed,
}
