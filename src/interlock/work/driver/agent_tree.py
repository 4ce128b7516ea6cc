"""The tree in which agents work for an instance, and the checkout in which a person edits along.

Agents work in files of their own, and what counts of them is one tree object, taken while no agent is running. A
checkout of a person is brought along with it: what they edited there since goes into the agent's files, and what the
agents did comes out. It is never touched beyond what was taken from it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.driver.agent_sandbox import confined_command
from interlock.work.driver.context import DriverContext
from interlock.work.verification.request import Request, plan_of
from interlock.world.repository import OWN_TREES, WORK_TREES, own_tree
from interlock.world.user_state import user_state_directory

if TYPE_CHECKING:
    from interlock.world.git import KeptWork, Looking, Repository, TakenTree

__all__ = ["AgentTree", "first_of", "remove_finished_trees", "uncommitted"]


def remove_finished_trees(context: DriverContext) -> None:
    """Remove the trees of threads that have ended and are merged, or whose branch a person deleted."""
    trees = context.state_directory / OWN_TREES
    for name in context.git.finished_trees(context.root, trees):
        instance = context.journal.instance(name)
        if instance.machine == "thread" and instance.outcome is not None:
            AgentTree(context, name, f"ralf/{name}", "").remove(None)


def uncommitted(paths: Sequence[str]) -> str:
    """The sentence about a person's uncommitted work, before agents start in a tree of their own."""
    return f"Your uncommitted changes are not part of this work and stay as they are: {first_of(paths)}"


def first_of(paths: Sequence[str], most: int = 5) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(repr(one) for one in paths[:most]) + more


