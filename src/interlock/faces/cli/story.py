"""`ralph story`: the loop over the stories of `progress.txt`. Begin it, watch it, steer it."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import Refusal, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import caller_of, readable, writable
from interlock.faces.cli.story_flags import run_arguments
from interlock.faces.cli.story_run import drive_loop, run_loop

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Actor
    from interlock.work.stories.record import Loop
    from interlock.work.views.loop import LoopView

__all__ = ["VERBS"]


# Looking


def _status(call: CommandCall) -> None:
    """`ralph story status`, and `ralph --status`: where the loop and its stories stand."""
    from msgspec.structs import asdict

    from interlock.work.stories.reading import known_loop
    from interlock.work.stories.unsent import waiting
    from interlock.work.views.loop import loop_view

    with readable(call) as place:
        view = loop_view(place.journal, known_loop(place.journal))
        unsent = len(waiting(place.journal))
        stories = _listed(place.work_tree or call.directory) if call.arguments.tasks else None
    data = {**asdict(view), "unsent": unsent, **({} if stories is None else {"tasks": stories})}
    call.output.result(data, lambda: _show(call, view, unsent, stories or ()))


def _tasks(call: CommandCall) -> None:
    """`ralph story tasks`, and `ralph --list-tasks`: the stories with their subtasks."""
    with readable(call) as place:
        stories = _listed(place.work_tree or call.directory)
    call.output.result(stories, lambda: _show_tasks(call, stories))


def _listed(root: Path) -> list[dict[str, Any]]:
    """The stories of `progress.txt` and the subtasks of their files, as they are now."""
    from interlock.work.stories.context import StoryFiles, read_text
    from interlock.work.stories.progress import FILE
    from interlock.work.stories.progress_file import parse

    text = read_text(root / FILE, root)
    if text is None:
        raise Refusal("setup_required", f"{FILE} not found.", "`ralph story init` makes it from the stories there are.")
    lines = parse(text).stories
    shelf = StoryFiles(root, lines={one.id: one for one in lines})
    found = [(one, shelf.get(one.id)) for one in lines]
    return [
        {
            "story": one.id,
            "status": str(one.status),
            "tasks": [
                {"id": task.id, "text": task.text, "done": task.done}
                for task in (() if isinstance(story, str) else story.tasks)
            ],
        }
        for one, story in found
    ]


def _show_tasks(call: CommandCall, stories: Sequence[dict[str, Any]]) -> None:
    for one in stories:
        call.output.text(f"{_MARKS[one['status']]} {one_line(one['story'])}  {one['status']}")
        for task in one["tasks"]:
            call.output.text(f"    [{'x' if task['done'] else ' '}] {one_line(task['id'])} {one_line(task['text'])}")


_MARKS = {"complete": "●", "in_progress": "◑", "blocked": "▲", "not_started": "○"}


def _show(call: CommandCall, loop: LoopView, unsent: int, stories: Sequence[dict[str, Any]]) -> None:
    where = f" on {loop.story} {loop.task}" if loop.story else ""
    rests = f"  paused: {one_line(loop.paused)}" if loop.paused is not None else ""
    call.output.text(f"{loop.state}{where}, iteration {loop.iteration}{rests}")
    for one in loop.stories:
        more = f"  {one_line(one.blocker_reason)}" if one.blocker_reason else f"  {one.current_task or ''}"
        call.output.text(f"  {_MARKS[one.status]} {one_line(one.id)}  {one.status}{more}".rstrip())
    call.output.text(f"spent: {loop.spent.text}")
    if unsent:
        events = "1 memory event waits" if unsent == 1 else f"{unsent} memory events wait"
        call.output.text(f"{events} for the server; the next loop that reaches it sends what waits")
    for fact in loop.no_progress:
        call.output.text(f"no progress: {one_line(fact)}")
    for text in loop.context:
        call.output.text(f"context for the next agent: {one_line(text)}")
    for attempt in loop.attempts[-5:]:
        call.output.text(
            f"  #{attempt.iteration} {attempt.role} {attempt.agent}: {attempt.ending}, {attempt.seconds:.0f} s"
        )
    _show_tasks(call, stories)


def _init(call: CommandCall) -> None:
    """A `progress.txt` from the story files and the `prd.json` that there are."""
    from interlock.journal.ids import time_text
    from interlock.work.driver.ports import real_ports
    from interlock.work.stories.context import known_stories, write_text
    from interlock.work.stories.progress import FILE
    from interlock.work.stories.progress_file import template

    with readable(call) as place:
        root = place.work_tree or call.directory
        stories = known_stories(root)
        text = template(root.name, stories, time_text(time.time_ns()))
    if call.arguments.print:
        call.output.result({"text": text}, lambda: call.output.text(text))
        return
    if (root / FILE).exists():
        raise UsageError("file_exists", f"{root / FILE} exists already.", "Edit it, or --print shows a new one.")
    write_text(real_ports().files, root / FILE, text)
    said = f"{FILE} with {len(stories)} stories. `ralph story run` begins with the first."
    call.output.result({"file": str(root / FILE), "stories": len(stories)}, lambda: call.output.text(said))


# Steering


def _steer(call: CommandCall, work: Callable[[Journal, Actor], Loop], said: str) -> None:
    from interlock.work.views.loop import loop_view

    with writable(call) as place:
        journal: Journal = place.journal
        actor: Actor = caller_of(call, place).actor
        view = loop_view(journal, work(journal, actor))
    call.output.result(view, lambda: call.output.text(said))


def _context(call: CommandCall) -> None:
    """`ralph story context`, `ralph --add-context` and `ralph --clear-context`: what the next agent is told."""
    from interlock.work.stories.verbs import add_context, clear_context

    text = call.arguments.text
    if call.arguments.clear is (text is not None):
        raise UsageError("usage", "It takes a text, or --clear, and not both.", "`ralph --add-context TEXT` adds one.")
    if text is None:
        _steer(call, clear_context, "The next agent is told nothing of it.")
    else:
        _steer(call, lambda journal, actor: add_context(journal, actor, text), "The next agent is told it.")


def _pause(call: CommandCall) -> None:
    from interlock.work.stories.verbs import pause

    reason = call.arguments.reason or ""
    _steer(
        call,
        lambda journal, actor: pause(journal, actor, reason),
        "The loop rests; `ralph story resume` lets it go on.",
    )


def _resume(call: CommandCall) -> None:
    from interlock.work.stories.verbs import resume

    _steer(call, resume, "The loop may go on; `ralph story run` drives it.")


def _skip(call: CommandCall) -> None:
    from interlock.work.stories.verbs import skip

    story = call.arguments.story
    _steer(call, lambda journal, actor: skip(journal, actor, story), f"{story} is left out in this loop.")


def _unblock(call: CommandCall) -> None:
    """In the loop that is under way; where none is, in `progress.txt`, where the next loop finds it."""
    from interlock.work.stories.decisions import unblock_story
    from interlock.work.stories.record import Loop
    from interlock.work.views.loop import loop_view

    story = call.arguments.story
    with writable(call) as place:
        root = place.work_tree or call.directory
        found = unblock_story(place.journal, caller_of(call, place).actor, root, story)
        view = loop_view(place.journal, found) if isinstance(found, Loop) else None
    if view is not None:
        call.output.result(view, lambda: call.output.text(f"{story} starts anew."))
        return
    said = f"{story} starts anew with the next `ralph story run`."
    call.output.result({"story": story, "file": str(found)}, lambda: call.output.text(said))


def _limit(call: CommandCall) -> None:
    from interlock.work.stories.verbs import limit

    name, value = call.arguments.name, call.arguments.value
    _steer(call, lambda journal, actor: limit(journal, actor, name, value), f"{name} is {value:g} from now on.")


# Arguments


def _print_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", help="show it, and write nothing")


def _loop(parser: ArgumentParser) -> None:
    parser.add_argument("loop", help="its id or the end of it")


def _story(parser: ArgumentParser) -> None:
    parser.add_argument("story", help="its id, as in progress.txt")


def _limit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="iterations, day_iterations, or task_, loop_ or day_ with seconds, tokens or usd")
    parser.add_argument("value", type=float, help="from 0 on; 0 is no limit")


def _text(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="what to tell the next agent, once")
    parser.add_argument("--clear", action="store_true", help="take back what no agent has been told yet")


def _with_tasks(parser: ArgumentParser) -> None:
    parser.add_argument("--tasks", action="store_true", help="and the subtasks of every story")


def _reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", help="why")


VERBS = (
    Verb("init", "make a progress.txt from the stories that there are", _init, _print_argument),
    Verb(
        "run",
        "begin the loop, or go on with it",
        run_loop,
        run_arguments,
        passes=True,
    ),
    Verb("drive", "let a loop go on as far as it can, and decide nothing", drive_loop, _loop),
    Verb("status", "where the loop and its stories stand", _status, _with_tasks),
    Verb("tasks", "the stories and their subtasks", _tasks),
    Verb("unblock", "start a blocked story anew", _unblock, _story),
    Verb("skip", "leave a story out, in this loop", _skip, _story),
    Verb(
        "limit",
        "change what the loop may use, while it runs",
        _limit,
        _limit_arguments,
    ),
    Verb("context", "tell the next agent something, once", _context, _text),
    Verb("pause", "stop the agent, and let the loop rest", _pause, _reason),
    Verb("resume", "let it go on", _resume),
)
