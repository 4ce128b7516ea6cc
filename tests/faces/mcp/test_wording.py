"""Errors in the words of the caller: commands at a terminal, tools for an agent."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import interlock
from interlock.faces.cli.main import verbs_of
from interlock.faces.mcp.server import TOOLS as SERVED
from interlock.faces.mcp.wording import TOOLS, with_tool_names

_WORDED_FOR_AGENTS = {
    "demo/tickets.py",
    "sessions/policy.py",
    "sessions/prompt.py",
    "tickets/advice.py",
    "tickets/placeholders.py",
    "tickets/policy.py",
    "tickets/skills.py",
}
"""What only agents read: prompts, skills and the answers of the hook. `advice` asks who reads it; the demo is one."""


def test_a_hint_names_the_tool_to_an_agent_and_the_command_to_a_person() -> None:
    hint = "`ralph ticket list` shows the numbers; `ralph ticket handoff 7 --to-state Done` is a person's."
    assert (
        with_tool_names(hint)
        == "list_tickets shows the numbers; `ralph ticket handoff 7 --to-state Done` is a person's."
    )


def test_each_command_and_each_tool_in_the_table_exists() -> None:
    for command, tool in TOOLS.items():
        _, noun, verb = command.split()
        assert verb in verbs_of(noun)
        assert tool in {one.name for one in SERVED}


def test_no_text_that_a_person_may_read_names_a_tool() -> None:
    work = Path(interlock.__file__).parent / "work"
    names = re.compile(r"\b(" + "|".join(one.name for one in SERVED) + r")\b")
    found = {
        (str(path.relative_to(work)), one.value)
        for path in work.rglob("*.py")
        if str(path.relative_to(work)) not in _WORDED_FOR_AGENTS
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value and names.search(one.value)
    }
    assert found == set()
