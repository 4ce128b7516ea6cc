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
from interlock.work.hashing import sha256_of
from interlock.work.stories import plan
from interlock.work.stories.changes import accepted
from interlock.work.stories.progress import FILE, Progress, Status, written
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import take
from interlock.work.stories.yard import DRIVER, Yard, note, own, own_files, plain, read_text, write_text
from interlock.world.files import sweep, write_bytes
from interlock.world.folder import Folder

__all__ = ["guard", "move", "project", "put_back", "settle", "sweep_up"]

_OURS = frozenset({"COMMIT", "BLOCKER"})
"""The states in which it is the loop itself that writes the guarded files, or has git do it."""
_SELECTS = "STORY_SELECT"
_KEPT = 32_768
"""How many characters of a person's text an entry holds."""
_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def sweep_up(yard: Yard, loop: Loop) -> None:
    """Take away what a driver that died was about to write: it would be taken for an agent's work, and committed."""
    for place in {(yard.root / name).parent for name in own_files(yard.root, loop.progress)}:
        sweep(place)


def settle(yard: Yard, loop: Loop, lease: Lease) -> Loop:
    """Before a step: undo what nothing may do, take in what people changed, and let the file say what is so."""
    if loop.guarded and loop.state == "COMMIT":
        return loop  # whether its files are in a commit already, the step itself finds out
    if loop.guarded:
        put_back(yard, loop, lease)
    elif _read_back(yard, loop, lease):
        loop = yard.desk.loop(yard.journal, loop.id)
    project(yard, loop, lease)
    return loop


def project(yard: Yard, loop: Loop, lease: Lease) -> None:
    """Let `progress.txt` say what the loop says; what people wrote around it stays."""
    current = _current(yard, loop)
    text = None if current is None else _text_of(yard, loop, current)
    if text is not None:
        note(yard, loop.id, lease, "projected", sha256=sha256_of(text), file=FILE)
        loop.projected.append(sha256_of(text))
        write_text(yard.progress, text)


def _current(yard: Yard, loop: Loop) -> str | None:
    """`progress.txt` as it is, where there is anything to say in it."""
    try:
        return read_text(yard.progress) if loop.progress.stories else None
    except Refusal:
        return None


def _text_of(yard: Yard, loop: Loop, current: str) -> str | None:
    """What the file is to be; None where it is that, or somebody is in the middle of editing it."""
    try:
        if not loop.iteration and yard.desk.sheet.parse(current).stories == loop.progress.stories:
            return None  # a loop in which nothing has happened yet has nothing to say, not even what time it is
        text = yard.desk.sheet.written(current, loop.progress)
    except Refusal:
        return None  # the selection says so
    return text if text != current else None


def move(yard: Yard, seen: Loop, event: Event, lease: Lease) -> None:
    """Move the loop by what came of a step, and let `progress.txt` say it: one write of the journal for both.

    Where a person has edited the file meanwhile, or tells the loop something, that is taken in first, by `settle`.
    What was selected before a person freed a story is selected anew.
    """
    id_ = seen.id
    loop = yard.desk.loop(yard.journal, id_)
    current = _current(yard, loop)
    is_ours = current is not None and sha256_of(current) in loop.projected

    def work(transaction: Transaction) -> str | None:
        later = transaction.history(id_, seen.version) if seen.state == _SELECTS else ()
        if any(one.event != NOTED for one in later):
            return None
        entry = transaction.append(id_, event, lease=lease).entry
        if not is_ours or current is None or entry.version != loop.version + 1:
            return None
        take(loop, entry)
        text = _text_of(yard, loop, current) if loop.outcome is None else None
        if text is not None:
            data = {"type": "projected", "sha256": sha256_of(text), "file": FILE}
            transaction.append(id_, Event(NOTED, DRIVER, evidence=Evidence(data=data)), lease=lease)
        return text

    text = yard.journal.transact(work)
    if text is not None:
        write_text(yard.progress, text)


# What people edit


def _read_back(yard: Yard, loop: Loop, lease: Lease) -> bool:
    """Take in what a person changed: unblocked, reordered or added stories. What they may not change is told."""
    try:
        text = read_text(yard.progress)
        if text is None or sha256_of(text) in loop.projected or not loop.progress.stories:
            return False
        theirs = yard.desk.sheet.parse(text)
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
        data = {"type": "read_back", "progress": plain(now), "sha256": sha256_of(text), "text": text[:_KEPT]}
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
    files = {name: yard.desk.seen.hash(f"{yard.root}/{name}") for name in own(yard, loop.progress)}
    for name, hash_ in files.items():
        if hash_ is not None and yard.desk.copies.get(name) != hash_:
            files[name] = _copied(yard, name)
    changed = {name: hash_ for name, hash_ in files.items() if loop.listed.get(name, "") != hash_}
    gone = [name for name in loop.listed if name not in files]
    note(yard, loop.id, lease, "guarded", changed=changed, gone=gone)
    loop.guarded, loop.listed = files, dict(files)


def _copied(yard: Yard, name: str) -> str | None:
    """Copy one of the files; the hash of the copy."""
    content = _content(yard.root / name)
    if content is None:
        return None
    write_bytes(_copy(yard, name), content, is_durable=False)  # it is told by its hash whether it is whole
    yard.desk.copies[name] = _hash(content)
    return yard.desk.copies[name]


def put_back(yard: Yard, loop: Loop, lease: Lease) -> None:
    """Undo what was done to the guarded files. What was in them is kept for people to look at, and told."""
    if not loop.guarded:
        return
    for name in {**loop.guarded, **dict.fromkeys(own(yard, loop.progress))}:
        wanted = loop.guarded.get(name)
        if yard.desk.seen.hash(f"{yard.root}/{name}") != wanted:
            if loop.state not in _OURS:
                _reject(yard, loop, lease, name)
            _restore(yard, loop, name, wanted)
    note(yard, loop.id, lease, "released")
    loop.guarded = {}


def _reject(yard: Yard, loop: Loop, lease: Lease, name: str) -> None:
    kept = Folder(yard.state_directory).take_in(yard.root / name, name)
    if kept is None:
        where, message = None, f"{name} was taken away while it was guarded; it is back"
    else:
        where = f"{yard.state_directory.name}/{kept}"
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
