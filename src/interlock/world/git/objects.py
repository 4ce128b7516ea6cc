"""Read objects with their hashes checked, and compare trees.

Git names an object by the hash of its content, but does not check the hash when it reads the object, so a program that
writes into the object store can replace the content. Everything that people are shown, and everything that is verified
or compared, is read here: content that does not match its hash is refused.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterable, Iterator

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.private import Repository

__all__ = [
    "GITLINK",
    "LINK",
    "GitObject",
    "TreeDifference",
    "TreeEntry",
    "differences",
    "files_of",
    "parents_and_tree",
    "prove",
    "read",
    "sizes",
    "tree_of",
]

GITLINK, LINK, _TREE = "160000", "120000", "040000"
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_AT_ONCE = 1 << 26


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
    group: list[str] = []
    total = 0
    for name, (kind, size) in sizes(repository, names).items():
        if size > _AT_ONCE:
            yield {name: _streamed(repository, name, kind, size)}
            continue
        if total + size > _AT_ONCE:
            yield _read(repository, group)
            group, total = [], 0
        group.append(name)
        total += size
    if group:
        yield _read(repository, group)


def _read(repository: Repository, names: list[str]) -> dict[str, GitObject]:
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
    path = repository.private / "object"
    try:
        if repository.ask("cat-file", kind, name, output=str(path)).status != 0:
            raise _broken(repository, name, "cannot be read")
        made = hashlib.new(repository.algorithm, f"{kind} {size}\0".encode("ascii"))
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                made.update(chunk)
    finally:
        path.unlink(missing_ok=True)
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
    known = repository.ask("cat-file", "-t", name).output.strip() if _HASH.fullmatch(name) else b""
    if known == b"tag":
        return tree_of(repository, f"{name}^{{}}")
    if known not in (b"commit", b"tree"):
        message = f"There is no commit or tree {revision[:200]!r} in {repository.root or repository.common}."
        raise InterlockError("git_failed", message, "Name one that is there; `git log` lists them.")
    return name if known == b"tree" else _commit(repository, name)[0]


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
        trees = {name: _entries(repository, name, one) for name, one in _read(repository, names).items()}
        below: list[tuple[bytes, str | None, str | None]] = []
        for prefix, left, right in level:
            before, after = trees.get(left or "", {}), trees.get(right or "", {})
            for name in before.keys() | after.keys():
                one, other = before.get(name), after.get(name)
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


def _entries(repository: Repository, tree: str, found: GitObject) -> dict[bytes, TreeEntry]:
    content, width = found.bytes, hashlib.new(repository.algorithm).digest_size
    entries: dict[bytes, TreeEntry] = {}
    place = 0
    try:
        while place < len(content):
            space, end = content.index(b" ", place), content.index(b"\0", place)
            mode = _canonical(int(content[place:space], 8))
            place = end + 1 + width
            entries[content[space + 1 : end]] = TreeEntry(mode, content[end + 1 : place].hex())
    except ValueError:
        raise _broken(repository, tree, "is not a valid tree") from None
    return entries


def _canonical(mode: int) -> str:
    """A mode as git writes it today; old versions stored more permission bits."""
    return f"{mode:06o}" if not stat.S_ISREG(mode) else "100755" if mode & 0o100 else "100644"
