"""`ralph story`: the loop over the stories of `progress.txt`. Begin it, watch it, steer it."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, Refusal, UsageError
from interlock.faces.cli.command import Call, Verb
from interlock.faces.cli.interrupts import interruptible
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import Place, caller_of, readable, writable
from interlock.faces.cli.story_flags import asked, run_arguments

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Actor
    from interlock.work.stories.loop import Driven
    from interlock.work.stories.record import Loop

__all__ = ["VERBS"]


# Running


def _run(call: Call) -> None:
    """`ralph story run`, and `ralph "PROMPT"`: begin the loop, or go on with it, until it ends or is stopped."""
    from interlock.faces.cli.notify import telling
    from interlock.faces.cli.telling import Teller
    from interlock.work.notifying.channels import without_secrets
    from interlock.work.steering import Steering
    from interlock.work.stories.loop import begin, drive
    from interlock.work.stories.opening import make_yard, pauses
    from interlock.work.stories.reading import known_loop, open_loop
    from interlock.work.stories.verbs import resume
    from interlock.world.agents.adopting import adopting

    with writable(call) as place:
        if place.work_tree is None:
            raise UsageError("usage", "A loop needs a work tree, and this repository is bare.", "Clone it first.")
        steering = Steering(place.journal, lambda entry: entry.instance == open_loop(place.journal) and pauses(entry))
        given = call.arguments
        teller = Teller(call.output, streams=not given.no_stream, is_verbose=given.verbose_tools)
        environment = without_secrets(call.environment)
        wishes = asked(call)
        args = (place.journal, place.work_tree, place.state_directory, place.settings, environment)
        yard = replace(make_yard(*args, wishes, steering, teller.tell), heed=steering.listen_again)
        if open_loop(place.journal) is None:
            _must_be_clean(place.work_tree)
        loop = begin(yard, prompt=wishes.prompt)
        if known_loop(place.journal).paused is not None:
            resume(place.journal, caller_of(call, place).actor)
        with interruptible(steering.press, patience=2), teller, adopting(), telling(call, place):
            driven = drive(yard, loop)
    _end(call, driven, place, pressed=steering.presses > 0)


def _must_be_clean(root: Path) -> None:
    """A loop does not begin on somebody's unfinished work: its first commit would swallow it."""
    from interlock.work.stories.progress import FILE, parse
    from interlock.work.stories.yard import own_files, read_text
    from interlock.world.git import state

    try:
        text = read_text(root / FILE)
        progress = None if text is None else parse(text)
    except Refusal:
        progress = None
    if progress is None:
        return  # the loop itself says what is missing or wrong
    found = state(root)
    changed = {*found.staged, *found.unstaged, *found.untracked, *found.conflicts} - {*own_files(root, progress)}
    if changed:
        named = ", ".join(sorted(changed)[:5]) + ("…" if len(changed) > 5 else "")
        message = f"The work tree has changes that are not committed: {one_line(named)}."
        raise Refusal(
            "setup_required", message, "Commit them, or put them away with `git stash -u`, then run it again."
        )


def _end(call: Call, driven: Driven, place: Place, *, pressed: bool) -> None:
    """What the loop came to: its promise and its summary, and an exit status that says who is needed."""
    loop = driven.loop
    data = _data(loop)
    if pressed and not driven.ended:
        message = f"Stopped in {loop.state}; nothing is lost."
        raise InterlockError("interrupted", message, "`ralph story run` goes on where it was.")
    if loop.is_halted and not driven.ended:
        hint = "Mend it, or `ralph story limit NAME VALUE` allows more; then `ralph story run` goes on."
        raise Refusal("loop_paused", f"The loop rests in {loop.state}: {loop.paused}.", hint, data)
    if not driven.ended:
        why = f": {one_line(loop.paused)}" if loop.paused else ""
        said = f"The loop rests in {loop.state}{why}. `ralph story run` goes on with it."
        call.output.result(data, lambda: call.output.text(said))
    elif loop.outcome == "all_complete":
        call.output.result(data, lambda: None)
    elif loop.outcome == "only_blocked_left":
        needs = "; ".join(f"{one}: {why}" for one, why in loop.needs.items())
        hint = "Mend what each needs, then `ralph story unblock STORY` and `ralph story run`."
        raise Refusal("loop_blocked", f"Only blocked stories are left: {needs}.", hint, data)
    else:
        hint = "`ralph story init` makes a progress.txt from the stories that there are; --print shows it."
        raise Refusal("setup_required", loop.explanation or "Something is missing.", hint, data)


