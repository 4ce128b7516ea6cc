"""PURE. One answer of each role, as its prompt shows it. Said again word for word, it is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interlock.work.orchestration.contracts import Role

__all__ = ["EXAMPLES"]

_PLAN: Final = """\
## Goal & Success Criteria

`greet NAME` greets by name, and `greet` alone still greets the world.

## Target Files

`greet.py`, `tests/test_greet.py`

## Context & Analysis

`main` in `greet.py` ignores its arguments.

## Approach

Read the name in `main`; keep `greeting` pure.

## Verification & Testing

`pytest`

## Risks & Assumptions

A name may hold any character.
"""

EXAMPLES: Final[Mapping[Role, dict[str, Any]]] = {
    Role.PLANNER: {
        "status": "completed",
        "goal": "`greet NAME` greets by name.",
        "plan": _PLAN,
        "tasks": [
            {
                "id": "task-1",
                "description": "Make `greeting` take a name",
                "objective": "The text is made in one place, for a name and for none.",
                "criteria": ["`greeting('Ann')` is `Hello, Ann!`", "`greeting()` is `Hello, world!`"],
                "files": ["greet.py", "tests/test_greet.py"],
                "depends_on": [],
                "inherits": [],
            },
            {
                "id": "task-2",
                "description": "Take the name from the command line",
                "objective": "`greet Ann` prints what `greeting('Ann')` is.",
                "criteria": ["`greet Ann` prints `Hello, Ann!`", "`pytest` passes"],
                "files": ["greet.py", "tests/test_greet.py"],
                "depends_on": ["task-1"],
                "inherits": ["task-1"],
            },
        ],
        "closes": [],
        "questions": [],
        "blockers": [],
        "next_actions": ["execute"],
    },
    Role.QUESTIONER: {
        "status": "completed",
        "questions": [
            {
                "number": 1,
                "text": "Which characters may a name hold?",
                "category": "Requirements",
                "priority": "High",
                "status": "Answered",
                "impact": "Decides whether task-1 has to escape anything.",
                "answer": "Any: the output is plain text, and no caller parses it.",
                "source": "greet.py:12, README.md:8",
                "confidence": "High",
            },
            {
                "number": 2,
                "text": "Is `greet` called by other programs that need its exact output?",
                "category": "Risks",
                "priority": "Medium",
                "status": "Research Needed",
                "impact": "If so, the text without a name must not change by a byte.",
                "answer": "",
                "source": "",
                "confidence": "Unknown",
            },
        ],
        "summary": "One of two questions is settled; the other needs somebody who knows the callers.",
        "critical_findings": ["`greeting` has no test yet."],
        "validated_assumptions": ["The output is for people."],
        "invalidated_assumptions": [],
        "remaining_unknowns": ["Who calls `greet`."],
        "recommendations": ["Keep the text without a name as it is."],
        "blockers": [],
    },
    Role.EXECUTOR: {
        "status": "completed",
        "task_id": "task-1",
        "success_criteria_met": True,
        "objective_recap": "One function makes the text, for a name and for none.",
        "rework_context": "",
        "criteria_status": [
            {
                "criterion": "`greeting('Ann')` is `Hello, Ann!`",
                "met": True,
                "evidence": "tests/test_greet.py::test_by_name passes",
                "finding": "",
            },
            {
                "criterion": "`greeting()` is `Hello, world!`",
                "met": True,
                "evidence": "tests/test_greet.py::test_without_a_name passes",
                "finding": "",
            },
        ],
        "summary_of_changes": "greet.py: `greeting` takes a name. tests/test_greet.py: two tests.",
        "verification_results": "`pytest`: 2 passed.",
        "discovered_tasks": [
            {
                "id": "task-trim-names",
                "description": "Strip spaces around a name",
                "rationale": "`greeting(' Ann')` has two spaces, and no task says what should be.",
            }
        ],
        "blockers": [],
    },
    Role.REVIEWER: {
        "status": "completed",
        "task_id": "task-1",
        "verdict": "Failed",
        "review_summary": "By name it greets; without a name it fails.",
        "criteria_results": [
            {
                "criterion": "`greeting('Ann')` is `Hello, Ann!`",
                "met": True,
                "evidence": "greet.py:4, and the test by that name passes",
                "finding": "",
            },
            {
                "criterion": "`greeting()` is `Hello, world!`",
                "met": False,
                "evidence": "python -c 'import greet; greet.greeting()' ends with TypeError",
                "finding": "The parameter has no default.",
            },
        ],
        "quality_assessment": "Small and readable; the second test never calls the function.",
        "issues": ["tests/test_greet.py:9 asserts nothing."],
        "validation_actions": ["Ran pytest", "Called greeting without a name"],
        "feedback": "Give the parameter the default `world`, and let the second test call `greeting()`.",
        "reasoning": "One of two criteria is not met.",
        "discovered_tasks": [],
    },
    Role.HOLISTIC: {
        "met": False,
        "summary": "Greeting by name works. The goal also asks for `greet --help`, which no task was about.",
        "gaps": [
            {
                "id": "task-help",
                "description": "Let `greet --help` say how it is used",
                "rationale": "The goal names it, and `greet --help` prints `Hello, --help!`.",
            }
        ],
    },
}
