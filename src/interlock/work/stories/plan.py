"""PURE. What the loop does next: the seed's selection of a story and of its first open subtask."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus
from interlock.work.stories.stories import Story, Subtask

__all__ = [
    "AllComplete",
    "Chosen",
    "Lost",
    "OnlyBlocked",
    "Reprieved",
    "Selection",
    "StoryComplete",
    "select",
    "task_name",
]


_MAX_NAME: Final = 200


class Chosen(msgspec.Struct, frozen=True):
    """A subtask to work on."""

    story: Story
    task: Subtask


class StoryComplete(msgspec.Struct, frozen=True):
    """A story without open subtasks: it is complete."""

    story: Story


class Reprieved(msgspec.Struct, frozen=True):
    """A story whose blocker may have passed: it is tried once more."""

    story: StoryProgress
    why: str


class OnlyBlocked(msgspec.Struct, frozen=True):
    """Nothing is left but what needs a person: blocked, or skipped."""

    stories: tuple[StoryProgress, ...]


class AllComplete(msgspec.Struct, frozen=True):
    """Every story is done."""


class Lost(msgspec.Struct, frozen=True):
    """A story that is to be worked on, and whose file is not there or says nothing."""

    story: StoryProgress
    why: str


Selection = Chosen | StoryComplete | Reprieved | OnlyBlocked | AllComplete | Lost


class Stories(Protocol):
    """Where stories are found: a mapping, or whoever reads them when they are asked for."""

    def get(self, id_: str, otherwise: str, /) -> Story | str:
        """A story, or why there is none."""


def task_name(story: str, task: str) -> str:
    """What a subtask is called in the journal, where its counters are kept: short, printable, and no other's."""
    said = f"{story} {task}"
    clean = "".join("-" if one in ":/\\" or not one.isprintable() else one for one in said)
    if clean == said and len(said) <= _MAX_NAME:
        return said
    return f"{clean[: _MAX_NAME - 13]} {sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def select(
    progress: Progress,
    stories: Stories,
    *,
    retried: frozenset[str] = frozenset(),
    blocked_at: Mapping[str, int] | None = None,
    iteration: int = 0,
    patience: int = 3,
    skipped: frozenset[str] = frozenset(),
) -> Selection:
    """The next step: what is in progress, else the first that is not started; blocked ones are skipped.

    `stories` are those that could be read, or why one could not. A transient blocker that was not `retried` yet is
    tried again `patience` iterations after it was `blocked_at`, or before the loop would end; of one that is not in
    `blocked_at` it is not known when it was blocked, so it waits for the end. `skipped` stories are left for a person.
    """
    open_ = [one for one in progress.stories if one.id not in skipped]
    due = [one for one in open_ if _may_return(one) and one.id not in retried]
    waited = [one for one in due if iteration - (blocked_at or {}).get(one.id, iteration) >= patience]
    if waited:
        return Reprieved(waited[0], f"{patience} iterations have passed")
    for status in (StoryStatus.IN_PROGRESS, StoryStatus.NOT_STARTED):
        for one in open_:
            if one.status is status:
                return _within(one, stories.get(one.id, "there is no story file for it"))
    if due:
        return Reprieved(due[0], "nothing else is left")
    left = tuple(one for one in progress.stories if one.status is not StoryStatus.COMPLETE)
    return OnlyBlocked(left) if left else AllComplete()


def _may_return(one: StoryProgress) -> bool:
    return one.status is StoryStatus.BLOCKED and one.blocker_type == "transient"


def _within(one: StoryProgress, story: Story | str) -> Selection:
    if isinstance(story, str):
        return Lost(one, story)
    task = next((task for task in story.tasks if not task.done), None)
    return StoryComplete(story) if task is None else Chosen(story, task)
