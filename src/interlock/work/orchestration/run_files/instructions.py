"""PURE. `<SESSION_ID>.instructions.md`: what holds in one session, for agents that read such files by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.work.orchestration.run_files.text import block, guarded, line_of, one_line

__all__ = ["instructions_name", "render_instructions"]


def instructions_name(session: str) -> str:
    """What the file is called."""
    return f"{session}.instructions.md"


def render_instructions(session: str, goal: str, files: Sequence[str] = (), rules: str = "") -> str:
    """The text for a session: its goal, the files it is about, and what must be kept to."""
    lines = ["---", f"description: Custom instructions for Ralph session {session}"]
    lines += [f"applyTo: .ralph-sessions/{session}/**", "---", "", f"# Session: {session}", "", "## Context"]
    lines += guarded(block(goal))
    lines += ["", "## Target Files", *(f"- {line_of(one)}" for one in files if one_line(one))]
    lines += ["", "## Important Constraints", *(guarded(block(rules)) if block(rules) else [])]
    return "\n".join(lines) + "\n"
