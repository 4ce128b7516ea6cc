"""Whatever people write into the files of a run, and whenever: what must hold, holds."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.errors import Refusal
from interlock.work.driver.ports import real_ports
from interlock.work.orchestration.projected_files import ProjectedFiles
from interlock.work.orchestration.store import SessionFiles
from interlock.work.orchestration.values import Mark
from work.orchestration.goals import SESSION, Goal, is_between
from work.orchestration.playing import ROLES, task
from work.threads.benches import Bench

AGENT = """
import json, re, sys

prompt = sys.stdin.read()
keys = dict(re.findall(r"(?m)^([A-Z_]+): (.*)$", prompt.split("# What is known")[0]))
told = re.search(r"(?s)## The task\\n.*?\\n(.*?)\\n## ", prompt + "\\n## ")
criteria = re.search(r"(?m)^Criteria:\\n((?:- .*\\n)*)", told[1] + "\\n") if told else None
criteria = [line[2:] for line in criteria[1].splitlines()] if criteria else []
seen = [{"criterion": one, "met": True, "evidence": "here:1", "finding": ""} for one in criteria]
id_ = keys.get("TASK_ID")
if "USER_REQUEST" in keys:
    said = {"status": "completed", "goal": "All parts are there", "plan": "Write them.", "tasks": TASKS}
elif "ATTEMPT_NUMBER" in keys:
    said = {"status": "completed", "task_id": id_, "success_criteria_met": True, "criteria_status": seen}
elif id_ is not None:
    is_first = "-r" not in keys["REPORT_PATH"] and id_ == "task-2"
    said = {"status": "completed", "task_id": id_, "verdict": "Failed" if is_first else "Qualified"}
    said |= {"criteria_results": seen, "feedback": "again", "reasoning": "looked"}
else:
    said = {"met": True, "summary": "It is.", "gaps": []}
