"""The branch of the person's that the work of a loop or run goes to, from the tree in which its agents work.

The driver commits on a branch of its own, `ralf/<id>`, in that tree. The person's branch follows each commit, with
their checkout if that is clean and on it. What they commit there meanwhile goes into the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from interlock.errors import InterlockError, Refusal
from interlock.work.driver.agent_tree import AgentTree, uncommitted
from interlock.work.driver.context import DriverContext
from interlock.work.driver.record import Beginning
from interlock.work.verification.verifiers import is_found
from interlock.world.git import Repository
from interlock.world.repository import OWN_TREES

__all__ = ["TargetBranch", "beginning_of", "ended_trees", "require_branch", "require_commands", "target_of"]


def beginning_of(context: DriverContext, *, commits: bool = True, own: Collection[str] = ()) -> Beginning | None:
    """The branch that is checked out and its commit; None if nothing can begin on them.

    Reports the person's uncommitted work; not `own` files, which count as they are.
    """
    there = context.git.state(context.root)
    if there.head is None or (there.branch is None and commits):
        return None
    changed = [path for path in there.changed if path not in own]
    if changed and commits:
        is_behind = set(changed) - set(there.untracked)
        behind = f"{there.branch} does not follow the work until you commit or stash them."
        context.report(f"{uncommitted(changed)}. {behind if is_behind else ''}".strip())
    return Beginning(there.branch or "", there.head)


def target_of(context: DriverContext, id_: str, start: Beginning, *, commits: bool = True) -> TargetBranch:
    """The target of a loop or run, with the tree of its agents; nothing is made yet."""
    tree = AgentTree(context, id_, f"ralf/{id_}", start.commit, "" if commits else start.branch)
    return TargetBranch(tree, start.branch, commits)


def require_branch(context: DriverContext) -> None:
    """Refuse to begin unless a branch with a commit is checked out, for the work to go to."""
    there = context.git.state(context.root)
    if there.head is None:
        hint = "Make a first commit with `git add` and `git commit`."
        raise Refusal("not_allowed", "The repository has no commits yet, so no work can begin.", hint)
    if there.branch is None:
        hint = "Check out a branch with `git switch`."
        raise Refusal("not_allowed", "No branch is checked out, so the work would belong to none.", hint)


def require_commands(tree: AgentTree, commands: tuple[str, ...]) -> None:
    """Refuse a command that is in the person's checkout and not in the tree, before an agent is started."""
    context = tree.context
    path = context.environment.get("PATH")
    lost = [one for one in commands if is_found(one, context.root, path) and not is_found(one, tree.files, path)]
    if lost:
        message = f"A verifier is not in the agent's tree, because git does not have it: {', '.join(lost)}."
        hint = "Name its directory in verify.carry of ralph.toml, then run the same command again."
        raise InterlockError("verifiers_missing", f"{message} No agent was started.", hint)


def ended_trees(context: DriverContext, machine: str) -> Iterator[str]:
    """The loops or runs that have ended and whose trees are still there, because their drivers died."""
    names = context.git.tree_names(context.root, context.state_directory / OWN_TREES)
    if names:
        ended = {one.id for one in context.journal.instances(machine) if one.outcome is not None}
        yield from (name for name in names if name in ended)


class TargetBranch(msgspec.Struct):
    """The person's branch and their checkout, beside the tree of a loop or run."""

    tree: AgentTree
    name: str
    """The branch; empty if nothing is committed and none was checked out."""
    commits: bool
    is_behind: bool = False
    """True if the branch could not follow the last commit."""
    _told: str = ""
    """The last sentence about the branch: each is reported once."""

    def is_checked_out(self) -> bool:
        """True if the person's checkout is on the branch; reports once that it is not."""
        root = self.tree.context.root
        now = self.tree.context.git.checked_out(root) or ""
        if now == self.name:
            return True
        where = f"on {now}" if now else "on no branch"
        self._tell(f"{root} is {where}: nothing is read or written there until it is on {self.name} again")
        return False

    def forward(self) -> None:
        """Move the branch to the last commit of the tree; report once if it stays behind."""
        if not self.commits:
            self.tree.take()  # which brings their checkout along
            return
        context = self.tree.context
        why = context.git.forward_branch(context.root, self.name, self.tree.branch)
        self.is_behind = why is not None
        if why is None:
            self._told = ""
            return
        merge = f"`git merge {self.tree.branch}` brings it there"
        self._tell(f"the work is committed on {self.tree.branch}, and {self.name} stays behind: {why}; {merge}")

    def take_commits(self, repository: Repository) -> bool:
        """Let the work continue on what the person committed to their branch since; True if there was anything.

        `repository` is that of the tree.
        """
        try:
            return bool(self.name) and self.tree.context.git.adopt_commits(repository, self.name)
        except InterlockError as error:
            if not error.code.startswith("git_"):
                raise
            self._tell(f"commits made meanwhile are not in the agent's tree: {error.message} {error.hint}")
            return False

    def end(self, keep: str) -> str | None:
        """Remove the tree, and its branch once it is merged. What was not committed is kept; gives the ref.

        Called again after a crash, it does what is left.
        """
        tree, context = self.tree, self.tree.context
        git, has_rest = context.git, False
        if tree.is_made:
            tree.make()
            self.forward()
            has_rest = not git.state(tree.files).is_clean
            if not self.is_behind:
                self._delete_branch()
        kept = tree.remove(keep if has_rest else None)
        if kept is None or not self.commits:
            return None
        context.report(f"what was not committed is kept: `git show {kept.ref}`")
        return kept.ref

    def _delete_branch(self) -> None:
        tree, context = self.tree, self.tree.context
        try:
            context.git.delete_branch(context.root, tree.branch, f"trees/{tree.id}/base")
        except InterlockError as error:
            if not error.code.startswith("git_"):
                raise
            context.report(f"the branch {tree.branch} stays: {error.message}")

    def _tell(self, text: str) -> None:
        if self._told != text:
            self._told = text
            self.tree.context.report(text)