# Looking


def _status(call: Call) -> None:
    """`ralph story status`, and `ralph --status`: where the loop and its stories stand."""
    from interlock.work.stories.reading import known_loop

    with readable(call) as place:
        loop = known_loop(place.journal)
        stories = _listed(place.work_tree or call.directory) if call.arguments.tasks else None
    data = _data(loop) if stories is None else {**_data(loop), "tasks": stories}
    call.output.result(data, lambda: _show(call, loop, stories or ()))


def _tasks(call: Call) -> None:
    """`ralph story tasks`, and `ralph --list-tasks`: the stories with their subtasks."""
    with readable(call) as place:
        stories = _listed(place.work_tree or call.directory)
    call.output.result(stories, lambda: _show_tasks(call, stories))


def _listed(root: Path) -> list[dict[str, Any]]:
    """The stories of `progress.txt` and the subtasks of their files, as they are now."""
    from interlock.work.stories.progress import FILE, parse
    from interlock.work.stories.yard import Shelf, read_text

    text = read_text(root / FILE)
    if text is None:
        raise Refusal("setup_required", f"{FILE} not found.", "`ralph story init` makes it from the stories there are.")
    lines = parse(text).stories
    shelf = Shelf(root, lines={one.id: one for one in lines})
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


def _show_tasks(call: Call, stories: Sequence[dict[str, Any]]) -> None:
    for one in stories:
        call.output.text(f"{_MARKS[one['status']]} {one_line(one['story'])}  {one['status']}")
        for task in one["tasks"]:
            call.output.text(f"    [{'x' if task['done'] else ' '}] {one_line(task['id'])} {one_line(task['text'])}")


def _data(loop: Loop) -> dict[str, Any]:
    from interlock.work.stories.yard import plain

    seconds, dollars, tokens = loop.spent()
    progress = plain(loop.progress)
    return {
        "id": loop.id,
        "state": loop.state,
        "outcome": loop.outcome,
        "story": loop.story,
        "task": loop.task,
        "iteration": loop.iteration,
        "paused": loop.paused,
        "limited": loop.limited,
        "stories": progress.get("stories", []),
        "metrics": progress.get("metrics", {}),
        "spent": {"seconds": round(seconds, 3), "usd": round(dollars, 4), "tokens": tokens},
        "context": loop.context,
        "last_failure": loop.failure,
        "no_progress": list(_no_progress(loop)),
        "unsent": len(loop.unsent),
        "attempts": [
            {"iteration": one.number, "task": one.task, "role": one.role, "agent": one.agent, "ending": one.ending}
            for one in loop.attempts[-5:]
        ],
    }


def _no_progress(loop: Loop) -> tuple[str, ...]:
    """Which facts the last attempt at the task in hand has not changed."""
    from interlock.work.stories.stuck import standstill

    return standstill(loop.base, loop.facts) if loop.story else ()


_MARKS = {"complete": "●", "in_progress": "◑", "blocked": "▲", "not_started": "○"}


def _show(call: Call, loop: Loop, stories: Sequence[dict[str, Any]]) -> None:
    where = f" on {loop.story} {loop.task}" if loop.story else ""
    rests = f"  paused: {one_line(loop.paused)}" if loop.paused is not None else ""
    call.output.text(f"{loop.state}{where}, iteration {loop.iteration}{rests}")
    for one in loop.progress.stories:
        more = f"  {one_line(one.blocker_reason)}" if one.blocker_reason else f"  {one.current_task or ''}"
        call.output.text(f"  {_MARKS[one.status]} {one_line(one.id)}  {one.status}{more}".rstrip())
    seconds, dollars, tokens = loop.spent()
    call.output.text(f"spent: {seconds:.0f} s, ${dollars:.2f}, {tokens} tokens")
    for fact in _no_progress(loop):
        call.output.text(f"no progress: {one_line(fact)}")
    for text in loop.context:
        call.output.text(f"context for the next agent: {one_line(text)}")
    for attempt in loop.attempts[-5:]:
        call.output.text(
            f"  #{attempt.number} {attempt.role} {attempt.agent}: {attempt.ending}, {attempt.seconds:.0f} s"
        )
    _show_tasks(call, stories)


