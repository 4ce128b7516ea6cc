"""Read objects with their hashes checked, and compare trees.

Git names an object by the hash of its content, but does not check the hash when it reads the object, so a program that
writes into the object store can replace the content. Everything that people are shown, and everything that is verified
or compared, is read here: content that does not match its hash is refused. An object that is a small file of its own,
as every new one is, is read without git; whatever is unusual about it is left to git.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.private import GitRoot, Repository, opened, private_directory

__all__ = [
    "GITLINK",
    "LINK",
    "GitObject",
    "TreeDifference",
    "TreeEntry",
    "contents",
    "differences",
    "files_of",
    "parents_and_tree",
    "prove",
    "read",
    "sizes",
    "the_tree",
    "tree_of",
]

GITLINK, LINK, _TREE = "160000", "120000", "040000"
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_AT_ONCE = 1 << 26
_LOOSE = 1 << 20
"""The most bytes of an object that is read without git."""


class GitObject(msgspec.Struct, frozen=True):
    """An object whose content matches its hash; `content` is None if it is too large for memory."""

    kind: str
    size: int
    content: bytes | None

    @property
    def bytes(self) -> bytes:
        """The content of a commit, a tree or another small object."""
        return self.content or b""


class TreeEntry(msgspec.Struct, frozen=True):
    """One entry of a tree."""

    mode: str
    hash: str


class TreeDifference(msgspec.Struct, frozen=True):
    """A path that differs between two trees; a side is None if that tree does not have the path."""

    path: bytes
    old: TreeEntry | None
    new: TreeEntry | None

    @property
    def status(self) -> str:
        """`A` (added), `D` (deleted), `T` (type changed) or `M` (modified)."""
        if self.old is None or self.new is None:
            return "A" if self.old is None else "D"
        return "M" if self.old.mode[:2] == self.new.mode[:2] else "T"


def read(repository: Repository, names: Iterable[str]) -> dict[str, GitObject]:
    """Return those objects; raises `git_failed` if the content of one does not match its hash."""
    return {name: one for group in _groups(repository, names) for name, one in group.items()}


def prove(repository: Repository, names: Iterable[str]) -> None:
    """Check those objects; raises `git_failed` if the content of one does not match its hash."""
    for _ in _groups(repository, names):
        pass


def sizes(repository: Repository, names: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The type and size of each object, as git reports them without reading the content."""
    wanted = list(dict.fromkeys(names))
    feed = "".join(f"{name}\n" for name in wanted).encode("ascii")
    told = repository.run("cat-file", "--batch-check", feed=feed).decode("ascii").splitlines() if wanted else []
    found = {}
    for name, line in zip(wanted, told, strict=True):
        said = line.split()
        if len(said) != 3 or said[0] != name:
            raise _broken(repository, name, "cannot be read")
        found[name] = (said[1], int(said[2]))
    return found


def _groups(repository: Repository, names: Iterable[str]) -> Iterator[dict[str, GitObject]]:
    """Yield the objects in groups that fit into memory."""
    others: list[str] = []
    for name in dict.fromkeys(names):
        if (loose := _loose(repository, name)) is None:
            others.append(name)
        else:
            yield {name: loose}
    group: list[str] = []
    total = 0
    for name, (kind, size) in sizes(repository, others).items():
        if size > _AT_ONCE:
            yield {name: _streamed(repository, name, kind, size)}
            continue
        if total + size > _AT_ONCE:
            yield _asked(repository, group)
            group, total = [], 0
        group.append(name)
        total += size
    if group:
        yield _asked(repository, group)


def _loose(repository: Repository, name: str) -> GitObject | None:
    """Return an object that is a small file of its own, if its content matches its hash; None if git has to say."""
    path = f"{repository.common}/objects/{name[:2]}/{name[2:]}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
            packed = file.read(_LOOSE) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        whole = zlib.decompressobj().decompress(packed, _LOOSE)
    except (OSError, zlib.error):
        return None
    if hashlib.new(repository.algorithm, whole).hexdigest() != name:  # cut off, or not what git wrote
        return None
    head, _, content = whole.partition(b"\0")
    kind, _, size = head.decode("ascii", "replace").partition(" ")
    return GitObject(kind, len(content), content) if size == str(len(content)) else None


