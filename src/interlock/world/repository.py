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
        try:
            found = _look_in(directory)
        except (OSError, ValueError, RuntimeError) as error:
            message = f"{directory / '.git'} does not lead to a git directory: {str(error)[:200]}."
            raise InterlockError("no_repository", message, "Repair it with `git worktree repair`.") from None
        if found is not None:
            return found
    message = f"There is no git repository in {start} or above it."
    raise InterlockError("no_repository", message, "Run `git init` here, or go to your repository.")


def _look_in(directory: Path) -> tuple[Path | None, Path] | None:
    dot_git = directory / ".git"
    if _is_git_directory(dot_git):
        return directory, dot_git
    if dot_git.is_file():
        return _behind_pointer(dot_git)
    if _is_git_directory(directory):
        # Hooks run inside `.git`, and must find the same journal as everybody else.
        return (directory.parent if directory.name == ".git" else None), directory
    return None


def _is_git_directory(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def _behind_pointer(dot_git: Path) -> tuple[Path | None, Path]:
    """A linked work tree or a submodule: `.git` is a file that says where its git directory is."""
    text = _read(dot_git)
    if not text.startswith("gitdir:"):
        raise ValueError("it does not say gitdir:")
    git_directory = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    pointer = git_directory / "commondir"
    common = (git_directory / _read(pointer).strip()).resolve() if pointer.is_file() else git_directory
    if not _is_git_directory(common):
        raise ValueError(f"{common} is none")
    is_linked_tree = pointer.is_file() and common.name == ".git"
    return (common.parent if is_linked_tree else None), common


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
