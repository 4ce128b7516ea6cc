"""Threads as values, for the tests of their files."""

from __future__ import annotations

from typing import Any

from interlock.work.threads.conversation import ConversationHeader, Message, Speaker
from interlock.work.threads.phases import (
    BaselineView,
    Committed,
    Diagnosed,
    DiagnosisView,
    Iterated,
    Mode,
    Phase,
    Reasoned,
    RunConfig,
    ThreadFile,
)
from interlock.work.threads.runs import RunFile, RunIteration

__all__ = ["ANSWERED", "ASKED", "COMMIT", "HEADING", "PHASES", "RUN", "view"]

COMMIT = "0123456789abcdef" * 2 + "01234567"
PHASES = (
    *(Phase(name) for name in ("Drafting", "Assessing", "Finalized", "Preflight")),
    Phase("PreflightFailed", Reasoned("Working tree has uncommitted changes.")),
    Phase("Configuring"),
    Phase("Running", Iterated(3)),
    Phase("Paused", Iterated(4)),
    Phase("Verifying", Iterated(5)),
    Phase("Stuck", Diagnosed(DiagnosisView(5, ("claude", "codex"), 2, 3, "it does not compile"))),
    *(Phase(name) for name in ("Implemented", "Polishing", "PendingReview", "Approved", "ReadyToCommit")),
    Phase("Done", Committed(COMMIT)),
    Phase("Abandoned", Reasoned("not wanted any more")),
)
HEADING = ConversationHeader("abc123", "Greet", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z")
ASKED = Message(
    Speaker.USER, "Please greet\nby name, with accents and everything that comes with them", "2026-01-02T03:05:00Z"
)
ANSWERED = Message(Speaker.ASSISTANT, "Which accents?", "2026-01-02T03:06:00Z", "claude")
RUN = RunFile(
    "run-001",
    "abc123",
    2,
    "2026-01-02T03:04:05Z",
    "Running",
    models=("claude",),
    iterations=(RunIteration(1, "claude", "2026-01-02T03:04:05Z", promised=True, verified=False),),
    data={"cost": 0.5},
)


def view(id_: str = "abc123", phase: Phase = Phase("Drafting"), **fields: Any) -> ThreadFile:  # noqa: B008
    """A thread with everything that one can have."""
    whole: dict[str, Any] = {
        "title": "Add feature X",
        "created_at": "2026-11-14T08:00:00.000Z",
        "updated_at": "2026-11-15T09:30:00.500Z",
        "current_spec_revision": 2,
        "current_run_id": "run-001",
        "mode": Mode.QUICK,
        "run_config": RunConfig(7, ("claude", "codex")),
        "baseline": BaselineView("main", COMMIT, "2026-11-15T09:00:00.000Z"),
        "extra": {"ticket": 12, "receipt": None},
    }
    return ThreadFile(id=id_, phase=phase, **(whole | fields))
