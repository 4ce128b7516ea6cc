"""Driving the loop over stories from the command line: begin it, go on with it, or only drive it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, Refusal
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.driving import open_driver_session
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import Workspace, caller_of
from interlock.faces.cli.story_flags import asked

if TYPE_CHECKING:
    from interlock.work.stories.context import StoryContext
    from interlock.work.stories.loop import LoopResult
    from interlock.work.stories.opening import LoopOptions
    from interlock.work.stories.record import Loop

__all__ = ["drive_loop", "loop_data", "no_progress", "run_loop"]


def run_loop(call: CommandCall) -> None:
    """`ralph story run`, and `ralph "PROMPT"`: begin the loop, or go on with it, until it ends or is stopped."""
    from interlock.work.stories.loop import begin
    from interlock.work.stories.reading import known_loop, open_loop
    from interlock.work.stories.verbs import resume

    given, wishes = call.arguments, asked(call)

    def decided(place: Workspace, context: StoryContext) -> str:
        if open_loop(place.journal) is None:
            _must_be_clean(context.root)
        loop = begin(context, prompt=wishes.prompt)
        if known_loop(place.journal).paused is not None:
            resume(place.journal, caller_of(call, place).actor)
        return loop

    _go_on(call, wishes, decided, streams=not given.no_stream, is_verbose=given.verbose_tools)


def drive_loop(call: CommandCall) -> None:
    """Let a loop go on by itself as far as it can; it decides nothing. The dashboard starts this one."""
    from interlock.work.stories.opening import LoopOptions
    from interlock.work.stories.verbs import must_steer, steerable

    def named(place: Workspace, context: StoryContext) -> str:
        must_steer(caller_of(call, place).actor)
        return steerable(place.journal, call.arguments.loop)

    _go_on(call, LoopOptions(), named)


def _go_on(
    call: CommandCall,
    wishes: LoopOptions,
    chosen: Callable[[Workspace, StoryContext], str],
    *,
    streams: bool = True,
    is_verbose: bool = False,
) -> None:
    """Drive the loop that is chosen, until it ends or is stopped."""
    from interlock.work.stories.loop import drive
    from interlock.work.stories.opening import make_story_context, pauses

    with open_driver_session(call, starts_agents=True, streams=streams, is_verbose=is_verbose) as here:
        context = make_story_context(here.context, wishes)
        loop = chosen(here.place, context)
        driven = here.drive(lambda: drive(context, loop), lambda entry: entry.instance == loop and pauses(entry))
    _end(call, driven, pressed=here.interrupts.presses > 0)


def _must_be_clean(root: Path) -> None:
    """A loop does not begin on somebody's unfinished work: its first commit would swallow it."""
    from interlock.work.stories.context import own_files, read_text
    from interlock.work.stories.progress import FILE, parse
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


def _end(call: CommandCall, driven: LoopResult, *, pressed: bool) -> None:
    """What the loop came to: its promise and its summary, and an exit status that says who is needed."""
    loop = driven.loop
    data = loop_data(loop)
    if pressed and not driven.ended:
        message = f"Stopped in {loop.state}; nothing is lost."
        raise InterlockError("interrupted", message, "`ralph story run` goes on where it was.")
    if loop.paused is not None and loop.paused.needs_person and not driven.ended:
        hint = "Mend it, or `ralph story limit NAME VALUE` allows more; then `ralph story run` goes on."
        raise Refusal("loop_paused", f"The loop rests in {loop.state}: {loop.paused.reason}.", hint, data)
    if not driven.ended:
        why = f": {one_line(loop.paused.reason)}" if loop.paused is not None else ""
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


def loop_data(loop: Loop) -> dict[str, Any]:
    from interlock.work.stories.context import plain

    seconds, dollars, tokens = loop.spent()
    progress = plain(loop.progress)
    return {
        "id": loop.id,
        "state": loop.state,
        "outcome": loop.outcome,
        "story": loop.story,
        "task": loop.task,
        "iteration": loop.iteration,
        "paused": loop.paused.reason if loop.paused is not None else None,
        "limited": loop.limited,
        "stories": progress.get("stories", []),
        "metrics": progress.get("metrics", {}),
        "spent": {"seconds": round(seconds, 3), "usd": round(dollars, 4), "tokens": tokens},
        "context": loop.context,
        "last_failure": loop.failure,
        "no_progress": list(no_progress(loop)),
        "unsent": len(loop.unsent),
        "attempts": [
            {"iteration": one.number, "task": one.task, "role": one.role, "agent": one.agent, "ending": one.ending}
            for one in loop.attempts[-5:]
        ],
    }


def no_progress(loop: Loop) -> tuple[str, ...]:
    """Which facts the last attempt at the task in hand has not changed."""
    from interlock.work.stories.stuck import standstill

    return standstill(loop.base, loop.facts) if loop.story else ()
