"""COMMIT: the box, `progress.txt` and the work as one commit that can be found again.

The id of the memory's event is made first and stands in the commit. So a commit that a crash came after is found by
it and not made again, and the event is sent last, once. The loop's own files are guarded until then: a commit that
cannot be made leaves them as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.errors import InterlockError
from interlock.work.driver.agent_tree import AgentTree
from interlock.work.driver.system import StepResult
from interlock.work.stories.context import named, read_text, write_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import guard, project, put_back
from interlock.work.stories.mirror import take_in, write_out
from interlock.work.stories.prd import PRD, passed
from interlock.work.stories.remembering import remember
from interlock.work.stories.replay import after
from interlock.work.stories.stories import Story, Subtask
from interlock.work.stories.story_files import checked, recorded, with_status
from interlock.work.stories.stuck import Facts, fingerprint
from interlock.world.git import Looking
from interlock.world.memory import EventType

__all__ = ["commit_aside", "commit_end", "commit_task"]

_TRAILER = "Ralph-Event"
_GIT = frozenset({"git_failed", "git_conflict", "git_detached", "git_unsafe"})


def commit_task(step: StoryStep) -> StepResult:
    """One commit for the subtask; a git that cannot is a blocker."""
    loop = step.loop
    story = step.shelf().get(loop.story or "")
    if isinstance(story, str):
        return step.failed("git_failed", f"{loop.story}: {story}", Facts(loop.tested, fingerprint("story_invalid")))
    task = story.task(loop.task or "") or story.tasks[-1]
    event_id = f"{loop.id}-{loop.entered}"  # the same for every try to commit this subtask
    left = [one for one in story.tasks if not one.done and one.id != task.id]
    told: dict[str, Any] = {
        "story": story.id,
        "task_id": task.id,
        "next": left[0].id if left else None,
        "done": len(story.tasks) - len(left),
        "event_id": event_id,
    }
    try:
        made = _made(step, story, task, told)
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        put_back(step)
        return step.failed("git_failed", error.message, Facts(loop.tested, fingerprint(error.message)))
    step.context.cache.committed(step.own())
    _forward(step)
    logged = _log(step, event_id, made)
    step.context.report("<promise>READY_FOR_NEXT_TASK</promise>")
    return step.event("committed", commit=made, logged=logged, **told)


def _made(step: StoryStep, story: Story, task: Subtask, told: dict[str, Any]) -> str | None:
    """The commit, made now or before a crash; none where there are to be none."""
    trailer = f"{_TRAILER}: {told['event_id']}"
    if step.context.commits and step.loop.guarded:  # else no try came so far
        made = _earlier(step, trailer)
        if made is not None:
            return made
    _written(step, story, task, told)
    if not step.context.commits:
        return None
    return _commit(step, f"{story.id} task {task.id}: {task.text[:100]}\n\n{trailer}", step.context.cache.looking)


def _earlier(step: StoryStep, trailer: str) -> str | None:
    return _tree(step).committed(step.repository(), trailer)


def _commit(
    step: StoryStep, message: str, looking: Looking | None = None, paths: Sequence[str] | None = None
) -> str | None:
    keep = f"story/{step.loop.id}/commits-{step.loop.iteration}"
    return _tree(step).commit(step.repository(), message, keep, looking=looking, paths=paths)


def _tree(step: StoryStep) -> AgentTree:
    tree = step.context.agent_tree
    assert tree is not None  # a loop without one ends before it works
    return tree


def _forward(step: StoryStep) -> None:
    target = step.context.target
    if target is None:
        return
    if not target.commits:
        step.context.cache.shut()  # the tree is taken, and may get what the person edited
    target.forward()


def _written(step: StoryStep, story: Story, task: Subtask, told: dict[str, Any]) -> None:
    """The files as they are once the subtask is done: they belong into its commit."""
    if step.loop.guarded:
        put_back(step)  # an earlier try was cut off
    take_in(step.context, step.loop)
    guard(step)
    ticked = _tick(step, story, task)
    then = step.catch_up().copied()
    after(then, "committed", {**told, "commit": None})
    project(step, then)
    write_out(step.context, then, ticked)  # if git does not know them yet, the person's must be as the commit's


def _log(step: StoryStep, event_id: str, made: str | None) -> bool:
    files = named(one.path for one in step.context.git.changed_by(step.repository(), made)) if made else []
    return remember(
        step,
        EventType.TASK_COMPLETE,
        event_id,
        files_modified=tuple(files[:200]) or ("none",),
        tests_passed=len(step.context.tests),
        commit=made or "none",
    )


def _tick(step: StoryStep, story: Story, task: Subtask) -> str:
    """Tick the box of the subtask, and record what was done; gives the name of the file."""
    path = step.shelf().path(story.id)
    own = PRD if path is None else str(path.resolve().relative_to(step.context.root.resolve()))
    step.context.cache.released.pop(own, None)
    if path is None:
        text = read_text(step.context.root / PRD, step.context.root)
        if text is not None:
            write_text(step.context.ports.files, step.context.root / PRD, passed(text, story.id))
        return own
    text = read_text(path, step.context.root) or ""
    changed = step.last_look().changed  # as it was tested
    now = recorded(checked(text, task.id), [f"Task {task.id}: {task.text}"], named(changed)[:100])
    is_last = all(one.done or one.id == task.id for one in story.tasks)
    write_text(step.context.ports.files, path, with_status(now, "review") if is_last else now)
    return own


def commit_aside(step: StoryStep, percent: float) -> str | None:
    """Unfinished work, committed as such, so that a fresh agent can go on with it. Without git it stays in the tree."""
    context, loop = step.context, step.loop
    if not context.commits:
        return None
    trailer = f"{_TRAILER}: {loop.id}-{loop.entered}-wip"
    message = f"wip: {loop.story} task {loop.task} ({percent:.0f} % of the context used)\n\n{trailer}"
    try:
        made = _earlier(step, trailer) or _commit(step, message)
        _forward(step)
        return made
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        context.report(f"the work stays uncommitted: {error.message}")
        return None


def commit_end(step: StoryStep) -> str | None:
    """The loop's own files as they are in the end; nothing of anybody else's. Without git they stay as they are."""
    context, loop = step.context, step.loop
    if not context.commits:
        return loop.last_commit
    trailer = f"{_TRAILER}: {loop.id}-{loop.entered}-end"
    message = f"progress: the loop ends after {loop.iteration} iterations\n\n{trailer}"
    try:
        made = _earlier(step, trailer) or _commit(step, message, paths=step.own())
        _forward(step)
        return made or loop.last_commit
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        context.report(f"{', '.join(step.own())} stay uncommitted: {error.message}")
        return loop.last_commit
