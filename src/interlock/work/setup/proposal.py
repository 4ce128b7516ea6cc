"""What `ralph init` proposes: each file with its diff, looked at in full before anything is written."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.work.setup.agents import SetupTarget
from interlock.work.setup.plan import PlanFault, SetupRecord, TextEdit, decoded, encoded, plan, plan_undo
from interlock.work.setup.surroundings import FileContent, look, supplies, work_tree
from interlock.work.setup.targets import Target, all_targets, directories, targets
from interlock.world.repository import state_directory

__all__ = ["FileChange", "Proposal", "conflict", "propose", "propose_undo"]

_RECORD = "init.json"


class FileChange(msgspec.Struct, frozen=True):
    """One file: what happens to it, and the bytes before and after; None stands for no file."""

    file: str
    action: str
    """created, changed, unchanged or removed"""
    diff: str
    real: Path
    before: bytes | None
    after: bytes | None


class Proposal(msgspec.Struct, frozen=True):
    """All that would be written."""

    start: Path
    changes: tuple[FileChange, ...]
    record: FileChange
    directories: tuple[Path, ...]
    """Those of ours that go once they are empty."""
    ralph: str
    """How `ralph` is registered."""

    @property
    def is_needed(self) -> bool:
        return any(change.action != "unchanged" for change in self.changes)


def propose(start: Path, agents: Collection[SetupTarget], environment: Mapping[str, str]) -> Proposal:
    """What setting up these agents would write in the repository around `start`."""
    root, brought, record = work_tree(start), supplies(environment), _record_file(start)
    try:
        has = [file for file in ("opencode.json", "opencode.jsonc") if os.path.lexists(root / file)]
        wanted, seen = _looked_at(root, targets(agents, brought, has))
        missing = [one for one in directories(wanted) if not (root / one).exists()]
        edits, new = plan(wanted, _texts(seen), decoded(_bytes(record)), missing)
        changes = _changes(edits, seen)
    except PlanFault as fault:
        raise _conflict(fault) from None
    return Proposal(start, changes, _change(TextEdit(_RECORD, None, None), record, encoded(new)), (), brought.ralph)


def propose_undo(start: Path, environment: Mapping[str, str]) -> Proposal:
    """What taking everything of ours out of the repository around `start` would write."""
    root, brought, record = work_tree(start), supplies(environment), _record_file(start)
    old = decoded(_bytes(record))
    try:
        wanted, seen = _looked_at(root, all_targets(brought, old.files if old else ()))
        edits = plan_undo(wanted, _texts(seen), old)
        changes = tuple(one for one in _changes(edits, seen) if one.action != "unchanged")
    except PlanFault as fault:
        raise _conflict(fault) from None
    going = _going(root, directories(wanted), old or SetupRecord(), changes)
    return Proposal(start, changes, _change(TextEdit(_RECORD, None, None), record, None), going, brought.ralph)


def conflict(file: str, why: str, hint: str = "Mend it") -> InterlockError:
    """The error for a file that cannot be edited."""
    hint = f"{hint}, then run it again. Nothing was written."
    return InterlockError("setup_conflict", f"{file} cannot be edited: {why}.", hint, {"file": file})


def _conflict(fault: PlanFault) -> InterlockError:
    return conflict(fault.file, str(fault), "Rename or remove what is there" if fault.is_foreign else "Mend it")


def _looked_at(root: Path, wanted: Sequence[Target]) -> tuple[list[Target], dict[str, FileContent]]:
    """The files as they are; one that is another by a link is edited once."""
    seen = {target.file: look(root, target.file) for target in wanted}
    first = {one.real: file for file, one in reversed(seen.items())}
    return [target for target in wanted if first[seen[target.file].real] == target.file], seen


def _texts(seen: Mapping[str, FileContent]) -> dict[str, str | None]:
    return {file: one.text for file, one in seen.items()}


def _changes(edits: Sequence[TextEdit], seen: Mapping[str, FileContent]) -> tuple[FileChange, ...]:
    changes = [_change(edit, seen[edit.file].real, _encoded(edit.after)) for edit in edits]
    for change in changes:
        if change.action != "unchanged":
            _check_writable(change)
    return tuple(changes)


def _change(edit: TextEdit, real: Path, after: bytes | None) -> FileChange:
    before = _encoded(edit.before) if edit.before is not None else _bytes(real)
    if before == after:
        action = "unchanged"
    else:
        action = "created" if before is None else "removed" if after is None else "changed"
    return FileChange(edit.file, action, _diff(edit), real, before, after)


def _check_writable(change: FileChange) -> None:
    directory = next(one for one in change.real.parents if one.exists())
    if change.before is not None and not os.access(change.real, os.W_OK):
        raise PlanFault(change.file, "it may not be written")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PlanFault(change.file, f"its directory {directory} may not be written")


def _going(root: Path, ours: Sequence[str], old: SetupRecord, changes: Sequence[FileChange]) -> tuple[Path, ...]:
    """Our directories, the inner ones first: those that we made, and those of files of which nobody knows more."""
    removed = [one.file for one in changes if one.action == "removed" and one.file not in old.files]
    going = [one for one in ours if one in old.directories or any(Path(file).is_relative_to(one) for file in removed)]
    return tuple(root / one for one in reversed(going))


def _record_file(start: Path) -> Path:
    return state_directory(start) / _RECORD


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


# The diff


def _diff(edit: TextEdit) -> str:
    """A unified diff of a file, as git shows it; nothing if it stays as it is."""
    if edit.before == edit.after:
        return ""
    old = "/dev/null" if edit.before is None else f"a/{edit.file}"
    new = "/dev/null" if edit.after is None else f"b/{edit.file}"
    lines = difflib.unified_diff(_lines(edit.before), _lines(edit.after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    """The lines of a text; `splitlines` would also split where a diff does not."""
    return (
        [f"{line}\n" for line in text.split("\n")[:-1]] + [text.split("\n")[-1]] * (not text.endswith("\n"))
        if text
        else []
    )
