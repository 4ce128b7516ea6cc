"""The error that driving something ends with, and so the exit status: by what became of it, for every face."""

from __future__ import annotations

from typing import Final

from interlock.errors import Refusal
from interlock.work.views.encoding import as_data
from interlock.work.views.thread import ThreadView

__all__ = ["thread_failure"]

_THREADS: Final = {"Stuck": "thread_stuck", "PreflightFailed": "preflight_failed"}
"""The states that a thread comes to where something failed and a person is needed."""


def thread_failure(view: ThreadView) -> Refusal | None:
    """Why a thread that was driven needs a person; None where nothing failed."""
    code = _THREADS.get(view.state)
    if code is None:
        return None
    why = (view.reason or "").strip() or f"The thread is {view.state}."
    return Refusal(code, why, "`ralph thread` shows the ways out.", as_data(view))
