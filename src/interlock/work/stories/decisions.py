"""What people decide about a loop, whatever face they use: to begin or resume it, and to unblock a story of it."""

from __future__ import annotations

from pathlib import Path

from interlock.journal import Journal
from interlock.machine import Actor, ActorKind
from interlock.work.driver.ports import real_ports
from interlock.work.stories.context import StoryContext, read_text, write_text
from interlock.work.stories.loop import begin
from interlock.work.stories.progress import FILE
from interlock.work.stories.reading import known_loop, open_loop
from interlock.work.stories.record import Loop
from interlock.work.stories.verbs import resume, unblock, unblocked

__all__ = ["begin_or_resume", "unblock_story"]


def begin_or_resume(context: StoryContext, actor: Actor, prompt: str) -> str:
    """The loop that is under way, resumed if it is paused; if there is none, a new one."""
    loop = begin(context, prompt=prompt)
    if known_loop(context.journal).paused is not None:
        resume(context.journal, actor)
    return loop


def unblock_story(journal: Journal, actor: Actor, root: Path, story: str) -> Loop | Path:
    """Start a blocked story again: in the loop that is under way, or else in `progress.txt` for the next one."""
    path = root / FILE
    text = read_text(path, root) if open_loop(journal) is None else None
    if text is None or actor.kind != ActorKind.HUMAN:
        return unblock(journal, actor, story)
    write_text(real_ports().files, path, unblocked(text, story))
    return path
