"""The patch between two trees: every path that differs, with its modes, sizes and hashes, and all of its text.

Git makes the hunks in a git directory that holds only the text of the changed files, under numeric names. So no
attribute, setting or file of the repository affects what is shown. The headings are written here.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.characters import decoded, marked
from interlock.world.git.call import call
from interlock.world.git.objects import GITLINK, LINK, GitObject, TreeDifference, TreeEntry, read
from interlock.world.git.private import Repository

__all__ = ["patch"]

_MOST = 1 << 28
_BYTES = "\\x00-\\x08\\x0e-\\x1a\\x1c-\\x1f\\x7f\udc80-\udcff"
_STRANGE = re.compile(f"[{_BYTES}]")
_MOST_STRANGE = 0.3
_READABLE = re.compile(f"[^{_BYTES}]{{6,}}")
"""A part of a binary file that is shown. Shorter ones are noise: images are full of them."""
_DIFF = ("diff-tree", "-r", "-p", "--text", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_SECTION = re.compile(rb"^diff --git a/(\d+) b/\d+\n", re.MULTILINE)
_KINDS = {LINK: "symbolic link", GITLINK: "submodule"}


def patch(repository: Repository, found: Sequence[TreeDifference]) -> bytes:
    """Return the whole patch as UTF-8; raises `git_failed` if it is too large."""
    names = [one.hash for each in found for one in (each.old, each.new) if one is not None and one.mode != GITLINK]
    sides = _Sides(read(repository, names))
    shown = {number: one for number, one in enumerate(found) if sides.are_small(one)}
    hunks = _hunks(repository, sides, shown) if shown else {}
    parts = []
    for number, one in enumerate(found):
        hunk = hunks.get(number, b"")
        parts += [_heading(one, sides, has_lines=bool(hunk)), decoded(hunk)]
    return "".join(parts).encode("utf-8", "replace")


class _Sides(msgspec.Struct, frozen=True):
    """The contents of the two sides of each difference."""

    blobs: Mapping[str, GitObject]

    def content(self, one: TreeEntry) -> bytes | None:
        """The content, or the commit of a submodule; None if it is too large to be shown."""
        if one.mode == GITLINK:
            return f"Subproject commit {one.hash}\n".encode("ascii")
        return self.blobs[one.hash].content

    def shown(self, one: TreeEntry) -> bytes:
        """The text of a file, or the readable parts of a binary one."""
        content = self.content(one) or b""
        return content if _is_text(content) else _readable(content)

    def size(self, one: TreeEntry | None) -> int:
        return 0 if one is None or one.mode == GITLINK else self.blobs[one.hash].size

    def are_small(self, found: TreeDifference) -> bool:
        return all(one is None or self.content(one) is not None for one in (found.old, found.new))

    def are_text(self, found: TreeDifference) -> bool:
        return all(one is None or _is_text(self.content(one) or b"") for one in (found.old, found.new))


def _readable(content: bytes) -> bytes:
    """Reduce binary content to its readable parts, a mark with a length for what lies between two of them.

    Bytes that make a file binary are easily put into a comment of a program, so its text is shown all the same.
    """
    text, at, parts = content.decode("utf-8", "surrogateescape"), 0, []
    for found in _READABLE.finditer(text):
        parts += [_left_out(text[at : found.start()]), found[0]]
        at = found.end()
    lines = filter(None, [*parts, _left_out(text[at:])])
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _left_out(text: str) -> str:
    return f"⟦{len(text.encode('utf-8', 'surrogateescape'))} bytes⟧" if text else ""


def _is_text(content: bytes) -> bool:
    """True if the content is mostly text; a few other bytes do not make it binary."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    text = content.decode("utf-8", "surrogateescape")
    return len(_STRANGE.findall(text)) <= len(text) * _MOST_STRANGE


def _heading(found: TreeDifference, sides: _Sides, *, has_lines: bool) -> str:
    path, old, new = marked(decoded(found.path), keep=""), found.old, found.new
    lines = [f"diff --git a/{path} b/{path}"]
    if old is not None and new is not None:
        lines += [f"old mode {old.mode}", f"new mode {new.mode}"] if old.mode != new.mode else []
    else:
        lines += [f"deleted file mode {old.mode}"] if old is not None else []
        lines += [f"new file mode {new.mode}"] if new is not None else []
    lines.append(f"index {_name(old, new)}..{_name(new, old)}")
    lines.append(f"size {sides.size(old)}..{sides.size(new)} bytes")
    lines += dict.fromkeys(_KINDS[one.mode] for one in (old, new) if one is not None and one.mode in _KINDS)
    if not sides.are_small(found):
        lines.append("file too large to be shown")
    elif not sides.are_text(found):
        lines.append("binary file, of which only the readable parts are shown")
    if has_lines:
        lines += [f"--- a/{path}" if old else "--- /dev/null", f"+++ b/{path}" if new else "+++ /dev/null"]
    return "".join(f"{line}\n" for line in lines)


def _name(one: TreeEntry | None, other: TreeEntry | None) -> str:
    """The hash of a side, or zeros if it is missing."""
    return one.hash if one is not None else "0" * len(other.hash if other is not None else "")


# Hunks


def _hunks(repository: Repository, sides: _Sides, found: Mapping[int, TreeDifference]) -> dict[int, bytes]:
    """The hunks of each file, by its number."""
    place = repository.private / "patch"
    _make(repository, place)
    trees = [
        _flat(repository, place, {number: sides.shown(entry) for number, entry in side.items()})
        for side in (
            {number: one.old for number, one in found.items() if one.old},
            {number: one.new for number, one in found.items() if one.new},
        )
    ]
    listed = _git(repository, place, *_DIFF, *trees)
    shutil.rmtree(place)
    _, *parts = _SECTION.split(listed)
    return {int(number): _lines(body) for number, body in zip(parts[::2], parts[1::2], strict=True)}


def _lines(section: bytes) -> bytes:
    """The hunks of a file, without git's heading."""
    start = section.find(b"\n@@ ")
    return section[start + 1 :] if start >= 0 else b""


def _make(repository: Repository, place: Path) -> None:
    """Make an empty git directory."""
    shutil.rmtree(place, ignore_errors=True)
    for name in ("objects", "refs"):
        (place / name).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    settings = f"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = {repository.algorithm}\n"
    (place / "config").write_text(settings, encoding="ascii")


def _flat(repository: Repository, place: Path, files: Mapping[int, bytes]) -> str:
    """Write a tree of those contents, with numbers as names."""
    lines = []
    for number, content in files.items():
        whole = b"blob %d\0" % len(content) + content
        name = hashlib.new(repository.algorithm, whole).hexdigest()
        path = place / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 1))
        lines.append(f"100644 blob {name}\t{number:09d}\0")
    return _git(repository, place, "mktree", "-z", feed="".join(lines).encode("ascii")).decode("ascii").strip()


def _git(repository: Repository, place: Path, *words: str, feed: bytes = b"") -> bytes:
    environment = {"GIT_DIR": str(place), "GIT_ATTR_NOSYSTEM": "1", "XDG_CONFIG_HOME": str(place), "HOME": str(place)}
    answer = call(words, place, environment, feed=feed, most=_MOST)
    if answer.status != 0 or answer.is_cut:
        why = f"it is larger than {_MOST} bytes" if answer.is_cut else answer.said[-300:]
        message = f"The changes in {repository.root or repository.common} cannot be shown: {why}."
        raise InterlockError("git_failed", message, "Look at them with `git diff`, and make them smaller.")
    return answer.output
