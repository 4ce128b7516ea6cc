"""Where a loop works and what it works with; its files, read and written."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import Refusal
from interlock.journal import Lease
from interlock.machine import Actor
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.agent_tree import AgentTree
from interlock.work.driver.context import DriverContext
from interlock.work.driver.file_hashes import FileHashes, stamp
from interlock.work.driver.open_repository import OpenRepository
from interlock.work.driver.ports import Files
from interlock.work.driver.step import noted
from interlock.work.driver.target_branch import TargetBranch
from interlock.work.formats.quoting import shown
from interlock.work.stories.prd import PRD, parse_prd
from interlock.work.stories.progress import FILE, Progress, StoryProgress
from interlock.work.stories.progress_file import ProgressFile
from interlock.work.stories.stories import Story
from interlock.work.stories.story_files import parse_story
from interlock.work.stories.unsent import LoopMemory
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.assignment import TimeOuts
from interlock.world.memory import Memory

__all__ = [
    "DRIVER",
    "PROMISES",
    "Limits",
    "LoopCache",
    "Mirror",
    "Owned",
    "StoryContext",
    "StoryFiles",
    "known_stories",
    "leads_out",
    "mirrored",
    "named",
    "note",
    "own",
    "own_files",
    "plain",
    "read_text",
    "write_text",
]

_PLACES = (
    *("_bmad-output/implementation-artifacts", "_bmad-output/stories", "docs/stories", "docs/sprint-artifacts"),
    *("docs/implementation-artifacts", "stories", "docs"),
)
"""Where story files lie, in the order in which they are looked for."""
PROMISES: Mapping[str, str] = {"completion": "COMPLETED", "task": "READY_FOR_NEXT_TASK"}
_MAX_NAME = 500
_MAX_FILE = 4 * 1024 * 1024


class Limits(msgspec.Struct, frozen=True):
    """How long things may take, and how much may be spent; 0 is no limit."""

    iterations: int = 100
    day_iterations: int = 0
    agent_seconds: float = 3600.0
    idle_seconds: float = 900.0
    test_seconds: float = 1800.0
    task_seconds: float = 0.0
    loop_seconds: float = 0.0
    day_seconds: float = 0.0
    task_tokens: int = 0
    loop_tokens: int = 0
    day_tokens: int = 0
    task_usd: float = 0.0
    loop_usd: float = 0.0
    day_usd: float = 0.0
    stuck_after: int = 3
    """How many tasks may fail alike, one after the other."""


class Owned(msgspec.Struct):
    """The loop's own files, with what they were found by: the stories, and the directories as they were."""

    stories: tuple[StoryProgress, ...]
    places: tuple[str, ...]
    stamp: object = None
    files: tuple[str, ...] = ()


class Mirror(msgspec.Struct):
    """The person's checkout beside the tree of a loop, and how the loop's own files were there when last looked at."""

    target: TargetBranch
    """Its own files count in the checkout only while this branch is checked out."""
    known: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The hashes of the files."""
    written: dict[str, str] = msgspec.field(default_factory=dict)
    """The hashes of those that the loop wrote there."""
    progress: Progress | None = None
    """The content of `progress.txt` there when the loop wrote it."""
    owned: Owned | None = None

    @property
    def root(self) -> Path:
        return self.target.tree.context.root


class LoopCache(OpenRepository):
    """What a driver need not find out again from step to step, each with what tells whether it still holds."""

    progress_file: ProgressFile = msgspec.field(default_factory=ProgressFile)
    """`progress.txt` as it was last."""
    seen: FileHashes = msgspec.field(default_factory=FileHashes)
    copies: dict[str, str] = msgspec.field(default_factory=dict)
    """The hashes of the copies of guarded files that this driver has made."""
    released: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The hashes of the own files as they were put back last, without those that the loop has written since."""
    own: Owned | None = None
    memories: dict[str, LoopMemory] = msgspec.field(default_factory=dict)
    """The memory events of each loop of the repository, as far as they were read."""


