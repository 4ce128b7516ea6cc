"""PURE. `plan.md`: the goal, and what the planner made of it; and `<SESSION_ID>.instructions.md`, the goal as a rule.

    # Plan: the goal

    ## Goal & Success Criteria
    …

The body of the plan is the planner's. Where the title cannot hold the goal, because it is long or the planner gave a
title of its own, the goal stands at the end, under `## Request`. Agents that read such files by themselves find the
instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.work.formats.markdown import MarkdownText, Section
from interlock.work.orchestration.run_files.text import block, guarded, line_of, one_line, said, unguarded

__all__ = ["normal_plan", "parse_plan", "render_instructions", "render_plan"]

_REQUEST: Final = "Request"
_TITLE: Final = "Plan: "
_MOST: Final = 120


def render_plan(goal: str, text: str) -> str:
    """The text of `plan.md`."""
    goal, text = normal_plan(goal, text)
    page = MarkdownText(text)
    parts: list[list[str]] = []
    is_titled = _title(page) is not None
    if not is_titled:
        parts.append([_heading(goal)])
    if text:
        parts.append(guarded(text, headings=True, comments=True))
    if is_titled or not _fits(goal) or _request(page) is not None:
        parts.append([f"## {_REQUEST}", "", *guarded(goal)])
    return "\n\n".join("\n".join(part) for part in parts).rstrip("\n") + "\n"


def normal_plan(goal: str, text: str) -> tuple[str, str]:
    """The goal and the body as the file can hold them: a title that only repeats the goal is not part of the body."""
    goal, text = block(goal), block(text)
    page = MarkdownText(text)
    title = _title(page)
    if title is not None and page.lines[title.start].raw.rstrip() == _heading(goal).rstrip():
        text = block("".join(line.raw for line in page.lines[title.start + 1 :]))
        return normal_plan(goal, text)
    return goal, text


def parse_plan(text: str) -> tuple[str, str]:
    """The goal and the body; the goal is empty where the file names none."""
    page = MarkdownText(text)
    request = _request(page)
    title = _title(page)
    if request is not None:
        goal = block(unguarded(page.body(request)))
    else:
        name = said(title.name) if title else ""
        goal = name[len(_TITLE) :].strip(" ") if name.lower().startswith(_TITLE.lower()) else name
    lines = page.lines[: request.start] if request else page.lines
    if title and (request is None or page.lines[title.start].raw.rstrip() == _heading(goal).rstrip()):
        lines = (*lines[: title.start], *lines[title.start + 1 :])
    return goal, block(unguarded(lines))


def render_instructions(session: str, goal: str, files: Sequence[str] = (), rules: str = "") -> str:
    """The text of a session's instructions: its goal, the files it is about, and the rules to keep."""
    lines = ["---", f"description: Custom instructions for Ralph session {session}"]
    lines += [f"applyTo: .ralph-sessions/{session}/**", "---", "", f"# Session: {session}", "", "## Context"]
    lines += guarded(block(goal))
    lines += ["", "## Target Files", *(f"- {line_of(one)}" for one in files if one_line(one))]
    lines += ["", "## Important Constraints", *(guarded(block(rules)) if block(rules) else [])]
    return "\n".join(lines) + "\n"


def _heading(goal: str) -> str:
    name = line_of(goal)
    name = name if len(name) <= _MOST else f"{name[: _MOST - 1].rstrip()}…"
    return f"# {_TITLE}{name}"


def _fits(goal: str) -> bool:
    """True if the title holds all of the goal."""
    is_line = bool(goal) and one_line(goal) == goal == goal.strip().rstrip("#")
    return is_line and len(line_of(goal)) <= _MOST


def _title(page: MarkdownText) -> Section | None:
    """The title, if the file begins with one."""
    first = next((line.number for line in page.lines if line.raw.strip()), None)
    return next((one for one in page.sections if one.level == 1 and one.start == first), None)


def _request(page: MarkdownText) -> Section | None:
    found = [one for one in page.sections if one.level == 2 and one.name == _REQUEST]
    return found[-1] if found and found[-1].end == len(page.lines) else None
