"""PURE. What a loop's entries add up to: a table of what each move says of the stories, and one of what was noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.machine.model import NOTED, SUPERSEDED
from interlock.machine.states import shipped_state
from interlock.work.budget import Amount
from interlock.work.driver.fold import fold
from interlock.work.driver.record import Beginning, OpenRun, begin_run, end_run, take_note
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import IterationStatus, LoopMetrics, Progress, StoryProgress, StoryStatus
from interlock.work.stories.record import Attempt, Loop
from interlock.work.stories.stuck import Facts, first_line

__all__ = ["after", "fresh", "loop_of", "take"]

Data = dict[str, Any]
Tell = Callable[[Loop, Data], None]

_STAYING = "story_unblocked"
"""A person's word, in whatever state the loop is: it is not left by it."""
_IN_THE_COMMIT = frozenset({"committed", "all_complete", "only_blocked_left"})
"""The moves whose `progress.txt` is in the commit before them, so that they bring no time of their own."""
_REMEMBERED = 4


def loop_of(entries: Iterable[Entry]) -> Loop:
    """What these entries, all of one loop from its first on, add up to."""
    return fold(Loop(), take, entries)


def take(loop: Loop, entry: Entry) -> None:
    """Let a loop be as it is after its next entry."""
    data = entry.decoded_evidence().data
    loop.version, loop.updated = entry.version, entry.time
    if entry.version == 1:
        loop.id, loop.started, loop.options = entry.instance, entry.time, dict(data.get("options", {}))
        _carried(loop, data)
    if entry.event == NOTED:
        take_note(loop, entry, data)
        _take_run(loop, entry, data)
        _NOTES.get(data.get("type", ""), _nothing)(loop, data)
    else:
        _move(loop, entry, data)


def _carried(loop: Loop, data: Data) -> None:
    """What the day has seen before this loop."""
    if (carried := data.get("carried")) is not None:
        spent = Amount.of(carried["seconds"], carried["tokens"], carried["usd"])
        loop.books.carry(carried["day"], spent, carried["iterations"])


def _move(loop: Loop, entry: Entry, data: Data) -> None:
    if entry.event != _STAYING:
        if entry.from_state is not None:
            _left(loop, entry.from_state)
        loop.state, loop.entered = entry.to_state, entry.version
        loop.ran = None
        loop.guarded = loop.guarded if entry.event == SUPERSEDED else {}  # what was guarded must still be put back
    if shipped_state("story", entry.to_state).terminal or entry.event == SUPERSEDED:
        loop.outcome = entry.event
    after(loop, entry.event, data)
    if entry.event not in _IN_THE_COMMIT:
        loop.progress = replace(loop.progress, last_updated=entry.time)


def _left(loop: Loop, state: str) -> None:
    """The last executed state, as `progress.txt` names it."""
    if loop.story:
        loop.set_story(loop.story, last_action=state.lower())


def after(loop: Loop, event: str, data: Data) -> None:
    """Let a loop be as it will be after a move that brings this."""
    _MOVES.get(event, _nothing)(loop, data)
    if "retry_count" in data and loop.story:
        loop.set_story(loop.story, retry_count=data["retry_count"])
    loop.progress = replace(loop.progress, iteration=loop.iteration)


def _nothing(loop: Loop, data: Data) -> None:
    """It says nothing of the stories."""


# What the moves say


def _found(loop: Loop, data: Data) -> None:
    if "progress" in data:
        loop.progress = convert(data["progress"], Progress)
        loop.projected = [data["sha256"]]
        loop.branch = data.get("branch")


def _recalled(loop: Loop, data: Data) -> None:
    loop.known = list(data.get("known", ()))
    loop.set_iteration(neo4j_connected=bool(data.get("server")), pending_neo4j_logs=len(loop.unsent))


def _selected(loop: Loop, data: Data) -> None:
    if (loop.story, loop.task) != (data["story"], data["task_id"]):  # a fresh agent goes on with what is there
        loop.story, loop.task, loop.base = data["story"], data["task_id"], data["tree"]
        loop.failure, loop.facts, loop.weakened = "", [], []
    told = {"current_task": data["task_id"], "last_action": "story_select"}
    loop.set_story(data["story"], status=StoryStatus.IN_PROGRESS, **told)


