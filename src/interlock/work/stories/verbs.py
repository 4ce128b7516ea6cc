"""What a person can do about a loop, while it runs or rests. Each is a note or an event; the driver sees it at once."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlock.errors import NotFound, UsageError
from interlock.journal import Journal
from interlock.machine import Actor, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.readiness import driven_by
from interlock.work.gates.presence import must_be_person
from interlock.work.stories.limits import LIMITS
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus
from interlock.work.stories.progress_file import parse, written
from interlock.work.stories.reading import MACHINE, known_loop, open_loop
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.world.redaction import redacted

__all__ = [
    "add_context",
    "clear_context",
    "limit",
    "must_steer",
    "pause",
    "resume",
    "skip",
    "steerable",
    "unblock",
    "unblocked",
]

_MAX_CONTEXT = 10_000


def _open(journal: Journal) -> Loop:
    driven = [one for one in journal.open_instances("story") if one.parent is not None]
    if open_loop(journal) is None and driven:
        raise driven_by(f"The loop {driven[-1].id}", str(driven[-1].parent))
    loop = known_loop(journal)
    if loop.outcome is not None:
        raise NotFound("unknown_loop", "The loop has ended.", "`ralph story run` begins a new one.")
    return loop


def must_steer(actor: Actor) -> None:
    """Refuse an agent: no agent steers the loop that it works in."""
    must_be_person(actor, "steers the loop", "Say in your last lines what should change, and why.")


def steerable(journal: Journal, reference: str) -> str:
    """The loop that is named, where its own verbs steer it."""
    found = journal.instance(reference)
    if found.machine != MACHINE:
        message = f"{found.id} is a {found.machine}, not a loop over stories."
        raise NotFound("unknown_instance", message, "`ralph story status` shows the loop.")
    if found.parent is not None:
        raise driven_by(f"The loop {found.id}", found.parent)
    return found.id


def _note(journal: Journal, actor: Actor, type_: str, **data: Any) -> Loop:
    must_steer(actor)
    loop = _open(journal)
    journal.append(loop.id, Event(NOTED, actor, evidence=Evidence(data={"type": type_, **data})))
    return loop


def add_context(journal: Journal, actor: Actor, text: str) -> Loop:
    """Tell the next agent something; it is told once."""
    if not text.strip() or len(text) > _MAX_CONTEXT:
        message = f"Context is a text of 1 to {_MAX_CONTEXT} characters."
        raise UsageError("invalid_argument", message, "Say it shortly.")
    return _note(journal, actor, "context_added", text=redacted(text.strip()))


def clear_context(journal: Journal, actor: Actor) -> Loop:
    return _note(journal, actor, "context_cleared")


def pause(journal: Journal, actor: Actor, reason: str = "") -> Loop:
    """Let the loop rest where it is; the agent that works is stopped."""
    return _note(journal, actor, "paused", reason=reason or "a person said so")


def resume(journal: Journal, actor: Actor) -> Loop:
    """Let the loop go on; `ralph story run` drives it."""
    return _note(journal, actor, "resumed")


def skip(journal: Journal, actor: Actor, story: str) -> Loop:
    """Leave a story out, in this loop."""
    must_steer(actor)
    _story(_open(journal).progress, story)
    return _note(journal, actor, "skipped", story=story)


def limit(journal: Journal, actor: Actor, name: str, value: float) -> Loop:
    """Change what the loop may use."""
    if name not in LIMITS or value < 0:
        raise UsageError("invalid_argument", f"{name[:80]!r} is no limit.", f"One of: {', '.join(LIMITS)}; from 0 on.")
    return _note(journal, actor, "limit_changed", name=name, value=value)


def unblock(journal: Journal, actor: Actor, story: str) -> Loop:
    """Start a blocked story of a loop anew: its attempts are counted from the beginning."""
    must_steer(actor)
    loop = _open(journal)
    known = _story(loop.progress, story)
    _must_be_blocked(known)
    task = task_name(story, known.current_task or "1")
    event = Event("story_unblocked", actor, evidence=Evidence(task=task, data={"story": story}))
    journal.append(loop.id, event)
    return loop_of(journal.history(loop.id))


def unblocked(text: str, story: str) -> str:
    """A `progress.txt` in which a blocked story starts anew, for the next loop to find."""
    progress = parse(text)
    known = _story(progress, story)
    _must_be_blocked(known)
    status = StoryStatus.IN_PROGRESS if known.current_task else StoryStatus.NOT_STARTED
    free = StoryProgress(known.id, status, known.file, known.current_task, 0, known.last_action)
    stories = tuple(free if one.id == story else one for one in progress.stories)
    return written(text, replace(progress, stories=stories))


def _must_be_blocked(story: StoryProgress) -> None:
    if story.status is not StoryStatus.BLOCKED:
        message = f"{story.id} is not blocked; it is {story.status}."
        raise UsageError("invalid_argument", message, "There is nothing to unblock.")


def _story(progress: Progress, story: str) -> StoryProgress:
    found = progress.story(story)
    if found is None:
        known = ", ".join(one.id for one in progress.stories[:20])
        raise NotFound("unknown_story", f"There is no story {story[:80]!r}.", f"There are: {known}.")
    return found
