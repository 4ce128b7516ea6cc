"""PURE. The news of a run, in words: a line for each entry that a person who watches it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from interlock.journal import Entry
from interlock.machine.model import NOTED
from interlock.work.orchestration.record import AtWork

__all__ = ["AtWork", "RunNews", "news_of", "words_of"]

Data = dict[str, Any]
_ABOUT = 300
_MISSING = "something is missing"


def words_of(asked: AtWork) -> str:
    """The role at work and its task, in a few words."""
    again = f", attempt {asked.attempt}" if asked.task and asked.attempt > 1 else ""
    about = f" on {asked.task}{again}" if asked.task else f" {asked.mode}" if asked.mode else ""
    return f"{asked.role} {asked.agent}{about}"


class RunNews(msgspec.Struct, frozen=True):
    """An event of a run: its name, its task, and a sentence."""

    event: str
    text: str
    task: str | None
    at: str
    is_good: bool | None = None
    """None where it is neither."""


def news_of(entry: Entry) -> AtWork | RunNews | None:
    """The news in an entry of a run; None for our own bookkeeping."""
    evidence = entry.decoded_evidence()
    data, facts = evidence.data, evidence.facts
    name = str(data.get("type", "")) if entry.event == NOTED else entry.event
    if name == "asked":
        return AtWork(data["role"], data["mode"], data["task"], data["attempt"], data["agent"])
    tell = _NEWS.get(name)
    if tell is None:
        return None
    text, is_good = tell(entry, data, facts)
    if entry.to_state == "Failed" and entry.from_state != "Failed":
        is_good = False
    text = " ".join(text.split())
    about = text if len(text) <= _ABOUT else f"{text[:_ABOUT]}…"
    return RunNews(name, about, _task(evidence.task, data), entry.time, is_good)


def _task(selected: str | None, data: Data) -> str | None:
    known = selected or data.get("task")
    return known if isinstance(known, str) else None


Told = tuple[str, bool | None]
Facts = Mapping[str, str]
Tell = Callable[[Entry, Data, Facts], Told]


def _planned(entry: Entry, data: Data, facts: Facts) -> Told:
    match facts.get("planner"):
        case "completed":
            return "the plan is made", True
        case "invalid":
            return entry.reason or "the planner's answer cannot be used", False
        case "blocked":
            return entry.reason or "the planner is blocked", False
    asked = [str(one) for one in data.get("questions", ())]
    return f"the planner asks: {'; '.join(asked) or 'it did not say what'}", None


def _selected(entry: Entry, data: Data, facts: Facts) -> Told:
    task = entry.decoded_evidence().task
    return (f"{task} is next" if entry.event == "task_selected" else f"{task} waits for its review"), None


def _executed(entry: Entry, data: Data, facts: Facts) -> Told:
    task, about = data.get("task"), str(data.get("part1", {}).get("summary_of_changes", ""))
    match facts.get("executor"):
        case "completed":
            return f"{task} [P] is to be reviewed{f': {about}' if about else ''}", None
        case "invalid":
            return entry.reason or f"the answer about {task} cannot be used", False
    how = "is blocked" if facts.get("executor") == "blocked" else "failed"
    return f"{task} {how}: {data.get('why') or entry.reason or 'no reason was given'}", False


def _reviewed(entry: Entry, data: Data, facts: Facts) -> Told:
    task, part2 = data.get("task"), data.get("part2", {})
    if facts.get("verdict") == "Qualified":
        return f"{task} [x] Qualified: {part2.get('reasoning') or 'no reason was given'}", True
    if facts.get("verdict") == "invalid":
        return entry.reason or f"the verdict on {task} cannot be used", False
    why = part2.get("feedback") or part2.get("reasoning") or entry.reason or "no reason was given"
    left = "" if entry.to_state == "Failed" else f"; attempt {int(data.get('attempt', 1)) + 1} is next"
    return f"{task} Failed{left}: {why}", False


def _wished(entry: Entry, data: Data, facts: Facts) -> Told:
    back = "" if entry.from_state == "Planning" else "; what was begun is put back, and counts as no attempt"
    return f"{entry.actor_id} wants more: {entry.reason or ''}. The planner is next{back}", None


def _invoked(entry: Entry, data: Data, facts: Facts) -> Told:
    cost = f", ${data['cost_usd']:.2f}" if data.get("cost_usd") else ""
    ending = str(data["ending"])
    told = f"{data['role']} {data['agent']}: {ending}, {data['seconds']:.0f} s{cost}"
    return told, None if ending == "finished" else False


def _cycled(entry: Entry, data: Data, facts: Facts) -> Told:
    cycle = data["cycle"]
    asked = cycle.get("questions", ())
    answered = sum(one.get("status") == "Answered" for one in asked)
    return f"questions and answers, cycle {cycle['number']}: {answered} of {len(asked)} answered", None


def _read_back(entry: Entry, data: Data, facts: Facts) -> Told:
    count = len(data.get("changes", ()))
    return f"the files were edited: {count} {'change' if count == 1 else 'changes'} taken in", None


def _stopped(entry: Entry, data: Data, facts: Facts) -> Told:
    if entry.actor_kind == "system":
        return f"it rests: {data.get('reason', '')}", False
    why = f": {data['reason']}" if data.get("reason") else ""
    return f"{entry.actor_id} lets it rest{why}", None


def _resumed(entry: Entry, data: Data, facts: Facts) -> Told:
    said = f": {data['said']}" if data.get("said") else ""
    return f"{entry.actor_id} lets it go on{said}", None


_NEWS: Mapping[str, Tell] = {
    "planner_completed": _planned,
    "task_selected": _selected,
    "review_pending": _selected,
    "executor_completed": _executed,
    "reviewer_completed": _reviewed,
    "tasks_discovered": lambda entry, data, facts: (
        f"found on the way: {', '.join(str(one.get('id', '')) for one in data.get('tasks', ()))}",
        None,
    ),
    "requirements_discovered": lambda entry, data, facts: (f"it is planned again: {entry.reason or _MISSING}", False),
    "requirements_added": _wished,
    "no_tasks_remaining": lambda *told: ("all tasks are closed; the whole is compared with the goal", None),
    "holistic_check_passed": lambda entry, *told: (f"the goal is met: {entry.reason or 'nothing is missing'}", True),
    "holistic_check_failed": lambda entry, *told: (f"the goal is not met yet: {entry.reason or _MISSING}", False),
    "network_failed": lambda entry, *told: (entry.reason or "", False),
    "error": lambda entry, *told: (entry.reason or "", False),
    "invoked": _invoked,
    "unusable": lambda entry, data, facts: (f"the answer cannot be used: {data.get('complaint', '')}", False),
    "cycle": _cycled,
    "read_back": _read_back,
    "task_reopened": lambda entry, *told: (
        f"{entry.decoded_evidence().task} is open again: it was unticked",
        None,
    ),
    "tasks_edited": lambda *told: ("tasks were added or unticked, so the goal is not checked yet", None),
    "paused": _stopped,
    "stopped": _stopped,
    "resumed": _resumed,
}
