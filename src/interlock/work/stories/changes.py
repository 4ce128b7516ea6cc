"""PURE. What a person changed in `progress.txt`, and what of it counts.

A person may unblock a story, step back with one, put it elsewhere, add one and say where its file is. Nobody completes
a story by hand: that is judged. A story that was taken out stays, because its history does.
"""

from __future__ import annotations

from msgspec.structs import replace

from interlock.work.stories.progress import SHOWN, Progress, StoryProgress, StoryStatus

__all__ = ["accepted"]


_BACK = {
    StoryStatus.COMPLETE: (StoryStatus.IN_PROGRESS, StoryStatus.NOT_STARTED),
    StoryStatus.BLOCKED: (StoryStatus.IN_PROGRESS, StoryStatus.NOT_STARTED),
    StoryStatus.IN_PROGRESS: (StoryStatus.NOT_STARTED,),
    StoryStatus.NOT_STARTED: (),
}
"""Where a person may put a story: only back, never on."""


def accepted(before: Progress, after: Progress) -> tuple[Progress, list[str]]:
    """What counts of a person's edits, and a sentence for each that does not: there the old line stays.

    The order and the header are those of the file; the numbers of the loop are its own.
    """
    old = {one.id: one for one in before.stories}
    refused: list[str] = []
    stories: list[StoryProgress] = []
    for story in after.stories:
        was = old.get(story.id)
        story, sentence = _added(story) if was is None else _edited(was, story)
        stories.append(story)
        refused += [sentence] if sentence else []
    _put_back(before, stories, refused)
    for name in ("iteration", "current_iteration", "metrics"):
        if getattr(before, name) != getattr(after, name):
            refused.append(f"`{name}` is the loop's to count: it stays as it was.")
    result = replace(before, project=after.project, workflow=after.workflow, stories=tuple(stories))
    return result, refused


def _added(story: StoryProgress) -> tuple[StoryProgress, str | None]:
    if story.status is StoryStatus.NOT_STARTED:
        return story, None
    sentence = f"{story.id} is new and cannot be {story.status} yet: it was added as not_started."
    return StoryProgress(story.id, StoryStatus.NOT_STARTED, story.file), sentence


def _edited(was: StoryProgress, story: StoryProgress) -> tuple[StoryProgress, str | None]:
    kept = replace(was, file=story.file)
    if was.status is story.status:
        others = [name for name in SHOWN[was.status] if getattr(kept, name) != getattr(story, name)]
        return kept, f"{was.id}: {_named(others)} the loop's: nothing of it was changed." if others else None
    if story.status in _BACK[was.status]:
        return _back(was, story), None
    if story.status is StoryStatus.COMPLETE:
        return kept, (
            f"{was.id} was set to complete by hand, and stays {was.status}: a story is complete when its tasks "
            "are done and its criteria were judged."
        )
    if story.status is StoryStatus.IN_PROGRESS:
        return kept, f"{was.id} stays {was.status}: the loop starts a story. To have it done next, move it up."
    return kept, f"{was.id} stays {was.status}: only the loop sets a story to {story.status}."


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + (" is" if len(names) == 1 else " are")


def _back(was: StoryProgress, story: StoryProgress) -> StoryProgress:
    """A story that starts anew; unblocked, at the task that blocked it."""
    if story.status is StoryStatus.NOT_STARTED:
        return StoryProgress(was.id, StoryStatus.NOT_STARTED, story.file)
    task = was.current_task or story.current_task
    return StoryProgress(was.id, StoryStatus.IN_PROGRESS, story.file, task, last_action=was.last_action)


def _put_back(before: Progress, stories: list[StoryProgress], refused: list[str]) -> None:
    """What was taken out, after the story that it came after."""
    there = {one.id for one in stories}
    for place, was in enumerate(before.stories):
        if was.id in there:
            continue
        above = before.stories[place - 1].id if place else None
        at = next((number + 1 for number, one in enumerate(stories) if one.id == above), 0)
        stories.insert(at, was)
        there.add(was.id)
        refused.append(f"{was.id} was taken out, and stays: a story that is known is not forgotten.")
