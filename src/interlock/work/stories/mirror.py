"""The loop's own files in the person's checkout, beside those in the tree in which its agents work.

People read and edit `progress.txt`, `prd.json` and the stories in their checkout. What they edited there is taken into
the tree before a step, and what the loop wrote comes out after it, while they are on the branch that the loop began on.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Lease
from interlock.work.driver.fold import Fold
from interlock.work.driver.target_branch import (
    beginning_of,
    ended_trees,
    require_commands,
    target_of,
)
from interlock.work.stories.context import Mirror, StoryContext, leads_out, mirrored, note, own_files
from interlock.work.stories.progress import FILE, Progress
from interlock.work.stories.reading import MACHINE
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import take

__all__ = ["end_tree", "end_trees", "since_then", "sweep_up", "take_in", "with_tree", "write_out"]

_UNSEEN = ""
"""The hash of a file that was not looked at yet."""


def with_tree(context: StoryContext, loop: Loop, lease: Lease) -> StoryContext:
    """Return the context with the loop's own tree as its root; the same if there is nothing to make a tree of."""
    if context.agent_tree is not None or loop.outcome is not None:
        return context
    if loop.beginning is None and (loop.paused is not None or context.ports.files.mark(context.progress) is None):
        return context
    own = own_files(context.root, loop.progress)
    start = loop.beginning or beginning_of(context, commits=context.commits, own=own)
    if start is None:
        return context
    target = target_of(context, loop.id, start, commits=context.commits)
    tree = target.tree
    earlier = context.git.tree_hash(context.root) if loop.progress.stories and loop.beginning is None else None
    tree.make()
    if earlier is not None:  # an earlier version worked in the checkout
        context.git.put_tree(tree.files, earlier, context.git.tree_hash(tree.files))
    if loop.beginning is None:
        note(context, loop.id, lease, "placed", branch=start.branch, commit=start.commit)
    placed = replace(context, root=tree.files, agent_tree=tree, mirror=Mirror(target))
    take_in(placed, loop)
    if not loop.progress.stories:
        require_commands(tree, context.tests)
    return placed


def end_trees(context: StoryContext) -> None:
    """Remove the trees of loops that have ended, whose drivers died before they could."""
    for name in ended_trees(context, MACHINE):
        loop = Fold(name, Loop, take).read(context.journal)
        sweep_up(context, loop)
        if loop.beginning is not None:
            target_of(context, name, loop.beginning, commits=context.commits).end(_kept_at_end(loop))


def sweep_up(context: StoryContext, loop: Loop) -> None:
    """Remove what a driver that died was about to write: it would be taken for work, and committed."""
    for root in {context.root, *([context.mirror.root] if context.mirror is not None else [])}:
        for place in {(root / name).parent for name in own_files(root, loop.progress)}:
            context.ports.files.sweep(place)


def end_tree(context: StoryContext, loop: Loop) -> None:
    """Remove the tree of a loop that has ended."""
    if context.mirror is not None:
        context.mirror.target.end(_kept_at_end(loop))


def _kept_at_end(loop: Loop) -> str:
    return f"story/{loop.id}/end"


# The files


def take_in(context: StoryContext, loop: Loop, *, is_whole: bool = True) -> None:
    """Bring what the person edited in their checkout into the tree; only `progress.txt` unless it `is_whole`."""
    mirror = _followed(context)
    if mirror is None:
        return
    names = mirrored(context, mirror, loop.progress) if is_whole else (FILE,)
    theirs = context.cache.seen.hashes(str(mirror.root), names)
    new = [name for name, one in theirs.items() if one != mirror.known.get(name, _UNSEEN)]
    ours = context.cache.seen.hashes(str(context.root), new)
    edited = [name for name in new if theirs[name] != ours[name]]
    committed = _committed(context, [name for name in edited if name not in mirror.known])
    for name in edited:
        is_ours = theirs[name] == committed.get(name, _UNSEEN) or (name == FILE and theirs[name] in loop.projected)
        if not is_ours:
            context.cache.released.pop(name, None)
            _copy(context, mirror.root, context.root, name)
    mirror.known |= theirs


def write_out(context: StoryContext, loop: Loop, *more: str, is_whole: bool = False) -> None:
    """Bring the loop's `progress.txt`, and more of its own files, into the person's checkout.

    If it `is_whole`, all of them. A file that the person has edited since stays as it is. While the branch
    stays behind, none is written, and those that were are as they were committed: git can merge only then.
    """
    mirror = _followed(context)
    if mirror is None:
        return
    names = mirrored(context, mirror, loop.progress) if is_whole else (FILE, *more)
    theirs, ours = _hashes(context, mirror, names)
    if mirror.target.is_behind:
        _withdraw(context, mirror, loop, theirs)
        return
    for name, one in ours.items():
        if one is not None and one != theirs[name] and theirs[name] == mirror.known.get(name, _UNSEEN):
            _copy(context, context.root, mirror.root, name)
            mirror.known[name] = mirror.written[name] = one
    mirror.progress = loop.progress


def _withdraw(context: StoryContext, mirror: Mirror, loop: Loop, theirs: dict[str, str | None]) -> None:
    ours = {*loop.projected, *mirror.written.values()}
    committed = context.git.contents(mirror.root, "HEAD", [name for name, one in theirs.items() if one in ours])
    for name, content in committed.items():
        mirror.known[name] = hashlib.sha256(content).hexdigest()
        if mirror.known[name] == theirs[name]:
            continue
        context.ports.files.write_bytes(mirror.root / name, content, is_durable=False)
        if name == FILE:
            with suppress(Refusal):
                mirror.progress = context.cache.progress_file.parse(content.decode("utf-8", "replace"))


def since_then(mirror: Mirror | None, theirs: Progress, now: Progress) -> Progress:
    """A person's `progress.txt`, with what the loop has done since the text that they edited was written."""
    then = mirror.progress if mirror is not None else None
    if then is None:
        return theirs
    stories = tuple(
        current if (current := now.story(one.id)) is not None and one == then.story(one.id) else one
        for one in theirs.stories
    )
    counted = {
        name: getattr(now, name)
        for name in ("iteration", "current_iteration", "metrics")
        if getattr(theirs, name) == getattr(then, name)
    }
    return replace(theirs, stories=stories, **counted)


def _followed(context: StoryContext) -> Mirror | None:
    """The mirror, if the person's checkout is on the branch that the loop commits to."""
    mirror = context.mirror
    if mirror is None or mirror.target.is_checked_out():
        return mirror
    mirror.known, mirror.progress = {}, None
    return None


def _hashes(
    context: StoryContext, mirror: Mirror, names: tuple[str, ...]
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The hashes of files in the person's checkout and in the tree."""
    seen = context.cache.seen
    return seen.hashes(str(mirror.root), names), seen.hashes(str(context.root), names)


def _committed(context: StoryContext, names: list[str]) -> dict[str, str]:
    """The hashes of files as the loop's last commit has them."""
    found = context.git.contents(context.root, "HEAD", names) if names else {}
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def _copy(context: StoryContext, from_: Path, to: Path, name: str) -> None:
    files, source, target = context.ports.files, from_ / name, to / name
    if leads_out(from_, source) or leads_out(to, target.parent):
        return  # an agent has put a link there
    content = files.read_file(source)
    if content is not None:
        files.write_bytes(target, content, is_durable=False)  # the source is still there
    elif files.mark(source) is None:
        files.remove_file(target)
