"""The directories of the sessions, `.ralph-sessions/<SESSION_ID>/`: read, compared and written.

They are for people and their tools; the journal is the truth. What a file says and we never wrote is an edit: one of a
person's is read back by `edits`, and whatever was not read back is kept under `.ralf/rejected/` before the file is
written again. Nothing is reached through a link. A directory that the source system made itself can be read, too.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import InterlockError
from interlock.work.driver.ports import Ports
from interlock.work.formats.hashing import sha256_of
from interlock.work.orchestration.edits import MOST
from interlock.work.orchestration.run_files.names import TRANSITIONS, check_session_id, is_session_id, session_id

__all__ = ["DIRECTORY", "Restored", "SessionFiles"]

DIRECTORY: Final = ".ralph-sessions"
_MOST: Final = 4 * MOST
"""A character has up to four bytes."""
_IGNORE: Final = ".gitignore"
_IGNORED: Final = b"*\n"
"""The rule by which git ignores the sessions: they change with every step, and are not part of the work."""
_UNREADABLE: Final = frozenset({"file_unsafe", "file_unreadable"})
_ADVICE: Final = "Agents report by their answers; people may edit plan.md, tasks.md, progress.md and answers"


class Restored(msgspec.Struct, frozen=True):
    """A file that was restored, the path at which its edit is kept, and a sentence for the user."""

    file: str
    kept: str
    message: str


class SessionFiles:
    """The sessions of a repository. A name that is not a session's id is refused with `invalid_argument`."""

    def __init__(self, ports: Ports, root: Path, state_directory: Path) -> None:
        self.folder: Final = ports.folder(root / DIRECTORY)
        self.plain: Final = ports.files
        """The files by their whole paths, to look at without opening."""
        self._state: Final = ports.folder(state_directory)

    def path(self, id_: str) -> Path:
        """The directory of a session."""
        return self.folder.path / check_session_id(id_)

    def sessions(self) -> tuple[str, ...]:
        """The ids of the sessions that have a directory, the newest first."""
        found = [name for name in self.folder.names("") if is_session_id(name)]
        return tuple(sorted(found, key=_age, reverse=True))

    def new_id(self, now: datetime, taken: tuple[str, ...] = ()) -> str:
        """The id of a session that begins now: none that has a directory, and none of those taken."""
        return session_id(now, {*self.folder.names(""), *taken})

    # Reading

    def read(self, id_: str, name: str) -> str | None:
        """The text of a file, with invalid bytes as surrogates; None if there is no file."""
        content = self.folder.read(f"{check_session_id(id_)}/{name}", _MOST)
        return None if content is None else content.decode("utf-8", "surrogateescape")

    def texts(self, id_: str) -> dict[str, str]:
        """The Markdown texts in a directory, without links and what cannot be read."""
        names = self.folder.names(check_session_id(id_))
        texts = {name: self._whole(id_, name) for name in names if name.endswith(".md")}
        return {name: text for name, text in texts.items() if text is not None}

    def _whole(self, id_: str, name: str) -> str | None:
        try:
            text = self.read(id_, name)
        except InterlockError as error:
            if error.code not in _UNREADABLE:
                raise
            return None
        return None if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def edited(self, id_: str, projected: Mapping[str, str], ours: Callable[[str], bool]) -> dict[str, str]:
        """The files whose texts differ from what was projected.

        A text whose hash `ours` accepts is not an edit: a crash left it. What cannot be read is left to `project`.
        """
        found: dict[str, str] = {}
        for name, text in projected.items():
            content, is_file = self._content(id_, name)
            if is_file and content is not None and content != text.encode() and not ours(sha256_of(content)):
                found[name] = content.decode("utf-8", "surrogateescape")
        return found

    # Writing

    def take_place(self, id_: str, tell: Callable[[Restored], None]) -> None:
        """Set aside and report a link or a file in the place of a session's directory."""
        mark = self.plain.mark(self.path(id_))
        if mark is not None and not stat.S_ISDIR(mark[0]):
            self.folder.names("")  # nor is one followed on the way there
            for one in self._set_aside(id_):
                tell(one)

    def project(
        self, id_: str, wanted: Mapping[str, str], ours: Callable[[str], bool], tell: Callable[[Restored], None]
    ) -> None:
        """Write these texts to the files; only what differs is written, in this order.

        A content that is not `ours` is set aside and told first; a text that was read back is, by its hash.
        """
        self.folder.names(check_session_id(id_))  # no link is followed from here on
        for place in ("", id_):
            self.folder.sweep(place)
        if _IGNORE not in self.folder.names(""):
            self.folder.create(_IGNORE, _IGNORED)
        for name, text in wanted.items():
            for one in self._restore(id_, name, text.encode(), ours):
                tell(one)

    def _restore(self, id_: str, name: str, wanted: bytes, ours: Callable[[str], bool]) -> Iterator[Restored]:
        content, is_file = self._content(id_, name)
        if content == wanted:
            return
        place = f"{id_}/{name}"
        if is_file and name == TRANSITIONS and wanted.startswith(content or b""):
            self.folder.append(place, wanted[len(content or b"") :])
            return
        if not is_file or (content is not None and not ours(sha256_of(content))):
            yield from self._set_aside(place)
        self.folder.write(place, wanted)

    def _content(self, id_: str, name: str) -> tuple[bytes | None, bool]:
        """The content of a file, and True if it could be read: a link in its place is an edit, too."""
        try:
            return self.folder.read(f"{check_session_id(id_)}/{name}", _MOST), True
        except InterlockError as error:
            if error.code not in _UNREADABLE:
                raise
            return None, False

    def _set_aside(self, place: str) -> Iterator[Restored]:
        kept = self._state.take_in(self.folder.path / place, place)
        if kept is not None:
            kept = f"{self._state.path.name}/{kept}"
            message = f"{DIRECTORY}/{place} was edited; it was restored, and the edit is kept as {kept}."
            yield Restored(place, kept, f"{message} {_ADVICE}.")


def _age(id_: str) -> tuple[str, int]:
    """By the second, then by the number in it."""
    return id_[:13], int(id_[14:] or 1)
