"""Take the tree of an agent's files: again and again, while no agent is running.

A take lists the files itself and asks git what is ignored, so its result depends on nothing but the files, the entries
that the tree began with, and the person's settings. What an earlier take knows only saves reading: a file is read
again unless its inode, size, mode and times are what they were when it was read. Git's own comparison is not used,
because it may leave out fractions of a second. This needs a file system on which every write changes the time of a
change (`_TRUSTED`), and an agent that has ended: a write through a mapping that is still there may change nothing.
Elsewhere every file is read every time.

Git's built-in conversions follow the `.gitattributes` of the files; what is ignored follows their `.gitignore`. A
submodule of the base stays as it is, and every other repository among the files is taken as files.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.entries import without_stat_data
from interlock.world.git.objects import GITLINK, LINK, differences
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.references import protect_tree
from interlock.world.git.settings import GitSetting
from interlock.world.git.status import UNUSUAL, ignored_among, nested_files, raw_hash, unusual_among
from interlock.world.git.trees import refuse_filters

__all__ = ["TakenTree", "TreeTaking", "note_unusual"]

_TRUSTED = frozenset({b"ext4", b"xfs", b"btrfs"})
"""The file systems that change the time of a change on every write, also on one through a mapping."""
_UNSETTLED_NANOSECONDS = 20_000_000
"""Two changes within the resolution of a clock can give a file the same times."""
_MOST_LEFT_OUT = 100
_LARGE, _MOST_HOLES = 1 << 20, 4 << 30
"""Bytes of a file that may have holes worth counting, and of all files that are little else."""
_SPARSE = 64
"""The size of such a file, in times of what it takes; no file system compresses as much."""
_SECONDS = 3600.0
_ATTRIBUTES, _IGNORE = b".gitattributes", b".gitignore"
_RULES = frozenset({_ATTRIBUTES, _IGNORE})
_Mark = tuple[int, int, int, int, int, int]
_Entry = tuple[str, str]
"""The mode and the hash of a path."""


class TakenTree(msgspec.Struct, frozen=True):
    """The files of an agent as one tree, and what of them no tree can hold."""

    tree: str
    left_out: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    """What is ignored, a directory with a slash at its end."""


class _Basis(msgspec.Struct, frozen=True):
    """What a take depends on besides the files: if it changes, everything is read again."""

    index: bytes
    settings: tuple[GitSetting, ...]
    attributes: tuple[tuple[bytes, _Mark | bytes], ...]


class _Seen(msgspec.Struct):
    """The files as a walk saw them."""

    files: dict[bytes, _Mark]
    """Plain files and links."""
    special: list[bytes]
    """Everything else that is not a directory."""
    directories: list[bytes]
    attributes: dict[bytes, _Mark]
    ignores: dict[bytes, _Mark]
    pruned: set[bytes]


class TreeTaking(msgspec.Struct):
    """Takes the tree of one directory; it keeps what it read."""

    _basis: _Basis | None = None
    _base: dict[bytes, _Entry] = msgspec.field(default_factory=dict)
    """The entries that the tree began with."""
    _skipped: frozenset[bytes] = frozenset()
    """Those that sparse rules leave out of the files."""
    _fixed: frozenset[bytes] = frozenset()
    """Those that are submodules."""
    _index: bytes = b""
    _stored: dict[bytes, _Entry] = msgspec.field(default_factory=dict)
    """The entries of that index."""
    _marks: dict[bytes, _Mark] = msgspec.field(default_factory=dict)
    """The files that were read, as they were then."""
    _refused: dict[bytes, _Mark] = msgspec.field(default_factory=dict)
    """The files that git could not store, as they were then."""
    _ignored: frozenset[bytes] = frozenset()
    """Directories in which nothing counts."""
    _ignored_files: frozenset[bytes] = frozenset()
    _ignores: dict[bytes, _Mark] = msgspec.field(default_factory=dict)
    _tree: str = ""

    def take(self, root: GitRoot) -> TakenTree:
        """The tree of the files as they are now; nothing may write to them meanwhile."""
        with opened(root) as repository:
            is_known = self._basis is not None
            try:
                return self._take(repository)
            except InterlockError as error:
                self._basis = None
                if error.code != "git_failed" or not is_known:
                    raise
                return self._take(repository)  # objects that only the last take knew of may have been collected

    def _take(self, repository: Repository) -> TakenTree:
        index, clock = repository.private / "index.take", _clock(repository)
        top = os.fsencode(repository.work_tree)
        seen = _walk(top, self._ignored)
        if seen.ignores != self._ignores:
            self._ignored = frozenset()
            seen = _walk(top, self._ignored) if seen.pruned else seen
        _refuse_unreadable(repository, seen)
        self._begin(repository, index, seen)
        wanted, kept, beside = self._list(repository, index, seen)
        given_up = {path for path, mark in self._refused.items() if path in wanted and mark == seen.files[path]}
        marks, files, stored = self._marks, seen.files, self._stored
        read = {path for path in wanted if marks.get(path) != files[path] or path not in stored} - given_up
        _refuse_holes(repository, {path: files[path][1] for path in read})
        again = {path for path in kept if self._stored.get(path) != self._base[path]}
        gone = self._stored.keys() - wanted - kept | given_up & self._stored.keys()
        if read or again or gone or not self._tree:
            self._update(repository, index, read, again, gone)
            self._note(top, seen, read, clock)
        left_out = {*self._refused, *beside} & {*wanted, *beside}
        there = seen.pruned | {*seen.directories}
        ignored = {*self._ignored_files, *(one + b"/" for one in self._ignored & there)}
        return TakenTree(self._tree, _sorted(left_out), _sorted(ignored))

    def _begin(self, repository: Repository, index: Path, seen: _Seen) -> None:
        """Lay out the index of the last take, or a new one of the base."""
        ours = repository.index.read_bytes() if repository.index.exists() else b""
        basis = _Basis(ours, (*repository.settings, *repository.filters), _attributes(repository, seen))
        self._ignores = seen.ignores
        if basis == self._basis:
            index.write_bytes(self._index)
            return
        index.write_bytes(ours)
        self._base, self._skipped = {}, frozenset()
        skipped = []
        for line in repository.run("ls-files", "-z", "-t", "-s", index=index).split(b"\0"):
            if line:
                said, _, path = line.partition(b"\t")
                tag, mode, name, _ = said.decode("ascii").split()
                self._base[path] = mode, name
                skipped += [path] if tag == "S" else []
        self._basis, self._skipped, self._index, self._tree = basis, frozenset(skipped), ours, ""
        self._fixed = frozenset(path for path, (mode, _) in self._base.items() if mode == GITLINK)
        self._stored, self._marks, self._refused = dict(self._base), {}, {}

    def _list(self, repository: Repository, index: Path, seen: _Seen) -> tuple[set[bytes], set[bytes], set[bytes]]:
        """The files that count, the entries of the base that stay without one, and what no tree can hold."""
        fixed, files = self._fixed, seen.files.keys()
        there = {*seen.directories, *seen.special} if fixed else set()
        kept = {path for path in fixed if path in there or path in files or path in self._skipped}
        kept |= self._skipped - files
        tracked = (self._base.keys() & files) - fixed
        others = self._others(repository, seen, self._base.keys() - tracked - kept)
        inside = {path for path in others if any(one in kept for one in (path, *_above(path)))} if fixed else set()
        wanted = tracked | (others & files) - inside
        rest = [*(files - wanted), *seen.special]
        beside = self._beside(repository, rest, wanted | kept)
        return wanted, kept, beside

    def _others(self, repository: Repository, seen: _Seen, gone: set[bytes]) -> set[bytes]:
        """The files that the base does not have and that are not ignored."""
        index = repository.private / "index.base"
        index.write_bytes(self._basis.index if self._basis is not None else b"")
        _remove(repository, index, gone)
        listed = repository.run("ls-files", "-z", "--others", "--exclude-standard", index=index).split(b"\0")
        nested = [path for path in listed if path.endswith(b"/")]
        return {path for path in listed if path and path not in nested} | set(nested_files(repository, nested))

    def _beside(self, repository: Repository, rest: Collection[bytes], taken: Collection[bytes]) -> set[bytes]:
        """Those files that are neither taken nor ignored; what is ignored as a whole is not walked next time."""
        self._ignored_files = frozenset()
        if not rest:
            return set()
        alive = {b""} | {one for path in taken for one in _above(path)} | {*taken}
        tops = {path: next((one for one in (*_above(path)[::-1], path) if one not in alive), path) for path in rest}
        asked = sorted({top if top == path else top + b"/" for path, top in tops.items()})
        ignored = ignored_among(repository, asked)
        holding = {one for path in self._base for one in _above(path)}  # what is in the base counts, ignored or not
        self._ignored |= {one.rstrip(b"/") for one in ignored if one.endswith(b"/")} - holding
        others = [path for path, top in tops.items() if top not in ignored and top + b"/" not in ignored]
        single = ignored_among(repository, others)
        self._ignored_files = frozenset(single | {one for one in ignored if one.rstrip(b"/") not in self._ignored})
        return set(others) - single

    def _update(
        self, repository: Repository, index: Path, read: set[bytes], again: set[bytes], gone: set[bytes]
    ) -> None:
        links = {path for path in read if path.rpartition(b"/")[2] == _ATTRIBUTES}
        _remove(repository, index, gone | (links & self._stored.keys()))
        self._put_base(repository, index, sorted(again))
        refused = set(_add(repository, index, [*sorted(links), *sorted(read - links)]))
        tree, new = self._written(repository, index)
        unusual = unusual_among(repository, read)
        refused |= {path for path in read if not self._is_in(new, path)}  # `update-index` drops some without an error
        refused.difference_update(unusual)
        if unusual or (refused and any(self._is_in(new, path) for path in refused)):
            _remove(repository, index, {path for path in refused if self._is_in(new, path)})
            self._put_base(repository, index, unusual)
            tree, new = self._written(repository, index)
        changed = {path: one for path, one in new.items() if one is not None and one != self._base.get(path)}
        _refuse_filtered(repository, self._base, changed)
        protect_tree(repository, "taken", tree)
        self._tree = tree
        self._stored.update((path, one) for path, one in new.items() if one is not None)
        for path in {path for path, one in new.items() if one is None} | refused:
            self._stored.pop(path, None)
            self._marks.pop(path, None)
        self._index = without_stat_data(index.read_bytes(), repository.algorithm)
        self._refused = {path: mark for path, mark in self._refused.items() if path not in gone}
        self._refused |= dict.fromkeys(refused, (0,) * 6)

    def _put_base(self, repository: Repository, index: Path, paths: Sequence[bytes]) -> None:
        """Give paths the entries that the base has."""
        lines = [f"{self._base[path][0]} {self._base[path][1]}\t".encode() + path + b"\0" for path in paths]
        if lines:
            repository.run("update-index", "-z", "--index-info", feed=b"".join(lines), index=index)

    def _written(self, repository: Repository, index: Path) -> tuple[str, dict[bytes, _Entry | None]]:
        """The tree of an index, and its entries that are not as in the last tree; None stands for one that is gone."""
        tree = repository.line("write-tree", index=index)
        if not self._tree:
            listed: dict[bytes, _Entry | None] = {**_entries(repository, index)}
            return tree, {**dict.fromkeys(self._stored.keys() - listed.keys()), **listed}
        changes = differences(repository, self._tree, tree)
        return tree, {one.path: (one.new.mode, one.new.hash) if one.new is not None else None for one in changes}

    def _is_in(self, new: Mapping[bytes, _Entry | None], path: bytes) -> bool:
        return new[path] is not None if path in new else path in self._stored

    def _note(self, top: bytes, seen: _Seen, read: Iterable[bytes], clock: int | None) -> None:
        """Remember the files that were read, so that they need not be read again."""
        for path in read:
            mark = seen.files[path]
            latest = max(mark[2], mark[3])
            is_settled = clock is not None and latest < clock - _UNSETTLED_NANOSECONDS
            known = self._refused if path in self._refused else self._marks
            known.pop(path, None) if known is self._marks else None
            if is_settled:
                known[path] = mark


# The files


def _walk(top: bytes, ignored: Collection[bytes]) -> _Seen:
    """Every file below a directory, without what is git's or lies in a directory that is ignored as a whole."""
    seen = _Seen({}, [], [], {}, {}, set())
    left, files = [b""], seen.files
    while left:
        directory = left.pop()
        try:
            found = os.scandir(os.path.join(top, directory))  # noqa: PTH118 bytes
        except OSError:  # its name is too long, or nobody may read it
            seen.special.append(directory)
            continue
        prefix = directory + b"/" if directory else b""
        with found:
            for one in found:
                path = prefix + one.name
                if one.name == b".git" and (not directory or _is_repository(top + b"/" + path)):
                    continue
                if one.is_file(follow_symlinks=False) and one.name not in _RULES:  # nearly every one
                    s = one.stat(follow_symlinks=False)
                    files[path] = s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_mode, s.st_dev
                elif not one.is_dir(follow_symlinks=False):
                    _see(seen, path, one)
                elif path in ignored:
                    seen.pruned.add(path)
                else:
                    left.append(path)
                    seen.directories.append(path)
    return seen


