"""PURE. `<SESSION_ID>.instructions.md`: what holds in one session, for agents that read such files by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.work.markdown import Page
from interlock.work.orchestration.papers.text import block, guarded, line_of, one_line, said, unguarded

__all__ = ["instructions_name", "parse_instructions", "render_instructions"]


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


def parse_instructions(text: str) -> tuple[str, tuple[str, ...], str]:
    """The goal, the files and the rules."""
    page = Page(text)
    goal = block(unguarded(page.body(page.section("context"))))
    files = [said(line.live.lstrip()[2:]) for line in page.body(page.section("target files")) if line.live.strip()]
    rules = block(unguarded(page.body(page.section("important constraints"))))
    return goal, tuple(one for one in files if one), rules
