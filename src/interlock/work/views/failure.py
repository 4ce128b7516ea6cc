"""The error that driving something ends with, and so the exit status: by what became of it, for every face."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from interlock.errors import InterlockError, Refusal
from interlock.machine.states import shipped_state
from interlock.work.views.encoding import as_data
from interlock.world.characters import marked

if TYPE_CHECKING:
    from interlock.work.views.loop import LoopView
    from interlock.work.views.run import RunView
    from interlock.work.views.thread import ThreadView
    from interlock.work.views.values import DrivenView

__all__ = ["failure_of"]

_FAILED: Final = frozenset({"diagnosis", "reason"})
"""What the state of a thread that failed carries."""


def failure_of(view: DrivenView, *, is_interrupted: bool = False) -> InterlockError | None:
    """Why something that was driven needs a person; None where nothing failed."""
    return _FAILURES[view.machine](view, is_interrupted)


def _thread(view: ThreadView, is_interrupted: bool) -> InterlockError | None:
    known = shipped_state("thread", view.state)
    if not known.human or _FAILED.isdisjoint(known.carries):
        return None
    why, hint = (view.reason or "").strip() or f"The thread is {view.state}.", "`ralph thread` shows the ways out."
    is_stuck = "diagnosis" in known.carries
    return Refusal("thread_stuck" if is_stuck else "preflight_failed", why, hint, as_data(view))


def _loop(view: LoopView, is_interrupted: bool) -> InterlockError | None:
    match view.outcome:
        case None if is_interrupted:
            message = f"Stopped in {view.state}; nothing is lost."
            return InterlockError("interrupted", message, "`ralph story run` goes on where it was.")
        case None if view.is_halted:
            hint = "Mend it, or `ralph story limit NAME VALUE` allows more; then `ralph story run` goes on."
            return Refusal("loop_paused", f"The loop rests in {view.state}: {view.paused}.", hint, as_data(view))
        case None | "all_complete":
            return None
        case "only_blocked_left":
            needs = "; ".join(f"{one}: {why}" for one, why in view.needs.items())
            hint = "Mend what each needs, then `ralph story unblock STORY` and `ralph story run`."
            return Refusal("loop_blocked", f"Only blocked stories are left: {needs}.", hint, as_data(view))
    hint = "`ralph story init` makes a progress.txt from the stories that there are; --print shows it."
    return Refusal("setup_required", view.reason or "Something is missing.", hint, as_data(view))


def _run(view: RunView, is_interrupted: bool) -> InterlockError | None:
    if view.needs is not None:
        hint = 'Mend it, then `ralph orchestrate resume`; `resume --say "…"` says what should change.'
        return Refusal("run_failed", _flat(view.needs.says), hint, as_data(view))
    if view.outcome is None and is_interrupted:
        hint = "`ralph orchestrate resume` goes on."
        return InterlockError("interrupted", f"Rests in {view.state}; nothing is lost.", hint)
    if view.is_halted:
        hint = "Mend that, then `ralph orchestrate resume` goes on."
        said = f"The run rests in {view.state}: {_flat(view.paused or '')}."
        return Refusal("run_rests", said, hint, as_data(view))
    return None


def _flat(text: str) -> str:
    return marked(text.replace("\t", " "), keep="")


_FAILURES: Final[Mapping[str, Callable[[Any, bool], InterlockError | None]]] = {
    "thread": _thread,
    "story": _loop,
    "orchestrator": _run,
}