def _is_repository(dot_git: bytes) -> bool:
    """True if a `.git` makes a repository of the directory that it is in."""
    if os.path.isdir(dot_git):  # noqa: PTH112 bytes
        return all(os.path.lexists(dot_git + name) for name in (b"/HEAD", b"/objects", b"/refs"))
    return os.path.isfile(dot_git)  # noqa: PTH113 bytes


def _see(seen: _Seen, path: bytes, one: os.DirEntry[bytes]) -> None:
    mark = _mark(one.stat(follow_symlinks=False))
    if one.name == _ATTRIBUTES:
        seen.attributes[path] = mark
    elif one.name == _IGNORE:
        seen.ignores[path] = mark
    if stat.S_ISREG(mark[4]) or stat.S_ISLNK(mark[4]):
        seen.files[path] = mark
    else:
        seen.special.append(path)


def _sorted(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(map(os.fsdecode, paths)))


def _mark(found: os.stat_result) -> _Mark:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode, found.st_dev


def _above(path: bytes) -> list[bytes]:
    """The directories that a path is in, the nearest first."""
    found = []
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        found.append(path)
    return found


def _refuse_unreadable(repository: Repository, seen: _Seen) -> None:
    """Refuse a file of rules that is not a file: git would wait for what a pipe says."""
    named = {_ATTRIBUTES, _IGNORE}
    wrong = [os.fsdecode(path) for path in seen.special if path.rpartition(b"/")[2] in named]
    if wrong:
        message = f"{wrong[0]!r} in {repository.work_tree} is not a file, so git cannot read it."
        raise InterlockError("git_unsafe", message, "Remove it.", {"paths": wrong})


