"""Where the repository is, and how git is configured there: read, and nothing of it run."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.call import USERS_CONFIGURATION, call
from interlock.world.repository import own_tree_around

__all__ = ["GitSetting", "find", "settings", "user_email", "user_signing_key"]

_MAX_FILE = 1 << 20
_MAX_POINTER = 4096
_MAX_KNOWN = 64
_Sources = tuple[str | bytes | None, ...]


class GitSetting(msgspec.Struct, frozen=True):
    """One line of git's configuration, and whether it is the user's own or the repository's."""

    scope: str
    name: str
    value: str

    @property
    def is_users(self) -> bool:
        return self.scope in ("system", "global")


def user_email(directory: Path) -> str | None:
    """The e-mail address that git would put into a commit here; None where there is none."""
    try:
        found = [one.value for one in settings(directory, _git_directory(directory)) if one.name == "user.email"]
    except InterlockError:
        return None
    return found[-1].strip() or None if found else None


def user_signing_key(directory: Path) -> str | None:
    """The SSH key that the user has git sign with: a path, or the key itself. A repository has no say in it."""
    try:
        found = {one.name: one.value for one in settings(directory, _git_directory(directory)) if one.is_users}
    except InterlockError:
        return None
    return (found.get("user.signingkey") or None) if found.get("gpg.format") == "ssh" else None


_known: dict[_Sources, tuple[GitSetting, ...]] = {}
"""The configurations that git listed, by the content of the files that they come from."""


def settings(directory: Path, git_directory: Path | None) -> tuple[GitSetting, ...]:
    """Return git's configuration for a directory. Listing it reads files and runs nothing.

    Git is not asked again while all files that it reads are the same, byte for byte. A system-wide file elsewhere than
    in `/etc` is read once by each process.
    """
    sources = _sources(git_directory)
    known = None if sources is None else _known.get(sources)
    if known is not None:
        return known
    found = _listed(directory, git_directory)
    if sources is not None and sources == _sources(git_directory):  # nobody wrote to them while git read
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[sources] = found
    return found


def _sources(git_directory: Path | None) -> _Sources | None:
    """Return everything that git's configuration follows from; None if that cannot be told."""
    if git_directory is None:
        return None
    home = os.environ.get("HOME", "")
    xdg = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    named = [os.environ.get(name) for name in USERS_CONFIGURATION]
    shared = git_directory / "commondir"
    try:
        common = git_directory / _pointer(shared).strip() if shared.is_file() else git_directory
        places = [*filter(None, named), "/etc/gitconfig", f"{xdg}/git/config", f"{home}/.gitconfig"]
        texts = [_content(place) for place in (*places, f"{common}/config", f"{git_directory}/config.worktree")]
    except OSError:
        return None
    if any(text is not None and b"include" in text.lower() for text in texts):
        return None  # of other files, and perhaps of the branch
    return (str(git_directory), home, xdg, *named, *texts)


def _content(path: str) -> bytes | None:
    """Return the content of a file, None if it is missing; raises OSError if it is not a small plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _MAX_FILE:
            raise OSError(errno.EINVAL, "not a plain file", path)
        return file.read(_MAX_FILE)


def _listed(directory: Path, git_directory: Path | None) -> tuple[GitSetting, ...]:
    place = {"GIT_DIR": str(git_directory)} if git_directory else {"GIT_CEILING_DIRECTORIES": str(directory)}
    listing = ("config", "--list", "-z", "--show-scope", "--includes")
    answer = call(listing, directory, place, with_users_configuration=True)
    if answer.status != 0:
        message = f"The configuration of git cannot be read in {directory}: {answer.said[:300]}."
        raise InterlockError("git_failed", message, "Repair it; `git config --list` says the line.")
    parts = [part.decode("utf-8", "surrogateescape") for part in answer.output.split(b"\0")[:-1]]
    found = []
    for scope, line in zip(parts[::2], parts[1::2], strict=True):
        name, has_value, value = line.partition("\n")
        found.append(GitSetting(scope, name, value if has_value else "true"))
    return tuple(found)


def _git_directory(directory: Path) -> Path | None:
    try:
        return find(directory)[1]
    except InterlockError:
        return None


def find(directory: Path) -> tuple[Path | None, Path, Path]:
    """The work tree around a directory, its own git directory, and the one that all work trees share.

    The git directory of an agent's tree is ours, beside its files: the one in it is the agent's, and is not read.
    """
    start = directory.absolute()
    own = own_tree_around(str(start))
    if own is not None and (files := Path(own[1])).is_dir():
        if not (ours := files.with_name("git")).is_dir():
            message = f"{ours}, where ralph keeps what {files} began with, is gone."
            raise InterlockError("no_repository", message, "Begin the work again; its trees are kept under refs/ralf/.")
        return files, ours, find(Path(own[0]))[2]
    for place in (start, *start.parents):
        dot_git = place / ".git"
        try:
            if dot_git.is_dir():
                return place, dot_git, dot_git
            if dot_git.is_file():
                target = _pointer(dot_git).removeprefix("gitdir:").strip()
                git_directory = (place / target).resolve()
                shared = git_directory / "commondir"
                common = (git_directory / _pointer(shared).strip()).resolve() if shared.is_file() else git_directory
                return place, git_directory, common
        except (OSError, ValueError, RuntimeError) as error:
            message = f"{dot_git} does not lead to a git directory: {str(error)[:200]}."
            raise InterlockError("no_repository", message, "Repair it with `git worktree repair`.") from None
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            return None, place, place
    message = f"There is no git repository in {directory} or above it."
    raise InterlockError("no_repository", message, "Run `git init` here, or go to your repository.")


def _pointer(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_MAX_POINTER))
