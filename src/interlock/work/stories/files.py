"""`progress.txt` made of the journal, and people's edits of it read back.

A text that we are about to write is noted by its hash before it is written, so whatever else is in the file was
written by somebody. While an agent, a test or git runs, the loop's own files are guarded: they are copied and noted by
their hashes first, and put back afterwards, however it ended. What is found while nothing is guarded is a person's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path, PurePath

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.step import noted
from interlock.work.driver.system import AfterCommit
from interlock.work.formats.hashing import sha256_of
from interlock.work.stories import plan
from interlock.work.stories.changes import accepted
from interlock.work.stories.context import StoryContext, leads_out, own, plain, read_text, write_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.mirror import since_then, take_in, write_out
from interlock.work.stories.progress import FILE, Progress, StoryStatus
from interlock.work.stories.progress_file import written
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import take

__all__ = ["guard", "move", "project", "put_back", "settle"]

_OURS = frozenset({"COMMIT", "BLOCKER"})
"""The states in which it is the loop itself that writes the guarded files, or has git do it."""
_BETWEEN = frozenset({"INIT", "STORY_SELECT"})
"""The states in which all edits of a person are taken in, before a subtask is chosen."""
_KEPT = 32_768
"""How many characters of a person's text an entry holds."""
_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def settle(step: StoryStep) -> bool:
    """Before a step: put back guarded files, take in people's edits, write `progress.txt`; True after an edit."""
    loop = step.loop
    if loop.guarded and loop.state == "COMMIT":
        return False  # the step itself finds out whether its files are in a commit already
    if loop.guarded:
        put_back(step)
    else:
        take_in(step.context, loop, is_whole=loop.state in _BETWEEN)
        if _read_back(step):
            return True
    project(step)
    write_out(step.context, loop)
    return False


def project(step: StoryStep, then: Loop | None = None) -> None:
    """Write the loop as it is, or as it will be then, to `progress.txt`; what people wrote around it stays."""
    context, loop = step.context, then or step.loop
    current = _current(context, loop)
    text = None if current is None else _text_of(context, loop, current)
    if text is not None:
        step.note("projected", sha256=sha256_of(text), file=FILE)
        _write_progress(context, text)


def _current(context: StoryContext, loop: Loop) -> str | None:
    """`progress.txt` as it is, where there is anything to say in it."""
    try:
        return read_text(context.progress, context.root) if loop.progress.stories else None
    except Refusal:
        return None


def _text_of(context: StoryContext, loop: Loop, current: str) -> str | None:
    """What the file is to be; None where it is that, or somebody is in the middle of editing it."""
    try:
        if not loop.iteration and context.cache.progress_file.parse(current).stories == loop.progress.stories:
            return None  # a loop in which nothing has happened yet has nothing to say, not even what time it is
        text = context.cache.progress_file.written(current, loop.progress)
    except Refusal:
        return None  # the selection says so
    return text if text != current else None


def move(transaction: Transaction, step: StoryStep, events: Sequence[Event]) -> AfterCommit | None:
    """Append the events of a step and the hash of the `progress.txt` that follows from them, in one transaction.

    Where a person has edited the file or told the loop something meanwhile, `settle` takes that in first.
    """
    context, lease = step.context, step.lease
    loop = step.loop.copied()  # a transaction may be tried again
    for entry in transaction.history(loop.id, loop.version):  # the notes of the step itself
        take(loop, entry)
    current = _current(context, loop)
    is_ours = current is not None and sha256_of(current) in loop.projected
    for event in events:
        take(loop, transaction.append(loop.id, event, lease=lease).entry)
    text = _text_of(context, loop, current) if is_ours and current is not None and loop.outcome is None else None
    if text is None:
        return None
    transaction.append(loop.id, noted("projected", sha256=sha256_of(text), file=FILE), lease=lease)
    return partial(_write_progress, context, text)


def _write_progress(context: StoryContext, text: str) -> None:
    context.cache.released.pop(FILE, None)
    write_text(context.ports.files, context.progress, text)


# What people edit


def _read_back(step: StoryStep) -> bool:
    """Take in what a person changed: unblocked, reordered or added stories. What they may not change is told."""
    context, loop, lease = step.context, step.loop, step.lease
    try:
        text = read_text(context.progress, context.root)
        if text is None or sha256_of(text) in loop.projected or not loop.progress.stories:
            return False
        theirs = since_then(context.mirror, context.cache.progress_file.parse(text), loop.progress)
    except Refusal:
        return False
    now, refused = accepted(loop.progress, theirs)
    for sentence in refused:
        context.report(f"{FILE}: {sentence}")
    freed = _unblocked(loop.progress, now)

    def work(transaction: Transaction) -> None:
        for story, task in freed:
            evidence = Evidence(task=plan.task_name(story, task), data={"story": story})
            transaction.append(loop.id, Event("story_unblocked", _PERSON, evidence=evidence), lease=lease)
        data = {"type": "read_back", "progress": plain(now), "sha256": sha256_of(text), "text": text[:_KEPT]}
        transaction.append(loop.id, Event(NOTED, _PERSON, evidence=Evidence(data=data)), lease=lease)

    context.journal.transact(work)
    return True