class StoryContext(DriverContext, frozen=True, eq=False, kw_only=True):
    """A driver's context with what only a story loop has."""

    agents: tuple[ChosenAgent, ...]
    judge: ChosenAgent
    tests: tuple[str, ...]
    limits: Limits
    memory: Memory
    is_server: bool
    """Whether the memory is a server's, or the journal's own."""
    template: str | None = None
    prompt: str = ""
    commits: bool = True
    test_files: tuple[str, ...] = ()
    """Globs of the files that hold tests."""
    promises: Mapping[str, str] = msgspec.field(default_factory=lambda: PROMISES)
    """What a template calls its promises; one that is called `abort` is listened for."""
    cache: LoopCache = msgspec.field(default_factory=LoopCache)
    agent_tree: AgentTree | None = None
    """The tree that is the root; None only if a loop cannot have one, and ends."""
    mirror: Mirror | None = None
    """The person's checkout; None if a thread drives the loop."""

    @property
    def target(self) -> TargetBranch | None:
        """The person's branch that the work goes to; None if a thread drives the loop."""
        return self.mirror.target if self.mirror is not None else None

    @property
    def time_outs(self) -> TimeOuts:
        return TimeOuts(wall=self.limits.agent_seconds or None, idle=self.limits.idle_seconds or None)

    @property
    def progress(self) -> Path:
        return self.root / FILE


def plain(value: object) -> Any:
    """A value as JSON has it: what an entry can keep."""
    return msgspec.json.decode(msgspec.json.encode(value))


def named(paths: Iterable[str]) -> list[str]:
    """Paths as a text can hold them, in order: git gives every byte of a name, and an agent chooses its names."""
    return sorted(shown(path, _MAX_NAME) for path in paths)


def leads_out(root: Path, path: Path) -> bool:
    """True if links lead from a path below a directory out of it."""
    return not path.resolve().is_relative_to(root.resolve())


def read_text(path: Path, root: Path) -> str | None:
    """A file's text; None where there is none. What is no text, or much too long, is an error of the catalogue.

    So is a link that leads out of the root: an agent could have put it there, to be told what it may not read.
    """
    if leads_out(root, path):
        raise Refusal("story_invalid", f"{path} leads out of the repository.", "Put the file itself there.")
    try:
        if path.stat().st_size > _MAX_FILE:
            raise Refusal("story_invalid", f"{path} is larger than {_MAX_FILE} bytes.", "Make it smaller.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(
            "story_invalid", f"{path} cannot be read: {error}.", "Make it a text that you may read."
        ) from None


def write_text(files: Files, path: Path, text: str) -> None:
    """Replace a file as a whole: whoever reads it sees the old text or the new one."""
    files.write_bytes(path, text.encode("utf-8", "surrogateescape"))


def note(
    context: StoryContext, loop: str, lease: Lease | None, type_: str, actor: Actor = DRIVER, **data: object
) -> None:
    """Write something down in a loop's journal; it moves nothing."""
    context.journal.append(loop, noted(type_, actor, **data), lease=lease)


class StoryFiles(msgspec.Struct):
    """The stories, read when they are asked for."""

    root: Path
    _prd: dict[str, Story] | None = None
    _files: dict[str, Path] | None = None
    lines: Mapping[str, StoryProgress] = msgspec.field(default_factory=dict)

    def get(self, id_: str, otherwise: str = "there is no story file for it") -> Story | str:
        """A story, or why there is none."""
        try:
            path = self.path(id_)
            if path is not None:
                text = read_text(path, self.root)
                assert text is not None
                return parse_story(id_, text, str(path.relative_to(self.root)))
            known = self.prd().get(id_)
        except Refusal as error:
            return error.message
        return otherwise if known is None else known

    def path(self, id_: str) -> Path | None:
        """The file of a story: the one that is named, or the one whose name begins with its number."""
        named = self.lines[id_].file if id_ in self.lines else None
        if named is not None and named != PRD:
            path = (self.root / named).resolve()
            if not path.is_relative_to(self.root.resolve()):
                raise Refusal("story_invalid", f"{named} lies outside of the repository.", "Name a file inside of it.")
            return path if path.is_file() else None
        if self._files is None:
            self._files = dict(_found(self.root))
        return self._files.get(id_.removeprefix("story-"))

    def prd(self) -> dict[str, Story]:
        if self._prd is None:
            text = read_text(self.root / PRD, self.root)
            self._prd = {} if text is None else {one.id: one for one in parse_prd(text)}
        return self._prd


