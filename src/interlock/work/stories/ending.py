"""PURE. What is told when a loop has ended: its promise, and what a person needs to know."""

from __future__ import annotations

from datetime import datetime

from interlock.work.stories.progress import StoryStatus
from interlock.work.stories.record import Loop

__all__ = ["ending"]


def ending(loop: Loop) -> str:
    """The last words of a loop that has ended, beginning with its promise."""
    match loop.outcome:
        case "all_complete":
            return f"<promise>COMPLETED</promise>\n\n{_summary(loop)}"
        case "only_blocked_left":
            needs = "\n".join(f"- {story}: {reason}" for story, reason in loop.needs.items())
            return f"<promise>BLOCKED</promise>\n\nA person is needed:\n{needs}\n\n{_summary(loop)}"
    return f"<promise>SETUP_REQUIRED</promise>\nExplanation: {loop.explanation}"


def _summary(loop: Loop) -> str:
    done = sum(one.status is StoryStatus.COMPLETE for one in loop.progress.stories)
    elapsed = datetime.fromisoformat(loop.updated) - datetime.fromisoformat(loop.started)
    return (
        "Summary:\n"
        f"- Stories completed: {done}\n"
        f"- Total iterations: {loop.iteration}\n"
        f"- Final commit: {loop.last_commit or 'none'}\n"
        f"- Time elapsed: {str(elapsed).partition('.')[0]}"
    )