def _unblocked(before: Progress, after: Progress) -> list[tuple[str, str]]:
    """The stories that are no longer blocked, each with the task that was."""
    return [
        (old.id, old.current_task or "1")
        for old in before.stories
        if old.status is StoryStatus.BLOCKED and (now := after.story(old.id)) and now.status is not StoryStatus.BLOCKED
    ]


# What nobody may edit meanwhile


def guard(step: StoryStep) -> None:
    """Copy the loop's own files and note what they are, before something runs that must not change them."""
    context, loop = step.context, step.loop
    names, known = own(context, loop.progress), context.cache.released
    files = {name: known.get(name) for name in names}
    files |= context.cache.seen.hashes(str(context.root), [one for one in names if one not in known])
    for name, hash_ in files.items() - context.cache.copies.items():
        if hash_ is not None:
            files[name] = _copied(context, name)
    changed = dict(sorted(files.items() - loop.listed.items()))
    gone = sorted(loop.listed.keys() - files.keys())
    step.note("guarded", changed=changed, gone=gone)


def _copied(context: StoryContext, name: str) -> str | None:
    """Copy one of the files; the hash of the copy."""
    content = _content(context.root / name)
    if content is None:
        return None
    copy = _copy(context, name)
    context.ports.files.write_bytes(copy, content, is_durable=False)  # its hash tells whether it is whole
    context.cache.copies[name] = _hash(content)
    return context.cache.copies[name]


def put_back(step: StoryStep) -> None:
    """Undo what was done to the guarded files. What was in them is kept for people to look at, and told."""
    context, loop = step.context, step.loop
    if not loop.guarded:
        return
    wanted = {**dict.fromkeys(own(context, loop.progress)), **loop.guarded}
    links = _links_out(context.root, wanted)
    if links:
        _check_lease(step)
    for link in links:
        _reject(step, link)
    found = context.cache.seen.hashes(str(context.root), wanted)
    changed = sorted(name for name, _ in wanted.items() - found.items())
    if changed:
        _check_lease(step)
    for name in changed:
        if loop.state not in _OURS:
            _reject(step, name)
        _restore(context, loop, name, wanted[name])
    context.cache.released = {name: one for name, one in found.items() if name not in changed}
    step.note("released")


def _check_lease(step: StoryStep) -> None:
    """Refuse a driver that lost its lease, before it touches what is another's now."""
    assert step.lease is not None  # only a driver guards files
    step.context.journal.renew(step.lease, step.context.settings.number("driver.lease_seconds"))


def _links_out(root: Path, names: Iterable[str]) -> list[str]:
    """The directories above files that are links out of the root by now."""
    places = {name.rpartition("/")[0] for name in names}  # a thousand files are in few directories
    above = {str(one) for place in places for one in (PurePath(place), *PurePath(place).parents)}
    return [one for one in sorted(above) if (root / one).is_symlink() and leads_out(root, root / one)]


def _reject(step: StoryStep, name: str) -> None:
    context = step.context
    kept = context.ports.folder(context.state_directory).take_in(context.root / name, name)
    if kept is None:
        where, message = None, f"{name} was taken away while it was guarded; it is back"
    else:
        where = f"{context.state_directory.name}/{kept}"
        message = f"{name} was edited while it was guarded; it was put back, and the edit is kept as {where}"
        message += "; to unblock a story, use `ralph story unblock`" if name == FILE else ""
    step.note("rejected", file=name, kept=where, message=message)
    context.report(message)


def _restore(context: StoryContext, loop: Loop, name: str, wanted: str | None) -> None:
    if wanted is None:
        return
    content = _content(_copy(context, name))
    if content is not None and _hash(content) == wanted:
        context.ports.files.write_bytes(context.root / name, content)
    elif name == FILE:
        write_text(context.ports.files, context.progress, written(None, loop.progress))
    else:
        context.report(f"{name}: its copy is gone, too. Put it back with `git checkout -- {name}`.")


def _copy(context: StoryContext, name: str) -> Path:
    return context.state_directory / "guarded" / name.replace("/", "-")


def _content(path: Path) -> bytes | None:
    """What is in a file of ours; None where there is none, or it is something else than a file."""
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
