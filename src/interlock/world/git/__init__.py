"""Git, asked and told so that nothing of the repository runs.

    call        the one place where git is started: clean environment, bounded time, bounded answer
    settings    where the repository is and how git is configured there
    private     a git directory of our own for each verb, with the real objects and refs and none of the real settings
    entries     the index without what git would believe of files unseen
    status      where HEAD is, what is under way, what differs
    trees       the tree that a commit of everything would have
    looking     the same again and again, with what differs from HEAD
    commits     one commit at a time, and finding it again
    locks       the user's index, held
    kept        work kept under a ref, put away and put back; `moves` moves the files
    objects     objects that are what their names say, what files hold, and what differs between two trees
    patches     what differs, as text: all of it, whatever attributes say
    history     commits, changes, patches, files
    branches    the branch of a thread, made, checked out and removed; `underway` knows what a crash cut short
    backward    from a thread's branch back to where it began, and undone; `switches` exchanges the files
    squashes    one commit of exactly one tree in the place of many
    worktrees   a work tree of its own for a thread, made and removed
    own_trees   the tree of an agent: files that are taken, and a repository in it that counts for nothing
    taking      the tree of those files, again and again
    checkouts   a person's checkout brought along with such a tree, and their edits merged into it
    forwarding  a person's branch moved forward to commits of ours, and their commits taken into such a tree
    exports     the files of a tree, out of the repository
    tampering   whether the settings, hooks and attributes are what they were

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
    from interlock.world.git.backward import go_back, undo
    from interlock.world.git.branches import StartingPoint, baseline, begin_branch, checked_out, delete_branch
    from interlock.world.git.checkouts import (
        keep_tree,
        merge_trees,
        newly_ignored,
        put_tree,
        tree_of_checkout,
        tree_under,
    )
    from interlock.world.git.commits import Identity, commit, find_commit, identity
    from interlock.world.git.exports import export_tree
    from interlock.world.git.filters import accept_filters
    from interlock.world.git.forwarding import adopt_commits, forward_branch
    from interlock.world.git.history import (
        Commit,
        Diff,
        PathChange,
        changed_between,
        changed_by,
        diff,
        file_names,
        files,
        log,
        merged_at,
    )
    from interlock.world.git.kept import KeptWork, keep, park, restore
    from interlock.world.git.looking import Looking, WorkTreeHash
    from interlock.world.git.objects import contents
    from interlock.world.git.own_trees import (
        finished_trees,
        keep_commits,
        make_own_tree,
        remove_own_tree,
        show_commit,
        tree_names,
    )
    from interlock.world.git.private import Repository, opened, sweep_private
    from interlock.world.git.settings import user_email, user_signing_key
    from interlock.world.git.squashes import commit_approved, squash
    from interlock.world.git.status import Operation, WorkTreeStatus, state
    from interlock.world.git.taking import TakenTree, TreeTaking
    from interlock.world.git.tampering import FINGERPRINT_VERSION, fingerprint_of_settings
    from interlock.world.git.trees import tree_hash
    from interlock.world.git.worktrees import Removed, add_work_tree, remove_work_tree

__all__ = [
    "FINGERPRINT_VERSION",
    "Commit",
    "Diff",
    "Identity",
    "KeptWork",
    "Looking",
    "Operation",
    "PathChange",
    "Removed",
    "Repository",
    "StartingPoint",
    "TakenTree",
    "TreeTaking",
    "WorkTreeHash",
    "WorkTreeStatus",
    "accept_filters",
    "add_work_tree",
    "adopt_commits",
    "baseline",
    "begin_branch",
    "changed_between",
    "changed_by",
    "checked_out",
    "commit",
    "commit_approved",
    "contents",
    "delete_branch",
    "diff",
    "export_tree",
    "file_names",
    "files",
    "find_commit",
    "fingerprint_of_settings",
    "finished_trees",
    "forward_branch",
    "go_back",
    "identity",
    "keep",
    "keep_commits",
    "keep_tree",
    "log",
    "make_own_tree",
    "merge_trees",
    "merged_at",
    "newly_ignored",
    "opened",
    "park",
    "put_tree",
    "remove_own_tree",
    "remove_work_tree",
    "restore",
    "show_commit",
    "squash",
    "state",
    "sweep_private",
    "tree_hash",
    "tree_names",
    "tree_of_checkout",
    "tree_under",
    "undo",
    "user_email",
    "user_signing_key",
]

_HOMES = {
    "FINGERPRINT_VERSION": "tampering",
    "Commit": "history",
    "Diff": "history",
    "Identity": "commits",
    "KeptWork": "kept",
    "Looking": "looking",
    "Operation": "status",
    "PathChange": "history",
    "Removed": "worktrees",
    "Repository": "private",
    "StartingPoint": "branches",
    "TakenTree": "taking",
    "TreeTaking": "taking",
    "WorkTreeHash": "looking",
    "WorkTreeStatus": "status",
    "accept_filters": "filters",
    "add_work_tree": "worktrees",
    "adopt_commits": "forwarding",
    "baseline": "branches",
    "begin_branch": "branches",
    "changed_between": "history",
    "changed_by": "history",
    "checked_out": "branches",
    "commit": "commits",
    "commit_approved": "squashes",
    "contents": "objects",
    "delete_branch": "branches",
    "diff": "history",
    "export_tree": "exports",
    "file_names": "history",
    "files": "history",
    "find_commit": "commits",
    "finished_trees": "own_trees",
    "fingerprint_of_settings": "tampering",
    "forward_branch": "forwarding",
    "go_back": "backward",
    "identity": "commits",
    "keep": "kept",
    "keep_commits": "own_trees",
    "keep_tree": "checkouts",
    "log": "history",
    "make_own_tree": "own_trees",
    "merge_trees": "checkouts",
    "merged_at": "history",
    "newly_ignored": "checkouts",
    "opened": "private",
    "park": "kept",
    "put_tree": "checkouts",
    "remove_own_tree": "own_trees",
    "remove_work_tree": "worktrees",
    "restore": "kept",
    "show_commit": "own_trees",
    "squash": "squashes",
    "state": "status",
    "sweep_private": "private",
    "tree_hash": "trees",
    "tree_names": "own_trees",
    "tree_of_checkout": "checkouts",
    "tree_under": "checkouts",
    "undo": "backward",
    "user_email": "settings",
    "user_signing_key": "settings",
}


def __getattr__(name: str) -> object:
    """What the package offers, imported when it is asked for: every command asks for `user_email`, few for more."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
