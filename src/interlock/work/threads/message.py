"""PURE. The message of the commit that a thread ends in, made of what is known of it."""

from __future__ import annotations

import textwrap
from typing import Any

from interlock.work.threads.record import Thread
from interlock.work.threads.spec import Spec
from interlock.world.characters import is_hidden

__all__ = ["commit_message"]

_SUBJECT = 72
_WIDTH = 72


def commit_message(thread: Thread, spec: Spec, receipt: dict[str, Any], receipt_hash: str) -> str:
    """A subject, the goal, what was proven, and where each of it is on record."""
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
