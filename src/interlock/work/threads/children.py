"""A story loop as the driver of a thread: one iteration of the thread is one whole run of the loop."""

from __future__ import annotations

from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.machine import Event, Evidence
from interlock.machine.model import SUPERSEDED
from interlock.work.errands import DRIVER
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.opening import Asked, make_yard
from interlock.work.stories.progress import FILE, Status, StoryProgress, parse, template, written
from interlock.work.stories.record import Loop
from interlock.work.stories.yard import Yard, read_text, write_text
from interlock.work.threads.iterating import misplaced, spec_of
from interlock.work.threads.record import Thread
from interlock.work.threads.visit import Visit
from interlock.work.workshop import Workshop

__all__ = ["close_left", "run_child"]

_STORIES = ".ralf/stories"
"""Where the stories lie that a thread makes of its spec: in its work tree, and out of git's sight."""


def run_child(visit: Visit) -> Event | None:
    """Drive the thread's story loop to its end; that it is done is a claim, and verified like any other."""
    wrong = misplaced(visit)
    if wrong is not None:
        return visit.event("driver_failed", wrong)
    if visit.workshop.pausing.is_set():
        return visit.event("pause")
    yard = _yard(visit)
    child = visit.thread.child
    if child is None or visit.workshop.journal.instance(child).outcome is not None:
        _write_story(visit)
        child = begin(yard, parent=visit.thread.id)
        visit.note("child", id=child)
    try:
        loop = drive(yard, child).loop
    except Refusal:
        if visit.workshop.journal.instance(visit.thread.id).state == visit.thread.state:
            raise
        return None  # somebody took the thread elsewhere, and its loop was closed
    return _concluded(visit, loop)


def _concluded(visit: Visit, loop: Loop) -> Event | None:
    match loop.outcome:
        case "all_complete" if loop.iteration:
            return visit.event("claims_done", child=loop.id)
        case "all_complete":
            return visit.event("driver_failed", "the story loop found nothing to do, and that alone proves nothing")
        case "only_blocked_left":
            needs = "; ".join(f"{story}: {why}" for story, why in loop.needs.items())
            return visit.event("driver_failed", f"only blocked stories are left: {needs}")
        case None if loop.paused is not None and not visit.workshop.pausing.is_set():
            return visit.event("driver_failed", f"the story loop rests: {loop.paused}")
        case None:
            return visit.event("pause") if visit.workshop.pausing.is_set() else None
    return visit.event("driver_failed", f"the story loop cannot begin: {loop.explanation}")


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


def close_left(workshop: Workshop, thread: Thread) -> None:
    """Close the loops that a thread drives no more: they stay where they are and take no more events."""
    has_ended = thread.state in ("Drafting", "Done", "Abandoned")
    drives = None if has_ended or (thread.config and thread.config.driver != "story") else thread.child
    for one in workshop.journal.open_instances("story"):
        if one.parent == thread.id and one.id != drives:
            workshop.journal.append(one.id, Event(SUPERSEDED, DRIVER, evidence=Evidence()))
