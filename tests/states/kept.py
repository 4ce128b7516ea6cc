"""Unpacks an archive of old state where it was written: its work trees and entries name absolute paths."""

from __future__ import annotations

import fcntl
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from faces.programs import Result, clean_environment, run, run_in_terminal

__all__ = ["PASSPHRASE", "Repository", "repository", "unpacked"]

ARCHIVES = Path(__file__).parent
PASSPHRASE = "correct horse"
"""The passphrase of the key in the archive; it signs nothing but these."""


class Repository(msgspec.Struct, frozen=True):
    """A repository from an archive, and the person who works in it."""

    root: Path
    environment: Mapping[str, str]
    ids: Mapping[str, Any]

    def ralph(self, *words: str) -> Result:
        return run(*words, cwd=self.root, env=self.environment)

    def person(self, *words: str, answers: Sequence[tuple[str, str]] = ()) -> tuple[int, str]:
        """Type a command at a terminal, and the answers to its questions; the exit status and the screen."""
        given: list[tuple[str, str | Callable[[], str]]] = list(answers)
        return run_in_terminal(*words, cwd=self.root, env=self.environment, answers=given)

    def state(self, thread: str) -> str:
        found: str = self.ralph("thread", "show", thread, "--json").data["state"]
        return found


@contextmanager
def unpacked(number: int) -> Iterator[Path]:
    """The directory of an archive at the path where it was written; one process has it at a time."""
    place = Path(f"/tmp/interlock-state-{number}")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(place, ignore_errors=True)
        with tarfile.open(ARCHIVES / f"{number}.tar.xz") as archive:
            archive.extractall(place.parent, filter="tar")
        try:
            yield place
        finally:
            shutil.rmtree(place)


def repository(place: Path, name: str, home: str, *indexes: str, **environment: str) -> Repository:
    """One of the repositories of an archive."""
    (place / home).mkdir(exist_ok=True)
    ids = {key: value for one in indexes for key, value in json.loads((place / one).read_text()).items()}
    return Repository(place / name, clean_environment(place / home, **environment), ids)