def _small(repository: Repository, names: Iterable[str]) -> dict[str, GitObject]:
    """Return objects that fit into memory together."""
    loose = {name: _loose(repository, name) for name in names}
    found = {name: one for name, one in loose.items() if one is not None}
    others = [name for name in loose if name not in found]
    return found | _asked(repository, others) if others else found


def _asked(repository: Repository, names: list[str]) -> dict[str, GitObject]:
    answer = repository.run("cat-file", "--batch", feed="".join(f"{name}\n" for name in names).encode("ascii"))
    found: dict[str, GitObject] = {}
    place = 0
    for name in names:
        end = answer.find(b"\n", place)
        said = answer[place:end].split() if end >= 0 else []
        if len(said) != 3 or not said[2].isdigit():
            raise _broken(repository, name, "cannot be read")
        size = int(said[2])
        content = answer[end + 1 : end + 1 + size]
        place = end + 2 + size
        if hashlib.new(repository.algorithm, b"%s %d\0" % (said[1], size) + content).hexdigest() != name:
            raise _broken(repository, name, "does not match its hash")
        found[name] = GitObject(said[1].decode("ascii"), size, content)
    return found


def _streamed(repository: Repository, name: str, kind: str, size: int) -> GitObject:
    """Check an object that is too large for memory, through a file."""
    with private_directory() as place:
        path = place / "object"
        if repository.ask("cat-file", kind, name, output=str(path)).status != 0:
            raise _broken(repository, name, "cannot be read")
        made = hashlib.new(repository.algorithm, f"{kind} {size}\0".encode("ascii"))
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                made.update(chunk)
    if made.hexdigest() != name:
        raise _broken(repository, name, "does not match its hash")
    return GitObject(kind, size, None)


def _broken(repository: Repository, name: str, how: str) -> InterlockError:
    message = f"The object {name} of {repository.root or repository.common} {how}."
    hint = "`git fsck` shows what is broken; restore the object from a clone that has it. Nothing was changed."
    return InterlockError("git_failed", message, hint, {"object": name})


def tree_of(repository: Repository, revision: str) -> str:
    """The tree of a commit, tag or tree; raises `git_failed` if there is none."""
    name = revision
    if _HASH.fullmatch(revision) is None:
        answer = repository.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{}}")
        name = answer.output.decode("ascii").strip() if answer.status == 0 else ""
    known = _kind(repository, name) if _HASH.fullmatch(name) else b""
    if known == b"tag":
        return tree_of(repository, f"{name}^{{}}")
    if known not in (b"commit", b"tree"):
        message = f"There is no commit or tree {revision[:200]!r} in {repository.root or repository.common}."
        raise InterlockError("git_failed", message, "Name one that is there; `git log` lists them.")
    return name if known == b"tree" else _commit(repository, name)[0]


def the_tree(repository: Repository, given: str) -> str:
    """A tree or a commit by its whole hash, and by nothing else; refuses one that is not there."""
    if _HASH.fullmatch(given) is None or repository.ask("cat-file", "-e", f"{given}^{{tree}}").status != 0:
        message = f"{given[:100]!r} is no tree of {repository.root or repository.common}."
        raise InterlockError("git_failed", message, "Give the whole hash of a tree.")
    return given


def _kind(repository: Repository, name: str) -> bytes:
    """Return the type of an object; empty if there is no such object."""
    loose = _loose(repository, name)
    return repository.ask("cat-file", "-t", name).output.strip() if loose is None else loose.kind.encode()


