"""PURE. The meaning of a person's edits of a session's files.

Each file is compared as it was last projected with as it is, so only what a person changed is looked at, whatever has
happened in the run since. What counts becomes a change, and what does not a sentence with the file and its line.

A file that is gone means nothing: it is written again. Reports, instructions and the log are not edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.journal import CONTROL
from interlock.work.orchestration.changes import MOST_OF_ONE, Answered, Change, NotTaken, Replanned, is_too_long
from interlock.work.orchestration.run_files.document import Edit, EditKind, diff
from interlock.work.orchestration.run_files.names import PLAN, PROGRESS, QUESTIONS, TASKS
from interlock.work.orchestration.run_files.plan import parse_plan
from interlock.work.orchestration.run_files.progress import parse_progress
from interlock.work.orchestration.run_files.questions import QuestionSheet, parse_questions
from interlock.work.orchestration.run_files.tasks import parse_tasks
from interlock.work.orchestration.task_edits import task_edits
from interlock.work.orchestration.values import Confidence, Question, QuestionStatus, Task

__all__ = ["EDITABLE", "MOST", "Edits", "is_readable", "read_back", "unreadable", "with_plain_ends"]

EDITABLE: Final = frozenset({PLAN, QUESTIONS, TASKS, PROGRESS})
MOST: Final = 4 * 1024 * 1024
"""The characters of a file that are read."""
_FIXED: Final = "it was edited, and stays as it is: reports, instructions and the log only say what was"
_ADD: Final = "to ask for something else, use `ralph orchestrate add`"

Edits = tuple[tuple[Change, ...], tuple[NotTaken, ...]]


def read_back(tasks: Sequence[Task], projected: Mapping[str, str], found: Mapping[str, str]) -> Edits:
    """The edits of a run with these tasks: those that count, and those that do not."""
    told: list[Change | NotTaken] = []
    pairs: dict[str, tuple[str, str]] = {}
    for name, was in projected.items():
        now = found.get(name, was)
        if now != was and (wrong := unreadable(name, now)):
            told.append(wrong)
        elif now != was:
            pairs[name] = was, now
    progress, listed = pairs.pop(PROGRESS, None), pairs.pop(TASKS, None)
    changes, refused = task_edits(
        tasks,
        (parse_progress(progress[0]), parse_progress(progress[1])) if progress else None,
        (parse_tasks(listed[0]), parse_tasks(listed[1])) if listed else None,
    )
    told += [*changes, *refused]
    for name, (was, now) in pairs.items():
        if name == PLAN:
            told += _planned(was, now)
        elif name == QUESTIONS:
            told += _answers(parse_questions(was), parse_questions(now))
        else:
            told.append(NotTaken(name, _first_line(was, now), _FIXED))
    return (
        tuple(one for one in told if not isinstance(one, NotTaken)),
        tuple(one for one in told if isinstance(one, NotTaken)),
    )


def is_readable(name: str, text: str) -> bool:
    """True if an edit of the file is looked at line by line."""
    return name in EDITABLE and unreadable(name, text) is None


def unreadable(name: str, text: str) -> NotTaken | None:
    """The reason why nothing of a file is read: it is too long, or holds a control character."""
    if len(text) > MOST:
        return NotTaken(name, None, f"it has more than {MOST} characters, so nothing of it was read")
    plain = with_plain_ends(text)
    bad = CONTROL.search(plain)
    if bad is None:
        return None
    line = plain.count("\n", 0, bad.start()) + 1
    return NotTaken(name, line, f"the character U+{ord(bad[0]):04X} may not be in it, so nothing of it was read")


def with_plain_ends(text: str) -> str:
    """The text with our line ends, whatever editor wrote it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _first_line(was: str, now: str) -> int:
    """The first line that differs."""
    old, new = was.split("\n"), now.split("\n")
    same = (number for number, pair in enumerate(zip(old, new, strict=False), 1) if pair[0] != pair[1])
    return next(same, min(len(old), len(new)))


def _planned(was: str, now: str) -> Iterator[Change | NotTaken]:
    (old_goal, old), (goal, text) = parse_plan(was), parse_plan(now)
    if goal != old_goal:
        yield NotTaken(PLAN, _first_line(was, now), f"the goal stays what was asked for; {_ADD}")
    if text != old and is_too_long(text):
        yield NotTaken(PLAN, None, f"the plan has more than {MOST_OF_ONE} bytes; say it in fewer words")
    elif text != old:
        yield Replanned(text)


# Questions


def _answers(before: QuestionSheet, after: QuestionSheet) -> Iterator[Change | NotTaken]:
    for edit in diff(before.blocks, after.blocks):
        cycle, _, number = edit.key.partition("/")
        what = f"question {number} of cycle {cycle}"
        match edit.kind:
            case EditKind.REPEATED:
                yield NotTaken(QUESTIONS, edit.line, f"{what} is there twice")
            case EditKind.ADDED:
                yield NotTaken(QUESTIONS, edit.line, f"the questioner asks the questions; {_ADD}")
            case EditKind.CHANGED:
                yield from _answer(int(cycle), what, edit)
            case EditKind.REMOVED:
                yield NotTaken(QUESTIONS, None, f"{what} was taken out, and stays: its answer may be needed")
    if [replace(one, questions=()) for one in before.cycles] != [replace(one, questions=()) for one in after.cycles]:
        yield NotTaken(QUESTIONS, None, "the summaries and insights are the questioner's, and stay as they are")


def _answer(cycle: int, what: str, edit: Edit[Question]) -> Iterator[Change | NotTaken]:
    old, now = edit.was, edit.now
    theirs = replace(now, answer=old.answer, source=old.source, status=old.status, confidence=old.confidence)
    if theirs != old:
        yield NotTaken(QUESTIONS, edit.line, f"{what} stays as it was asked; only its answer can be written")
    if now.answer and (now.answer, now.source) != (old.answer, old.source):
        sure = now.confidence if now.confidence is not old.confidence else Confidence.HIGH
        source = now.source if now.source != old.source else ""
        answered = replace(old, answer=now.answer, source=source, status=QuestionStatus.ANSWERED, confidence=sure)
        if is_too_long(answered):
            why = f"the answer to {what} has more than {MOST_OF_ONE} bytes; say it in fewer words"
            yield NotTaken(QUESTIONS, edit.line, why)
        else:
            yield Answered(cycle, answered)
    elif old.answer and not now.answer:
        yield NotTaken(QUESTIONS, edit.line, f"the answer to {what} was taken out, and stays; write another")
    elif (now.status, now.confidence, now.source) != (old.status, old.confidence, old.source):
        yield NotTaken(QUESTIONS, edit.line, f"{what} has no new answer: write it behind `**Answer**:`")
