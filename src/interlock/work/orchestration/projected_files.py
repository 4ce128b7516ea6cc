"""The files of a session as its driver keeps them: made to say what the journal says, and people's edits read back.

A text is noted by its hash before it is written, so whatever else is found in a file was written by somebody, also
where it is what was there before: whoever puts that back means it. What is found after an agent was at work is taken
for the agent's: it is kept aside, and the file says again what is so. What is found while none was is a person's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from interlock.work.driver.file_hashes import FileHashes
from interlock.work.formats.hashing import sha256_of
from interlock.work.orchestration.changes import NotTaken
from interlock.work.orchestration.edits import EDITABLE, Edits, is_readable, read_back, with_plain_ends
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.run_files.document import Beside
from interlock.work.orchestration.run_files.names import TRANSITIONS
from interlock.work.orchestration.session import Known, SessionContent, beside_of, rendered
from interlock.work.orchestration.store import Restored, SessionFiles

__all__ = ["FileEdits", "ProjectedFiles", "session_of"]

_TRIAL: Final = ".trial"
"""A file that is there for a moment, to see whether files can be written."""


def session_of(run: Run, log: str = "", beside: Mapping[str, Mapping[str, Beside]] | None = None) -> SessionContent:
    """What the files of a run's session say."""
    return SessionContent(
        id=run.session,
        plan=run.plan,
        planning=run.planning,
        created=run.started,
        updated=run.asked_at,
        cycles=tuple(run.cycles),
        reports=tuple(report for reports in run.reports.values() for report in reports),
        transitions=log,
        beside=beside or {},
        words=run.words,
    )


class FileEdits(msgspec.Struct, frozen=True):
    """What somebody wrote into the files, and what it means."""

    edits: Edits
    texts: Mapping[str, str]
    """Those that were read, line by line."""

    def beside(self, run: Run) -> dict[str, str]:
        """Those in which people wrote between our lines something else than they had, with plain ends of lines."""
        plain = {name: with_plain_ends(text) for name, text in self.texts.items()}
        was = {name: beside_of(name, run.beside.get(name, "")) for name in plain}
        return {name: text for name, text in plain.items() if beside_of(name, text) != was[name]}

    @property
    def hashes(self) -> dict[str, str]:
        return {name: sha256_of(text) for name, text in self.texts.items()}

    @property
    def refused(self) -> tuple[NotTaken, ...]:
        return self.edits[1]


class ProjectedFiles(msgspec.Struct):
    """The files of one session."""

    files: Final[SessionFiles]
    session: Final[str]
    _texts: dict[str, str] = msgspec.field(default_factory=dict)
    """What each was last made to be from here."""
    _beside: dict[str, tuple[str, Mapping[str, Beside]]] = msgspec.field(default_factory=dict)
    """What people wrote between our lines of each, and the text that it was read in."""
    _known: Known = msgspec.field(default_factory=dict)
    _hashes: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    _seen: FileHashes = msgspec.field(default_factory=FileHashes)
    _place: str = ""
    _logged: tuple[str, object] = ("", None)
    """What the log was made to be, and the file as it was then."""

    def check(self) -> None:
        """Raise what keeps the session from having a directory, such as a link in its place."""
        self.files.folder.names(self.session)
        self.files.folder.write(f"{self.session}/{_TRIAL}", b"")
        self.files.folder.remove(f"{self.session}/{_TRIAL}")

    def as_left(self, run: Run) -> dict[str, str]:
        """The files that a driver did not come to any more, by their hashes."""
        now = {name: self._seen.hash(self._path(name)) for name in run.left}
        return {name: sha256 for name, sha256 in now.items() if sha256 is not None and sha256 in run.left[name]}

    # Reading back

    def edits(self, run: Run, last: Callable[[], Run], *, is_whole: bool = True) -> FileEdits | None:
        """What a person edited, compared with what was last projected; None where nothing was.

        `last` gives the run as it was then, for files that were not written from here. Unless it `is_whole`, only
        the files are looked at that people may edit.
        """
        looked_at = run.projected if is_whole else EDITABLE & run.projected.keys()
        names = [name for name in looked_at if self._is_edited(name, run.projected[name], run)]
        if not names:
            return None
        made = {} if all(name in self._texts for name in names) else self._made(last())
        projected = {name: self._texts.get(name) or made.get(name, "") for name in names}
        found = self.files.edited(self.session, projected, lambda sha256: False)
        if not found:
            return None
        read = {name: text for name, text in found.items() if is_readable(name, text)}
        return FileEdits(read_back(run.plan.tasks, projected, found), read)

    def _is_edited(self, name: str, sha256: str, run: Run) -> bool:
        is_now = self._seen.hash(self._path(name))
        known = (sha256, run.found.get(name), *run.left.get(name, ()))
        return is_now is not None and is_now not in known

    def _made(self, run: Run) -> dict[str, str]:
        return rendered(session_of(run, beside={name: beside_of(name, text) for name, text in run.beside.items()}))

    # Writing

    def wanted(self, run: Run, log: str) -> dict[str, str]:
        """What the files are to be."""
        for name, text in run.beside.items():
            known = self._beside.get(name)
            if known is None or known[0] is not text:
                self._beside[name] = text, beside_of(name, text)
        beside = {name: self._beside[name][1] for name in run.beside}
        return rendered(session_of(run, log, beside), self._known)

    def hashes(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """By which they are known again; the log is known by its beginning."""
        return {name: self._hash(name, text) for name, text in wanted.items() if name != TRANSITIONS}

    def write(
        self, run: Run, wanted: Mapping[str, str], tell: Callable[[Restored], None], *, is_whole: bool = True
    ) -> None:
        """Let the files say this; what is in one and is not ours is kept aside first.

        Unless it `is_whole`, a file that was made to say this already, and that nobody may edit, is not looked at.
        """
        self.files.take_place(self.session, tell)
        known = {} if is_whole else self._texts
        stale = {
            name: text
            for name, text in wanted.items()
            if (name in EDITABLE or known.get(name) is not text) and not self._is_there(name, text)
        }
        if stale:
            ours = {one for name in stale for one in (run.projected.get(name, ""), *run.left.get(name, ()))}
            self.files.project(self.session, stale, ours.__contains__, tell)
        self._texts.update(wanted)
        if TRANSITIONS in stale:
            self._logged = stale[TRANSITIONS], self._mark(TRANSITIONS)

    def _is_there(self, name: str, text: str) -> bool:
        if name == TRANSITIONS:
            was, mark = self._logged
            return was == text and mark is not None and mark == self._mark(name)
        return self._seen.hash(self._path(name)) == self._hash(name, text)

    def _hash(self, name: str, text: str) -> str:
        known = self._hashes.get(name)
        if known is None or known[0] is not text:
            known = self._hashes[name] = (text, sha256_of(text))
        return known[1]

    def _mark(self, name: str) -> object:
        try:
            seen = os.lstat(self._path(name))
        except OSError:
            return None
        return seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns

    def _path(self, name: str) -> str:
        self._place = self._place or str(self.files.path(self.session))
        return f"{self._place}/{name}"