def _refuse_holes(repository: Repository, sizes: Mapping[bytes, int]) -> None:
    """Refuse files that take no room here, and would take much time to read and much room wherever they are copied."""
    top = os.fsencode(repository.work_tree) + b"/"
    large = (path for path, size in sizes.items() if size >= _LARGE)
    sparse = [path for path in large if os.lstat(top + path).st_blocks * 512 * _SPARSE < sizes[path]]
    holes = sum(sizes[path] for path in sparse)
    if holes > _MOST_HOLES:
        message = f"Files in {repository.work_tree} have {holes >> 30} GiB of holes; they are not read."
        raise InterlockError("git_unsafe", message, "Remove them.", {"paths": _sorted(sparse)[:_MOST_LEFT_OUT]})


def _attributes(repository: Repository, seen: _Seen) -> tuple[tuple[bytes, _Mark | bytes], ...]:
    """What decides how files are stored, wherever it stands."""
    users = repository.setting("core.attributesfile")
    places = [_info_attributes(repository), *([Path(users).expanduser()] if users else [])]
    found: list[tuple[bytes, _Mark | bytes]] = [*sorted(seen.attributes.items())]
    for place in places:
        try:
            found.append((os.fsencode(place), place.read_bytes() if place.is_file() else b""))
        except OSError:
            continue
    return tuple(found)


