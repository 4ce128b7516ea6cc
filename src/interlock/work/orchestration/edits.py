"""PURE. What a person's edits of a session's files mean.

Each file is compared as it was last projected with as it is, so that only what somebody changed is looked at, whatever
has happened in the run since. What counts comes out as changes, what does not as a sentence with the file and its line.

A file that is gone says nothing: it is written again. Reports, instructions and the log are not edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.journal import CONTROL
from interlock.work.orchestration.changes import MOST_OF_ONE, Answered, Change, NotTaken, Replanned, is_too_long
from interlock.work.orchestration.run_files.plan import parse_plan
from interlock.work.orchestration.run_files.progress import parse_progress
from interlock.work.orchestration.run_files.questions import FileQuestion, QuestionSheet, parse_questions
from interlock.work.orchestration.run_files.tasks import parse_tasks
from interlock.work.orchestration.task_edits import PROGRESS, TASKS, task_edits
from interlock.work.orchestration.values import Confidence, Question, QuestionStatus, Task

__all__ = [
    "EDITABLE",
    "MOST",
    "PLAN",
    "QUESTIONS",
    "Edits",
    "is_readable",
    "read_back",
    "unreadable",
    "with_plain_ends",
]

PLAN: Final = "plan.md"
QUESTIONS: Final = "plan.questions.md"
EDITABLE: Final = frozenset({PLAN, QUESTIONS, TASKS, PROGRESS})
MOST: Final = 4 * 1024 * 1024
"""More characters of a file are not read."""
_FIXED: Final = "it was edited, and stays as it is: reports, instructions and the log only say what was"
_ADD: Final = "to ask for something else, use `ralph orchestrate add`"

Edits = tuple[tuple[Change, ...], tuple[NotTaken, ...]]


def read_back(tasks: Sequence[Task], projected: Mapping[str, str], found: Mapping[str, str]) -> Edits:
    """What the edits mean for a run with these tasks: what counts, and what does not."""
    refused: list[NotTaken] = []
    edited: dict[str, tuple[str, str]] = {}
    for name, was in projected.items():
        now = found.get(name, was)
        if now != was and (wrong := unreadable(name, now)):
            refused.append(wrong)
        elif now != was:
            edited[name] = was, now
    sheets = edited.pop(PROGRESS, None), edited.pop(TASKS, None)
    changes, not_taken = task_edits(
        tasks,
        (parse_progress(sheets[0][0]), parse_progress(sheets[0][1])) if sheets[0] else None,
        (parse_tasks(sheets[1][0]), parse_tasks(sheets[1][1])) if sheets[1] else None,
    )
    found_changes, refused = [*changes], [*refused, *not_taken]
    for name, (was, now) in edited.items():
        if name == PLAN:
            more: Iterator[Change | NotTaken] = _planned(was, now)
        elif name == QUESTIONS:
            more = _answers(parse_questions(was), parse_questions(now))
        else:
            more = iter([NotTaken(name, _first_line(was, now), _FIXED)])
        for one in more:
            if isinstance(one, NotTaken):
                refused.append(one)
            else:
                found_changes.append(one)
    return tuple(found_changes), tuple(refused)


def is_readable(name: str, text: str) -> bool:
    """Whether an edit of a file is looked at, line by line."""
    return name in EDITABLE and unreadable(name, text) is None


def unreadable(name: str, text: str) -> NotTaken | None:
    """Why nothing of a file is read: it is too long, or holds what no text may."""
    if len(text) > MOST:
        return NotTaken(name, None, f"it has more than {MOST} characters, so nothing of it was read")
    plain = with_plain_ends(text)
    bad = CONTROL.search(plain)
    if bad is None:
        return None
    line = plain.count("\n", 0, bad.start()) + 1
    return NotTaken(name, line, f"the character U+{ord(bad[0]):04X} may not be in it, so nothing of it was read")


def with_plain_ends(text: str) -> str:
    """A text whose lines end as ours do, whatever editor wrote it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _first_line(was: str, now: str) -> int:
    """The first line that is another."""
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
    was = {(one.cycle, one.question.number): one for one in before.asked}
    seen: set[tuple[int, int]] = set()
    for one in after.asked:
        key = one.cycle, one.question.number
        old = was.get(key)
        if key in seen:
            yield NotTaken(QUESTIONS, one.line, f"question {key[1]} of cycle {key[0]} is there twice")
        elif old is None:
            yield NotTaken(QUESTIONS, one.line, f"the questioner asks the questions; {_ADD}")
        elif old.question != one.question:
            yield from _answer(old.question, one)
        seen.add(key)
    for key in was:
        if key not in seen:
            why = f"question {key[1]} of cycle {key[0]} was taken out, and stays: its answer may be needed"
            yield NotTaken(QUESTIONS, None, why)
    if _said(before) != _said(after):
        yield NotTaken(QUESTIONS, None, "the summaries and insights are the questioner's, and stay as they are")


def _answer(old: Question, one: FileQuestion) -> Iterator[Change | NotTaken]:
    now, what = one.question, f"question {one.question.number} of cycle {one.cycle}"
    theirs = replace(now, answer=old.answer, source=old.source, status=old.status, confidence=old.confidence)
    if theirs != old:
        yield NotTaken(QUESTIONS, one.line, f"{what} stays as it was asked; only its answer can be written")
    if now.answer and (now.answer, now.source) != (old.answer, old.source):
        sure = now.confidence if now.confidence is not old.confidence else Confidence.HIGH
        source = now.source if now.source != old.source else ""
        answered = replace(old, answer=now.answer, source=source, status=QuestionStatus.ANSWERED, confidence=sure)
        if is_too_long(answered):
            why = f"the answer to {what} has more than {MOST_OF_ONE} bytes; say it in fewer words"
            yield NotTaken(QUESTIONS, one.line, why)
        else:
            yield Answered(one.cycle, answered)
    elif old.answer and not now.answer:
        yield NotTaken(QUESTIONS, one.line, f"the answer to {what} was taken out, and stays; write another")
    elif (now.status, now.confidence, now.source) != (old.status, old.confidence, old.source):
        yield NotTaken(QUESTIONS, one.line, f"{what} has no new answer: write it behind `**Answer**:`")


def _said(sheet: QuestionSheet) -> list[object]:
    """All but the questions."""
    return [replace(one, questions=()) for one in sheet.cycles]
