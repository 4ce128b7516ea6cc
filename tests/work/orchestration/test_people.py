"""What people edit in the files of a run that rests, or between its steps, through the real driver."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import Refusal
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.store import SessionFiles
from interlock.work.orchestration.verbs import add, stop
from work.orchestration.goals import ANN, SESSION, Goal, answers, asks, echoed, is_between, question
from work.orchestration.playing import MET, done, plan, qualified, task
from work.threads.benches import Bench, shell


@pytest.fixture(scope="module")
def rests(tmp_path_factory: pytest.TempPathFactory) -> Goal:
    """A run that has asked and planned, whose first task is done and whose others are open."""
    bench = Bench.made(tmp_path_factory.mktemp("people") / "repository")
    tasks = [task(1), task(2), task(3, "task-2"), task(4)]
    bench.play(asks(), answers(question(1, "So."), question(2)), plan(*tasks), done(1))
    bench.judge(qualified(1))
    goal = Goal.begun(bench)
    run = goal.go(lambda run: is_between(run) and str(run.plan.tasks[0].mark) == "x")
    assert goal.marks() == {"task-1": "x", "task-2": " ", "task-3": " ", "task-4": " "}, run.reason
    return goal


@pytest.fixture
def goal(rests: Goal, tmp_path: Path) -> Goal:
    return rests.copy(tmp_path / "repository")


def edited(goal: Goal, name: str, old: str, new: str) -> Run:
    goal.edit(name, old, new)
    return goal.settle()


class Dead(Exception):
    """A driver that dies."""


# What counts


def test_what_nobody_edited_writes_nothing(goal: Goal) -> None:
    (goal.place / "progress.md").write_text(goal.text("progress.md"))  # the same again
    goal.settle()
    before = len(goal.history)
    goal.settle()
    goal.settle()
    assert len(goal.history) == before
    assert (goal.told, goal.kept) == ([], {})


def test_an_unticked_task_is_done_again_and_no_report_is_overwritten(goal: Goal) -> None:
    first = goal.text("tasks.task-1-report.md")
    goal.edit("progress.md", "[x] task-1 (Completed)", "[ ] task-1 (Completed)")
    goal.bench.play(done(1))
    goal.bench.judge(qualified(1, "Failed"), qualified(1))
    run = goal.go(lambda run: is_between(run) and str(run.plan.tasks[0].mark) == "x")
    assert [one.attempt for one in run.reports["task-1"]] == [1, 2, 3]
    assert [one.attempt for one in run.invocations if one.role == "executor"] == [1, 1, 2]  # counted anew
    assert goal.text("tasks.task-1-report.md") == first
    assert "**Status**: Qualified" in goal.text("tasks.task-1-report-r3.md")
    assert [one.event for one in goal.history].count("task_reopened") == 1


def test_who_unticks_it_twice_gets_it_twice(goal: Goal) -> None:
    """Also where a text is put back that the file had before, byte for byte."""
    for times in (1, 2):
        goal.edit("progress.md", "[x] task-1 (Completed)", "[ ] task-1 (Not Started)")
        goal.bench.play(done(1))
        goal.bench.judge(qualified(1))
        run = goal.go(lambda run: is_between(run) and str(run.plan.tasks[0].mark) == "x")
        assert len(run.reports["task-1"]) == times + 1
        assert [one.event for one in goal.history].count("task_reopened") == times


def test_what_was_projected_before_is_an_edit_where_it_is_put_back(goal: Goal) -> None:
    text = goal.edit("progress.md", "[ ] task-4 (Not Started)", "[C] task-4 (Not Started)")
    goal.settle()
    assert goal.marks()["task-4"] == "C"
    (goal.place / "progress.md").write_text(text)
    goal.settle()
    assert goal.marks()["task-4"] == " "
    assert goal.text("progress.md") == text


def test_new_tasks_of_either_file_are_worked_on(goal: Goal) -> None:
    goal.edit("progress.md", "- [ ] task-4 (Not Started)\n", "- [ ] task-4 (Not Started)\n- [ ] task-9: paint it\n")
    goal.edit("tasks.md", "- task-4:", "- task-8: sand it\n    - **Success Criteria**: it is smooth\n- task-4:")
    run = goal.settle()
    found = {one.id: one for one in run.plan.tasks}
    assert (found["task-9"].description, found["task-8"].criteria) == ("paint it", ("it is smooth",))
    assert [*found].index("task-8") < [*found].index("task-4")
    assert "- [ ] task-8 (Not Started)" in goal.text("progress.md")
    assert "- task-9: paint it" in goal.text("tasks.md")


def test_a_new_task_is_done_like_any_other(goal: Goal) -> None:
    for number in (2, 3, 4):
        goal.edit("progress.md", f"[ ] task-{number}", f"[C] task-{number}")
    row = "- [ ] task-9: write part 9\n"
    goal.edit("progress.md", "- [C] task-4", f"{row}- [C] task-4")
    criteria = "\n    - **Success Criteria**: part-9 is there\n"
    goal.edit("tasks.md", "- task-4:", f"- task-9: write part 9{criteria}- task-4:")
    goal.bench.play(echoed(done(9)))
    goal.bench.judge(qualified(9), MET)
    run = goal.go()
    assert (run.outcome, goal.marks()["task-9"]) == ("success", "x"), run.reason
    assert "part-9 is there" in goal.prompts("executor")[-1]


def test_a_closed_task_is_not_done_and_stays_listed(goal: Goal) -> None:
    run = edited(goal, "progress.md", "- [ ] task-4 (Not Started)\n", "")
    assert goal.marks()["task-4"] == "C"
    assert "- [C] task-4 (Cancelled)" in goal.text("progress.md")
    assert run.paused is None


def test_another_order_is_the_one_they_are_taken_in(goal: Goal) -> None:
    rows = goal.text("progress.md")
    moved = rows.replace("- [ ] task-4 (Not Started)\n", "").replace("- [ ] task-2", "- [ ] task-4\n- [ ] task-2")
    (goal.place / "progress.md").write_text(moved)
    run = goal.go(lambda run: run.task is not None)
    assert (run.task, [one.id for one in run.plan.tasks]) == ("task-4", ["task-1", "task-4", "task-2", "task-3"])


def test_changed_words_and_a_note_reach_the_executor(goal: Goal) -> None:
    goal.edit("tasks.md", "write part 2", "write part 2 in green")
    goal.edit("progress.md", "- [ ] task-2 (Not Started)", "- [ ] task-2 (Not Started) mind the gap")
    goal.bench.play(echoed(done(2)))
    run = goal.go(lambda run: run.state == "Reviewing")
    prompt = goal.prompts("executor")[-1]
    assert "write part 2 in green" in prompt
    assert "mind the gap" in prompt
    assert run.plan.tasks[1].note == "mind the gap"
    assert "- [P] task-2 (Review Pending) mind the gap" in goal.text("progress.md")


def test_an_answer_of_a_persons_is_told_to_the_planner(goal: Goal) -> None:
    text = goal.text("plan.questions.md")
    at = text.index("**Answer**:", text.index("How is it with 2?"))
    (goal.place / "plan.questions.md").write_text(text[:at] + "**Answer**: By the moon." + text[text.index("\n", at) :])
    goal.settle()
    [cycle] = goal.run.cycles
    assert (cycle.questions[1].answer, str(cycle.questions[1].status)) == ("By the moon.", "Answered")
    goal.bench.play(echoed(plan(task(5))))
    journal = goal.bench.open()
    add(journal, ANN, run_of(journal.history(goal.id)), "and more")
    journal.close()
    goal.go(is_between)
    assert "By the moon." in goal.prompts("planner")[-1]


def test_the_body_of_the_plan_is_what_a_person_wrote(goal: Goal) -> None:
    run = edited(goal, "plan.md", "Write them.", "Write them slowly.\n\n## Mine\n\n- [x] nothing\n")
    assert "Write them slowly." in run.plan.text
    assert "- [x] nothing" in goal.text("plan.md")
    assert goal.told == []


def test_two_edits_in_a_row_both_count(goal: Goal) -> None:
    edited(goal, "progress.md", "- [ ] task-4 (Not Started)", "- [C] task-4 (Not Started)")
    edited(goal, "progress.md", "- [ ] task-2 (Not Started)", "- [ ] task-2 (Not Started) first\n")
    run = edited(goal, "progress.md", "[C] task-4", "[ ] task-4")
    assert goal.marks()["task-4"] == " "
    assert run.plan.tasks[1].note == "first"


@pytest.mark.parametrize("name", ["progress.md", "tasks.md", "plan.md", "plan.questions.md"])
def test_other_ends_of_lines_change_nothing(goal: Goal, name: str) -> None:
    text = goal.text(name)
    (goal.place / name).write_bytes(text.replace("\n", "\r\n").encode())
    before = goal.run
    goal.settle()
    assert (goal.run.plan.tasks, goal.run.cycles) == (before.plan.tasks, before.cycles)
    assert (goal.text(name), goal.told) == (text, [])
    size = len(goal.history)
    goal.settle()
    assert len(goal.history) == size


def test_an_edit_with_other_ends_of_lines_counts(goal: Goal) -> None:
    text = goal.text("progress.md").replace("[ ] task-4", "[C] task-4").replace("## Impl", "mine\n\n## Impl")
    (goal.place / "progress.md").write_bytes(text.replace("\n", "\r\n").encode())
    goal.settle()
    assert goal.marks()["task-4"] == "C"
    assert "mine\n\n## Impl" in goal.text("progress.md")


def test_between_two_steps_of_one_driver_an_edit_counts_as_well(goal: Goal) -> None:
    """It is made while no agent is at work: just before a task is selected."""
    was_edited: list[str] = []

    def hear(told: object) -> None:
        if isinstance(told, Run) and is_between(told) and not was_edited:
            was_edited.append(goal.edit("progress.md", "- [ ] task-2 (Not Started)", "- [ ] task-2 slowly"))
            goal.edit("progress.md", "[ ] task-4", "[C] task-4")

    goal.bench.hear = hear
    goal.bench.play(echoed(done(2)))
    goal.go(lambda run: run.state == "Reviewing")
    assert goal.marks() == {"task-1": "x", "task-2": "P", "task-3": " ", "task-4": "C"}
    assert "slowly" in goal.prompts("executor")[-1]


# What stays

COMMENTS = "\n<!-- mine: keep -->\nA paragraph of mine.\n\n```sh\n- [x] task-2 (no task)\n```\n"
SECTION = "\n## Mine\n\n- [x] task-3 is none of yours\n\nand a line\n"


def _written_into(goal: Goal) -> None:
    goal.edit("progress.md", "- [x] task-1 (Completed)\n", f"- [x] task-1 (Completed)\n{COMMENTS}")
    goal.edit("progress.md", "\n## Implementation", f"{SECTION}\n## Implementation")
    goal.edit("tasks.md", "- task-2:", f"<!-- above -->\n{COMMENTS}\n- task-2:")


def _is_kept(goal: Goal) -> None:
    for name in ("progress.md", "tasks.md"):
        assert COMMENTS.strip() in goal.text(name)
    assert SECTION.strip() in goal.text("progress.md")


def test_what_people_write_between_our_lines_survives_every_step(goal: Goal) -> None:
    _written_into(goal)
    for number in (3, 4):
        goal.edit("progress.md", f"[ ] task-{number}", f"[C] task-{number}")
    goal.settle()
    _is_kept(goal)
    goal.bench.play(done(2))
    goal.bench.judge(qualified(2), MET)
    seen: list[str] = []
    goal.bench.hear = lambda told: seen.append(goal.text("progress.md")) if isinstance(told, Run) else None
    assert goal.go().outcome == "success"
    assert all(COMMENTS.strip() in one and SECTION.strip() in one for one in seen)
    _is_kept(goal)
    assert goal.kept == {}


def test_it_survives_also_the_loss_of_all_files_and_an_agent_that_writes_over_them(goal: Goal) -> None:
    _written_into(goal)
    goal.settle()
    before = {name: goal.text(name) for name in ("progress.md", "tasks.md", "plan.md")}
    shutil.rmtree(goal.place)
    goal.settle()
    assert {name: goal.text(name) for name in before} == before
    _dies_at_work(goal, f"echo gone > {goal.place}/progress.md")
    goal.settle()
    _is_kept(goal)
    assert "gone\n" in goal.kept.values()


def test_a_run_on_the_same_directory_keeps_it_too(goal: Goal) -> None:
    _written_into(goal)
    goal.settle()
    goal.bench.settings["verify.commands"] = ("false",)
    goal.bench.play(done(2))
    assert goal.go().outcome == "failure"
    goal.edit("tasks.md", "- task-4:", "<!-- new -->\n- task-4:")
    goal.resume()
    _is_kept(goal)
    shutil.rmtree(goal.place)
    goal.settle()
    _is_kept(goal)
    assert "<!-- new -->" in goal.text("tasks.md")


def test_files_of_editors_and_of_ones_own_are_left_alone(goal: Goal) -> None:
    names = (".progress.md.swp", "progress.md~", "#tasks.md#", "notes.md", "4913")
    for name in names:
        (goal.place / name).write_text("mine\n")
    edited(goal, "progress.md", "[ ] task-4", "[C] task-4")
    assert [goal.text(name) for name in names] == ["mine\n"] * len(names)
    assert (goal.told, goal.kept) == ([], {})


# What does not count


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("progress.md", "[ ] task-2", "[x] task-2", "a reviewer has qualified it"),
        ("progress.md", "[ ] task-2", "[P] task-2", "its executor has reported"),
        ("progress.md", "[ ] task-2", "[/] task-2", "the run begins a task"),
        ("progress.md", "[ ] task-2", "[F] task-2", "the run says which tasks have failed"),
        ("progress.md", "[ ] task-2", "[?] task-2", "is no mark"),
        ("progress.md", "task-2 (Not Started)", "task-2 (Not Started, Attempt 3)", "are counted by the run"),
        ("progress.md", "[x] plan-init", "[ ] plan-init", "the run does the planning"),
        ("tasks.md", "write part 1", "write part one", "untick it"),
        ("plan.md", "All parts are there", "World peace", "the goal stays"),
        ("plan.questions.md", "How is it with 2?", "How is it with 3?", "stays as it was asked"),
        ("tasks.task-1-report.md", "wrote it", "wrote all of it", "it was edited"),
        (f"{SESSION}.instructions.md", "All parts", "No parts", "it was edited"),
    ],
)
def test_what_nobody_may_do_by_hand_is_told_with_its_line(goal: Goal, name: str, old: str, new: str, why: str) -> None:
    before, size = goal.run, len(goal.history)
    text = goal.edit(name, old, new)
    line = text[: text.index(old)].count("\n") + 1
    goal.settle()
    said = [one for one in goal.told if why in one]
    assert said, goal.told
    assert said[0].startswith(f"{name}, line {line}: ")
    assert goal.text(name) == text
    assert (goal.run.plan, goal.run.cycles, goal.run.reports) == (before.plan, before.cycles, before.reports)
    told, size = len(goal.told), len(goal.history)
    goal.settle()
    assert (len(goal.told), len(goal.history)) == (told, size)


def test_a_log_that_was_edited_says_again_what_was(goal: Goal) -> None:
    text = goal.edit("transitions.jsonl", "Planning", "Paradise")
    goal.settle()
    assert goal.text("transitions.jsonl") == text
    assert any("Paradise" in one for one in goal.kept.values())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"- [ ] task-9: \x1b[31mred\n", "U+001B"),
        (b"\xff\xfe\x00", "U+DCFF"),
        (b"x" * (4 * 1024 * 1024 + 1), "4194304 characters"),
        (b"y" * (17 * 1024 * 1024), "it was restored"),
    ],
    ids=["control", "binary", "long", "huge"],
)
@pytest.mark.parametrize("name", ["progress.md", "plan.md"])
def test_what_cannot_be_read_is_kept_aside_and_told(goal: Goal, name: str, content: bytes, why: str) -> None:
    text, size = goal.text(name), len(goal.history)
    (goal.place / name).write_bytes(content)
    goal.settle()
    assert any(why in one for one in goal.told)
    assert goal.text(name) == text
    kept = goal.bench.state_directory / "rejected" / f"{SESSION}-{name}-1"
    assert kept.read_bytes() == content
    assert len(goal.history) == size


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plan.md", "Write them.", "Write them. " + "long " * 60_000),
        ("tasks.md", "write part 2", "write part 2" + " long" * 60_000),
        ("progress.md", "task-2 (Not Started)", "task-2 (Not Started)" + " long" * 60_000),
        ("progress.md", "- [ ] task-2", "- [ ] task-9: " + "long " * 60_000 + "\n- [ ] task-2"),
        ("plan.questions.md", "So.", "So " + "long " * 60_000),
    ],
)
def test_more_than_an_entry_holds_is_refused_and_the_run_goes_on(goal: Goal, name: str, old: str, new: str) -> None:
    before, text = goal.run, goal.edit(name, old, new)
    goal.settle()
    assert [one for one in goal.told if one.startswith(name) and "in fewer words" in one], [
        one[:200] for one in goal.told
    ]
    assert goal.text(name) == text
    assert (goal.run.plan, goal.run.cycles) == (before.plan, before.cycles)


def test_a_long_section_of_ones_own_stays(goal: Goal) -> None:
    mine = "## Mine\n\n" + "a line of mine\n" * 20_000
    edited(goal, "progress.md", "## Implementation", f"{mine}\n## Implementation")
    shutil.rmtree(goal.place)
    goal.settle()
    assert mine in goal.text("progress.md")


# What is gone, or something else


@pytest.mark.parametrize("name", ["progress.md", "tasks.md", "plan.md", "tasks.task-1-report.md", "transitions.jsonl"])
def test_a_file_that_is_gone_comes_back(goal: Goal, name: str) -> None:
    text = goal.text(name)
    (goal.place / name).unlink()
    size = len(goal.history)
    goal.settle()
    assert (goal.text(name), len(goal.history)) == (text, size)


def test_a_directory_that_is_gone_comes_back(goal: Goal) -> None:
    before = {one.name: one.read_bytes() for one in goal.place.iterdir()}
    shutil.rmtree(goal.place.parent)
    goal.settle()
    assert {one.name: one.read_bytes() for one in goal.place.iterdir()} == before


def test_a_link_in_the_place_of_a_file_is_put_aside_and_nothing_behind_it_is_touched(
    goal: Goal, tmp_path: Path
) -> None:
    text = goal.text("progress.md")
    outside = tmp_path / "outside.md"
    outside.write_text(text.replace("[ ] task-4", "[C] task-4"))
    (goal.place / "progress.md").unlink()
    (goal.place / "progress.md").symlink_to(outside)
    goal.settle()
    assert (goal.text("progress.md"), goal.marks()["task-4"]) == (text, " ")
    assert not (goal.place / "progress.md").is_symlink()
    assert "[C] task-4" in outside.read_text()


def test_a_link_in_the_place_of_the_directory_is_put_aside_as_well(goal: Goal, tmp_path: Path) -> None:
    before = {one.name: one.read_bytes() for one in goal.place.iterdir()}
    outside = tmp_path / "outside"
    goal.place.rename(outside)
    (outside / "progress.md").write_text("theirs")
    goal.place.symlink_to(outside)
    goal.settle()
    assert not goal.place.is_symlink()
    assert {one.name: one.read_bytes() for one in goal.place.iterdir()} == before
    assert (outside / "progress.md").read_text() == "theirs"
    assert (goal.bench.state_directory / "rejected" / f"{SESSION}-1").readlink() == outside


# Agents


def _forged(goal: Goal) -> str:
    """An edit by a program that has left the tree of the agents."""
    return f"cd {goal.place} && sed -i 's/\\[ \\] task-4/[C] task-4/; s/\\[\\/\\]/[x]/' progress.md"


def test_what_an_agent_writes_into_the_files_is_kept_aside_and_never_read(goal: Goal) -> None:
    goal.bench.play([shell(_forged(goal)), *done(2)])
    goal.bench.judge([shell(_forged(goal)), *qualified(2)])
    run = goal.go(lambda run: is_between(run) and str(run.plan.tasks[1].mark) == "x")
    assert goal.marks() == {"task-1": "x", "task-2": "x", "task-3": " ", "task-4": " "}, run.reason
    assert list(goal.kept) == [f"{SESSION}-progress.md-1", f"{SESSION}-progress.md-2"]
    assert all("[C] task-4" in one for one in goal.kept.values())
    assert sum("the edit is kept as" in one for one in goal.told) == 2
    assert "task_reopened" not in [one.event for one in goal.history]


def test_what_our_verifiers_run_is_not_taken_for_a_person_either(goal: Goal) -> None:
    goal.bench.settings["verify.commands"] = (f'sh -c "{_forged(goal)}; false"',)
    goal.bench.play(done(2))
    goal.go(lambda run: len(run.reports.get("task-2", ())) == 1 and is_between(run))
    assert goal.marks()["task-4"] == " "
    assert len(goal.kept) == 1


def test_nor_is_it_where_the_driver_dies_while_they_run(goal: Goal) -> None:
    goal.bench.settings["verify.commands"] = (f'sh -c "{_forged(goal)}"', "true")
    goal.bench.play(done(2))
    goal.go(lambda run: run.state == "Reviewing")

    def hear(told: object) -> None:
        if "[C] task-4" in goal.text("progress.md"):
            raise Dead

    goal.bench.hear = hear
    with pytest.raises(Dead):
        goal.go()
    goal.bench.hear = lambda told: None
    goal.settle()
    assert goal.marks()["task-4"] == " "
    assert len(goal.kept) == 1


def _dies_at_work(goal: Goal, command: str) -> None:
    """An agent edits, and then it and its driver are gone."""

    def hear(told: object) -> None:
        if getattr(told, "text", None) == "I am at it":
            raise Dead

    goal.bench.play([shell(command), {"say": "I am at it"}, {"finish": True}])
    goal.bench.hear = hear
    with pytest.raises(Dead):
        goal.go()
    goal.bench.hear = lambda told: None
    assert goal.run.at_work is not None


def test_what_an_agent_wrote_before_it_died_with_its_driver_is_kept_aside(goal: Goal) -> None:
    _dies_at_work(goal, _forged(goal))
    goal.settle()
    assert goal.marks()["task-4"] == " "
    assert [one for one in goal.kept.values() if "[C] task-4" in one]
    goal.edit("progress.md", "[ ] task-4", "[C] task-4")  # and what comes then is a person's
    goal.settle()
    assert goal.marks()["task-4"] == "C"


# Ends


def test_a_task_unticked_while_the_goal_is_checked_is_done_first(goal: Goal) -> None:
    for number in (2, 3, 4):
        goal.edit("progress.md", f"[ ] task-{number}", f"[C] task-{number}")
    assert goal.go(lambda run: run.state == "Complete").state == "Complete"
    goal.edit("progress.md", "[x] task-1", "[ ] task-1")
    assert goal.settle().state == "Executing"
    assert "tasks_edited" in [one.event for one in goal.history]
    goal.bench.play(done(1))
    goal.bench.judge(qualified(1), MET)
    assert goal.go().outcome == "success"


def _failed(goal: Goal) -> None:
    goal.bench.settings["verify.commands"] = ("false",)
    goal.bench.play(done(2))
    assert goal.go().outcome == "failure"
    assert goal.marks()["task-2"] == "F"
    goal.bench.settings["verify.commands"] = ("true",)


def test_after_a_failure_edits_are_taken_in_by_resume(goal: Goal) -> None:
    _failed(goal)
    goal.edit("progress.md", "[F] task-2", "[C] task-2")
    goal.edit("progress.md", "[x] task-1", "[ ] task-1")
    goal.edit("progress.md", "- [ ] task-4", "- [ ] task-9: paint it\n- [ ] task-4")
    text = goal.text("plan.questions.md")
    at = text.index("**Answer**:", text.index("How is it with 2?"))
    (goal.place / "plan.questions.md").write_text(text[:at] + "**Answer**: By the moon." + text[text.index("\n", at) :])
    run = goal.resume()
    assert goal.marks() == {"task-1": " ", "task-2": "C", "task-3": " ", "task-9": " ", "task-4": " "}
    assert run.cycles[0].questions[1].answer == "By the moon."
    assert (goal.kept, run.follows is None) == ({}, False)
    goal.bench.play(done(1))
    goal.bench.judge(qualified(1))
    goal.go(lambda run: is_between(run) and str(run.plan.tasks[0].mark) == "x")
    assert "**Status**: Qualified" in goal.text("tasks.task-1-report-r2.md")


def test_after_a_failure_a_task_that_failed_is_open_again_without_an_edit(goal: Goal) -> None:
    _failed(goal)
    goal.edit("progress.md", "[F] task-2", "[x] task-2")
    run = goal.resume()
    assert (goal.marks()["task-2"], run.plan.tasks[1].attempt) == (" ", 1)
    assert [one for one in goal.told if one.startswith("progress.md, line") and "qualified" in one]
    assert "- [ ] task-2 (Not Started)" in goal.text("progress.md")


def test_after_the_end_only_an_edit_lets_it_go_on(goal: Goal) -> None:
    for number in (2, 3, 4):
        goal.edit("progress.md", f"[ ] task-{number}", f"[C] task-{number}")
    goal.bench.judge(MET)
    assert goal.go().outcome == "success"
    with pytest.raises(Refusal) as refused:
        goal.resume()
    assert refused.value.code == "terminal"
    goal.edit("progress.md", "[x] task-1", "[ ] task-1")
    run = goal.resume()
    assert (run.state, goal.marks()["task-1"]) == ("Executing", " ")


def test_a_person_who_stops_it_edits_and_goes_on(goal: Goal) -> None:
    journal = goal.bench.open()
    stop(journal, ANN, run_of(journal.history(goal.id)))
    journal.close()
    assert goal.go().paused is not None
    goal.edit("progress.md", "[ ] task-4", "[C] task-4")
    run = goal.resume()
    assert (run.paused, goal.marks()["task-4"]) == (None, "C")


EDITS: dict[str, Callable[[Goal], object]] = {
    "untick": lambda goal: goal.edit("progress.md", "[x] task-1", "[ ] task-1"),
    "close": lambda goal: goal.edit("progress.md", "[ ] task-4", "[C] task-4"),
    "note": lambda goal: goal.edit("progress.md", "task-2 (Not Started)", "task-2 (Not Started) slowly"),
    "words": lambda goal: goal.edit("tasks.md", "write part 2", "write part two"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_a_driver_that_dies_between_the_note_and_the_file_takes_no_text_of_its_own_for_an_edit(
    goal: Goal, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    EDITS[kind](goal)
    with monkeypatch.context() as patch:

        def dies(*given: object) -> None:
            raise Dead

        patch.setattr(SessionFiles, "project", dies)
        with pytest.raises(Dead):
            goal.settle()
    told, before = len(goal.told), [one.event for one in goal.history].count("task_reopened")
    tasks = goal.run.plan.tasks
    goal.settle()
    assert (len(goal.told), goal.kept, goal.run.plan.tasks) == (told, {}, tasks)
    assert [one.event for one in goal.history].count("task_reopened") == before
