"""The paths that no agent may write in any state, and the commands that lead there.

Paths are looked at as they are on disk, so that a link hides nothing, and a patch that is applied is read for its
paths. Nothing else is looked at.
"""

from __future__ import annotations

import os
import re
from stat import S_ISREG

from interlock.world.repository import own_tree_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlock.work.sessions.reading import Reading
    from interlock.work.sessions.shell import Budget

__all__ = ["PATCHED", "Places", "charge", "first_guarded", "guarded_by", "protected", "tree_around"]

PATCHED = (
    r"(?m)^[ \t\r]*\*\*\* (?:Add File|Update File|Delete File|Move to):[ \t]*([^ \t\r\n](?:.*[^ \t\r\n])?)[ \t\r]*$"
)
_APPLIED = r"(?m)^[ \t]*(?:(?:---|\+\+\+|\*\*\*) |rename (?:from|to) |copy to |Index: )([^\t\r\n]+)"
"""A file in a patch, with as many directories before it as there are."""
_MOST_PATCH = 1 << 20
_LONGEST_PATTERN = 1000
_ANYWHERE = frozenset({".git", ".ralf", ".ralph-sessions"})
_SETTINGS = (
    (".claude", "settings.json"),
    (".claude", "settings.local.json"),
    (".claude", "hooks"),
    (".claude.json",),
    (".codex",),
    (".mcp.json",),
    (".opencode",),
    ("opencode.json",),
    ("opencode.jsonc",),
    ("ralph.toml",),
)
_NAMED = (
    r"(?i)(?<![\w.])(--(?:absolute-)?git-(?:common-)?dir\b(?!=)|\.git|\.ralf|\.ralph-sessions|\.claude\.json|"
    r"\.claude[/'\", ]+(?:hooks|settings[\w.]*json)|"
    r"\.codex|\.mcp\.json|\.opencode|opencode\.jsonc?|ralph\.toml)(?![\w.-])"
)
"""A protected path in the middle of a text, where it cannot be known what is a path."""


def protected(path: str, directory: str, root: str | None) -> bool:
    """True if a path leads to something that no agent may write."""
    from interlock.work.sessions.shell import Budget

    return bool(first_guarded([path or os.curdir], [directory], Places(directory, root), Budget()))


def first_guarded(paths: list[str], starts: list[str], places: Places, budget: Budget) -> str:
    """The first path that is nobody's to write, seen from any of the directories; nothing where there is none."""
    for path in paths:
        for start in starts:
            if "\0" in path:  # no system has such a file
                return path
            full = os.path.join(start, os.path.expanduser(path))
            charge(full, budget)
            if "\0" in full or any(places.guard(one) for one in _resolved(full)):
                return path
    return ""


def guarded_by(reading: Reading, command: str, starts: list[str], places: Places, budget: Budget) -> str:
    """The protected path that a command writes; nothing where it writes none."""
    # In a sandbox the walls hold, so only what is certain is explained.
    if reading.is_loose and not places.is_confined and (found := re.search(_NAMED, command)) is not None:
        return str(found.group(1))
    removed = set(reading.removed)
    starts = [*starts]
    for change in reading.directories:
        starts.append(os.path.join(starts[-1], os.path.expanduser(change.replace("\0", ""))))
        budget.spend(1, len(starts[-1]))
    patched: list[str] = re.findall(PATCHED, command)
    patched += _applied(reading, command, starts, places.is_confined, budget)
    named = dict.fromkeys([*reading.paths, *reading.removed, *reading.named, *patched])
    for path in named if not places.is_confined else (one for one in named if "\0" not in one):
        for one in _spellings(path, budget):
            for start in starts:
                full = os.path.join(start, os.path.expanduser(one)).replace("\0", "")
                charge(full, budget)
                if any(places.lead(each, path in removed) for each in _resolved(full)):
                    return path.replace("\0", "…")
    return ""


def _applied(reading: Reading, command: str, starts: list[str], is_confined: bool, budget: Budget) -> list[str]:
    """The files that the patches of a command change: those in its text, and those in the files that it names.

    How many directories are left out is said in many ways, so a path is taken with each number of them.
    """
    texts = [command] if reading.patches else []
    for name in reading.patches:
        for start in starts if name != "-" and "\0" not in name and not is_confined else ():
            full = os.path.join(start, os.path.expanduser(name))
            charge(full, budget)
            texts.append(_content(full))
    found: list[str] = []
    for text in texts:
        budget.spend(1, len(text))
        for path in dict.fromkeys(re.findall(_APPLIED, text)):
            parts = path.strip().strip('"').split("/")
            budget.spend(len(parts), len(path) * len(parts))
            found += ["/".join(parts[index:]) for index in range(len(parts))]
    return found