def _completed(loop: Loop, data: Data) -> None:
    counts = {"tasks_completed": data["tasks"], "tasks_total": data["tasks"]}
    loop.set_story(data["story"], status=StoryStatus.COMPLETE, current_task=None, retry_count=0, **counts)


def _retried(loop: Loop, data: Data) -> None:
    loop.retried.add(data["story"])
    _unblock(loop, data["story"])


def _unblocked(loop: Loop, data: Data) -> None:
    loop.retried.discard(data["story"])
    loop.blocked_at.pop(data["story"], None)
    _unblock(loop, data["story"])


def _unblock(loop: Loop, story: str) -> None:
    known = loop.progress.story(story)
    if known is not None:
        status = StoryStatus.IN_PROGRESS if known.current_task else StoryStatus.NOT_STARTED
        blockers = [name for name in StoryProgress.__struct_fields__ if "block" in name or name == "neo4j_event_id"]
        gone = dict.fromkeys([*blockers, "requires_human"])
        loop.set_story(story, status=status, retry_count=0, **gone)


def _failed(loop: Loop, data: Data) -> None:
    loop.failure = str(data["failure"])
    facts = convert(data["facts"], Facts)
    loop.facts.append(facts)
    task = task_name(loop.story or "", loop.task or "")
    loop.alike = [one for one in loop.alike if one != task] if facts.way == loop.way else []
    loop.alike.append(task)
    loop.way, loop.way_said = facts.way, first_line(loop.failure)
    loop.tests = str(data.get("output", loop.tests))
    loop.judged = list(data.get("judged", loop.judged))


def _exhausted(loop: Loop, data: Data) -> None:
    _failed(loop, data)
    loop.context.append(data["summary"])


def _written(loop: Loop, data: Data) -> None:
    loop.weakened = list(data.get("tests", ()))


def _passed(loop: Loop, data: Data) -> None:
    loop.tests, loop.tested = str(data["output"]), str(data["tree"])


def _met(loop: Loop, data: Data) -> None:
    loop.judged = list(data["judged"])


def _committed(loop: Loop, data: Data) -> None:
    loop.last_commit = data["commit"] or loop.last_commit
    loop.alike = []
    loop.retried.discard(data["story"])  # the next task may be tried once more, too
    loop.set_metrics(tasks_completed_this_session=loop.progress.metrics.tasks_completed_this_session + 1)
    following = data["next"] or data["task_id"]
    told = {"tasks_completed": data["done"], "last_commit": loop.last_commit, "last_action": "commit"}
    loop.set_story(data["story"], current_task=following, retry_count=0, **told)
    loop.story = loop.task = None


def _blocked(loop: Loop, data: Data) -> None:
    loop.blocked_at[data["story"]] = loop.iteration
    loop.set_metrics(blockers_encountered=loop.progress.metrics.blockers_encountered + 1)
    loop.set_story(
        data["story"],
        status=StoryStatus.BLOCKED,
        retry_count=data["retry_count"],
        blocker_reason=data["reason"],
        blocker_type=data["type"],
        blocker_logged_to_neo4j=data["logged"],
        neo4j_event_id=data["event_id"],
        requires_human=True,
    )
    loop.story = loop.task = None


def _only_blocked(loop: Loop, data: Data) -> None:
    loop.needs, loop.last_commit = dict(data["needs"]), data["commit"]


def _all_complete(loop: Loop, data: Data) -> None:
    loop.last_commit = data["commit"]


def _explained(loop: Loop, data: Data) -> None:
    loop.explanation = data["explanation"]


_MOVES: Mapping[str, Tell] = {
    "progress_found": _found,
    "progress_missing": _explained,
    "progress_invalid": _explained,
    "memory_loaded": _recalled,
    "memory_unavailable": _recalled,
    "task_selected": _selected,
    "story_completed": _completed,
    "blocker_retried": _retried,
    "story_unblocked": _unblocked,
    "attempt_failed": _failed,
    "tests_failed": _failed,
    "test_runner_missing": _failed,
    "criteria_failed": _failed,
    "git_failed": _failed,
    "context_exhausted": _exhausted,
    "code_written": _written,
    "tests_passed": _passed,
    "criteria_met": _met,
    "committed": _committed,
    "blocker_logged": _blocked,
    "only_blocked_left": _only_blocked,
    "all_complete": _all_complete,
}


# What the notes say


def _projected(loop: Loop, data: Data) -> None:
    loop.projected = [*loop.projected[1 - _REMEMBERED :], data["sha256"]]


