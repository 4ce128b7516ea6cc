"""What a thread drives, the thread alone steers: a story loop or a run with a parent, and whatever is on its branch."""

from __future__ import annotations

from interlock.errors import Refusal
from interlock.work.driver.context import DriverContext

__all__ = ["driven_by", "refuse_on_a_threads_branch"]

_BRANCHES = "ralf/"
"""What the names of the threads' branches begin with."""


def driven_by(what: str, thread: str) -> Refusal:
    """Why a verb of a loop or run is not for whoever said it, and which ones are."""
    hint = "`ralph thread` steers it: pause, resume, context, configure."
    return Refusal("driven_by_thread", f"{what} is driven by the thread {thread}.", hint)


def refuse_on_a_threads_branch(context: DriverContext) -> None:
    """What runs alone works on its user's branch: what is done on a thread's own is steered by the thread."""
    branch = context.git.state(context.root).branch
    if branch is not None and branch.startswith(_BRANCHES):
        message = f"{branch} is checked out, the branch of a thread: what runs on it is driven by the thread alone."
        raise Refusal("driven_by_thread", message, "`ralph thread` shows where it stands and what to do next.")
