"""A repository as git sees it here: through a private git directory, with a configuration of our own.

The objects, the refs and the logs in it are links to the real ones; the configuration, the hooks, the index and what
names a program are not. What is not taken over cannot run, so nothing has to be forbidden by name, and a change of
the real configuration between two calls changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.call import SECONDS, GitOutput, call, verb_of
from interlock.world.git.entries import NEEDS_GIT, entries_only
from interlock.world.git.filters import accepted_filters, kept_by_filters
from interlock.world.git.settings import GitSetting, find, settings

__all__ = [
    "GitRoot",
    "Repository",
    "as_input",
    "borrowed",
    "opened",
    "private_directory",
    "sweep_private",
    "take_index",
]

_PREFIX = "ralph-git-"
_MEMORY = "/dev/shm"
_ROOM = 1 << 28
"""Bytes that must be free in memory."""
_MOST = 1 << 28
_TAKEN_OVER = frozenset(
    """
    core.attributesfile core.autocrlf core.checkroundtripencoding core.eol core.excludesfile core.filemode
    core.ignorecase core.precomposeunicode core.protecthfs core.protectntfs core.sparsecheckout
    core.sparsecheckoutcone core.symlinks extensions.objectformat extensions.refstorage
    """.split()
)
"""The settings that say how files and objects are read and written; none of them names a program."""
_OURS = {
    "core.bare": "false",
    "core.commitgraph": "false",  # it is a cache that the repository could lie in
    "core.filesreflocktimeout": "2000",
    "core.fsync": "committed,reference",  # what is acknowledged survives a power cut
    "core.fsyncmethod": "batch",
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.logallrefupdates": "true",
    "core.quotepath": "false",
    "core.repositoryformatversion": "1",
    "core.splitindex": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_RAW = "* -text -ident -filter !eol !working-tree-encoding\n"
"""Attributes by which every file is stored and written exactly as it is."""


class _KnownIndex(msgspec.Struct):
    """The user's index as it was copied last, and its entries; both are empty if git had to be asked."""

    content: bytes = b""
    entries: bytes = b""