def _commit(repository: Repository, name: str) -> tuple[str, list[str]]:
    """The tree and the parents of a commit."""
    said = read(repository, [name])[name].bytes.partition(b"\n\n")[0].decode("ascii", "replace").split("\n")
    return said[0].removeprefix("tree "), [line[7:] for line in said if line.startswith("parent ")]


def parents_and_tree(repository: Repository, commit: str) -> tuple[list[str], str]:
    """The parents of a commit, given by its whole hash, and its tree."""
    tree, parents = _commit(repository, commit)
    return parents, tree


def differences(repository: Repository, old: str | None, new: str | None) -> list[TreeDifference]:
    """The paths that differ between two trees, sorted by their bytes; None stands for the empty tree."""
    found: list[TreeDifference] = []
    level = [(b"", old, new)] if old != new else []
    while level:
        names = list(dict.fromkeys(name for _, *pair in level for name in pair if name is not None))
        trees = {name: _entries(repository, name, one.bytes) for name, one in _small(repository, names).items()}
        below: list[tuple[bytes, str | None, str | None]] = []
        for prefix, left, right in level:
            before, after = trees.get(left or "", {}), trees.get(right or "", {})
            for name in dict(before.items() ^ after.items()):
                one, other = _entry(before.get(name)), _entry(after.get(name))
                if one == other:
                    continue
                inner = [each.hash if each is not None and each.mode == _TREE else None for each in (one, other)]
                if any(inner):
                    below.append((prefix + name + b"/", inner[0], inner[1]))
                files = [None if each is None or each.mode == _TREE else each for each in (one, other)]
                if any(files):
                    found.append(TreeDifference(prefix + name, files[0], files[1]))
        level = below
    return sorted(found, key=lambda one: one.path)


def files_of(repository: Repository, tree: str) -> dict[bytes, TreeEntry]:
    """Every file of a tree."""
    return {one.path: one.new for one in differences(repository, None, tree) if one.new is not None}


def _entries(repository: Repository, tree: str, content: bytes) -> Mapping[bytes, tuple[bytes, bytes]]:
    """The entries of a tree by their names, each with its mode and its hash as they are there."""
    found = _parsed(content, hashlib.new(repository.algorithm).digest_size)
    if found is None:
        raise _broken(repository, tree, "is not a valid tree")
    return found


@lru_cache(maxsize=8)  # a driver compares its last few trees again and again, and a directory can be large
def _parsed(content: bytes, width: int) -> Mapping[bytes, tuple[bytes, bytes]] | None:
    """The entries of a tree by their names; None if it is malformed."""
    found = re.findall(rb"(?s)([0-7]+) ([^\0]+)\0(.{%d})" % width, content)
    if sum(len(mode) + len(name) + 2 + width for mode, name, _ in found) != len(content):
        return None
    return {name: (mode, hash_) for mode, name, hash_ in found}


def _entry(found: tuple[bytes, bytes] | None) -> TreeEntry | None:
    return TreeEntry(_canonical(int(found[0], 8)), found[1].hex()) if found is not None else None


def _canonical(mode: int) -> str:
    """A mode as git writes it today; old versions stored more permission bits."""
    return f"{mode:06o}" if not stat.S_ISREG(mode) else "100755" if mode & 0o100 else "100644"


def contents(root: GitRoot, revision: str, paths: Iterable[str], *, most: int = 1 << 23) -> dict[str, bytes]:
    """The content of those of the paths that are files in a commit or tree, of at most so many bytes each.

    What a link holds is where it leads. What is no file there, or is larger, is left out.
    """
    wanted = {os.fsencode(path) for path in paths}
    if not wanted:
        return {}
    with opened(root) as repository:
        listed = files_of(repository, tree_of(repository, revision))
        blobs = {path: one.hash for path, one in listed.items() if path in wanted and one.mode != GITLINK}
        small = [name for name, (_, size) in sizes(repository, blobs.values()).items() if size <= most]
        found = read(repository, small)
        return {os.fsdecode(path): found[name].bytes for path, name in blobs.items() if name in found}
