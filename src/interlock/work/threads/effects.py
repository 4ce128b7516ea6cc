"""What a thread does to the repository: going back to the baseline and undoing that, and the one commit at the end.

An effect was begun by a move that is in the journal; done again after a crash, it finds what it did, and settles it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from interlock.errors import InterlockError, NotFound
from interlock.machine import Event, Evidence
from interlock.machine.model import EFFECT_SETTLED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.agent_tree import AgentTree
from interlock.work.driver.context import DriverContext
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.record import Thread
from interlock.work.threads.spec import Spec
from interlock.world.characters import is_hidden
from interlock.world.git import StartingPoint

__all__ = ["commit_message", "settle_effects", "undo_reset"]

_SUBJECT = 72
_WIDTH = 72


def settle_effects(step: ThreadStep) -> bool:
    """Do what was begun and is not settled, and write down what came of it; whether there was anything."""
    journal = step.context.journal
    if step.snapshot.pending and step.is_over(journal):
        return True  # it was begun after the record was read, which does not say yet what is to be done
    for key, effect in step.snapshot.pending.items():
        try:
            done: dict[str, Any] = {"result": "done", **_EFFECTS[effect](step)}
        except InterlockError as error:
            step.context.report(f"{effect}: {error.message} {error.hint}")
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
    tree = AgentTree(step.context, step.thread.id, before.own_branch, before.commit)
    has_begun = git.tree_under(step.context.root, f"{name}-agent") is not None  # and died after HEAD had moved
    if (
        has_begun or git.checked_out(step.context.root) == before.own_branch
    ):  # the person's checkout has what the tree has
        tree.remove(f"{name}-agent")
        kept = git.go_back(step.context.root, base, before.own_branch, name)
    else:
        kept = tree.remove(name)
        git.delete_branch(step.context.root, before.own_branch, kept.name if kept is not None else name)
    return {"kept": kept.name} if kept is not None else {}


def _git_commit(step: ThreadStep) -> dict[str, Any]:
    """One commit of exactly the approved tree, on the baseline."""
    thread, git, root = step.thread, step.context.git, step.context.root
    assert thread.baseline is not None
    assert thread.branch is not None
    name = f"threads/{thread.id}/before-commit"
    tree = step.snapshot.proofs["commit"]
    approved = thread.branch, thread.baseline.commit, tree, thread.message, name
    checkout = step.tree.checkout()
    there = git.state(checkout) if checkout is not None else None
    is_unfinished = there is not None and (there.operation is not None or bool(there.conflicts))
    if checkout is not None and (is_unfinished or git.tree_hash(checkout) == tree):
        made = git.squash(checkout, *approved)  # its index follows; it refuses to move a branch under a merge
    else:
        made = git.commit_approved(root, *approved)
        if checkout is not None:
            step.context.report(f"{checkout} has other files than the commit, so it was not brought along")
    step.tree.follow(made)
    return {"commit": made}


_EFFECTS: Mapping[str, Callable[[ThreadStep], dict[str, Any]]] = {
    "reset_workspace": _reset_workspace,
    "git_commit": _git_commit,
}


def undo_reset(context: DriverContext, thread: Thread, name: str | None = None) -> str:
    """Bring back what was kept last, or under a name, and return the name; it moves no state."""
    known = thread.kept
    if not known or (name is not None and name not in known):
        listed = f"There is: {', '.join(known)}." if known else "Nothing was put away of this thread."
        raise NotFound("nothing_kept", f"Nothing is kept under {name!r}." if name else "Nothing is kept.", listed)
    chosen = name or known[-1]
    context.git.undo(context.root, chosen)
    return chosen


def commit_message(thread: Thread, spec: Spec, receipt: dict[str, Any], receipt_hash: str) -> str:
    """The message of the commit (PURE): a subject, the goal, what was proven, and where each of it is on record."""
    revision = thread.revision
    assert revision is not None
    subject = " ".join(thread.title.split())
    if len(subject) > _SUBJECT:
        subject = textwrap.shorten(subject, _SUBJECT, placeholder=" …")
    parts = [subject]
    if spec.goal:
        parts.append(_wrapped(spec.goal))
    criteria = "\n".join(_wrapped(one["text"], "- ") for one in receipt["criteria"] if one["met"])
    if criteria:
        parts.append(criteria)
    parts.append(
        f"Thread: {thread.id}\n"
        f"Spec: v{revision.number} sha256:{revision.sha256}\n"
        f"Receipt: sha256:{receipt_hash}\n"
        f"Tree: {receipt['tree']}"
    )
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str, lead: str = "") -> str:
    plain = " ".join("".join(" " if is_hidden(one) else one for one in text).split())
    return textwrap.fill(plain, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False)
