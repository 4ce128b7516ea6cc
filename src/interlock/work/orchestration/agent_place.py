"""The place of a run's agents: a tree of their own, whose verified states are committed to the person's branch.

A run that a thread drives works in the thread's tree, and commits nothing. The session's files stay where the person
reads and edits them; agents get copies.
"""

from __future__ import annotations

from msgspec.structs import replace

from interlock.journal import Lease
from interlock.work.driver.context import DriverContext
from interlock.work.driver.fold import Fold
from interlock.work.driver.step import noted
from interlock.work.driver.target_branch import TargetBranch, beginning_of, ended_trees, require_branch, target_of
from interlock.work.orchestration.driver_step import RunStep
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import take

__all__ = ["commit_verified", "end_tree", "placed"]

_TRAILER = "Ralph-Run"


def placed(context: DriverContext, run: Run, lease: Lease) -> tuple[DriverContext, TargetBranch | None]:
    """Return the context with the tree of the run's agents as its root, and the branch that the work goes to.

    The tree of a run that failed is the tree of the run that follows it. For a run that has ended, the context stays.
    """
    if run.parent is not None:
        return context, None
    if run.outcome is not None:
        return context, target_of(context, run.tree, run.beginning) if run.beginning is not None else None
    if run.beginning is not None:
        target = target_of(context, run.tree, run.beginning)
        target.tree.make()
        return replace(context, root=target.tree.files), target
    if run.paused is not None:  # nothing is done until a person resumes it
        return context, None
    before = Fold(run.follows, Run, take).read(context.journal) if run.follows else None
    target, is_new = _target(context, run, before)
    _end_others(context, target.tree.id)
    has_worked = run.state != "Initializing" or (before is not None and before.beginning is None)
    earlier = context.git.tree_hash(context.root) if is_new and has_worked else None
    target.tree.make()
    if earlier is not None:  # an earlier version worked in the checkout
        context.git.put_tree(target.tree.files, earlier, context.git.tree_hash(target.tree.files))
    start = {"branch": target.name, "commit": target.tree.base, "tree": target.tree.id}
    context.journal.append(run.id, noted("placed", **start), lease=lease)
    return replace(context, root=target.tree.files), target


def _target(context: DriverContext, run: Run, before: Run | None) -> tuple[TargetBranch, bool]:
    """The target of a run that has none yet, and True if its tree has to be made."""
    if before is not None and before.beginning is not None:
        target = target_of(context, before.tree, before.beginning)
        if target.tree.is_made:
            return target, False
    require_branch(context)
    start = beginning_of(context)
    assert start is not None  # there is a branch with a commit
    return target_of(context, run.id, start), True


def _end_others(context: DriverContext, tree: str) -> None:
    """Remove the trees of runs that have ended, and that the run does not continue in."""
    for name in ended_trees(context, MACHINE):
        run = Fold(name, Run, take).read(context.journal)
        if name != tree and run.beginning is not None:
            end_tree(target_of(context, run.tree, run.beginning), run)


def end_tree(target: TargetBranch, run: Run) -> None:
    """Remove the tree of a run that has met its goal, or that no run can continue any more."""
    target.end(f"orchestrate/{run.tree}/end")


def commit_verified(step: RunStep) -> None:
    """Commit the tree that was verified last, if it was not yet: exactly that one, whatever the files are by now."""
    proven, target = step.run.proven, step.cache.target
    if proven is None or target is None:
        return
    trailer = f"{_TRAILER}: {step.run.id}-{proven.version}"
    step.cache.git.shut()
    with step.context.git.opened(target.tree.files) as repository:
        made = target.tree.committed(repository, trailer)
        if made is None:
            keep = f"orchestrate/{step.run.id}/commits-{proven.version}"
            made = target.tree.commit(repository, f"{proven.subject}\n\n{trailer}", keep, tree=proven.tree)
    target.forward()
    step.note("committed", commit=made, branch=target.tree.branch if target.is_behind else target.name)
