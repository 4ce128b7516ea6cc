"""A goal for four roles: a question first, an executor that claims too much, a forged mark, and a goal that is met."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from interlock.journal import Journal
from interlock.work.demo.driver_contexts import context_of
from interlock.work.demo.project import Project, Steps
from interlock.work.demo.scenes import Saw, Scene, SceneHeading, moves_since
from interlock.work.driver.context import DriverContext
from interlock.work.orchestration.beginning import begin, roles_of, session_name
from interlock.work.orchestration.loop import drive

__all__ = ["play_orchestration"]

_GOAL = "Greet people in Welsh, and from the command line"
_WELSH, _SHELL = "greet('Ada', 'cy') says “Shwmae, Ada!”", "`python greet.py Ada cy` prints the same"
_HALF = 'HELLO = {"cy": "Shwmae"}\n'
_GREET = '''"""Greets people, by name where they give one, in their language."""

import sys

HELLO = {"en": "Hello", "fr": "Bonjour", "cy": "Shwmae"}


def greet(name: str | None = None, language: str = "en") -> str:
    hello = HELLO[language]
    return f"{hello}, {name}!" if name else f"{hello}!"
'''
_MAIN = '\n\nif __name__ == "__main__":\n    print(greet(*sys.argv[1:]))\n'


def play_orchestration(journal: Journal, project: Project) -> Iterator[Scene]:
    """One run, from a goal to its end."""
    yield SceneHeading("A goal for four agents: planner, questioner, executor and reviewer, until it is met")
    told: list[object] = []
    context = _context(journal, project, told)
    head = journal.head()
    roles = roles_of(context, {})
    run = drive(context, begin(context, _GOAL, session_name(context), roles))
    for move in moves_since(journal, head):
        if move.machine == "orchestrator":
            yield move
            entry = move.recorded.entry
            data = entry.decoded_evidence().data
            if data.get("questions"):
                yield Saw("planner", f"asks: {data['questions'][0]}")
            elif entry.event == "reviewer_completed" and entry.reason:
                yield Saw("verifier", entry.reason.splitlines()[0], is_good=False)
    if any(isinstance(one, str) and "progress.md was edited" in one for one in told):
        yield Saw("executor", "ticked its own task in progress.md: that is kept aside, and counts for nothing", False)
    progress = (project.root / ".ralph-sessions" / run.session / "progress.md").read_text(encoding="utf-8")
    for line in progress.splitlines():
        if line.startswith("- [") and " task-" in line:
            yield Saw("progress.md", line, is_good=True)


def _context(journal: Journal, project: Project, told: list[object]) -> DriverContext:
    worker = project.script(
        "worker",
        [
            _says(status="needs_qa_cycle", questions=["Which greeting do people in Wales use?"]),
            _says(
                status="completed",
                questions=[_question("Which greeting do people in Wales use?", "Shwmae")],
                summary="Both languages greet with one word.",
            ),
            _says(
                status="completed",
                goal=_GOAL,
                plan="## Approach\n\nA word more, then a way to call it.",
                tasks=[_task(1, "Greet in Welsh", _WELSH), _task(2, "A command line", _SHELL, "task-1")],
            ),
            [_writes(_HALF), *_done(1, _WELSH)],
            [_writes(_GREET), *_done(1, _WELSH)],
            [_forges(project), _writes(_GREET + _MAIN), *_done(2, _SHELL)],
        ],
    )
    judge = project.script(
        "reviewer",
        [_qualified(1, _WELSH), _qualified(2, _SHELL), _says(met=True, summary="Both work.", gaps=[])],
    )
    return context_of(journal, project, worker, judge, told.append)


def _says(**answer: Any) -> Steps:
    return [{"say": json.dumps(answer)}, {"finish": True}]


def _question(asked: str, answer: str) -> dict[str, Any]:
    known = {"status": "Answered", "answer": answer, "source": "a dictionary", "confidence": "High"}
    return {"number": 1, "text": asked, "priority": "High", "category": "Requirements", **known}


def _task(number: int, what: str, criterion: str, *needs: str) -> dict[str, Any]:
    return {"id": f"task-{number}", "description": what, "criteria": [criterion], "depends_on": list(needs)}


def _writes(text: str) -> dict[str, Any]:
    return {"write": {"path": "greet.py", "text": text}}


def _forges(project: Project) -> dict[str, Any]:
    """An agent that leaves its tree to tick its own task."""
    command = "sed -i.bak 's/^- \\[.\\] task-2.*/- [x] task-2 (Completed)/' \"$0\"/*/progress.md"
    return {"run": ["/bin/sh", "-c", command, str(project.root / ".ralph-sessions")]}


def _done(number: int, criterion: str) -> Steps:
    status = [{"criterion": criterion, "met": True, "evidence": "greet.py"}]
    answer = {"status": "completed", "task_id": f"task-{number}", "success_criteria_met": True}
    return _says(**answer, criteria_status=status, summary_of_changes="Written.")


def _qualified(number: int, criterion: str) -> Steps:
    results = [{"criterion": criterion, "met": True, "evidence": "greet.py:6", "finding": "It does."}]
    answer = {"status": "completed", "task_id": f"task-{number}", "verdict": "Qualified", "reasoning": "I tried it."}
    return _says(**answer, criteria_results=results)