class Repository(msgspec.Struct, frozen=True):
    """A repository that git can be asked about and told to change."""

    root: Path | None
    git_directory: Path
    common: Path
    private: Path
    settings: tuple[GitSetting, ...]
    filters: tuple[GitSetting, ...] = ()
    """The settings of the filters that a person accepted; no other one runs."""
    known_index: _KnownIndex = msgspec.field(default_factory=_KnownIndex)

    @property
    def work_tree(self) -> Path:
        if self.root is None:
            message = f"{self.common} is a bare repository and has no files."
            raise InterlockError("no_repository", message, "Go to a work tree of it.")
        return self.root

    @property
    def is_own(self) -> bool:
        """True if the work tree is an agent's, so that the repository in it counts for nothing."""
        return self.root is not None and self.git_directory == self.root.with_name("git")

    @property
    def own_refs(self) -> str:
        """The directory of the refs that protect the objects of an agent's tree from being collected."""
        return f"refs/ralf/trees/{self.work_tree.parent.name}"

    @property
    def algorithm(self) -> str:
        """The hash by which objects are named here."""
        return self.setting("extensions.objectformat") or "sha1"

    @property
    def index(self) -> Path:
        """A private index with the entries of the user's index, without stat data: git has to read every file.

        Changes to it do not touch the user's index.
        """
        return self.private / "plain" / "index"

    @property
    def users_index(self) -> Path:
        """An exact copy of the user's index, to be kept. No tree is made from it, because an agent can forge it."""
        return self.private / "index.users"

    def setting(self, name: str, *, of_the_user: bool = False) -> str | None:
        """The value in force of a setting; with `of_the_user` the repository has no say in it."""
        found = [one.value for one in self.settings if one.name == name and (one.is_users or not of_the_user)]
        return found[-1] if found else None

    def ask(
        self,
        *arguments: str,
        feed: bytes = b"",
        directory: Path | None = None,
        index: Path | None = None,
        is_raw: bool = False,
        most: int = _MOST,
        output: str | None = None,
        source: str | None = None,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> GitOutput:
        """Run git and give its answer, whatever its status; raises `git_failed` where something killed it.

        `is_raw` stores and writes files exactly as they are. What git reads is `feed`, or the file `source`.
        """
        tree = directory or self.root
        if is_raw:
            _make_raw(self)
        place = {"GIT_DIR": str(self.private / ("raw" if is_raw else "plain"))}
        if tree is not None:
            place["GIT_WORK_TREE"] = str(tree)
        if index is not None or is_raw:
            place["GIT_INDEX_FILE"] = str(index or self.index)
        whole = place | dict(environment or {})
        answer = call(
            arguments, tree or self.private, whole, feed=feed, most=most, output=output, source=source, seconds=seconds
        )
        if answer.status < 0 and not answer.is_cut:
            message = f"git {verb_of(arguments)} was killed by signal {-answer.status} in {self.root or self.common}."
            raise InterlockError("git_failed", message, "Try again.")
        return answer

    def run(
        self,
        *arguments: str,
        feed: bytes = b"",
        directory: Path | None = None,
        index: Path | None = None,
        is_raw: bool = False,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git and give its output; raises `git_failed` with what git said."""
        answer = self.ask(
            *arguments,
            feed=feed,
            directory=directory,
            index=index,
            is_raw=is_raw,
            seconds=seconds,
            environment=environment,
        )
        verb = verb_of(arguments)
        if answer.is_cut:
            message = f"git {verb} in {self.root or self.common} answered more than {_MOST} bytes."
            raise InterlockError("git_failed", message, "Look at it with git.")
        if answer.status != 0:
            message = f"git {verb} failed in {self.root or self.common}: {answer.said[-300:]}."
            raise InterlockError("git_failed", message, "Look at it with git.")
        return answer.output

    def found(self, *arguments: str) -> str | None:
        """Git's answer where it is one line, or None where git says with status 1 that there is none."""
        answer = self.ask(*arguments)
        if answer.status == 1:
            return None
        if answer.status != 0:
            message = f"git {verb_of(arguments)} failed in {self.root or self.common}: {answer.said[-300:]}."
            raise InterlockError("git_failed", message, "Look at it with git.")
        return os.fsdecode(answer.output).strip()

    def line(
        self,
        *arguments: str,
        feed: bytes = b"",
        index: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Git's answer where it is one line."""
        told = self.run(*arguments, feed=feed, index=index, environment=environment)
        return told.decode("utf-8", "surrogateescape").strip()


GitRoot = Path | Repository
"""Where a verb is to work: a directory, or the repository around it where that is open already."""


@contextmanager
def opened(place: GitRoot) -> Iterator[Repository]:
    """The repository around a directory, for as long as the block runs.

    One that is open already is taken as it is now, with the settings that it was opened with. It may stay open only
    as long as nothing else is let run: whoever can write its directory can name a program in it.
    """
    if isinstance(place, Repository):
        with _failing(place):
            _take_over(place, place.private / "plain")
            yield place
        return
    root, git_directory, common = find(place)
    known = settings(place, git_directory)
    with private_directory(_scratch()) as private:
        filters = accepted_filters(common, known)
        repository = Repository(root, git_directory, common, private, known, filters)
        _make(repository, repository.private / "plain")
        with _failing(repository):
            yield repository


@contextmanager
def borrowed(repository: Repository, place: Path) -> Iterator[Repository]:
    """The git directory of an agent inside an open work tree, with our settings: only its objects and refs are read."""
    with private_directory(_scratch()) as private:
        theirs = Repository(None, repository.git_directory, place, private, repository.settings)
        _make(theirs, theirs.private / "plain")
        yield theirs


@contextmanager
def private_directory(place: str | None = None) -> Iterator[Path]:
    """A directory of this process, on a disk or at a place; it is locked: without the lock, its process is gone."""
    while True:
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True) as name:
            held = _open(name)
            if held is None:
                continue
            try:
                with suppress(OSError):  # a file system without locks; nothing is swept there
                    fcntl.flock(held, fcntl.LOCK_EX)
                if os.path.lexists(name):  # else it was swept before it was locked
                    yield Path(name)
                    return
            finally:
                os.close(held)


def _scratch() -> str:
    """The directory for private directories: in memory if there is room, because each has a dozen files and links."""
    usual = tempfile.gettempdir()
    if usual != "/tmp" or "TMPDIR" in os.environ:
        return usual
    try:
        system = os.statvfs(_MEMORY)
    except OSError:
        return usual
    has_room = system.f_bavail * system.f_frsize >= _ROOM
    return _MEMORY if has_room and os.access(_MEMORY, os.W_OK | os.X_OK) else usual


def _open(directory: str) -> int | None:
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def sweep_private() -> None:
    """Remove the private git directories of this user's processes that were killed."""
    places = {tempfile.gettempdir(), _scratch()}
    for path in (path for place in places for path in Path(place).glob(f"{_PREFIX}*")):
        held = _open(str(path))
        if held is None:
            continue
        with suppress(OSError):  # its process lives
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(held).st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)
        os.close(held)


@contextmanager
def _failing(repository: Repository) -> Iterator[None]:
    """What the disk refuses, as an error of the catalogue."""
    try:
        yield
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        message = (
            f"A file of {repository.root or repository.common} cannot be read or written: {error.strerror}{where}."
        )
        raise InterlockError("git_failed", message, "Look at the disk and at who may write there.") from error


def as_input(paths: Iterator[str] | list[str] | tuple[str, ...]) -> bytes:
    """Paths as git reads them from its input."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _make(repository: Repository, private: Path) -> None:
    """Make a git directory that shares what is data, and has its own of what could run."""
    for name in ("info", "logs"):
        (private / name).mkdir(parents=True)
    shared = ("objects", "refs", "packed-refs", "reftable", "shallow", "logs/refs", "info/exclude", "info/attributes")
    for name in shared:
        if name != "reftable" or (repository.common / name).exists():
            os.symlink(f"{repository.common}/{name}", f"{private}/{name}")  # noqa: PTH211 done before every call
    for name in kept_by_filters(repository.filters):
        (repository.common / name).mkdir(exist_ok=True)
        os.symlink(f"{repository.common}/{name}", f"{private}/{name}")  # noqa: PTH211
    for name in ("logs/HEAD", "info/sparse-checkout"):
        os.symlink(f"{repository.git_directory}/{name}", f"{private}/{name}")  # noqa: PTH211
    (private / "config").write_text(_configuration(repository), encoding="utf-8", errors="surrogateescape")
    _take_over(repository, private)


def _take_over(repository: Repository, private: Path) -> None:
    """What changes while a repository is open: where HEAD is, and the index."""
    try:
        _put(private / "HEAD", (repository.git_directory / "HEAD").read_bytes())
    except OSError as error:
        message = f"{repository.git_directory} is no git directory: {error.strerror}."
        raise InterlockError("no_repository", message, "Repair it with `git worktree repair`.") from None
    for path in _shared_indexes(private):
        path.unlink()
    for path in _shared_indexes(repository.git_directory):
        (private / path.name).symlink_to(path)
    if private.name == "plain":
        take_index(repository)


def _put(path: Path, content: bytes) -> None:
    """Write a file of ours, unless it has this content: a repository is taken over before every verb."""
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def _shared_indexes(directory: Path) -> list[Path]:
    return [directory / name for name in os.listdir(directory) if name.startswith("sharedindex.")]  # noqa: PTH208


def take_index(repository: Repository) -> None:
    """Copy the user's index, and make the private index from its entries."""
    source, users, ours = repository.git_directory / "index", repository.users_index, repository.index
    known = repository.known_index
    if known.content and source.is_file() and source.read_bytes() == known.content:
        _put(ours, known.entries)
        return
    known.content = b""
    for path in (users, ours):
        path.unlink(missing_ok=True)
    if not source.is_file():
        return
    shutil.copy2(source, users)
    content = users.read_bytes()
    try:
        entries, extensions = entries_only(content, repository.algorithm)
        if extensions & NEEDS_GIT:
            repository.run("update-index", "--no-split-index", "--force-write-index", index=users)
            entries, _ = entries_only(users.read_bytes(), repository.algorithm)
        else:
            known.content, known.entries = content, entries
    except (ValueError, IndexError, struct.error) as error:
        message = f"The index of {repository.root or repository.common} cannot be read: {error}."
        raise InterlockError("git_failed", message, "Look at it with `git status`.") from None
    ours.write_bytes(entries)


def _make_raw(repository: Repository) -> None:
    """A second git directory by which files are stored and written exactly as they are, made when it is needed."""
    raw = repository.private / "raw"
    if raw.exists():
        return
    _make(repository, raw)
    attributes = raw / "info" / "attributes"
    attributes.unlink(missing_ok=True)
    attributes.write_text(_RAW, encoding="utf-8")


def _configuration(repository: Repository) -> str:
    taken = {one.name: one.value for one in repository.settings if one.name in _TAKEN_OVER} | _OURS
    lines = []
    for name, value in (taken | {one.name: one.value for one in repository.filters}).items():
        section, _, rest = name.partition(".")
        of, _, key = rest.rpartition(".")
        head = f"{section} {_quoted(of)}" if of else section
        lines.append(f"[{head}]\n\t{key} = {_quoted(value)}\n")
    return "".join(lines)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
