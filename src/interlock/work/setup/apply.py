"""Writing a proposal: every file is staged beside its place, then renamed into it; a failure restores them all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from interlock.work.setup.proposal import FileChange, Proposal, conflict
from interlock.world.repository import exclude_state

__all__ = ["carry_out"]


def carry_out(proposal: Proposal) -> None:
    """Write all of it or none of it; a file that was changed since it was looked at is a conflict."""
    is_undo = proposal.record.after is None
    needed = [change for change in proposal.changes if change.action != "unchanged"]
    # A crash in between must never leave files of ours without the record of how it was before.
    order = [*needed, proposal.record] if is_undo else [proposal.record, *needed]
    if not is_undo:
        _exclude(proposal)
    _write(order)
    if is_undo:
        for directory in (*proposal.directories, proposal.record.real.parent):
            with contextlib.suppress(OSError):  # somebody else's files are in it
                directory.rmdir()


def _exclude(proposal: Proposal) -> None:
    try:
        exclude_state(proposal.start)
    except OSError as error:
        raise conflict(".git/info/exclude", error.strerror or "it may not be written") from None


def _write(changes: list[FileChange]) -> None:
    made: list[Path] = []
    staged: list[tuple[FileChange, Path | None]] = []
    done: list[tuple[FileChange, int | None]] = []
    change = changes[0]
    try:
        for change in changes:
            temporary = _staged(change, made)
            staged.append((change, temporary))
        for change, _ in staged:
            _check_unchanged(change)
        for change, temporary in staged:
            done.append((change, _mode(change.real)))
            _moved(change, temporary)
    except BaseException as error:
        _restore(done, made, [temporary for _, temporary in staged if temporary])
        if isinstance(error, OSError):
            raise conflict(change.file, error.strerror or str(error)) from None
        raise


def _check_unchanged(change: FileChange) -> None:
    now = change.real.read_bytes() if change.real.exists() else None
    if now != change.before:
        raise conflict(change.file, "somebody changed it meanwhile", "Look at it")


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _staged(change: FileChange, made: list[Path]) -> Path | None:
    """The new text in a file beside its place, with the mode of the old one."""
    if change.after is None:
        return None
    for directory in reversed([one for one in change.real.parents if not one.exists()]):
        directory.mkdir()
        made.append(directory)
    return _temporary(change.real, change.after, _mode(change.real))


def _temporary(path: Path, content: bytes, mode: int | None) -> Path:
    handle, name = tempfile.mkstemp(prefix=".ralph-init-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode if mode is not None else 0o666 & ~_umask())
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _moved(change: FileChange, temporary: Path | None) -> None:
    if temporary is not None:
        temporary.replace(change.real)
    elif change.before is not None:
        change.real.unlink()


def _restore(done: list[tuple[FileChange, int | None]], made: list[Path], temporaries: list[Path]) -> None:
    """Everything as it was, as far as the disk still lets us."""
    for change, mode in reversed(done):
        with contextlib.suppress(OSError):
            if change.before is None:
                change.real.unlink(missing_ok=True)
            elif not change.real.exists() or change.real.read_bytes() != change.before:
                _temporary(change.real, change.before, mode).replace(change.real)
    for path in temporaries:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    for directory in reversed(made):
        with contextlib.suppress(OSError):
            directory.rmdir()
