"""The files of a session as its driver keeps them: written from the journal, and people's edits read back.

The hash of a text is noted before it is written, so any other text in a file was written by a person or an agent, also
where it is what was there before: a person who puts that back means it. What is found after an agent was at work counts
as the agent's: it is kept aside, and the file is restored. What is found while none was at work is a person's.
"""

from __future__ import annotations

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
"""A file that exists for a moment, to see whether files can be written."""


def session_of(run: Run, log: str = "", beside: Mapping[str, Mapping[str, Beside]] | None = None) -> SessionContent:
    """The content of the files of a run's session."""
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
    """The edits of a person, and the texts that they were read from."""

    edits: Edits
    texts: Mapping[str, str]
    """Those that were read, line by line."""

    def beside(self, run: Run) -> dict[str, str]:
        """The texts in which what people wrote between our lines has changed, with plain line ends."""
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
    """The text that was last written to each from here."""
    _beside: dict[str, tuple[str, Mapping[str, Beside]]] = msgspec.field(default_factory=dict)
    """The text of each with what people wrote between our lines, and that alone."""
    _known: Known = msgspec.field(default_factory=dict)
    _hashes: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    _seen: FileHashes = msgspec.field(default_factory=FileHashes)
    _place: str = ""
    _logged: tuple[str, object] = ("", None)
    """The text that was last written to the log, and the state of the file then."""

    def __post_init__(self) -> None:
        self._seen.files = self.files.plain

    def check(self) -> None:
        """Raise an error if the session cannot have a directory, such as for a link in its place."""
        self.files.folder.names(self.session)
        self.files.folder.write(f"{self.session}/{_TRIAL}", b"")
        self.files.folder.remove(f"{self.session}/{_TRIAL}")

    def as_left(self, run: Run) -> dict[str, str]:
        """The files that a driver did not get to before it ended, by their hashes."""
        now = {name: self._seen.hash(self._path(name)) for name in run.left}
        return {name: sha256 for name, sha256 in now.items() if sha256 is not None and sha256 in run.left[name]}

    # Reading back

    def edits(self, run: Run, last: Callable[[], Run], *, is_whole: bool = True) -> FileEdits | None:
        """The edits of a person since the files were last projected; None if there are none.

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
        """The texts that the files should have."""
        for name, text in run.beside.items():
            known = self._beside.get(name)
            if known is None or known[0] is not text:
                self._beside[name] = text, beside_of(name, text)
        beside = {name: self._beside[name][1] for name in run.beside}
        return rendered(session_of(run, log, beside), self._known)

    def hashes(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """The hashes by which the texts are recognized; the log is recognized by its beginning."""
        return {name: self._hash(name, text) for name, text in wanted.items() if name != TRANSITIONS}

    def write(
        self, run: Run, wanted: Mapping[str, str], tell: Callable[[Restored], None], *, is_whole: bool = True
    ) -> None:
        """Write these texts to the files; what is in one and is not ours is kept aside first.

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
        return self.files.plain.mark(self._path(name))

    def _path(self, name: str) -> str:
        self._place = self._place or str(self.files.path(self.session))
        return f"{self._place}/{name}"
