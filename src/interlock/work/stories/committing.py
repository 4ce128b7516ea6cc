"""COMMIT: the box, `progress.txt` and the work as one commit that can be found again.

The id of the memory's event is made first and stands in the commit. So a commit that a crash came after is found by
it and not made again, and the event is sent last, once. The loop's own files are guarded until then: a commit that
cannot be made leaves them as they were.
"""

from __future__ import annotations

from typing import Any

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.stories.files import guard, project, put_back
from interlock.work.stories.prd import PRD, passed
from interlock.work.stories.remembering import remember
from interlock.work.stories.replay import after
from interlock.work.stories.stories import Story, Task
from interlock.work.stories.story_files import checked, recorded, with_status
from interlock.work.stories.stuck import Facts, fingerprint
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import named, read_text, write_text
from interlock.world.git import changed_by, commit, find_commit, identity
from interlock.world.memory import EventType

__all__ = ["commit_aside", "commit_end", "commit_task"]

_TRAILER = "Ralph-Event"
_GIT = frozenset({"git_failed", "git_conflict", "git_detached", "git_unsafe"})


def commit_task(visit: Visit) -> Event | None:
    """One commit for the subtask; a git that cannot is a blocker."""
    loop = visit.loop
    story = visit.shelf().get(loop.story or "")
    if isinstance(story, str):
        return visit.failed("git_failed", f"{loop.story}: {story}", Facts(loop.tested, fingerprint("story_invalid")))
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
        made = _made(visit, story, task, told)
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        put_back(visit.yard, loop, visit.lease)
        return visit.failed("git_failed", error.message, Facts(loop.tested, fingerprint(error.message)))
    logged = _log(visit, event_id, made)
    visit.yard.tell("<promise>READY_FOR_NEXT_TASK</promise>")
    return visit.event("committed", commit=made, logged=logged, **told)


def _made(visit: Visit, story: Story, task: Task, told: dict[str, Any]) -> str | None:
    """The commit, made now or before a crash; none where there are to be none."""
    trailer = f"{_TRAILER}: {told['event_id']}"
    if visit.yard.commits and visit.loop.guarded:  # else no try came so far
        made = find_commit(visit.repository(), trailer)
        if made is not None:
            return made
    _written(visit, story, task, told)
    if not visit.yard.commits:
        return None
    message = f"{story.id} task {task.id}: {task.text[:100]}\n\n{trailer}"
    repository, looking = visit.repository(), visit.yard.desk.looking
    return commit(repository, message, author=identity(repository), branch=visit.loop.branch, looking=looking)


def _written(visit: Visit, story: Story, task: Task, told: dict[str, Any]) -> None:
    """The files as they are once the subtask is done: they belong into its commit."""
    yard, loop = visit.yard, visit.loop
    if loop.guarded:
        put_back(yard, loop, visit.lease)  # an earlier try was cut off
    guard(yard, loop, visit.lease)
    _tick(visit, story, task)
    then = yard.desk.loop(yard.journal, loop.id)
    after(then, "committed", {**told, "commit": None})
    project(yard, then, visit.lease)


def _log(visit: Visit, event_id: str, made: str | None) -> bool:
    files = named(one.path for one in changed_by(visit.repository(), made)) if made else []
    return remember(
        visit.yard,
        visit.loop,
        visit.lease,
        EventType.TASK_COMPLETE,
        event_id,
        files_modified=tuple(files[:200]) or ("none",),
        tests_passed=len(visit.yard.tests),
        commit=made or "none",
    )


def _tick(visit: Visit, story: Story, task: Task) -> None:
    """The box of the subtask, and what is on record of it."""
    path = visit.shelf().path(story.id)
    if path is None:
        text = read_text(visit.yard.root / PRD)
        if text is not None:
            write_text(visit.yard.root / PRD, passed(text, story.id))
        return
    text = read_text(path) or ""
    now = recorded(checked(text, task.id), [f"Task {task.id}: {task.text}"], visit.touched()[:100])
    is_last = all(one.done or one.id == task.id for one in story.tasks)
    write_text(path, with_status(now, "review") if is_last else now)


def commit_aside(visit: Visit, percent: float) -> str | None:
    """Unfinished work, committed as such, so that a fresh agent can go on with it. Without git it stays in the tree."""
    yard, loop = visit.yard, visit.loop
    if not yard.commits:
        return None
    trailer = f"{_TRAILER}: {loop.id}-{loop.entered}-wip"
    message = f"wip: {loop.story} task {loop.task} ({percent:.0f} % of the context used)\n\n{trailer}"
    try:
        made = find_commit(yard.root, trailer)
        return made or commit(yard.root, message, author=identity(yard.root), branch=loop.branch)
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        yard.tell(f"the work stays uncommitted: {error.message}")
        return None


def commit_end(visit: Visit) -> str | None:
    """The loop's own files as they are in the end; nothing of anybody else's. Without git they stay as they are."""
    yard, loop = visit.yard, visit.loop
    if not yard.commits:
        return loop.last_commit
    trailer = f"{_TRAILER}: {loop.id}-{loop.entered}-end"
    message = f"progress: the loop ends after {loop.iteration} iterations\n\n{trailer}"
    try:
        made = find_commit(yard.root, trailer)
        if made is None:
            made = commit(yard.root, message, author=identity(yard.root), paths=visit.own(), branch=loop.branch)
        return made or loop.last_commit
    except InterlockError as error:
        if error.code not in _GIT:
            raise
        yard.tell(f"{', '.join(visit.own())} stay uncommitted: {error.message}")
        return loop.last_commit