def known_stories(root: Path) -> list[tuple[str, str | None]]:
    """Every story that there is, with its file, in the order in which they would be done."""
    files = sorted(dict(_found(root)).items(), key=lambda one: [int(part) for part in one[0].split("-")])
    found: list[tuple[str, str | None]] = [(f"story-{number}", str(path.relative_to(root))) for number, path in files]
    return found or [(id_, PRD) for id_ in StoryFiles(root).prd()]


def own_files(root: Path, progress: Progress) -> tuple[str, ...]:
    """The files that are the loop's own, and no agent's work: `progress.txt`, `prd.json`, the files of the stories."""
    shelf = StoryFiles(root, lines={one.id: one for one in progress.stories})
    plain_paths = _plain_paths(root, (one.file for one in progress.stories if one.file is not None))
    found: dict[str, None] = {FILE: None, PRD: None}
    for one in progress.stories:
        if one.file is not None and one.file in plain_paths:
            found[one.file] = None
            continue
        with suppress(Refusal):  # one that lies outside is nobody's here
            path = shelf.path(one.id)
            if path is not None:
                found[str(path.relative_to(root.resolve() if one.file else root))] = None
    return tuple(found)


def _plain_paths(root: Path, paths: Iterable[str]) -> Collection[str]:
    """Return the paths of the regular files in the directories of some paths, to which no link leads."""
    whole = os.path.realpath(root)
    above = {path[: path.rfind("/") + 1] for path in paths}
    return {name for one in above if not one.startswith("/") for name in _files_in(whole, one)}


def _files_in(root: str, directory: str) -> Iterator[str]:
    """Give the paths of the regular files in a directory; none if a link leads to it."""
    place = f"{root}/{directory}".rstrip("/")
    with suppress(OSError, ValueError):
        if os.path.realpath(place) == place:
            with os.scandir(place) as entries:
                yield from (directory + one.name for one in entries if one.is_file(follow_symlinks=False))


def own(context: StoryContext, progress: Progress) -> tuple[str, ...]:
    """Return `own_files` of the root, found again only if a story or a directory of stories has changed."""
    context.cache.own = _owned(context.cache.own, context.root, progress)
    return context.cache.own.files


def mirrored(context: StoryContext, mirror: Mirror, progress: Progress) -> tuple[str, ...]:
    """Return `own_files` of the root and of the person's checkout."""
    mirror.owned = _owned(mirror.owned, mirror.root, progress)
    return tuple(dict.fromkeys((*own(context, progress), *mirror.owned.files)))


def _owned(known: Owned | None, root: Path, progress: Progress) -> Owned:
    if known is None or not _are_same(known.stories, progress.stories):
        files = (one.file for one in progress.stories)
        places = {*_PLACES, *(file.rpartition("/")[0] for file in files if file)}
        known = Owned(progress.stories, tuple(f"{root}/{place}" for place in sorted(places)))
    known.stories = progress.stories
    now = stamp(known.places)
    if now is None or now != known.stamp:
        known.stamp, known.files = now, own_files(root, progress)
    return known


def _are_same(before: tuple[StoryProgress, ...], after: tuple[StoryProgress, ...]) -> bool:
    """Whether they are the same stories with the same files."""
    if before is after or len(before) != len(after):
        return before is after
    differing = [(a, b) for a, b in zip(before, after, strict=True) if a is not b]
    return all(a.id == b.id and a.file == b.file for a, b in differing)


def _found(root: Path) -> Iterator[tuple[str, Path]]:
    """Story files by their number: `2-1-greeting.md` is story 2-1. The first place that has one counts."""
    for place in reversed(_PLACES):
        directory = root / place
        if leads_out(root, directory):
            continue
        try:
            names = sorted(name for name in os.listdir(directory) if name.endswith(".md"))  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            first, _, rest = name.removesuffix(".md").partition("-")
            second = rest.partition("-")[0]
            if first.isdigit() and second.isdigit():
                yield f"{first}-{second}", directory / name
