"""What the agents play on the way of the ticket: the commands of the pipeline, and a loop that lies twice."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from interlock.work.demo.project import Steps

__all__ = ["HALF", "HAS_IT", "OTHER_TRIED", "RIGHT", "SPEC", "builder", "judge", "pipeline"]

_PLAN = "thoughts/shared/plans/2026-01-31-GH-1-greet-people-by-name.md"
HAS_IT = "It is mine now; I look into it."
OTHER_TRIED = ".ralf/another-has-tried"
"""The file that tells the agent that another one has tried, in the repository."""
SPEC = """\
# Greet people by name

## Goal

Whoever gives a name is greeted by it; whoever gives none is greeted as before.

## Completion Criteria

- [ ] the tests pass, those that were there among them
- [ ] greet("Ada") says "Hello, Ada!"
  - verify: `PYTHON -c "from greet import greet; assert greet('Ada') == 'Hello, Ada!'"`
- [ ] without a name it still greets

<promise>COMPLETE</promise>
""".replace("PYTHON", shlex.quote(sys.executable))
HALF = "def greet(name"
RIGHT = '''"""Greets people, by name where they give one."""


def greet(name: str | None = None) -> str:
    return f"Hello, {name}!" if name else "Hello!"
'''
_WRONG = 'def greet(name: str) -> str:\n    return f"Hi {name}"\n'
_LAZY = """import unittest

from greet import greet


class Greeting(unittest.TestCase):
    @unittest.skip("later")
    def test_it_greets(self) -> None:
        self.assertTrue(greet().startswith("Hello"))
"""


def pipeline(root: Path, number: int) -> list[Steps]:
    """Triage, research and plan of a ticket, a run each. They hand it on as every agent does: by the one door."""

    def ralph(*words: str) -> dict[str, Any]:
        return {"run": [sys.executable, "-P", "-m", "interlock", "ticket", *words]}

    def hands(command: str, reason: str, *asked: str) -> dict[str, Any]:
        return ralph("handoff", str(number), "--command", command, *asked, "--reason", reason)

    end = {"finish": True}
    return [
        [hands("triage", "unclear how names reach the greeter", "--to-state", "Research Needed"), end],
        [
            hands("research", "looking into it", "--intent", "lock"),
            {"say": HAS_IT},
            {"wait": str(root / OTHER_TRIED)},
            hands("research", "the greeter is one function, and takes no name", "--intent", "complete"),
            end,
        ],
        [
            hands("plan", "writing the plan", "--intent", "lock"),
            {"write": {"path": _PLAN, "text": SPEC}},
            ralph("edit", str(number), "--artifact", f"plan={_PLAN}"),
            hands("plan", "the plan is attached", "--intent", "complete"),
            end,
        ],
    ]


def builder() -> list[Steps]:
    """A run that is cut off, two that lie, and one that is right."""
    return [
        [_writes("greet.py", HALF), {"run": ["sleep", "600"]}],
        _claims(_writes("greet.py", _WRONG)),
        _claims(_writes("greet.py", RIGHT), _writes("test_greet.py", _LAZY)),
        _claims({"run": ["git", "checkout", "-q", "--", "test_greet.py"]}),
    ]


def judge() -> list[Steps]:
    """What the judge says of the criteria that no command can check."""
    return [[{"say": f"CRITERION {number}: PASS"} for number in (1, 3)] + [{"finish": True}]]


def _writes(path: str, text: str) -> dict[str, Any]:
    return {"write": {"path": path, "text": text}}


def _claims(*steps: dict[str, Any]) -> Steps:
    return [*steps, {"say": "All criteria are met."}, {"promise": "COMPLETE"}, {"finish": True}]
