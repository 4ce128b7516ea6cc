"""What a person is shown of a thread before they decide."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import InterlockError
from interlock.machine import Snapshot
from interlock.work.threads.record import Thread
from interlock.work.verification.receipt import from_data
from interlock.work.verification.showing import text
from interlock.world.git import diff

__all__ = ["is_recommended", "receipt_text", "shown_at", "whole_diff"]

_MOST = 1 << 28
_RESETS = "This will reset changes. Continue? They are kept first, and `ralph thread undo` brings them back."


def whole_diff(thread: Thread, directory: Path) -> str:
    """Everything that differs from the baseline where the thread works, uncommitted changes included; all of it."""
    if thread.baseline is None:
        return ""
    tree = thread.receipt["tree"] if thread.receipt else None
    found = diff(directory, thread.baseline.commit, tree, most=_MOST)
    if found.is_cut:
        message = f"What differs from the baseline is more than {_MOST} bytes of text, which nobody can read at a gate."
        raise InterlockError("git_failed", message, "Divide the work: `ralph thread revise` goes back to the spec.")
    return found.text


def receipt_text(thread: Thread) -> str:
    return text(from_data(thread.receipt)) if thread.receipt is not None else "Nothing was verified yet."


def is_recommended(thread: Thread, snapshot: Snapshot) -> bool:
    """Whether approving can be recommended: quick mode, and everything passed for exactly these files."""
    return thread.mode == "quick" and "receipt" in snapshot.proofs and thread.receipt is not None


def shown_at(thread: Thread, event: str, directory: Path) -> str:
    """Exactly what a gate is passed for; the thread works in `directory`."""
    if event == "finalize":
        return thread.revision.text if thread.revision is not None else ""
    if event == "approve":
        return f"{receipt_text(thread)}\n\n{whole_diff(thread, directory)}"
    if event == "commit":
        return f"{thread.message}\n{_stat(thread)}\nHooks of the repository do not run for this commit."
    if thread.state == "Stuck" and thread.diagnosis is not None:
        known = thread.diagnosis
        lines = [
            known.summary,
            known.reason,
            *(f"✓ {one}" for one in known.passed),
            *(f"✗ {one}" for one in known.failed),
        ]
        return "\n".join([*lines, known.stat, *([_RESETS] if event == "revise" else [])])
    return _RESETS if event == "revise" and thread.state == "PendingReview" else thread.title


def _stat(thread: Thread) -> str:
    assert thread.baseline is not None
    return f"{thread.branch}, one commit on {thread.baseline.branch} {thread.baseline.commit[:10]}"
