"""What a thread does to the repository: going back to the baseline, and the one commit at the end.

Each was begun by a move that is in the journal; done again after a crash, it finds what it did, and settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interlock.errors import InterlockError
from interlock.machine import Event, Evidence
from interlock.machine.model import EFFECT_SETTLED
from interlock.work.errands import DRIVER
from interlock.work.threads.visit import Visit
from interlock.world.git import Baseline, delete_branch, go_back, remove_work_tree, squash

__all__ = ["settle_effects"]


def settle_effects(visit: Visit) -> bool:
    """Do what was begun and is not settled, and write down what came of it; whether there was anything."""
    journal = visit.workshop.journal
    for key, effect in visit.snapshot.pending.items():
        try:
            done: dict[str, Any] = {"result": "done", **_EFFECTS[effect](visit)}
        except InterlockError as error:
            visit.workshop.tell(f"{effect}: {error.message} {error.hint}")
            done = {"result": "failed", "why": f"{error.message} {error.hint}"}
        data = {"key": key, **done}
        journal.append(visit.thread.id, Event(EFFECT_SETTLED, DRIVER, evidence=Evidence(data=data)), lease=visit.lease)
    return bool(visit.snapshot.pending)


def _reset_workspace(visit: Visit) -> dict[str, Any]:
    """Back to the baseline's branch; everything that is given up is kept first, and `undo` brings it back."""
    before = visit.thread.before_reset
    if before is None:
        return {}
    base = Baseline(before.branch, before.commit)
    name = f"threads/{visit.thread.id}/reset-{visit.thread.entered}"
    if before.is_isolated:
        kept = remove_work_tree(visit.workshop.root, before.path, name).kept
        delete_branch(visit.workshop.root, before.own_branch, kept.name if kept is not None else name)
    else:
        kept = go_back(visit.workshop.root, base, before.own_branch, name)
    return {"kept": kept.name} if kept is not None else {}


def _git_commit(visit: Visit) -> dict[str, Any]:
    """One commit of exactly the approved tree, on the baseline."""
    thread = visit.thread
    assert thread.baseline is not None
    assert thread.branch is not None
    name = f"threads/{thread.id}/before-commit"
    tree = visit.snapshot.proofs["commit"]
    return {"commit": squash(visit.root, thread.branch, thread.baseline.commit, tree, thread.message, name)}


_EFFECTS: Mapping[str, Callable[[Visit], dict[str, Any]]] = {
    "reset_workspace": _reset_workspace,
    "git_commit": _git_commit,
}
