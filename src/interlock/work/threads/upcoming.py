"""What a person does next with a thread, in each of its states. There is always a way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["NEXT", "next_command"]

NEXT: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Drafting": (("spec --edit", "write the spec, or `spec --say` to talk about it"), ("finalize", "approve it")),
    "Assessing": (("finalize", "approve the spec as it is"), ("revise", "go back and mend it")),
    "Finalized": (("start", "check the prerequisites and begin"), ("reopen", "open the spec again")),
    "Preflight": (("start", "go on with the checks"),),
    "PreflightFailed": (("start", "check again, once it is mended"), ("revise", "mend the spec")),
    "Configuring": (("run", "start the loop"), ("configure", "choose agents, iterations and budget first")),
    "Running": (("pause", "let the loop rest"),),
    "Paused": (("resume", "go on from here"), ("configure", "change agents or iterations")),
    "Verifying": (("pause", "stop the verifiers"),),
    "Stuck": (("diagnose", "see what was tried"), ("assist", "edit files yourself, then go on")),
    "Implemented": (("review", "look at the changes"), ("polish", "add docs or tests first")),
    "Polishing": (("polish --done", "prove it again, and go on"),),
    "PendingReview": (("approve", "the changes are right"), ("reject --reason …", "send it back")),
    "Approved": (("withdraw", "take the approval back"),),
    "ReadyToCommit": (("commit", "make the commit"), ("withdraw", "take the approval back")),
}
"""The verbs of `ralph thread`, each with what it does; the likeliest first."""
_DRIVEN: Final = frozenset({"Running", "Verifying"})
"""The states that a driver leads out of; where there is none, somebody has to bring one."""


def next_command(state: str, thread: str) -> str:
    """What to type for a thread that nobody drives."""
    verb = "resume" if state in _DRIVEN else NEXT[state][0][0] if state in NEXT else "show"
    first, _, flags = ("show" if state == "Approved" else verb).partition(" ")
    return " ".join(word for word in ("ralph thread", first, thread[-6:], flags) if word)
