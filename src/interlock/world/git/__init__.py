"""Git, asked and told so that nothing of the repository runs.

    call        the one place where git is started: clean environment, bounded time, bounded answer
    settings    where the repository is and how git is configured there
    private     a git directory of our own for each verb, with the real objects and refs and none of the real settings
    status      where HEAD is, what is under way, what differs
    trees       the tree that a commit of everything would have
    commits     one commit at a time, and finding it again
    locks       the user's index, held
    kept        work kept under a ref, put away and put back; `moves` moves the files
    history     commits, changes, patches, files

What does not run: hooks, a file watcher, an editor, a pager, a prompt for credentials, external diffs and text
conversions, aliases, transports, anything in a submodule, and clean, smudge and process filters. Line endings, `$Id$`
and encodings are built into git and are done. Where a changed file has a filter that is configured (Git LFS is one),
only that program could make what belongs into the tree, so the verb refuses with `git_unsafe` and names the setting;
what is kept under a ref is kept as it is and needs no filter. A signing program runs if the user's own configuration
asks for it; the repository has no say in which.

Whose the repository is does not matter (`safe.directory`): nothing that its owner wrote is run.

It may import what its layer may: `errors` and `machine`.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interlock.world.git.commits import Identity, commit, find_commit, identity
    from interlock.world.git.history import Change, Commit, Diff, changed_between, diff, files, log, merged_at
    from interlock.world.git.kept import Kept, keep, park, restore
    from interlock.world.git.settings import user_email
    from interlock.world.git.status import Operation, State, branch_exists, has_commits, state
    from interlock.world.git.trees import tree_hash

__all__ = [
    "Change",
    "Commit",
    "Diff",
    "Identity",
    "Kept",
    "Operation",
    "State",
    "branch_exists",
    "changed_between",
    "commit",
    "diff",
    "files",
    "find_commit",
    "has_commits",
    "identity",
    "keep",
    "log",
    "merged_at",
    "park",
    "restore",
    "state",
    "tree_hash",
    "user_email",
]

_HOMES = {
    "Change": "history",
    "Commit": "history",
    "Diff": "history",
    "Identity": "commits",
    "Kept": "kept",
    "Operation": "status",
    "State": "status",
    "branch_exists": "status",
    "changed_between": "history",
    "commit": "commits",
    "diff": "history",
    "files": "history",
    "find_commit": "commits",
    "has_commits": "status",
    "identity": "commits",
    "keep": "kept",
    "log": "history",
    "merged_at": "history",
    "park": "kept",
    "restore": "kept",
    "state": "status",
    "tree_hash": "trees",
    "user_email": "settings",
}


def __getattr__(name: str) -> object:
    """What the package offers, imported when it is asked for: every command asks for `user_email`, few for more."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