def _read_back(loop: Loop, data: Data) -> None:
    loop.progress = convert(data["progress"], Progress)
    _projected(loop, data)


def _guarded(loop: Loop, data: Data) -> None:
    before = {} if "files" in data else loop.listed  # where all are told, none is as it was
    loop.listed = {**before, **(data["files"] if "files" in data else data["changed"])}
    for name in data.get("gone", ()):
        loop.listed.pop(name, None)
    loop.guarded = loop.listed  # neither is changed in place once it is told


def _placed(loop: Loop, data: Data) -> None:
    loop.beginning = Beginning(data["branch"], data["commit"])


def _released(loop: Loop, data: Data) -> None:
    loop.guarded = {}


def _take_run(loop: Loop, entry: Entry, data: Data) -> None:
    if data.get("type") == "begun":
        begin_run(loop, data["task"], entry, data)
    elif data.get("type") == "iteration":
        paid = end_run(loop, data["task"], entry, data)
        loop.attempts.append(Attempt(**paid, number=data["iteration"], task=data["task"]))


def _begun(loop: Loop, data: Data) -> None:
    if data["role"] == "implementer":
        if data["iteration"] != loop.iteration:
            loop.books.begin(loop.updated[:10])
        loop.iteration, loop.begun = data["iteration"], loop.entered
        loop.progress = replace(loop.progress, iteration=loop.iteration)
        loop.set_iteration(ralph_instance_id=f"ralph-{loop.iteration}", start_time=data["at"])


def _ended(loop: Loop, data: Data) -> None:
    attempt = loop.attempts[-1]
    if attempt.counts and attempt.role == "implementer":
        loop.worked = (loop.worked[0] + 1, loop.worked[1] + attempt.seconds)
    if attempt.counts:
        percent = data["context_percent"] or 0.0
        loop.ran = OpenRun(data["ending"], data["exit"], data.get("promise"), data["said"], attempt.agent, percent)
        _let_go(loop, data["told_to"] - loop.let_go if "told_to" in data else data["told"])
    number, seconds = loop.worked
    loop.set_metrics(avg_iteration_time_ms=int(1000 * seconds / number) if number else 0)
    if data["context_percent"] is not None:
        loop.set_iteration(brooks_context_window_used=f"{data['context_percent']:.0f}%")


def _let_go(loop: Loop, number: int) -> None:
    """Let the first ones go of what a person added; none, where they were taken back already."""
    gone = loop.context[: max(0, number)]
    del loop.context[: len(gone)]
    loop.let_go += len(gone)


def _context_added(loop: Loop, data: Data) -> None:
    loop.context.append(data["text"])


def _context_cleared(loop: Loop, data: Data) -> None:
    _let_go(loop, len(loop.context))


def _resumed(loop: Loop, data: Data) -> None:
    loop.alike = []  # a person has seen it


def _skipped(loop: Loop, data: Data) -> None:
    loop.skipped.add(data["story"])


def _limit_changed(loop: Loop, data: Data) -> None:
    loop.limits[data["name"]] = data["value"]


def _remembered(loop: Loop, data: Data) -> None:
    loop.unsent[data["event"]["id"]] = data["event"]
    loop.set_iteration(pending_neo4j_logs=len(loop.unsent))


def _sent(loop: Loop, data: Data) -> None:
    for one in data["ids"]:
        loop.unsent.pop(one, None)
        loop.sent.add(one)
    if data.get("server"):  # also the blocker of a story that had to wait for the server
        for story in [story for story in loop.progress.stories if story.neo4j_event_id in data["ids"]]:
            loop.set_story(story.id, blocker_logged_to_neo4j=True)
    loop.set_iteration(pending_neo4j_logs=len(loop.unsent))


_NOTES: Mapping[str, Tell] = {
    "placed": _placed,
    "projected": _projected,
    "read_back": _read_back,
    "guarded": _guarded,
    "released": _released,
    "begun": _begun,
    "iteration": _ended,
    "context_added": _context_added,
    "context_cleared": _context_cleared,
    "resumed": _resumed,
    "skipped": _skipped,
    "limit_changed": _limit_changed,
    "remembered": _remembered,
    "sent": _sent,
}


def fresh(progress: Progress) -> Progress:
    """What a file said, without what an earlier loop left of its iteration."""
    return replace(progress, current_iteration=IterationStatus(), metrics=LoopMetrics())
