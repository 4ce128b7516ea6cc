"""What is known of a thread when its loop cannot complete the task."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from interlock.errors import InterlockError
from interlock.work.driver.ports import Git
from interlock.work.threads.record import Diagnosis, Thread
from interlock.work.threads.spec import parse_spec
from interlock.world.characters import marked

__all__ = ["changes_since", "diagnose"]

_CLOSEST = 4000
_FILES = 100
_UNVERIFIED = "not verified: no iteration of this run claimed to be done"


def diagnose(git: Git, thread: Thread, reason: str, root: Path, agents: Iterable[str] = ()) -> Diagnosis:
    """The diagnosis that a person decides on: what the last run tried, how close it came, what there is of it.

    `agents` are those that worked for the thread's child.
    """
    criteria = _criteria(thread)
    own = (one.agent for one in thread.iterations if one.role == "implementer" and one.run == thread.run)
    best, closest = thread.best
    tree, stat = changes_since(git, thread, root)
    return Diagnosis(
        spec_revision=thread.revision.number if thread.revision else 0,
        iterations_attempted=thread.attempted,
        models_tried=tuple(dict.fromkeys((*own, *agents))),
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


def _criteria(thread: Thread) -> list[dict[str, Any]]:
    """The criteria of the spec, with what the last verification of this run came to."""
    if thread.judged or thread.revision is None:
        return thread.judged
    criteria = parse_spec(thread.revision.text).criteria
    return [{"text": one.text, "met": False, "why": _UNVERIFIED} for one in criteria]


def changes_since(git: Git, thread: Thread, root: Path) -> tuple[str, str]:
    """The tree as it is now, and what differs from the baseline, a line for each file; nothing where git cannot say."""
    if thread.baseline is None:
        return "", ""
    try:
        tree = git.tree_hash(root)
        changes = git.changed_between(root, thread.baseline.commit, tree)
    except InterlockError as error:
        return "", f"git cannot say: {error.message}"
    lines = [f"{one.status} {marked(one.path, keep='')}" for one in changes]
    more = [f"and {len(lines) - _FILES} more"] if len(lines) > _FILES else []
    return tree, "\n".join([*lines[:_FILES], *more])
