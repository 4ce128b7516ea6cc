"""Directories that no run is known of, gone on with: whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.errors import Refusal
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import resume_directory
from work.orchestration.goals import SESSION, Goal, echoed, is_between
from work.orchestration.playing import MET, ROLES, done, plan, qualified, task
from work.threads.benches import Bench

PROGRESS = """# Progress

## Planning Progress
- [x] plan-init (Completed)
- [x] plan-brainstorm (Completed)

## Implementation Progress
- [x] task-1 (Completed)
- [ ] task-2 (Not Started)
"""
TASKS = """## Implementation Tasks
- task-1: write part 1
    - **Type**: Sequential
    - **Success Criteria**: part-1 is there
- task-2: write part 2
    - **Type**: Sequential (depends on task-1)
    - **Success Criteria**:
        - part-2 is there
"""
REPORT = """# Task Report: task-2

---
## PART 1: IMPLEMENTATION REPORT

### Summary of Changes
The {} try.

---
## PART 2: REVIEW REPORT

### Recommendation
**Status**: Failed
**Reasoning**: It leaks
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def found(bench: Bench, files: Mapping[str, str | bytes]) -> Goal:
    """A directory with these files, and the run on it."""
    place = bench.root / ".ralph-sessions" / SESSION
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    journal = bench.open()
    try:
        made = resume_directory(bench.context(journal), SESSION, ROLES)
        assert made is not None
        return Goal(bench, made)
    finally:
        journal.close()


def first(goal: Goal) -> Run:
    """Where it goes on."""
    run = goal.settle()
    assert run.moves[0][0] == "Initializing"
    return run


@pytest.mark.parametrize(
    ("old", "new", "state", "task"),
    [
        ("[ ] task-2 (Not Started)", "[P] task-2 (Review Pending)", "Reviewing", "task-2"),
        ("[x] plan-brainstorm", "[ ] plan-brainstorm", "Planning", None),
        ("[ ] task-2 (Not Started)", "[ ] task-2 (Not Started)", "Executing", None),
        ("[ ] task-2 (Not Started)", "[/] task-2 (In Progress, Attempt 2)", "Executing", None),
        ("[ ] task-2 (Not Started)", "[F] task-2 (Failed, Attempt 3)", "Executing", None),
        ("[ ] task-2 (Not Started)", "[x] task-2 (Completed)", "Complete", None),
        ("[ ] task-2 (Not Started)", "[C] task-2 (Cancelled)", "Complete", None),
        (
            "## Planning Progress\n- [x] plan-init (Completed)\n- [x] plan-brainstorm (Completed)\n",
            "",
            "Executing",
            None,
        ),
    ],
)
def test_two_files_of_the_source_system_say_where_it_goes_on(
    bench: Bench, old: str, new: str, state: str, task: str | None
) -> None:
    assert old in PROGRESS
    goal = found(bench, {"progress.md": PROGRESS.replace(old, new), "tasks.md": TASKS})
    run = first(goal)
    assert (run.state, run.task, run.outcome) == (state, task, None)
    assert [one.id for one in run.plan.tasks] == ["task-1", "task-2"]
    assert {one.attempt for one in run.plan.tasks} == {1}
    assert not {"F", "/"} & {*goal.marks().values()}


def test_a_review_that_was_pending_is_made_before_planning_goes_on(bench: Bench) -> None:
    progress = PROGRESS.replace("[x] plan-brainstorm", "[/] plan-brainstorm").replace("[ ] task-2", "[P] task-2")
    assert first(found(bench, {"progress.md": progress, "tasks.md": TASKS})).state == "Reviewing"


def test_it_goes_on_to_the_end_and_numbers_reports_after_those_that_are_there(bench: Bench) -> None:
    reports = {"tasks.task-2-report.md": REPORT.format("first"), "tasks.task-2-report-r4.md": REPORT.format("fourth")}
    progress = PROGRESS.replace("[ ] task-2 (Not Started)", "[F] task-2 (Failed, Attempt 3)")
    bench.play(echoed(done(2)))
    bench.judge(qualified(2), MET)
    goal = found(bench, {"progress.md": progress, "tasks.md": TASKS, **reports})
    run = goal.go()
    assert (run.outcome, goal.marks()) == ("success", {"task-1": "x", "task-2": "x"}), run.reason
    assert [one.attempt for one in run.reports["task-2"]] == [1, 4, 5]
    assert "The fourth try." in goal.text("tasks.task-2-report-r4.md")
    assert "**Status**: Qualified" in goal.text("tasks.task-2-report-r5.md")
    [prompt] = goal.prompts("executor")
    assert "The first try." in prompt
    assert "It leaks" in prompt