class AgentTree(msgspec.Struct, frozen=True):
    """The files of one thread or loop, on its branch."""

    context: DriverContext
    id: str
    branch: str
    base: str
    """The commit that the branch began on."""
    follows: str = ""
    """The branch on which the person's own checkout is brought along; empty if it never is."""

    @property
    def files(self) -> Path:
        return own_tree(self.context.state_directory, self.id)

    @property
    def edited(self) -> Path:
        """The work tree that `ralph thread edit` opens for the person."""
        return self.context.state_directory / WORK_TREES / self.id

    @property
    def is_made(self) -> bool:
        return self.context.ports.files.mark(self.files.parent) is not None

    def make(self) -> None:
        """Make the files and the agent's repository in them, if they are not there, and what they need to run."""
        context, is_new = self.context, not self.is_made
        context.git.make_own_tree(context.root, self.files, self.branch, self.base, self._objects)
        plan = plan_of(context.settings)
        if not is_new or not plan.is_apart:
            return
        logs = context.state_directory / "runs" / f"tree-{self.id[-6:]}"
        request = Request(
            context.root,
            "",
            self.base,
            (),
            plan,
            logs,
            context.environment,
            self.id,
            confine=lambda place: confined_command(context, place),  # what an agent wrote earlier may be in the tree
        )
        for problem in context.ports.verification.make_ready(request, self.files, context.report, context.stop):
            context.report(f"the agent's tree lacks something: {problem}")

    def get_ready(self) -> None:
        """Have the files ready for an agent, with what a person edited since."""
        self.make()
        if self.checkout() is not None:
            self.take()

    def take(self) -> TakenTree:
        """The tree of the files as they are; a checkout of the person and they are brought together first.

        No agent may be running in them.
        """
        self.make()
        taken = self.context.ports.take(self.files)
        checkout = self.checkout()
        if checkout is None:
            return taken
        try:
            merged = self._brought_together(checkout, taken.tree)
        except InterlockError as error:
            self.context.report(f"{checkout} and the agent's files are not brought together: {error.message}")
            return taken
        return taken if merged == taken.tree else replace(taken, tree=merged)

    def _brought_together(self, checkout: Path, taken: str) -> str:
        """Merge what the person edited into the agent's files, then bring the checkout to the same tree.

        What the agent had is kept first, because the person's edits count where the two contradict each other.
        """
        git, root = self.context.git, self.context.root
        now = git.tree_of_checkout(checkout, self.follows if checkout == root else self.branch)
        if now is None:  # the person has just switched
            return taken
        known = git.tree_under(root, self._seen)
        if known is None:
            known = git.tree_under(root, f"trees/{self.id}/base") or now
            git.keep_tree(root, self._seen, known)  # the base moves with each commit
        merged = git.merge_trees(root, known, taken, now)
        is_new = now != known
        if merged != taken:
            git.keep_tree(root, f"agents/{self.id}", taken, adds=True)
        if merged != taken or is_new:  # it also ends one whose process died
            git.put_tree(self.files, merged, taken)
        if merged != taken:
            self.context.report(f"what was edited in {checkout} is in the agent's files now")
        if is_new:
            git.keep_tree(root, self._seen, now)
        if (merged != now or is_new) and git.put_tree(checkout, merged, now):
            git.keep_tree(root, self._seen, merged)
        return merged

    def checkout(self) -> Path | None:
        """The checkout that is brought along: the person's own, or the one that was opened for edits."""
        git, root = self.context.git, self.context.root
        if self.follows and git.checked_out(root) == self.follows:
            return root
        is_there = self.context.ports.files.mark(self.edited / ".git") is not None
        return self.edited if is_there and git.checked_out(self.edited) == self.branch else None

    def open_checkout(self) -> Path:
        """Return a checkout for the person, with the work so far; it is made if there is none."""
        taken, git = self.take(), self.context.git
        checkout = self.checkout()
        if checkout is None:
            git.add_work_tree(self.context.root, self.edited, self.branch, self.base)
            began = git.tree_hash(self.edited)
            git.keep_tree(self.context.root, self._seen, began)
            git.put_tree(self.edited, taken.tree, began)
            git.keep_tree(self.context.root, self._seen, taken.tree)
        return checkout or self.edited

    def keep(self, name: str, number: str) -> str:
        """Keep the tree and the agent's own commits, so that no later run can lose them; gives the tree."""
        tree, git = self.take().tree, self.context.git
        git.keep_tree(self.context.root, f"{name}/iteration-{number}", tree)
        self.keep_commits(f"{name}/commits-{number}")
        return tree

    def keep_commits(self, name: str, repository: Repository | None = None) -> None:
        """Keep the agent's own commits, before its repository is made again."""
        try:
            self.context.git.keep_commits(repository or self.files, name)
        except InterlockError as error:
            self.context.report(f"the agent's own commits are not kept: {error.message}")

    def commit(
        self,
        repository: Repository,
        message: str,
        keep: str,
        *,
        looking: Looking | None = None,
        paths: Sequence[str] | None = None,
        tree: str | None = None,
    ) -> str | None:
        """Commit the files, or some paths of them, on the branch; what the agent committed is kept beside first.

        With a `tree`, exactly that is committed, whatever the files are. `repository` is that of the files. None if
        there is nothing to commit.
        """
        self.keep_commits(keep, repository)
        git = self.context.git
        author = git.identity(repository)
        return git.commit(
            repository, message, author=author, branch=self.branch, looking=looking, paths=paths, tree=tree
        )

    def committed(self, repository: Repository, trailer: str) -> str | None:
        """The commit with a trailer that an earlier try made; the agent's repository has it checked out then."""
        made = self.context.git.find_commit(repository, trailer)
        if made is not None:
            self.follow(made)
        return made

    def follow(self, commit: str) -> None:
        """Let the agent's repository and ours have a commit of the driver checked out."""
        if self.is_made:
            self.context.git.show_commit(self.files, commit)

    def remove(self, keep: str | None) -> KeptWork | None:
        """Remove the files; with a name, they are kept first. So are those of a checkout that was opened for edits."""
        git, root = self.context.git, self.context.root
        if self.context.ports.files.mark(self.edited / ".git") is not None:
            git.remove_work_tree(root, self.edited, f"{keep or f'trees/{self.id}'}-edit")
        return git.remove_own_tree(root, self.files, keep, self._objects)

    @property
    def _seen(self) -> str:
        """The name of the tree that the checkout had when it was last brought along."""
        return f"trees/{self.id}/checkout"

    @property
    def _objects(self) -> Path:
        return Path(user_state_directory(self.context.environment)) / "objects" / self.id