def _init(call: Call) -> None:
    """A `progress.txt` from the story files and the `prd.json` that there are."""
    from interlock.journal.ids import time_text
    from interlock.work.stories.progress import FILE, template
    from interlock.work.stories.yard import known_stories, write_text

    with readable(call) as place:
        root = place.work_tree or call.directory
        stories = known_stories(root)
        text = template(root.name, stories, time_text(time.time_ns()))
    if call.arguments.print:
        call.output.result({"text": text}, lambda: call.output.text(text))
        return
    if (root / FILE).exists():
        raise UsageError("file_exists", f"{root / FILE} exists already.", "Edit it, or --print shows a new one.")
    write_text(root / FILE, text)
    said = f"{FILE} with {len(stories)} stories. `ralph story run` begins with the first."
    call.output.result({"file": str(root / FILE), "stories": len(stories)}, lambda: call.output.text(said))


# Steering


def _steer(call: Call, work: Any, said: str) -> None:
    with writable(call) as place:
        journal: Journal = place.journal
        actor: Actor = caller_of(call, place).actor
        if actor.kind != "human":
            message = "Only a person steers the loop, and this is an agent."
            raise Refusal("person_needed", message, "Say in your last lines what should change, and why.")
        loop = work(journal, actor)
    call.output.result(_data(loop), lambda: call.output.text(said))


def _context(call: Call) -> None:
    """`ralph story context`, `ralph --add-context` and `ralph --clear-context`: what the next agent is told."""
    from interlock.work.stories.verbs import add_context, clear_context

    text = call.arguments.text
    if call.arguments.clear is (text is not None):
        raise UsageError("usage", "It takes a text, or --clear, and not both.", "`ralph --add-context TEXT` adds one.")
    if text is None:
        _steer(call, clear_context, "The next agent is told nothing of it.")
    else:
        _steer(call, lambda journal, actor: add_context(journal, actor, text), "The next agent is told it.")


def _pause(call: Call) -> None:
    from interlock.work.stories.verbs import pause

    reason = call.arguments.reason or ""
    _steer(
        call,
        lambda journal, actor: pause(journal, actor, reason),
        "The loop rests; `ralph story resume` lets it go on.",
    )


def _resume(call: Call) -> None:
    from interlock.work.stories.verbs import resume

    _steer(call, resume, "The loop may go on; `ralph story run` drives it.")


def _skip(call: Call) -> None:
    from interlock.work.stories.verbs import skip

    story = call.arguments.story
    _steer(call, lambda journal, actor: skip(journal, actor, story), f"{story} is left out in this loop.")


def _unblock(call: Call) -> None:
    """In the loop that is under way; where none is, in `progress.txt`, where the next loop finds it."""
    from interlock.work.stories.progress import FILE
    from interlock.work.stories.reading import open_loop
    from interlock.work.stories.verbs import unblock, unblocked
    from interlock.work.stories.yard import read_text, write_text

    story = call.arguments.story
    with readable(call) as place:
        path = (place.work_tree or call.directory) / FILE
        text = read_text(path) if open_loop(place.journal) is None else None
        person = caller_of(call, place).actor.kind == "human"
    if text is None or not person:
        _steer(call, lambda journal, actor: unblock(journal, actor, story), f"{story} starts anew.")
        return
    write_text(path, unblocked(text, story))
    said = f"{story} starts anew with the next `ralph story run`."
    call.output.result({"story": story, "file": str(path)}, lambda: call.output.text(said))


def _limit(call: Call) -> None:
    from interlock.work.stories.verbs import limit

    name, value = call.arguments.name, call.arguments.value
    _steer(call, lambda journal, actor: limit(journal, actor, name, value), f"{name} is {value:g} from now on.")


# Arguments


def _print_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", help="show it, and write nothing")


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
        _run,
        run_arguments,
        passes=True,
    ),
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
