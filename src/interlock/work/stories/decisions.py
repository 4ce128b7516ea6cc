"""What people decide about a loop, whatever face they use: to begin or resume it, and to unblock a story of it."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind
from interlock.work.driver.ports import real_ports
from interlock.work.stories.context import StoryContext, own_files, read_text, write_text
from interlock.work.stories.loop import begin
from interlock.work.stories.progress import FILE
from interlock.work.stories.progress_file import parse
from interlock.work.stories.reading import known_loop, open_loop
from interlock.work.stories.record import Loop
from interlock.work.stories.verbs import resume, unblock, unblocked
from interlock.world.characters import marked

__all__ = ["begin_or_resume", "unblock_story"]

_NAMED = 5


def begin_or_resume(context: StoryContext, actor: Actor, prompt: str) -> str:
    """The loop that is under way, resumed if it is paused; where there is none, a new one on a clean work tree."""
    if open_loop(context.journal) is None:
        _must_be_clean(context)
    loop = begin(context, prompt=prompt)
    if known_loop(context.journal).paused is not None:
        resume(context.journal, actor)
    return loop


def _must_be_clean(context: StoryContext) -> None:
    """Refuse to begin on unfinished work: the loop's first commit would contain it."""
    root = context.root
    try:
        text = read_text(root / FILE)
        progress = None if text is None else parse(text)
    except Refusal:
        progress = None
    if progress is None:
        return  # the loop itself says what is missing or wrong
    found = context.git.state(root)
    changed = {*found.staged, *found.unstaged, *found.untracked, *found.conflicts} - {*own_files(root, progress)}
    if changed:
        named = marked(", ".join(sorted(changed)[:_NAMED]), keep="") + ("…" if len(changed) > _NAMED else "")
        message = f"The work tree has changes that are not committed: {named}."
        raise Refusal(
            "setup_required", message, "Commit them, or put them away with `git stash -u`, then run it again."
        )


def unblock_story(journal: Journal, actor: Actor, root: Path, story: str) -> Loop | Path:
    """Start a blocked story again: in the loop that is under way, or else in `progress.txt` for the next one."""
    path = root / FILE
    text = read_text(path) if open_loop(journal) is None else None
    if text is None or actor.kind != ActorKind.HUMAN:
        return unblock(journal, actor, story)
    write_text(real_ports().files, path, unblocked(text, story))
    return path
