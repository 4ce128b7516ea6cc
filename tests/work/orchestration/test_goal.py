"""A goal over a small real project, from the command line: asked about, blocked, rejected, and met in the end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from faces.journals import settle
from faces.programs import clean_environment, run
from work.orchestration.playing import answered, says
from work.threads.benches import Steps

GOAL = "A calculator that adds, subtracts, multiplies and divides, with a help text"
TESTS = f"{sys.executable} -m unittest -q"
SETTINGS = f"""\
[agent]
name = "scripted"
sandbox = "none"
script = "agent.json"
judge_script = "judge.json"
[verify]
commands = ["{TESTS}"]
"""
CODE = '''\
"""A calculator."""


def add(a: float, b: float) -> float:
    """The sum."""
    return a + b
'''
TEST = """\
import unittest

from calculator import {name}


class Test(unittest.TestCase):
    def test_{name}(self) -> None:
        self.assertEqual({expression})
"""
CRITERIA = {
    "task-subtract": ("`subtract` is there", "its test passes"),
    "task-multiply": ("`multiply` is there", "its test passes"),
    "task-divide": ("`divide` refuses zero", "its test passes"),
    "task-service": ("the results are sent to a service",),
    "task-help": ("`HELP` names every function",),
    "task-history": ("`HISTORY` has every result",),
    "task-readme": ("README.md tells how to use it",),
}


# What the roles say


def planned(*ids: str, **needs: tuple[str, ...]) -> Steps:
    tasks = [
        {
            "id": one,
            "description": f"do {one.removeprefix('task-')}",
            "criteria": list(CRITERIA[one]),
            "files": ["calculator.py"],
            "depends_on": list(needs.get(one.removeprefix("task-"), ())),
        }
        for one in ids
    ]
    return says(status="completed", goal=GOAL, plan="## Approach\n\nA function each.", tasks=tasks)


def worked(id_: str, *steps: dict[str, Any]) -> Steps:
    met = [{"criterion": one, "met": True, "evidence": "calculator.py:1"} for one in CRITERIA[id_]]
    answer = {"status": "completed", "task_id": id_, "success_criteria_met": True, "criteria_status": met}
    return [*steps, *says(**answer, summary_of_changes=f"{id_} is there")]


def judged(id_: str, feedback: str = "") -> Steps:
    seen = [{"criterion": one, "met": not feedback, "evidence": "calculator.py:1"} for one in CRITERIA[id_]]
    verdict = "Failed" if feedback else "Qualified"
    return says(
        status="completed", task_id=id_, verdict=verdict, criteria_results=seen, feedback=feedback, reasoning="I ran it"
    )


def wrote(name: str, body: str, expression: str) -> list[dict[str, Any]]:
    code = f'\n\ndef {name}(a: float, b: float) -> float:\n    """As its name says."""\n    {body}\n'
    test = TEST.format(name=name, expression=expression)
    return [{"append": {"path": "calculator.py", "text": code}}, {"write": {"path": f"test_{name}.py", "text": test}}]


ZERO = """
    def test_zero(self) -> None:
        self.assertRaises(ZeroDivisionError, divide, 1, 0)
"""
WORKER: list[Steps] = [
    says(status="needs_qa_cycle", goal=GOAL, plan="## Open", questions=["What comes of a division by zero?"]),
    answered("An error, as Python has it"),
    planned(
        *("task-subtract", "task-multiply", "task-divide", "task-service", "task-help"),
        divide=("task-multiply",),
        service=("task-subtract",),
        help=("task-divide", "task-service"),
    ),
    worked("task-subtract", *wrote("subtract", "return a - b", "subtract(3, 1), 2")),
    worked("task-multiply", *wrote("multiply", "return a * b", "multiply(3, 2), 6")),
    worked("task-divide", *wrote("divide", "return a / b", "divide(6, 2), 3")),
    worked("task-divide", {"append": {"path": "test_divide.py", "text": "    # zero\n"}}),
    worked("task-divide", {"append": {"path": "test_divide.py", "text": ZERO}}),
    says(
        status="blocked",
        task_id="task-service",
        success_criteria_met=False,
        blockers=["there is no such service", "nobody has a key for it"],
    ),
    planned("task-history", "task-service", history=("task-divide",), service=("task-history",)),
    worked("task-history", {"append": {"path": "calculator.py", "text": "\n\nHISTORY: list[float] = []\n"}}),
    worked("task-service", {"append": {"path": "calculator.py", "text": "\n\nSERVICE = HISTORY.append\n"}}),
    worked("task-help", {"append": {"path": "calculator.py", "text": '\n\nHELP = "add subtract multiply divide"\n'}}),
    planned("task-readme"),
    worked("task-readme", {"write": {"path": "README.md", "text": "# Calculator\n\nImport it.\n"}}),
]
JUDGE: list[Steps] = [
    judged("task-subtract"),
    judged("task-multiply"),
    judged("task-divide", "no test divides by zero"),
    judged("task-divide", "a comment is no test"),
    judged("task-divide"),
    judged("task-history"),
    judged("task-service"),
    judged("task-help"),
    says(
        met=False,
        summary="Nobody learns how to use it.",
        gaps=[{"id": "task-readme", "description": "do readme", "rationale": "a calculator wants a manual"}],
    ),
    judged("task-readme"),
    says(met=True, summary="It calculates, and says how.", gaps=[]),
]

PROGRESS = """\
# Progress Tracking

