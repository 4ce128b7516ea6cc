"""`progress.txt` made of the journal, and people's edits of it read back.

A text that we are about to write is noted by its hash before it is written, so whatever else is in the file was
written by somebody. While an agent, a test or git runs, the loop's own files are guarded: they are copied and noted by
their hashes first, and put back afterwards, however it ended. What is found while nothing is guarded is a person's.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from interlock.errors import Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.stories import plan
from interlock.work.stories.changes import accepted
from interlock.work.stories.progress import FILE, Progress, Status, parse, written
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.stories.yard import Yard, note, own_files, plain, read_text, sha, write_bytes, write_text

__all__ = ["guard", "project", "put_back", "settle"]

_OURS = frozenset({"COMMIT", "BLOCKER"})
"""The states in which it is the loop itself that writes the guarded files, or has git do it."""
_KEPT = 32_768
"""How many characters of a person's text an entry holds."""
_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def settle(yard: Yard, loop: Loop, lease: Lease) -> Loop:
    """Before a step: undo what nothing may do, take in what people changed, and let the file say what is so."""
    if loop.guarded and loop.state == "COMMIT":
        return loop  # whether its files are in a commit already, the step itself finds out
    if loop.guarded:
        put_back(yard, loop, lease)
    elif _read_back(yard, loop, lease):
        loop = loop_of(yard.journal.history(loop.id))
    project(yard, loop, lease)
    return loop


def project(yard: Yard, loop: Loop, lease: Lease) -> None:
    """Let `progress.txt` say what the loop says; what people wrote around it stays."""
    try:
        current = read_text(yard.progress)
        if current is None or not loop.progress.stories:
            return
        text = written(current, loop.progress)
    except Refusal:
        return  # somebody is in the middle of editing it; the selection says so
    if text != current:
        note(yard, loop.id, lease, "projected", sha256=sha(text), file=FILE)
        loop.projected.append(sha(text))
        write_text(yard.progress, text)


# What people edit


def _read_back(yard: Yard, loop: Loop, lease: Lease) -> bool:
    """Take in what a person changed: unblocked, reordered or added stories. What they may not change is told."""
    try:
        text = read_text(yard.progress)
        if text is None or sha(text) in loop.projected or not loop.progress.stories:
            return False
        theirs = parse(text)
    except Refusal:
        return False
    now, refused = accepted(loop.progress, theirs)
    for sentence in refused:
        yard.tell(f"{FILE}: {sentence}")
    freed = _unblocked(loop.progress, now)

    def work(transaction: Transaction) -> None:
        for story, task in freed:
            evidence = Evidence(task=plan.task_name(story, task), data={"story": story})
            transaction.append(loop.id, Event("story_unblocked", _PERSON, evidence=evidence), lease=lease)
        data = {"type": "read_back", "progress": plain(now), "sha256": sha(text), "text": text[:_KEPT]}
        transaction.append(loop.id, Event(NOTED, _PERSON, evidence=Evidence(data=data)), lease=lease)

    yard.journal.transact(work)
    return True


def _unblocked(before: Progress, after: Progress) -> list[tuple[str, str]]:
    """The stories that are no longer blocked, each with the task that was."""
    return [
        (old.id, old.current_task or "1")
        for old in before.stories
        if old.status is Status.BLOCKED and (now := after.story(old.id)) and now.status is not Status.BLOCKED
    ]


# What nobody may edit meanwhile


def guard(yard: Yard, loop: Loop, lease: Lease) -> None:
    """Copy the loop's own files and note what they are, before something runs that must not change them."""
    files: dict[str, str | None] = {}
    for name in own_files(yard.root, loop.progress):
        content = _content(yard.root / name)
        files[name] = None if content is None else _hash(content)
        if content is not None:
            write_bytes(_copy(yard, name), content)
    note(yard, loop.id, lease, "guarded", files=files)
    loop.guarded = files


def put_back(yard: Yard, loop: Loop, lease: Lease) -> None:
    """Undo what was done to the guarded files. What was in them is kept for people to look at, and told."""
    if not loop.guarded:
        return
    for name in {**loop.guarded, **dict.fromkeys(own_files(yard.root, loop.progress))}:
        path, wanted = yard.root / name, loop.guarded.get(name)
        content = _content(path)
        if (None if content is None else _hash(content)) != wanted:
            if loop.state not in _OURS:
                _reject(yard, loop, lease, name)
            _restore(yard, loop, name, wanted)
    note(yard, loop.id, lease, "released")
    loop.guarded = {}


def _reject(yard: Yard, loop: Loop, lease: Lease, name: str) -> None:
    path = yard.root / name
    if not path.exists() and not path.is_symlink():
        message = f"{name} was taken away while it was guarded; it is back"
        note(yard, loop.id, lease, "rejected", file=name, kept=None, message=message)
    else:
        kept = yard.state_directory / "rejected" / f"{name.replace('/', '-')}-{loop.version}"
        kept.parent.mkdir(parents=True, exist_ok=True)
        path.replace(kept)
        where = str(kept.relative_to(yard.state_directory.parent))
        message = f"{name} was edited while it was guarded; it was put back, and the edit is kept as {where}"
        message += "; to unblock a story, use `ralph story unblock`" if name == FILE else ""
        note(yard, loop.id, lease, "rejected", file=name, kept=where, message=message)
    yard.tell(message)


def _restore(yard: Yard, loop: Loop, name: str, wanted: str | None) -> None:
    if wanted is None:
        return
    content = _content(_copy(yard, name))
    if content is not None and _hash(content) == wanted:
        write_bytes(yard.root / name, content)
    elif name == FILE:
        write_text(yard.progress, written(None, loop.progress))
    else:
        yard.tell(f"{name}: its copy is gone, too. Put it back with `git checkout -- {name}`.")


def _copy(yard: Yard, name: str) -> Path:
    return yard.state_directory / "guarded" / name.replace("/", "-")


def _content(path: Path) -> bytes | None:
    """What is in a file of ours; None where there is none, or it is something else than a file."""
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
