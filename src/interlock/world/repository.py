"""Where the repository is, found by reading its files: asking git would run what a hostile repository says.

`locate` works on plain text and imports next to nothing, because the hook calls it before every tool call.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "OWN_TREES",
    "STATE_DIRECTORY",
    "WORK_TREES",
    "exclude_state",
    "find_root",
    "locate",
    "make_private",
    "own_tree",
    "own_tree_around",
    "state_directory",
]

STATE_DIRECTORY = ".ralf"
WORK_TREES = "worktrees"
"""The directory below it with the linked work trees in which people edit the work of a thread."""
OWN_TREES = "trees"
"""The directory below it with the trees of agents: `ID/files` is what the agent works in, `ID/git` is ours."""
_FILES = "files"
_EXCLUDED = (f"/{STATE_DIRECTORY}/", "/.ralph-sessions/")
_MAX_POINTER = 4096


def locate(start: str) -> tuple[str | None, str] | None:
    """The main work tree, if there is one, and the common git directory around `start`; None outside a repository.

    Raises OSError or ValueError where a `.git` does not lead to a git directory.
    """
    directory = os.path.abspath(start)
    own = own_tree_around(directory)
    if own is not None:  # the repository in there is the agent's
        directory = own[0]
    while True:
        found = _look_in(directory)
        above = os.path.dirname(directory)
        if found is not None or above == directory:
            return found
        directory = above


def own_tree(state_directory: Path, id_: str) -> Path:
    """The files of the tree that an agent has for a thread or loop."""
    return state_directory / OWN_TREES / id_ / _FILES


def own_tree_around(path: str) -> tuple[str, str] | None:
    """The base of the repository and the files of the agent's tree around a path; None outside of such a tree.

    Only the path is looked at, so nothing that an agent writes into its tree changes the answer.
    """
    base, found, below = f"{path}/".partition(f"/{STATE_DIRECTORY}/{OWN_TREES}/")
    id_, _, rest = below.partition("/")
    if not found or not id_ or not rest.startswith(f"{_FILES}/"):
        return None
    return base, f"{base}/{STATE_DIRECTORY}/{OWN_TREES}/{id_}/{_FILES}"


def state_directory(start: Path) -> Path:
    """The directory that all work trees of the repository around `start` share.

    A link is refused, there and for the journal in it: a clone can bring one, and we would write where it leads.
    So is a directory that git tracks: the journal then comes with the repository, and a checkout replaces it.
    """
    root, common = find_root(start)
    found = (root or common) / STATE_DIRECTORY
    for path in (found, found / "journal.db"):
        if os.path.islink(path):
            from interlock.errors import InterlockError

            message = f"{path} is a link. It was not followed."
            raise InterlockError("file_unsafe", message, "Look who put it there, and remove it.")
    make_private(str(found))
    if root is not None and os.path.lexists(found):
        _must_be_untracked(root, common)
    return found


def _must_be_untracked(root: Path, common: Path) -> None:
    from interlock.world.git.tracking import is_tracked

    if is_tracked(root, common, STATE_DIRECTORY):
        from interlock.errors import InterlockError

        message = f"Git tracks {STATE_DIRECTORY} in {root}: the repository brings its own journal. It was not opened."
        hint = (
            f"If it is your own, run `git rm -r --cached {STATE_DIRECTORY}` and commit that. "
            f"If it came with a clone, move {STATE_DIRECTORY} out of the repository first."
        )
        raise InterlockError("state_tracked", message, hint)


def make_private(directory: str) -> None:
    """Close a directory of ours to other users: older versions left it open. Where it is not ours, nothing is done."""
    try:
        found = os.lstat(directory)
        if found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode) and found.st_mode & 0o077:
            os.chmod(directory, 0o700)
    except OSError:
        return


def find_root(start: Path) -> tuple[Path | None, Path]:
    """The main work tree, if there is one, and the common git directory of the repository around `start`."""
    from pathlib import Path

    from interlock.errors import InterlockError

    try:
        found = locate(str(start))
    except (OSError, ValueError, RuntimeError) as error:
        message = f"{str(error)[:200]}."
        raise InterlockError("no_repository", message, "Repair it with `git worktree repair`.") from None
    if found is None:
        message = f"There is no git repository in {start} or above it."
        raise InterlockError("no_repository", message, "Run `git init` here, or go to your repository.")
    root, common = found
    return None if root is None else Path(root), Path(common)


def _look_in(directory: str) -> tuple[str | None, str] | None:
    dot_git = os.path.join(directory, ".git")
    if _is_git_directory(dot_git):
        return directory, dot_git
    if os.path.isfile(dot_git):
        try:
            return _behind_pointer(dot_git)
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(f"{dot_git} does not lead to a git directory: {error}") from None
    if _is_git_directory(directory):
        # Hooks run inside `.git`, and must find the same journal as everybody else.
        return (os.path.dirname(directory) if os.path.basename(directory) == ".git" else None), directory
    return None


def _is_git_directory(path: str) -> bool:
    return (
        os.path.isfile(os.path.join(path, "HEAD"))
        and os.path.isdir(os.path.join(path, "objects"))
        and os.path.isdir(os.path.join(path, "refs"))
    )


def _behind_pointer(dot_git: str) -> tuple[str | None, str]:
    """A linked work tree or a submodule: `.git` is a file that says where its git directory is."""
    text = _read(dot_git)
    if not text.startswith("gitdir:"):
        raise ValueError("it does not say gitdir:")
    directory = os.path.dirname(dot_git)
    git_directory = os.path.realpath(os.path.join(directory, text.removeprefix("gitdir:").strip()))
    pointer = os.path.join(git_directory, "commondir")
    is_linked = os.path.isfile(pointer)
    common = os.path.realpath(os.path.join(git_directory, _read(pointer).strip())) if is_linked else git_directory
    if not _is_git_directory(common):
        raise ValueError(f"{common} is none")
    is_linked_tree = is_linked and os.path.basename(common) == ".git"
    return (os.path.dirname(common) if is_linked_tree else None), common


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
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
