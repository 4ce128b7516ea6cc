"""Driving the loop over stories from the command line: begin it, go on with it, or only drive it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.driver_session import open_driver_session
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import Workspace, caller_of
from interlock.faces.cli.story_flags import asked

if TYPE_CHECKING:
    from interlock.work.stories.context import StoryContext
    from interlock.work.stories.opening import LoopOptions
    from interlock.work.views.loop import LoopView

__all__ = ["drive_loop", "run_loop"]


def run_loop(call: CommandCall) -> None:
    """`ralph story run`, and `ralph "PROMPT"`: begin the loop, or go on with it, until it ends or is stopped."""
    from interlock.work.stories.decisions import begin_or_resume

    given, wishes = call.arguments, asked(call)

    def decided(place: Workspace, context: StoryContext) -> str:
        return begin_or_resume(context, caller_of(call, place).actor, wishes.prompt)

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
    from interlock.work.views.failure import failure_of
    from interlock.work.views.loop import loop_view

    with open_driver_session(call, starts_agents=True, streams=streams, is_verbose=is_verbose) as here:
        context = make_story_context(here.context, wishes)
        loop = chosen(here.place, context)
        driven = here.drive(lambda: drive(context, loop), lambda entry: entry.instance == loop and pauses(entry))
        view = loop_view(here.place.journal, driven.loop)
    failure = failure_of(view, is_interrupted=here.interrupts.presses > 0)
    if failure is not None:
        raise failure
    call.output.result(view, lambda: None if driven.ended else _show_paused(call, view))


def _show_paused(call: CommandCall, view: LoopView) -> None:
    why = f": {one_line(view.paused)}" if view.paused else ""
    call.output.text(f"The loop rests in {view.state}{why}. `ralph story run` goes on with it.")