## Planning Progress
- [x] plan-init (Completed)
- [x] plan-qa-brainstorm (Completed)
- [x] plan-qa-research (Completed)
- [x] plan-breakdown (Completed)

## Implementation Progress
- [x] task-subtract (Completed)
- [x] task-multiply (Completed)
- [x] task-divide (Completed, Attempt 3)
- [x] task-service (Completed)
- [x] task-help (Completed)
- [x] task-history (Completed)
- [x] task-readme (Completed)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**clean_environment(tmp_path_factory.mktemp("home")), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """The project after its goal was given to `ralph orchestrate`."""
    root = tmp_path_factory.mktemp("project")
    git = _git(root, environment)
    git("init", "-q", "-b", "main")
    git("config", "user.name", "Ann")
    git("config", "user.email", "ann@example.org")
    for name, text in (
        ("calculator.py", CODE),
        ("test_add.py", TEST.format(name="add", expression="add(1, 2), 3")),
        (".gitignore", "*.json\n*.count\n"),
    ):
        (root / name).write_text(text)
    for name, iterations in (("agent", WORKER), ("judge", JUDGE)):
        (root / f"{name}.json").write_text(json.dumps({"state": f"{name}.count", "iterations": iterations}))
    settle(root, SETTINGS)
    git("add", "-A")
    git("commit", "-qm", "start")
    done = run("orchestrate", GOAL, cwd=root, env=environment, seconds=120)
    assert done.code == 0, done
    return root


def _git(root: Path, environment: dict[str, str]) -> Callable[..., str]:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=root, env=environment, check=True, capture_output=True, text=True)
        return done.stdout

    return git


def _session(project: Path) -> Path:
    [session] = [one for one in (project / ".ralph-sessions").iterdir() if one.is_dir()]
    return session


def test_the_goal_is_met_and_all_that_was_said_was_asked_for(project: Path, environment: dict[str, str]) -> None:
    status = run("orchestrate", "status", "--json", cwd=project, env=environment).data
    assert (status["state"], status["outcome"]) == ("Exit", "success")
    assert status["reason"] == "It calculates, and says how."
    assert status["cycles"] == 1
    assert status["invocations"] == len(WORKER) + len(JUDGE)
    counts = [int((project / f"{name}.count").read_text()) for name in ("agent", "judge")]
    assert counts == [len(WORKER), len(JUDGE)]


def test_progress_says_that_everything_is_done(project: Path) -> None:
    assert (_session(project) / "progress.md").read_text() == PROGRESS


def test_every_attempt_has_its_report_and_every_file_is_there(project: Path) -> None:
    session = _session(project)
    assert {one.name for one in session.iterdir()} == {
        *(f"tasks.{one}-report.md" for one in CRITERIA),
        *(f"tasks.task-divide-report-r{number}.md" for number in (2, 3)),
        "tasks.task-service-report-r2.md",
        f"{session.name}.instructions.md",
        *("plan.md", "plan.questions.md", "tasks.md", "progress.md", "transitions.jsonl"),
    }
    verdicts = [
        re.findall(r"no test divides by zero|a comment is no test", (session / name).read_text())
        for name in (f"tasks.task-divide-report{again}.md" for again in ("", "-r2", "-r3"))
    ]
    assert [sorted(set(one)) for one in verdicts] == [["no test divides by zero"], ["a comment is no test"], []]
    assert "An error, as Python has it" in (session / "plan.questions.md").read_text()


def test_the_log_tells_every_move_in_the_seeds_form(project: Path) -> None:
    session = _session(project)
    lines = [json.loads(line) for line in (session / "transitions.jsonl").read_text().splitlines()]
    assert {tuple(line) for line in lines} == {("timestamp", "sessionId", "transition")}
    assert {tuple(line["transition"]) for line in lines} == {("from", "to", "trigger", "taskId", "attemptNumber")}
    assert {line["sessionId"] for line in lines} == {session.name}
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
    moves = [[*line["transition"].values()] for line in lines]
    assert moves[0] == ["Initializing", "Planning", "session_resolved", None, None]
    assert moves[-1] == ["Complete", "Exit", "holistic_check_passed", None, None]
    assert [one[3:] for one in moves if one[2] == "reviewer_completed"] == [
        *(["task-subtract", 1], ["task-multiply", 1]),
        *(["task-divide", attempt] for attempt in (1, 2, 3)),
        *([one, 1] for one in ("task-history", "task-service", "task-help", "task-readme")),
    ]
    assert [one[:3] for one in moves if one[1] == "Planning"] == [
        ["Initializing", "Planning", "session_resolved"],
        ["Planning", "Planning", "planner_completed"],
        ["Executing", "Planning", "executor_completed"],
        ["Complete", "Planning", "holistic_check_failed"],
    ]
    assert all(before[1] == after[0] for before, after in pairwise(moves))


def test_the_tests_of_the_project_are_green(project: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(TESTS.split(), cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 5 tests" in done.stderr


def test_the_journal_is_in_order_and_each_task_is_one_commit(project: Path, environment: dict[str, str]) -> None:
    assert run("journal", "verify", cwd=project, env=environment).code == 0
    git = _git(project, environment)
    subjects = [one.partition(":")[0] for one in git("log", "--reverse", "--format=%s").splitlines()]
    qualified = "subtract multiply divide history service help readme".split()
    assert subjects == ["start", *(f"task-{one}" for one in qualified)]
    assert git("status", "--porcelain") == ""
    assert git("branch", "--format=%(refname:short)").split() == ["main"]
    assert not (project / ".ralf" / "rejected").exists()
