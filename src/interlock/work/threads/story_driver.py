"""A story loop as the driver of a thread: the spec is its story, and what failed is a story that mends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from interlock.journal import Journal, Transaction
from interlock.machine import Event
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.stories.context import StoryContext, read_text, write_text
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.opening import LoopOptions, make_story_context
from interlock.work.stories.progress import FILE, Progress, StoryProgress, StoryStatus
from interlock.work.stories.progress_file import parse, template, written
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.threads.child_spending import ChildSpending
from interlock.work.threads.children import Child, ChildPart
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import spec_of

__all__ = ["STORY"]

_STORIES = ".ralf/stories"
"""Where the stories lie that a thread makes of its spec: in its work tree, and out of git's sight."""


def _begin(step: ThreadStep) -> str:
    """A loop over the spec as its story, or over what failed as a story that mends it."""
    _write_story(step)
    id_ = begin(_story_context(step), parent=step.thread.id)
    step.note("child", id=id_)
    return id_


def _hindrance(step: ThreadStep) -> str | None:
    """Nothing that its loop would not find itself."""
    return None


def _fits(step: ThreadStep, id_: str) -> bool:
    """Always: its agents are those of the thread, whoever they are when it goes on."""
    return True


def _wake(step: ThreadStep, id_: str) -> None:
    thread, notes = step.thread, []
    if loop_of(step.context.journal.history(id_)).paused is not None:
        notes.append(noted("resumed"))
    if thread.feedback and not thread.is_heard:
        notes.append(noted("context_added", text=thread.feedback))
    step.context.journal.transact(lambda transaction: _tell_on(transaction, step, id_, notes))
    step.catch_up()


def _drive(step: ThreadStep, id_: str) -> StepResult:
    context = step.thread.context
    if context and step.context.journal.instance(id_).outcome is None:
        notes = [noted("context_added", text=text) for text in context]
        step.context.journal.transact(lambda transaction: _tell_on(transaction, step, id_, notes, len(context)))
    spending = ChildSpending(step)
    loop = drive(_story_context(step, step.context.child(step.root, spending, spending.report)), id_).loop
    return _concluded(step, loop, spending)


def _tell_on(transaction: Transaction, step: ThreadStep, id_: str, notes: Sequence[Event], told: int = 0) -> None:
    """Write notes on the loop, and on the thread that it was told, with so much of what a person added."""
    for one in notes:
        transaction.append(id_, one)
    transaction.append(step.thread.id, noted("child", id=id_, told=told), lease=step.lease)


def _parts(journal: Journal, id_: str) -> tuple[str, tuple[ChildPart, ...]]:
    loop = loop_of(journal.history(id_))
    return loop.state, tuple(
        ChildPart(one.id, str(one.status), one.current_task or "") for one in loop.progress.stories
    )


def _concluded(step: ThreadStep, loop: Loop, spending: ChildSpending) -> StepResult:
    told: dict[str, Any] = {"child": loop.id, "spent": list(loop.spent())}
    match loop.outcome:
        case "all_complete" if loop.iteration:
            return step.event("claims_done", **told)
        case "all_complete":
            why = "the story loop found nothing to do, and that alone proves nothing"
        case "only_blocked_left":
            needs = "; ".join(f"{story}: {why}" for story, why in loop.needs.items())
            why = f"only blocked stories are left: {needs}"
        case None if loop.paused is not None and not step.context.pausing.is_set():
            why = f"the story loop rests: {loop.paused.reason}"
            if loop.paused.cause == "budget":
                return step.event("budget_exhausted", why, **told)
        case None if (over := spending.overdrawn()) is not None:
            return step.event("budget_exhausted", over, **told)
        case None | "superseded":  # a person chose another driver meanwhile
            return NoEvent.RETRY
        case _:
            why = f"the story loop cannot begin: {loop.explanation}"
    return step.event("driver_failed", why, **told)


def _story_context(step: ThreadStep, context: DriverContext | None = None) -> StoryContext:
    asked = LoopOptions(rotation=step.config.agents, prompt=f"This is part of: {step.thread.title}")
    made = make_story_context(context or replace(step.context, root=step.root), asked, spec_of(step).criteria)
    return replace(made, agent_tree=step.tree)


def _write_story(step: ThreadStep) -> None:
    """Give the loop its work: the spec as a story, or what failed as a story that mends it."""
    thread, root, files = step.thread, step.root, step.context.ports.files
    path = root / FILE
    text = read_text(path, root)
    if text is not None and not thread.feedback:
        return
    progress, story = parse(text) if text is not None else None, _story(step, thread.feedback)
    if progress is not None and _waits(step, progress, story):
        return
    known = {one.id for one in progress.stories} if progress is not None else set()
    number = next(n for n in range(1, 10_000) if f"fix-{n}" not in known)
    id_ = f"fix-{number}" if text is not None else "story-1-1"
    file = f"{_STORIES}/{thread.id[-6:]}-{id_}.md"
    # The tree is the agents': a link in it must not lead what we write out of it.
    step.context.ports.folder(root).write(file, story.encode("utf-8", "surrogateescape"))
    if progress is None:
        write_text(files, path, template(thread.title, [(id_, file)], thread.updated))
    else:
        fresh = StoryProgress(id_, StoryStatus.NOT_STARTED, file)
        write_text(files, path, written(text, replace(progress, stories=(*progress.stories, fresh))))


def _waits(step: ThreadStep, progress: Progress, story: str) -> bool:
    """True if the same story was not begun yet: its loop could not begin, or its driver died."""
    read, content = step.context.ports.files.read_below, story.encode("utf-8", "surrogateescape")
    waiting = [one.file for one in progress.stories if one.status is StoryStatus.NOT_STARTED and one.file]
    return any(read(step.root, file, len(content) + 1) == content for file in waiting)


def _story(step: ThreadStep, feedback: str) -> str:
    spec, revision = spec_of(step), step.thread.revision
    assert revision is not None  # `spec_of` has read it
    criteria = "\n".join(f"{one.number}. {one.text}" for one in spec.criteria)
    numbers = ", ".join(str(one.number) for one in spec.criteria)
    what = "Mend what failed" if feedback else "Build what the spec says"
    why = f"\n## What failed\n\n{feedback.strip()}\n" if feedback else ""
    return (
        f"# {step.thread.title}\n\n## Acceptance Criteria\n\n{criteria}\n\n"
        f"## Tasks / Subtasks\n\n- [ ] {what} (AC: {numbers})\n{why}\n## Dev Notes\n\n{revision.text}\n"
    )


def _spent(reader: Journal | Transaction, id_: str) -> tuple[float, float, int]:
    return loop_of(reader.history(id_)).spent()


STORY = Child("story", _begin, _hindrance, _fits, _wake, _drive, _parts, _spent)
