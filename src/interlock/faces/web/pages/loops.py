"""Story loops and runs of the orchestrator: all of them, newest first, and each with what it works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from interlock.errors import NotFound
from interlock.faces.drawing.svg import svg
from interlock.faces.web.lists import folded, machine_of, newest, rows_of, topic
from interlock.faces.web.looks import look_of
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.rendering import drawn
from interlock.journal import Entry, Instance
from interlock.journal.ids import time_text
from interlock.work.driver.transcripts import newest_log, spoken, tail_of
from interlock.work.orchestration.news import RunNews, news_of, words_of
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.values import CLOSED_MARKS, TaskReport
from interlock.work.stories.limits import used_up
from interlock.work.stories.opening import limits_of
from interlock.work.stories.replay import loop_of
from interlock.work.views.loop import loop_view
from interlock.work.views.run import run_view

__all__ = ["PAGES"]

_TASKS: Final = 100
"""How many tasks a page of a run shows."""
_NEWS: Final = 60
_SESSIONS: Final = 10
_UNITS: Final = {"seconds": " s", "tokens": " tokens", "usd": " $", "iterations": ""}


def _list(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    return {"listed": newest(sight, asked, "/loops", "story", "orchestrator")}


def _found(sight: Sight, asked: PageRequest, machine: str, called: str) -> tuple[Instance, list[Entry]]:
    """The instance that is asked for, and its entries: all, or those up to the one that the address names."""
    found = sight.journal.instance(asked.names["id"])
    if found.machine != machine:
        message = f"{found.id} is a {found.machine}, not a {called}."
        raise NotFound("unknown_instance", message, "The page of the loops shows them.")
    entries = sight.journal.history(found.id)
    at = _number(asked, "at")
    return found, entries if at is None else entries[: max(1, at)]


def _is_now(asked: PageRequest) -> bool:
    return _number(asked, "at") is None


def _number(asked: PageRequest, name: str) -> int | None:
    said = asked.query.get(name, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _around(
    sight: Sight, asked: PageRequest, instance: Instance, entries: Sequence[Entry], state: str
) -> dict[str, Any]:
    """What every page of a loop shows: the machine with its state lit, its thread, its sessions, what is said."""
    machine = machine_of(sight, instance)
    above = [] if instance.parent is None else [sight.journal.instance(instance.parent)]
    return {
        "id": instance.id,
        "machine": machine,
        "look": look_of(machine, state),
        "diagram": drawn(svg(machine, current=state, is_styled=False)),
        "at": None if _is_now(asked) else len(entries),
        "versions": instance.version,
        "trouble": sight.trouble(instance) if len(entries) == instance.version else "",
        "above": next(iter(rows_of(sight, above)), None),
        "sessions": rows_of(sight, sight.journal.recent("session", _SESSIONS, parent=instance.id)),
        **_output(sight, instance),
    }


# What is said


def _output(sight: Sight, instance: Instance) -> dict[str, Any]:
    """The end of the newest log: of an agent, by the words of the agent that was sent last, or of the tests."""
    log = newest_log(sight.journal, sight.state_directory, instance)
    return {
        "said_by": log.said_by if log is not None else "",
        "is_live": instance.outcome is None,
        "spoken": spoken(tail_of(sight.state_directory, log.name), log.agent) if log is not None else [],
    }


def _talk(machine: str, called: str) -> Any:
    def look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
        """The output alone, for a page that asks for it again and again: nothing is folded."""
        found = sight.journal.instance(asked.names["id"])
        if found.machine != machine:
            raise NotFound("unknown_instance", f"{found.id} is no {called}.", "The page of the loops shows them.")
        return _output(sight, found)

    return look


# A story loop


def _story(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    instance, entries = _found(sight, asked, "story", "story loop")
    loop = folded(loop_of, entries)
    day = time_text(int(sight.now * 1e9))[:10]
    around = _around(sight, asked, instance, entries, loop.state)
    return {
        **around,
        "story_loop": loop_view(sight.journal, loop, entries, is_now=_is_now(asked), trouble=around["trouble"]),
        "budgets": [_budget(one.name, one.used, one.limit) for one in used_up(loop, limits_of(sight.settings), day)],
    }


def _budget(name: str, used: float, limit: float) -> dict[str, Any]:
    unit = _UNITS[name.rpartition("_")[2]]
    return {
        "name": name.replace("_", " "),
        "words": f"{used:g}{unit} of {limit:g}{unit}" if unit != " $" else f"${used:.2f} of ${limit:.2f}",
        "width": round(min(1.0, used / limit) * 100, 1),
        "is_over": used >= limit,
    }


# A run


def _run(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    instance, entries = _found(sight, asked, "orchestrator", "run")
    run = folded(run_of, entries)
    told = [one for one in map(news_of, entries[-4 * _NEWS :]) if isinstance(one, RunNews)]
    around = _around(sight, asked, instance, entries, run.state)
    view = run_view(sight.journal, run, entries, is_now=_is_now(asked), trouble=around["trouble"])
    return {
        **around,
        "run": run,
        "view": view,
        "at_work": words_of(view.at_work) if view.at_work is not None else "",
        "news": told[::-1][:_NEWS],
        **_tasks(run, asked),
        **_reports(run, asked),
        "planning": [{"name": name, "mark": mark} for name, mark in run.planning.items()],
    }


def _tasks(run: Run, asked: PageRequest) -> dict[str, Any]:
    """A page of the tasks: the one that is asked for, or that with the task at hand."""
    tasks = run.plan.tasks
    pages = max(1, -(-len(tasks) // _TASKS))
    current = next((place for place, one in enumerate(tasks) if one.id == run.task), None)
    if current is None:
        current = next((place for place, one in enumerate(tasks) if one.mark not in CLOSED_MARKS), 0)
    asked_for = _number(asked, "tasks")
    page = min(max(1, asked_for), pages) if asked_for is not None else current // _TASKS + 1
    shown = tasks[(page - 1) * _TASKS : page * _TASKS]
    verdicts = {one.id: _verdict(run.reports.get(one.id, [])) for one in shown}
    return {"tasks": shown, "task_page": page, "task_pages": pages, "verdicts": verdicts}


def _verdict(reports: Sequence[TaskReport]) -> str:
    return next((str(one.part2.verdict) for one in reversed(reports) if one.part2 is not None), "")


def _reports(run: Run, asked: PageRequest) -> dict[str, Any]:
    """The reports of one task: the one that is asked for, that at hand, or the last one that has any."""
    asked_for = asked.query.get("task", "")
    having = [one.id for one in run.plan.tasks if one.id in run.reports]
    wanted = [asked_for, run.task or "", *having[::-1]]
    task = next((one for one in wanted if one in run.reports), None)
    return {"report_task": task, "reports": run.reports.get(task or "", [])[::-1]}


def _topics(machine: str) -> Any:
    return lambda asked: frozenset({topic(asked, machine), "session"})


PAGES = (
    PageKind(
        "/loops", "loops.html", _list, lambda asked: frozenset({"story", "orchestrator"}), heading="Loops", key="l"
    ),
    PageKind("/story/{id}", "story.html", _story, _topics("story")),
    PageKind("/story/{id}/output", "output.html", _talk("story", "story loop"), _topics("story")),
    PageKind("/run/{id}", "run.html", _run, _topics("orchestrator")),
    PageKind("/run/{id}/output", "output.html", _talk("orchestrator", "run"), _topics("orchestrator")),
)