def _content(path: str) -> str:
    """The beginning of a regular file; nothing for a pipe, which could block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        is_file = S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _MOST_PATCH).decode("utf-8", "replace") if is_file else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def charge(path: str, budget: Budget) -> None:
    """Pay for a look at a path: each part of it is a call of the system, and comparing it costs as much again."""
    budget.spend(8 + 3 * path.count("/"), len(path))


def _resolved(full: str) -> Iterator[list[str]]:
    """A path in parts, as it is spelled and as it is on disk."""
    yield _parts(os.path.normpath(full))
    yield _parts(os.path.realpath(full))


class Places:
    """The places where settings count: the agent's own work tree and the way down to it, the main one, and the home."""

    def __init__(self, directory: str, root: str | None, is_confined: bool = False) -> None:
        self.root = root
        self.is_confined = is_confined
        """True if the agent sees a tree of its own where the main one is."""
        self._directory = directory
        self._is_prepared = False
        self._found: list[list[str]] | None = None

    def _prepare(self) -> None:
        """Look at the directories, once, and only for a call that names a path."""
        if self._is_prepared:
            return
        self._is_prepared = True
        directory, root = self._directory, self.root
        tree = tree_around(directory) or root
        own = [tree, os.path.realpath(tree)] if tree else []
        found = [*own, root or "", os.path.expanduser("~"), *_upwards(directory, tree)]
        spelled = dict.fromkeys(filter(None, [*found, *map(os.path.realpath, filter(None, found))]))
        self._trees = [_parts(one) for one in own]
        self._around = [] if self.is_confined else [_parts(one) for one in _around(tree, root)]
        self._has_own_git = self.is_confined or bool(self._around)
        """In its own tree, an agent may do anything with the repository that it has there."""
        self._nowhere = _ANYWHERE - {".git"} if self._has_own_git else _ANYWHERE
        self._bases = {one: _parts(one) for one in spelled if one != os.sep}

    def guard(self, parts: list[str]) -> bool:
        """True if a path is protected, or lies in something that is."""
        self._prepare()
        inside = next((parts[len(tree) :] for tree in self._trees if parts[: len(tree)] == tree), parts)
        if not (_ANYWHERE if inside is parts else self._nowhere).isdisjoint(inside):
            return True
        if inside is parts and any(parts[: len(tree)] == tree for tree in self._around):
            return True
        for base in self._bases.values():
            rest = tuple(parts[len(base) :]) if parts[: len(base)] == base else ()
            if any(rest[: len(guarded)] == guarded for guarded in _SETTINGS):
                return True
        return False

    def lead(self, parts: list[str], removes: bool) -> bool:
        """The same of a path that may be a pattern, or that is taken away with all that lies in it."""
        if self.guard(parts):
            return True
        if not removes and not any(letter in part for part in parts for letter in "*?["):
            return False
        return any(_matches(parts, guarded, removes) for guarded in self._existing())

    def _existing(self) -> list[list[str]]:
        if self._found is None:
            self._found = [
                [*parts, *guarded]
                for base, parts in self._bases.items()
                for guarded in ((".git",), (".ralf",), *_SETTINGS)
                if not (self._has_own_git and guarded == (".git",) and parts in self._trees)
                and os.path.lexists(os.path.join(base, *guarded))
            ]
        return self._found


def _around(tree: str | None, root: str | None) -> Iterator[str]:
    """The main work tree, as it may be spelled, where an agent has one of ours for itself: the rest is others'."""
    own = own_tree_around(os.path.realpath(tree)) if tree and root else None
    if root and own is not None and own[0] == os.path.realpath(root):
        yield from (root, os.path.realpath(root))


def _matches(pattern: list[str], guarded: list[str], removes: bool) -> bool:
    """True if a pattern names something protected, or a directory above it that is removed."""
    from fnmatch import fnmatchcase

    if len(pattern) < len(guarded) and not removes:
        return False
    # A pattern that does not begin with a dot leaves out what does.
    return all(
        name == one or ((len(one) > _LONGEST_PATTERN or fnmatchcase(name, one)) and (name[0] != "." or one[0] == "."))
        for name, one in zip(guarded, pattern, strict=False)
    )


def _spellings(path: str, budget: Budget) -> list[str]:
    """A path with its braces written out."""
    found: list[str] = []
    left = [path]
    while left:
        one = left.pop()
        brace = re.search(r"\{([^{},]*,[^{}]*)\}", one)
        if brace is None:
            found.append(one)
            continue
        parts = brace.group(1).split(",")
        budget.spend(3 * len(parts), len(parts) * len(one))
        left += [f"{one[: brace.start()]}{part}{one[brace.end() :]}" for part in parts]
    return found


def tree_around(directory: str) -> str | None:
    """The work tree around a directory, linked or not."""
    return next((one for one in _upwards(directory, None) if os.path.lexists(os.path.join(one, ".git"))), None)


def _upwards(directory: str, end: str | None) -> Iterator[str]:
    current = os.path.abspath(directory)
    while current not in (end, os.path.dirname(current)):
        yield current
        current = os.path.dirname(current)


def _parts(path: str) -> list[str]:
    """A path in parts, without regard to case: some file systems have none."""
    return [part for part in path.casefold().split(os.sep) if part]
