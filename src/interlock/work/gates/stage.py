"""Presence for tests and for the demo: in this process only, for a repository that this process made itself.

A stage is a new, empty directory among the temporary ones, entered here before anything is in it. A repository that
was there before can therefore never become one, whatever a command, a setting or the environment says.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.gates.presence import Presence
from interlock.work.gates.trust import Key, trust_of
from interlock.world.repository import STATE_DIRECTORY
from interlock.world.ssh import Signature, is_installed, make_key, sign

__all__ = ["Staged", "stage", "staged"]

_CHANNELS = (Channel.DEMO, Channel.TEST)
_stages: set[tuple[int, int, int]] = set()
"""The stages of this process: its id with the device and the number of each directory."""


def stage(directory: Path | None = None) -> Path:
    """A new temporary directory to play in, or one that is there, among the temporary ones, and empty."""
    root = Path(tempfile.mkdtemp(prefix="interlock-")) if directory is None else directory
    root.mkdir(exist_ok=True)
    inside = root.resolve().is_relative_to(Path(tempfile.gettempdir()).resolve())
    if not inside or any(root.iterdir()):
        raise _no_stage(root, "it is not a new directory among the temporary ones")
    _stages.add(_identity(root))
    return root


def staged(root: Path, channel: Channel | str, *, person: str = "ada@example.org", is_signing: bool = True) -> Presence:
    """Somebody who says yes to everything in a repository on a stage, under the channel `test` or `demo`.

    A key to be thrown away is enrolled with the first approval, where there is an ssh-keygen to make one.
    """
    if channel not in _CHANNELS:
        raise _no_stage(root, f"{str(channel)[:40]!r} is a channel of real people")
    if _identity(root) not in _stages:
        raise _no_stage(root, "this process did not make it")
    return Staged(Actor(ActorKind.HUMAN, person, Channel(channel)), root.resolve(), is_signing and is_installed())


class Staged(msgspec.Struct, frozen=True):
    """The one who plays the person on a stage."""

    actor: Actor
    root: Path
    is_signing: bool

    def enter(self, journal: Journal) -> None:
        """Refuse every journal but the stage's own; enroll the key where none is."""
        from interlock.work.gates.enrolling import enroll_first

        if journal.file is None or not journal.file.resolve().is_relative_to(self.root):
            raise _no_stage(self.root, "the journal lies elsewhere")
        if self.is_signing and not trust_of(journal).enrolled:
            enroll_first(journal, self, self._key_file(), os.environ)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        file = self._key_file()
        mine = [key for key in keys if key.file == file]
        return sign(statement, mine[0].public, file) if mine else None

    def _key_file(self) -> Path:
        """The public half of the key of this stage, made when it is first needed."""
        private = self.root / STATE_DIRECTORY / "staged" / "key"
        public = private.with_name("key.pub")
        if not public.exists():
            private.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_key(private)
        return public


def _identity(root: Path) -> tuple[int, int, int]:
    try:
        found = root.stat()
    except OSError:
        raise _no_stage(root, "it is not there") from None
    return os.getpid(), found.st_dev, found.st_ino


def _no_stage(root: Path, why: str) -> Refusal:
    message = f"Nobody can be staged in {root}: {why}."
    return Refusal("person_needed", message, "Ask a person at a terminal.")
