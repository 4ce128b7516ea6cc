"""Where a loop works and what it works with; its files, read and written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal, Lease
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.stories.prd import PRD, parse_prd
from interlock.work.stories.progress import FILE, Progress, StoryProgress
from interlock.work.stories.stories import Story
from interlock.work.stories.story_files import parse_story
from interlock.world.agents.agent import Agent
from interlock.world.agents.running import Stop
from interlock.world.memory import Memory

__all__ = [
    "DRIVER",
    "Limits",
    "Shelf",
    "Yard",
    "known_stories",
    "named",
    "note",
    "own_files",
    "plain",
    "read_text",
    "sha",
    "write_bytes",
    "write_text",
]

DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.DRIVER)
_PLACES = (
    *("_bmad-output/implementation-artifacts", "_bmad-output/stories", "docs/stories", "docs/sprint-artifacts"),
    *("docs/implementation-artifacts", "stories", "docs"),
)
"""Where story files lie, in the order in which they are looked for."""
_MAX_NAME = 500
_MAX_FILE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take, and how much may be spent; 0 is no limit."""

    iterations: int = 100
    agent_seconds: float = 3600.0
    idle_seconds: float = 900.0
    test_seconds: float = 1800.0
    loop_seconds: float = 0.0
    task_usd: float = 0.0
    loop_usd: float = 0.0
    day_usd: float = 0.0
    loop_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Yard:
    """One repository with a loop in it."""

    journal: Journal
    root: Path
    state_directory: Path
    agents: tuple[Agent, ...]
    judge: Agent
    tests: tuple[str, ...]
    limits: Limits
    memory: Memory
    is_server: bool
    """Whether the memory is a server's, or the journal's own."""
    environment: Mapping[str, str]
    tell: Callable[[object], None]
    stop: Stop
    wait: Callable[[float], None]
    """Wait so many seconds, or until it is to stop."""
    model: str | None = None
    arguments: tuple[str, ...] = ()
    """A person's own flags for the agents."""
    template: str | None = None
    prompt: str = ""
    commits: bool = True

    @property
    def progress(self) -> Path:
        return self.root / FILE


def plain(value: object) -> Any:
    """A value as JSON has it: what an entry can keep."""
    return msgspec.json.decode(msgspec.json.encode(value))


def sha(text: str) -> str:
    """The hash by which a text is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def named(paths: Iterable[str]) -> list[str]:
    """Paths as a text can hold them, in order: git gives every byte of a name, and an agent chooses its names."""
    whole = (path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for path in paths)
    return sorted("".join(one if one.isprintable() else "\ufffd" for one in path)[:_MAX_NAME] for path in whole)


def read_text(path: Path) -> str | None:
    """A file's text; None where there is none. What is no text, or much too long, is an error of the catalogue."""
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


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole: whoever reads it sees the old text or the new one."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file as a whole, and make the directory that it is in."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            scratch.chmod(path.stat().st_mode & 0o777)
        scratch.replace(path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        message = f"{path} cannot be written: {error.strerror}."
        raise InterlockError("story_unwritable", message, "Make room, or give yourself write permission.") from None


def note(yard: Yard, loop: str, lease: Lease | None, type_: str, actor: Actor = DRIVER, **data: object) -> None:
    """Write something down in a loop's journal; it moves nothing."""
    evidence = Evidence(data={"type": type_, **data})
    yard.journal.append(loop, Event(NOTED, actor, evidence=evidence), lease=lease)


@dataclass(slots=True)
class Shelf:
    """The stories, read when they are asked for."""

    root: Path
    _prd: dict[str, Story] | None = None
    _files: dict[str, Path] | None = None
    lines: Mapping[str, StoryProgress] = field(default_factory=dict)

    def get(self, id_: str, otherwise: str = "there is no story file for it") -> Story | str:
        """A story, or why there is none."""
        try:
            path = self.path(id_)
            if path is not None:
                text = read_text(path)
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
            text = read_text(self.root / PRD)
            self._prd = {} if text is None else {one.id: one for one in parse_prd(text)}
        return self._prd


def known_stories(root: Path) -> list[tuple[str, str | None]]:
    """Every story that there is, with its file, in the order in which they would be done."""
    files = sorted(dict(_found(root)).items(), key=lambda one: [int(part) for part in one[0].split("-")])
    found: list[tuple[str, str | None]] = [(f"story-{number}", str(path.relative_to(root))) for number, path in files]
    return found or [(id_, PRD) for id_ in Shelf(root).prd()]


def own_files(root: Path, progress: Progress) -> tuple[str, ...]:
    """The files that are the loop's own, and no agent's work: `progress.txt`, `prd.json`, the files of the stories."""
    shelf = Shelf(root, lines={one.id: one for one in progress.stories})
    found: dict[str, None] = {FILE: None, PRD: None}
    for one in progress.stories:
        with suppress(Refusal):  # one that lies outside is nobody's here
            path = shelf.path(one.id)
            if path is not None:
                found[str(path.relative_to(root.resolve() if one.file else root))] = None
    return tuple(found)


def _found(root: Path) -> Iterator[tuple[str, Path]]:
    """Story files by their number: `2-1-greeting.md` is story 2-1. The first place that has one counts."""
    for place in reversed(_PLACES):
        directory = root / place
        for path in sorted(directory.glob("*.md")) if directory.is_dir() else ():
            first, _, rest = path.stem.partition("-")
            second = rest.partition("-")[0]
            if first.isdigit() and second.isdigit():
                yield f"{first}-{second}", path
