"""How a run of the orchestrator is drawn, also when there is little room and much to show."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from faces.journals import opened
from interlock.faces.cli.run_pages import task_lines
from interlock.faces.cli.run_view import RunDisplay
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.orchestration.news import AtWork, RunNews
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.values import Mark, Task
from interlock.world.agents.happenings import Said, UsedTool

DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.DRIVER)
ANN = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)


@pytest.fixture
def journal(repository: object) -> Iterator[Journal]:
    with opened(repository) as found:  # type: ignore[arg-type]
        yield found


def _planned(journal: Journal, count: int) -> str:
    """A run that has planned so many tasks, and works on the last but one."""
    roles = dict.fromkeys(("planner", "questioner", "executor", "reviewer"), "scripted:small")
    data = {"goal": "All parts", "session": "261115-120000", "roles": roles, "base": "", "files": {}, "follows": None}
    id_ = journal.create("orchestrator", Event("created", DRIVER, evidence=Evidence(data=data))).entry.instance
    tasks = [{"id": f"task-{n}", "description": f"write part {n} " + "and more " * 20} for n in range(1, count + 1)]
    note = {"type": "tasks", "is_first": True, "tasks": tasks}
    told = {"goal": "All parts", "text": "# Plan", "told": 0, "questions": []}
    for event in (
        Event("session_resolved", DRIVER, evidence=Evidence(facts={"session": "new"})),
        Event("noted", DRIVER, evidence=Evidence(data=note)),
        Event("planner_completed", DRIVER, evidence=Evidence(facts={"planner": "completed"}, data=told)),
        Event("task_selected", DRIVER, evidence=Evidence(task=f"task-{count - 1}")),
    ):
        journal.append(id_, event)
    return id_


def _drawn(view: RunDisplay, width: int, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None, highlight=False)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def _told(journal: Journal, id_: str) -> Run:
    return run_of(journal.history(id_))


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("height", [10, 24])
def test_a_plan_of_many_tasks_fits_around_the_current_one(journal: Journal, width: int, height: int) -> None:
    id_ = _planned(journal, 1000)
    view = RunDisplay(journal, id_, clock=lambda: 100.0)
    asked = {"role": "executor", "mode": "", "task": "task-999", "attempt": 2, "agent": "scripted:small"}
    reserved = {"seconds": 0.0, "usd": 0.0, "tokens": 0}
    note = {"type": "asked", **asked, "reserved": reserved}
    journal.append(id_, Event("noted", DRIVER, evidence=Evidence(data=note)))
    told = view.take(_told(journal, id_))
    assert AtWork("executor", "", "task-999", 2, "scripted:small") in told
    view.take(UsedTool("Edit", "src/parser.py"))
    lines = _drawn(view, width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith("▶ Executing  0 of 1000 tasks closed")
    assert any(line.startswith("▸ [/] task-999  write part 999") for line in lines)
    assert sum("before: " in line for line in lines) == 1
    assert any("0:00 at work  executor scripted:small on task-999" in line for line in lines)
    assert "0:00 ago  › Edit src/parser.py" in lines


@pytest.mark.parametrize("current", ["task-1", "task-500", "task-1000", None])
def test_those_that_are_not_shown_are_counted(current: str | None) -> None:
    tasks = [Task(f"task-{n}", "x", mark=Mark.DONE if n < 400 else Mark.OPEN) for n in range(1, 1001)]
    lines = [str(one) for one in task_lines(tasks, current, 9)]
    shown = [line for line in lines if line[1:].startswith(" [")]
    assert len(shown) == 9
    assert any((current or "task-400") in line for line in shown)
    hidden = [int(line.split()[1]) for line in lines if line.startswith("  …")]
    assert sum(hidden) == 991


def test_the_counts_the_verdict_and_the_spending_are_shown(journal: Journal) -> None:
    id_ = _planned(journal, 2)
    part1, part2 = {"summary_of_changes": "wrote it"}, {"verdict": "Failed", "feedback": "it is not right"}
    invoked = {
        "role": "executor",
        "mode": "",
        "task": "task-1",
        "attempt": 1,
        "agent": "scripted",
        "ending": "finished",
    }
    spent = {"type": "invoked", **invoked, "seconds": 61.0, "cost_usd": 0.5, "tokens": 1200}
    done = {"task": "task-1", "attempt": 1}
    for event in (
        Event("noted", DRIVER, evidence=Evidence(data=spent)),
        Event(
            "executor_completed",
            DRIVER,
            evidence=Evidence(facts={"executor": "completed"}, data={**done, "part1": part1}),
        ),
        Event(
            "reviewer_completed", DRIVER, evidence=Evidence(facts={"verdict": "Failed"}, data={**done, "part2": part2})
        ),
        Event("requirements_discovered", DRIVER, reason="no task can be begun"),
    ):
        journal.append(id_, event)
    view = RunDisplay(journal, id_, clock=lambda: 100.0)
    view.take(_told(journal, id_))
    lines = _drawn(view, 200)
    assert lines[0] == "▶ Planning  0 of 2 tasks closed · planning retry 1 of 2 · 0:00"
    assert any(line.startswith("  [ ] task-1 (attempt 2 of 3)") for line in lines)
    assert "last verdict  task-1: Failed. it is not right" in lines
    assert lines[-1] == "1 run, 61 s of agents, $0.50, 1200 tokens"


def test_only_what_happens_from_now_on_is_news_and_each_thing_once(journal: Journal) -> None:
    id_ = _planned(journal, 2)
    view = RunDisplay(journal, id_)
    first = view.take(_told(journal, id_))
    assert [type(one) for one in first] == [Run]
    journal.append(id_, Event("requirements_added", ANN, reason="and in\nWelsh"))
    [news, state] = view.take(_told(journal, id_))
    assert isinstance(news, RunNews)
    assert "ann@example.org wants more: and in Welsh." in news.text
    assert isinstance(state, Run)
    assert view.take(_told(journal, id_)) == []


def test_an_answer_is_told_by_what_it_says_unless_programs_listen(journal: Journal) -> None:
    id_ = _planned(journal, 2)
    answer, words = Said('{"status": "completed"}'), Said("I look around")
    assert [RunDisplay(journal, id_).take(one) for one in (answer, words)] == [(), (words,)]
    assert RunDisplay(journal, id_, is_whole=True).take(answer) == (answer,)