# What git stores


def _entries(repository: Repository, index: Path) -> dict[bytes, _Entry]:
    found = {}
    for line in repository.run("ls-files", "-z", "-s", index=index).split(b"\0"):
        if line:
            said, _, path = line.partition(b"\t")
            mode, name, _ = said.decode("ascii").split()
            found[path] = mode, name
    return found


def _remove(repository: Repository, index: Path, paths: Collection[bytes]) -> None:
    if paths:
        feed = b"".join(path + b"\0" for path in paths)
        repository.run("update-index", "-z", "--force-remove", "--stdin", feed=feed, index=index)


def _add(repository: Repository, index: Path, paths: Sequence[bytes]) -> Iterator[bytes]:
    """Put files into the index; yield those that git refuses."""
    refused = 0
    parts = [list(paths)] if paths else []
    while parts:
        part = parts.pop()
        feed = b"".join(path + b"\0" for path in part)
        words = ("update-index", "-z", "--add", "--replace", "--stdin")
        answer = repository.ask(*words, feed=feed, index=index, seconds=_SECONDS)
        if answer.status == 0:
            continue
        if len(part) > 1:
            parts += [part[len(part) // 2 :], part[: len(part) // 2]]
            continue
        refused += 1
        if refused > _MOST_LEFT_OUT:
            message = f"Git can store more than {_MOST_LEFT_OUT} of the files in {repository.work_tree} in no tree."
            raise InterlockError("git_unsafe", f"{message} The last: {answer.said[-200:]}.", "Remove or rename them.")
        yield part[0]


def _refuse_filtered(repository: Repository, base: dict[bytes, _Entry], changed: dict[bytes, _Entry]) -> None:
    """Refuse content that only a program could store."""
    if any(one.name.startswith("filter.") for one in repository.settings):
        stored = {
            path: one for path, one in changed.items() if one[0] != LINK and one[1] != base.get(path, one[::-1])[1]
        }
        refuse_filters(repository, list(map(os.fsdecode, stored)), ("clean", "process"))


# Files that are not stored as their attributes say


def note_unusual(repository: Repository, index: Path) -> None:
    """Note the files of a new tree that git would store in another way than the base does.

    Line endings that were committed before `.gitattributes` named them are an example. Such a file keeps its entry for
    as long as nobody changes it.
    """
    base = _entries(repository, index)
    top = os.fsencode(repository.work_tree) + b"/"
    converted = _converted(repository, [path for path, (mode, _) in base.items() if mode not in (GITLINK, LINK)])
    converted = [path for path in converted if os.path.isfile(top + path)]  # noqa: PTH113 bytes
    if not converted:
        return
    fresh = repository.private / "index.unusual"
    fresh.write_bytes(without_stat_data(index.read_bytes(), repository.algorithm))
    refused = set(_add(repository, fresh, converted))
    stored = _entries(repository, fresh)
    differing = [path for path in converted if path in refused or stored.get(path) != base[path]]
    marks = {path.hex(): raw_hash(top + path) for path in differing}
    (repository.git_directory / UNUSUAL).write_text(json.dumps(marks), encoding="ascii")


def _converted(repository: Repository, paths: list[bytes]) -> list[bytes]:
    """Those of the files that git may store in another form than they have."""
    if repository.setting("core.autocrlf") not in (None, "false"):
        return paths
    is_named = any(path.rpartition(b"/")[2] == _ATTRIBUTES for path in paths)
    if not (is_named or repository.setting("core.attributesfile") or _info_attributes(repository).is_file()):
        return []
    conversions = ("text", "eol", "ident", "working-tree-encoding")
    feed = b"".join(path + b"\0" for path in paths)
    told = repository.run("check-attr", "-z", "--stdin", *conversions, feed=feed).split(b"\0")
    values = zip(told[::3], told[2::3], strict=False)
    return list(dict.fromkeys(path for path, value in values if value not in (b"unspecified", b"unset")))


def _info_attributes(repository: Repository) -> Path:
    return repository.common / "info" / "attributes"


# The clock


def _clock(repository: Repository) -> int | None:
    """The time of the file system now; None where the times of files cannot be trusted."""
    place = repository.git_directory
    if place.stat().st_dev != repository.work_tree.stat().st_dev or _type_of(place) not in _TRUSTED:
        return None
    written = place / "ralph-clock"
    written.write_bytes(b"")
    return written.stat().st_mtime_ns


def _type_of(place: Path) -> bytes:
    """The type of the file system that a directory is on; empty if it is not known."""
    device = place.stat().st_dev
    number = b"%d:%d" % (os.major(device), os.minor(device))
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return b""
    for line in lines:
        mount, _, rest = line.partition(b" - ")
        if mount.split(b" ")[2] == number:
            return rest.split(b" ")[0]
    return b""
