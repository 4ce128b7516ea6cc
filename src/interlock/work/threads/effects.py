"""What a thread does to the repository: going back to the baseline, and the one commit at the end.

Each was begun by a move that is in the journal; done again after a crash, it finds what it did, and settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interlock.errors import InterlockError
from interlock.machine import Event, Evidence
from interlock.machine.model import EFFECT_SETTLED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.threads.driver_step import ThreadStep
from interlock.world.git import StartingPoint

__all__ = ["settle_effects"]


def settle_effects(step: ThreadStep) -> bool:
    """Do what was begun and is not settled, and write down what came of it; whether there was anything."""
    journal = step.context.journal
    for key, effect in step.snapshot.pending.items():
        try:
            done: dict[str, Any] = {"result": "done", **_EFFECTS[effect](step)}
        except InterlockError as error:
            step.context.tell(f"{effect}: {error.message} {error.hint}")
            done = {"result": "failed", "why": f"{error.message} {error.hint}"}
        data = {"key": key, **done}
        journal.append(step.thread.id, Event(EFFECT_SETTLED, DRIVER, evidence=Evidence(data=data)), lease=step.lease)
    return bool(step.snapshot.pending)


def _reset_workspace(step: ThreadStep) -> dict[str, Any]:
    """Back to the baseline's branch; everything that is given up is kept first, and `undo` brings it back."""
    before = step.thread.before_reset
    if before is None:
        return {}
    git, base = step.context.git, StartingPoint(before.branch, before.commit)
    name = f"threads/{step.thread.id}/reset-{step.thread.entered}"
    if before.is_isolated:
        kept = git.remove_work_tree(step.context.root, step.context.base / before.path, name).kept
        git.delete_branch(step.context.root, before.own_branch, kept.name if kept is not None else name)
    else:
        kept = git.go_back(step.context.root, base, before.own_branch, name)
    return {"kept": kept.name} if kept is not None else {}


def _git_commit(step: ThreadStep) -> dict[str, Any]:
    """One commit of exactly the approved tree, on the baseline."""
    thread = step.thread
    assert thread.baseline is not None
    assert thread.branch is not None
    name = f"threads/{thread.id}/before-commit"
    tree = step.snapshot.proofs["commit"]
    return {
        "commit": step.context.git.squash(step.root, thread.branch, thread.baseline.commit, tree, thread.message, name)
    }


_EFFECTS: Mapping[str, Callable[[ThreadStep], dict[str, Any]]] = {
    "reset_workspace": _reset_workspace,
    "git_commit": _git_commit,
}
