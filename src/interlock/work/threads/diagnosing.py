"""What is known of a thread when its loop cannot complete the task."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import InterlockError
from interlock.work.threads.record import Diagnosis, Thread
from interlock.world.git import changed_between, tree_hash

__all__ = ["changes_since", "diagnose"]

_CLOSEST = 4000
_FILES = 100


def diagnose(thread: Thread, reason: str, root: Path) -> Diagnosis:
    """The diagnosis that a person decides on: what was tried, how close it came, what there is of it."""
    criteria = [] if thread.receipt is None else thread.receipt["criteria"]
    tried = [one for one in thread.iterations if one.role == "implementer"]
    best, closest = thread.best
    tree, stat = changes_since(thread, root)
    return Diagnosis(
        spec_revision=thread.revision.number if thread.revision else 0,
        iterations_attempted=len(tried),
        models_tried=tuple(dict.fromkeys(one.agent for one in tried)),
        best_criteria_passed=max(best, 0),
        total_criteria=len(criteria),
        reason=reason,
        passed=tuple(one["text"] for one in criteria if one["met"]),
        failed=tuple(
            f"{one['text']}: {one['why']}" if one["why"] else one["text"] for one in criteria if not one["met"]
        ),
        closest=(closest or thread.said)[-_CLOSEST:],
        stat=stat,
        tree=tree,
    )


def changes_since(thread: Thread, root: Path) -> tuple[str, str]:
    """The tree as it is now, and what differs from the baseline, a line for each file; nothing where git cannot say."""
    if thread.baseline is None:
        return "", ""
    try:
        tree = tree_hash(root)
        changes = changed_between(root, thread.baseline.commit, tree)
    except InterlockError as error:
        return "", f"git cannot say: {error.message}"
    lines = [
        f"{one.status} {one.path!r}" if not one.path.isprintable() else f"{one.status} {one.path}" for one in changes
    ]
    more = [f"and {len(lines) - _FILES} more"] if len(lines) > _FILES else []
    return tree, "\n".join([*lines[:_FILES], *more])