print(json.dumps(said))
"""
TASKS = [task(1), task(2), task(3, "task-1")]
Edit = Callable[[Goal, int], None]
_tokens = itertools.count(1)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Goal:
    bench = Bench.made(tmp_path_factory.mktemp("random") / "repository")
    (bench.state_directory / "agent.py").write_text(AGENT.replace("TASKS", json.dumps(TASKS)))
    bench.settings["agent.command"] = f"{sys.executable} -I -S {bench.state_directory}/agent.py"
    goal = Goal.begun(bench, dict.fromkeys(ROLES, "command"))
    assert is_between(goal.go(is_between))
    return goal


# What people do


def _lines(goal: Goal, name: str) -> list[str]:
    path = goal.place / name
    return path.read_bytes().decode(errors="replace").splitlines(keepends=True) if path.is_file() else []


def _write(goal: Goal, name: str, lines: list[str]) -> None:
    if goal.place.is_dir():
        (goal.place / name).write_text("".join(lines))


def _on_row(change: Callable[[str], str], box: str = r"[^\]]*") -> Edit:
    """Change a row of a task in `progress.md`."""

    def edit(goal: Goal, number: int) -> None:
        lines = _lines(goal, "progress.md")
        rows = [at for at, line in enumerate(lines) if re.match(rf"- \[{box}\] task-", line)]
        if rows:
            at = rows[number % len(rows)]
            lines[at] = change(lines[at])
            _write(goal, "progress.md", lines)

    return edit


def _marked(mark: str, box: str) -> Edit:
    return _on_row(lambda line: re.sub(r"\[[^\]]*\]", f"[{mark}]", line, count=1), box)


def _noted(goal: Goal, number: int) -> None:
    _on_row(lambda line: f"{line.rstrip()} note {number}\n")(goal, number)


def _added(goal: Goal, number: int) -> None:
    _on_row(lambda line: f"- [ ] task-{10 + number}: do {number}\n{line}")(goal, number)


def _listed(goal: Goal, number: int) -> None:
    text = f"- task-{30 + number}: list {number}\n    - **Success Criteria**: it is {number}\n"
    _write(goal, "tasks.md", [*_lines(goal, "tasks.md"), text])


def _depends(goal: Goal, number: int) -> None:
    text = "".join(_lines(goal, "tasks.md"))
    names = f"depends on task-{1 + number % 3}, task-{1 + number % 5}"
    _write(goal, "tasks.md", [re.sub(r"depends on [^)]*", names, text, count=1)])


def _swapped(goal: Goal, number: int) -> None:
    lines = _lines(goal, "progress.md")
    rows = [at for at, line in enumerate(lines) if line.startswith("- [") and "task-" in line]
    if len(rows) > 1:
        one, other = rows[number % len(rows)], rows[(number + 1) % len(rows)]
        lines[one], lines[other] = lines[other], lines[one]
        _write(goal, "progress.md", lines)


def _commented(name: str) -> Edit:
    """Write something that is no line of ours, somewhere below the title."""

    def edit(goal: Goal, number: int) -> None:
        lines = _lines(goal, name)
        if lines:
            token = f"keep-{next(_tokens)}"
            text = [f"<!-- {token} -->\n", f"\nI say {token}.\n\n"][number % 2]
            lines.insert(1 + number % len(lines), text)
            _write(goal, name, lines)
            TOLD.append((name, token))

    return edit


def _other_ends(goal: Goal, number: int) -> None:
    name = ("progress.md", "tasks.md", "plan.md")[number % 3]
    _write(goal, name, ["".join(_lines(goal, name)).replace("\n", "\r\n")])


def _garbage(goal: Goal, number: int) -> None:
    if goal.place.is_dir():
        (goal.place / "plan.md").write_bytes(b"\xff\x00" * (number + 1))


def _gone(goal: Goal, number: int) -> None:
    name = ("progress.md", "tasks.md", "plan.md")[number % 3]
    (goal.place / name).unlink(missing_ok=True)


EDITS: dict[str, Edit] = {
    "untick": _marked(" ", "x"),
    "close": _marked("C", " "),
    "open": _marked(" ", "C"),
    "forge": _marked("x", r"[^x\]]"),
    "pend": _marked("P", " "),
    "nonsense": _marked("?", " "),
    "take out": _on_row(lambda line: ""),
    "note": _noted,
    "add": _added,
    "list": _listed,
    "depend": _depends,
    "swap": _swapped,
    "comment progress": _commented("progress.md"),
    "comment tasks": _commented("tasks.md"),
    "comment plan": _commented("plan.md"),
    "ends": _other_ends,
    "garbage": _garbage,
    "gone": _gone,
    "all gone": lambda goal, number: shutil.rmtree(goal.place, ignore_errors=True),
}
TOLD: list[tuple[str, str]] = []
"""What was written beside our lines, and where."""
LOSING = {"garbage", "gone", "all gone"}
"""What takes edits away that nobody has read yet, and in what nobody reads any."""
acts = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from([*EDITS]), st.integers(0, 7)), max_size=3), st.sampled_from([0, 1, 2, 4, 30])
    ),
    min_size=1,
    max_size=5,
)


# What must hold


def _check(goal: Goal, runs: list[str]) -> None:
    files = SessionFiles(real_ports(), goal.bench.root, goal.bench.state_directory)
    wanted = ProjectedFiles(files, SESSION).wanted(goal.run, goal.text("transitions.jsonl"))
    assert {name: goal.text(name) for name in wanted} == wanted
    qualified = {
        one.decoded_evidence().data["task"]
        for id_ in runs
        for one in goal.bench.entries(id_)
        if one.event == "reviewer_completed" and one.decoded_evidence().facts["verdict"] == "Qualified"
    }
    assert {one.id for one in goal.run.plan.tasks if one.mark is Mark.DONE} <= qualified
    for name, token in TOLD:
        assert token in goal.text(name), (name, token)


@pytest.mark.exhaustive
@settings(
    max_examples=90 if EXHAUSTIVE else 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts)
def test_whatever_is_edited_the_journal_the_files_and_the_verdicts_agree(
    planned: Goal, acts: list[tuple[list[tuple[str, int]], int]]
) -> None:
    TOLD.clear()
    with tempfile.TemporaryDirectory() as place:
        goal = planned.copy(Path(place) / "repository")
        runs = [goal.id]
        for edits, steps in acts:
            for kind, number in edits:
                _edit(goal, runs, kind, number)
            if not _goes_on(goal, runs):
                return
            counted = itertools.count()
            goal.go(lambda run, counted=counted, steps=steps: next(counted) >= steps)  # type: ignore[misc]
            _check(goal, runs)
            size = len(goal.history)
            goal.settle()
            assert len(goal.history) == size  # nothing is said twice


def _edit(goal: Goal, runs: list[str], kind: str, number: int) -> None:
    if kind not in LOSING:
        EDITS[kind](goal, number)
    elif goal.run.outcome is None:
        goal.settle()
        _check(goal, runs)
        EDITS[kind](goal, number)
        goal.settle()
        _check(goal, runs)


def _goes_on(goal: Goal, runs: list[str]) -> bool:
    """Whether there is something to do; one that has ended goes on as a new run, if edits give it something."""
    if goal.run.outcome is None:
        return True
    try:
        goal.resume()
    except Refusal as refused:
        if refused.code != "terminal":
            raise
        return False
    runs.append(goal.id)
    return True
