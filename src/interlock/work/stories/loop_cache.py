"""What a driver has at hand from one step to the next. All of it can be made anew; none of it is the truth."""

from __future__ import annotations

import msgspec

from interlock.work.driver.file_hashes import FileHashes
from interlock.work.driver.open_repository import OpenRepository
from interlock.work.stories.progress import StoryProgress
from interlock.work.stories.progress_file import ProgressFile
from interlock.work.stories.unsent import LoopMemory

__all__ = ["LoopCache", "Owned"]


class Owned(msgspec.Struct):
    """The loop's own files, with what they were found by: the stories, and the directories as they were."""

    stories: tuple[StoryProgress, ...]
    places: tuple[str, ...]
    stamp: object = None
    files: tuple[str, ...] = ()


class LoopCache(OpenRepository):
    """What need not be found out again, each with what tells whether it still holds."""

    progress_file: ProgressFile = msgspec.field(default_factory=ProgressFile)
    """`progress.txt` as it was last."""
    seen: FileHashes = msgspec.field(default_factory=FileHashes)
    copies: dict[str, str] = msgspec.field(default_factory=dict)
    """The hashes of the copies of guarded files that this driver has made."""
    own: Owned | None = None
    memories: dict[str, LoopMemory] = msgspec.field(default_factory=dict)
    """The memory events of each loop of the repository, as far as they were read."""
