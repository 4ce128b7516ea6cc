"""Where the repository is, found by reading its files: asking git would run what a hostile repository says."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import InterlockError

__all__ = ["STATE_DIRECTORY", "exclude_state", "find_root", "state_directory"]

STATE_DIRECTORY = ".ralf"
_EXCLUDED = (f"/{STATE_DIRECTORY}/", "/.ralph-sessions/")
_MAX_POINTER = 4096


def state_directory(start: Path) -> Path:
    """The directory that all work trees of the repository around `start` share."""
    root, common = find_root(start)
    return (root or common) / STATE_DIRECTORY


def find_root(start: Path) -> tuple[Path | None, Path]:
    """The main work tree, if there is one, and the common git directory of the repository around `start`."""
    for directory in (start.absolute(), *start.absolute().parents):
        dot_git = directory / ".git"
        if dot_git.is_dir() and _is_git_directory(dot_git):
            return directory, dot_git
        if dot_git.is_file():
            return _behind_pointer(dot_git)
        if _is_git_directory(directory):
            return None, directory
    message = f"There is no git repository in {start} or above it."
    raise InterlockError("no_repository", message, "Run `git init` here, or go to your repository.")


def _is_git_directory(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _behind_pointer(dot_git: Path) -> tuple[Path | None, Path]:
    """A linked work tree or a submodule: `.git` is a file that says where its git directory is."""
    text = _read(dot_git)
    git_directory = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    if not text.startswith("gitdir:") or not git_directory.is_dir():
        message = f"{dot_git} does not lead to a git directory."
        raise InterlockError("no_repository", message, "Repair the work tree with `git worktree repair`.")
    pointer = git_directory / "commondir"
    if not pointer.is_file():
        return None, git_directory
    common = (git_directory / _read(pointer).strip()).resolve()
    main = common.parent if common.name == ".git" and common.is_dir() else None
    return main, common


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_MAX_POINTER)


def exclude_state(start: Path) -> None:
    """Keep our files out of the repository's sight, so that they never make a tree dirty."""
    _, common = find_root(start)
    path = common / "info" / "exclude"
    present = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    missing = [line for line in _EXCLUDED if line not in present.splitlines()]
    if missing:
        path.parent.mkdir(exist_ok=True)
        separator = "" if not present or present.endswith("\n") else "\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(separator + "".join(f"{line}\n" for line in missing))
