"""A story loop as the driver of a thread: the spec is its story, and what failed is a story that mends it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlock.journal import Journal, Transaction
from interlock.machine import Event
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.opening import Asked, make_yard
from interlock.work.stories.progress import FILE, Status, StoryProgress, parse, template, written
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.stories.yard import Yard, note, noted, read_text, write_text
from interlock.work.threads.child import Child, Part
from interlock.work.threads.iterating import spec_of
from interlock.work.threads.visit import Visit

__all__ = ["STORY"]

_STORIES = ".ralf/stories"
"""Where the stories lie that a thread makes of its spec: in its work tree, and out of git's sight."""


def _begin(visit: Visit) -> str:
    """A loop over the spec as its story, or over what failed as a story that mends it."""
    _write_story(visit)
    id_ = begin(_yard(visit), parent=visit.thread.id)
    visit.note("child", id=id_)
    return id_


def _hindrance(visit: Visit) -> str | None:
    """Nothing that its loop would not find itself."""
    return None


def _fits(visit: Visit, id_: str) -> bool:
    """Always: its agents are those of the thread, whoever they are when it goes on."""
    return True


def _wake(visit: Visit, id_: str) -> None:
    if loop_of(visit.workshop.journal.history(id_)).paused is not None:
        note(_yard(visit), id_, None, "resumed")


def _drive(visit: Visit, id_: str) -> Event | None:
    if visit.thread.context and visit.workshop.journal.instance(id_).outcome is None:
        visit.workshop.journal.transact(lambda transaction: _tell_on(transaction, visit, id_))
    return _concluded(visit, drive(_yard(visit), id_).loop)


def _tell_on(transaction: Transaction, visit: Visit, id_: str) -> None:
    """What a person said to the next agent of the thread is said to the next one of its loop."""
    context = visit.thread.context
    for text in context:
        transaction.append(id_, noted("context_added", text=text))
    transaction.append(visit.thread.id, noted("child", id=id_, told=len(context)), lease=visit.lease)


def _parts(journal: Journal, id_: str) -> tuple[str, tuple[Part, ...]]:
    loop = loop_of(journal.history(id_))
    return loop.state, tuple(Part(one.id, str(one.status), one.current_task or "") for one in loop.progress.stories)


def _concluded(visit: Visit, loop: Loop) -> Event | None:
    told: dict[str, Any] = {"child": loop.id, "spent": list(loop.spent())}
    match loop.outcome:
        case "all_complete" if loop.iteration:
            return visit.event("claims_done", **told)
        case "all_complete":
            why = "the story loop found nothing to do, and that alone proves nothing"
        case "only_blocked_left":
            needs = "; ".join(f"{story}: {why}" for story, why in loop.needs.items())
            why = f"only blocked stories are left: {needs}"
        case None if loop.paused is not None and not visit.workshop.pausing.is_set():
            why = f"the story loop rests: {loop.paused}"
            if loop.is_overdrawn:
                return visit.event("budget_exhausted", why, **told)
        case None:
            return visit.event("pause") if visit.workshop.pausing.is_set() else None
        case _:
            why = f"the story loop cannot begin: {loop.explanation}"
    return visit.event("driver_failed", why, **told)


def _yard(visit: Visit) -> Yard:
    workshop, config = visit.workshop, visit.config
    asked = Asked(rotation=config.agents, prompt=f"This is part of: {visit.thread.title}")
    return make_yard(
        workshop.journal,
        visit.root,
        workshop.state_directory,
        workshop.settings,
        workshop.environment,
        asked,
        workshop,
        workshop.tell,
        spec_of(visit).criteria,
    )


def _write_story(visit: Visit) -> None:
    """Give the loop its work: the spec as a story, or what failed as a story that mends it."""
    thread, root = visit.thread, visit.root
    path = root / FILE
    text = read_text(path)
    if text is not None and not thread.feedback:
        return
    progress = parse(text) if text is not None else None
    known = {one.id for one in progress.stories} if progress is not None else set()
    number = next(n for n in range(1, 10_000) if f"fix-{n}" not in known)
    id_ = f"fix-{number}" if text is not None else "story-1-1"
    file = f"{_STORIES}/{thread.id[-6:]}-{id_}.md"
    write_text(root / file, _story(visit, thread.feedback))
    if progress is None:
        write_text(path, template(thread.title, [(id_, file)], thread.updated))
    else:
        fresh = StoryProgress(id_, Status.NOT_STARTED, file)
        write_text(path, written(text, replace(progress, stories=(*progress.stories, fresh))))


def _story(visit: Visit, feedback: str) -> str:
    spec, revision = spec_of(visit), visit.thread.revision
    assert revision is not None  # `spec_of` has read it
    criteria = "\n".join(f"{one.number}. {one.text}" for one in spec.criteria)
    numbers = ", ".join(str(one.number) for one in spec.criteria)
    what = "Mend what failed" if feedback else "Build what the spec says"
    why = f"\n## What failed\n\n{feedback.strip()}\n" if feedback else ""
    return (
        f"# {visit.thread.title}\n\n## Acceptance Criteria\n\n{criteria}\n\n"
        f"## Tasks / Subtasks\n\n- [ ] {what} (AC: {numbers})\n{why}\n## Dev Notes\n\n{revision.text}\n"
    )


STORY = Child("story", _begin, _hindrance, _fits, _wake, _drive, _parts)
