"""PURE. What would be edited: from the files' texts and the record to the new texts and the new record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from interlock.decoding import decode
from interlock.work.setup.entries import Foreign, SetupFault
from interlock.work.setup.targets import Target, Trace

__all__ = ["PlanFault", "SetupRecord", "TextEdit", "decoded", "encoded", "plan", "plan_undo"]


class SetupRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was there before: `.ralf/init.json`."""

    version: int = 1
    files: dict[str, Trace] = {}
    directories: list[str] = []
    """Those that we made."""


class PlanFault(Exception):
    """A file that cannot be edited, and why."""

    def __init__(self, file: str, why: str, *, is_foreign: bool = False) -> None:
        super().__init__(why)
        self.file = file
        self.is_foreign = is_foreign


class TextEdit(msgspec.Struct, frozen=True):
    """A file's text before and after; None stands for no file."""

    file: str
    before: str | None
    after: str | None


def decoded(text: bytes | None) -> SetupRecord | None:
    """The record in a file; None if there is none that we can read."""
    try:
        record = decode(text, SetupRecord) if text is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return record if record is not None and record.version == 1 else None


def encoded(record: SetupRecord) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def plan(
    targets: Sequence[Target],
    texts: Mapping[str, str | None],
    record: SetupRecord | None,
    missing: Collection[str] = (),
) -> tuple[list[TextEdit], SetupRecord]:
    """Every file with our part in it, and the record to keep; `missing` are the directories that are not there."""
    old = record or SetupRecord()
    edits: list[TextEdit] = []
    files = dict(old.files)
    for target in targets:
        text = texts[target.file]
        before = old.files.get(target.file)
        try:
            edits.append(TextEdit(target.file, text, target.put(text, before)))
            trace = target.traced(text, before)
        except SetupFault as fault:
            raise _fault(target, fault) from None
        files.pop(target.file, None)
        if trace is not None:
            files[target.file] = trace
    return edits, SetupRecord(files=files, directories=sorted({*old.directories, *missing}))


def _fault(target: Target, fault: SetupFault) -> PlanFault:
    return PlanFault(target.file, str(fault), is_foreign=isinstance(fault, Foreign))


def plan_undo(targets: Sequence[Target], texts: Mapping[str, str | None], record: SetupRecord | None) -> list[TextEdit]:
    """Every file that is there, without our part."""
    edits: list[TextEdit] = []
    traces = record.files if record else {}
    for target in targets:
        text = texts[target.file]
        if text is None:
            continue
        try:
            edits.append(TextEdit(target.file, text, target.take(text, traces.get(target.file))))
        except SetupFault as fault:
            raise _fault(target, fault) from None
    return edits