def test_what_is_written_anew_is_kept_as_it_was(bench: Bench) -> None:
    files = {
        "progress.md": PROGRESS,
        "tasks.md": TASKS.replace("\n", "\r\n"),
        "plan.md": "# Plan: All parts\n\nWrite them.\n",
        "tasks.task-2-report.md": REPORT.format("first") + "\nAnd a line that has no place in it.\n",
    }
    goal = found(bench, files)
    first(goal)
    kept = {name.removeprefix(f"{SESSION}-").removesuffix("-1"): text for name, text in goal.kept.items()}
    assert {name: text for name, text in files.items() if name in kept} == kept
    assert {"progress.md", "tasks.md", "tasks.task-2-report.md"} <= kept.keys()
    assert all("is written anew; what was there already is kept as .ralf/rejected/" in one for one in goal.told)
    size = len(goal.history)
    goal.settle()
    assert (len(goal.told), len(goal.history)) == (len(kept), size)


def test_what_people_wrote_beside_is_still_there(bench: Bench) -> None:
    mine = "\n<!-- mine -->\nA line of mine.\n"
    progress = PROGRESS.replace("- [x] task-1 (Completed)\n", f"- [x] task-1 (Completed)\n{mine}")
    goal = found(bench, {"progress.md": progress, "tasks.md": TASKS})
    first(goal)
    assert mine.strip() in goal.text("progress.md")
    goal.edit("progress.md", "[ ] task-2", "[C] task-2")
    goal.settle()
    (goal.place / "progress.md").unlink()
    goal.settle()
    assert mine.strip() in goal.text("progress.md")
    assert goal.marks()["task-2"] == "C"


def test_a_directory_of_ours_whose_journal_is_lost_goes_on_byte_for_byte(bench: Bench) -> None:
    bench.play(plan(task(1), task(2)), done(1))
    bench.judge(qualified(1))
    goal = Goal.begun(bench)
    goal.go(lambda run: is_between(run) and str(run.plan.tasks[0].mark) == "x")
    before = {one.name: one.read_bytes() for one in goal.place.glob("*.md")}
    for one in bench.state_directory.glob("journal.db*"):
        one.unlink()
    journal = bench.open()
    made = resume_directory(bench.context(journal), SESSION, ROLES)
    journal.close()
    assert made is not None
    again = Goal(bench, made)
    again.settle()
    assert {one.name: one.read_bytes() for one in again.place.glob("*.md")} == before
    assert [name for name in again.kept if name.endswith(".md-1")] == []
    assert again.marks() == {"task-1": "x", "task-2": " "}


def test_unfinished_planning_without_tasks_is_planned(bench: Bench) -> None:
    bench.play(echoed(plan(task(1))))
    files = {
        "plan.md": "# Plan: All parts\n\nHalf a thought.\n",
        "progress.md": "## Planning Progress\n- [/] plan-init\n",
    }
    goal = found(bench, files)
    run = goal.go(is_between)
    assert [one.mode for one in run.invocations] == ["INITIALIZE"]
    assert "Half a thought." in goal.prompts("planner")[0]


BROKEN: dict[str, Mapping[str, str | bytes]] = {
    "no-mark": {"progress.md": PROGRESS.replace("[ ]", "[?]"), "tasks.md": TASKS},
    "circle": {"progress.md": PROGRESS, "tasks.md": TASKS.replace("on task-1", "on task-2")},
    "unknown": {"progress.md": PROGRESS, "tasks.md": TASKS.replace("on task-1", "on task-7")},
    "twice": {"tasks.md": TASKS.replace("- task-2:", "- task-1:")},
    "empty": {},
    "nothing": {"progress.md": "# Progress\n"},
    "control": {"progress.md": PROGRESS, "tasks.md": TASKS.replace("part 2", "part \x1b[31m2")},
    "binary": {"progress.md": PROGRESS, "tasks.md": TASKS.encode() + b"\x00\xff"},
    "long": {"progress.md": PROGRESS, "tasks.md": TASKS.replace("part 2", "part " + "2" * 300_000)},
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_right_is_refused_and_nothing_is_changed(bench: Bench, kind: str) -> None:
    with pytest.raises(Refusal) as refused:
        found(bench, BROKEN[kind])
    assert refused.value.code == "session_unreadable"
    place = bench.root / ".ralph-sessions" / SESSION
    files = {name: text if isinstance(text, bytes) else text.encode() for name, text in BROKEN[kind].items()}
    assert {one.name: one.read_bytes() for one in place.iterdir()} == files
    journal = bench.open()
    try:
        with pytest.raises(Exception, match="no run"):
            known_run(journal)
    finally:
        journal.close()


@pytest.mark.parametrize("session", ["", "..", "261115-120001", "../260131-144400", "notes"])
def test_what_is_no_directory_of_a_session_is_none(bench: Bench, session: str) -> None:
    (bench.root / ".ralph-sessions" / "notes").mkdir(parents=True)
    journal = bench.open()
    try:
        assert resume_directory(bench.context(journal), session, ROLES) is None
    finally:
        journal.close()
