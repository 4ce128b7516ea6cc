"""PURE. `run.json`: one run of a thread's loop, iteration by iteration. The seed names the file and leaves the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from interlock.decoding import convert
from interlock.errors import InterlockError
from interlock.work.threads.phases import check_id, corrupt

__all__ = ["RunFile", "RunIteration", "load_run", "written_run"]

_RUN_VERSION: Final = 1


class RunIteration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One iteration of a run: who worked, and what came of it."""

    number: int
    agent: str
    started_at: str
    ended_at: str | None = None
    ending: str | None = None
    """How the agent's process ended, in the words of its run."""
    promised: bool = False
    """Whether the agent said that it was done."""
    verified: bool | None = None
    """What came of the verification, if there was one."""
    criteria_passed: int | None = None
    summary: str | None = None


class RunFile(msgspec.Struct, frozen=True):
    """What `run.json` says."""

    id: str
    thread_id: str
    spec_revision: int
    started_at: str
    status: str
    """The phase of the thread in which the run is, or which ended it."""
    ended_at: str | None = None
    models: tuple[str, ...] = ()
    iterations: tuple[RunIteration, ...] = ()
    data: Mapping[str, Any] = {}
    """What else there is to know: what it cost, the hash of the output."""


def written_run(run: RunFile) -> str:
    """The text that says this."""
    check_id(run.id)
    check_id(run.thread_id)
    text = msgspec.json.encode({"schema_version": _RUN_VERSION, **msgspec.structs.asdict(run)})
    return msgspec.json.format(text, indent=2).decode() + "\n"


def load_run(text: str | bytes, what: str = "run.json") -> RunFile:
    """What a text says: `thread_corrupt` for what is no run, `thread_newer` for one of a later version."""
    try:
        raw = msgspec.json.decode(text)
        version = raw.get("schema_version") if isinstance(raw, dict) else None
        if isinstance(version, int) and version > _RUN_VERSION:
            message = f"{what} has version {version} of its schema; this version of Interlock knows {_RUN_VERSION}."
            raise InterlockError("thread_newer", message, "Update Interlock; nothing was changed.")
        if version != _RUN_VERSION or isinstance(version, bool):
            raise corrupt(what, "`schema_version` is missing, or there never was such a version")
        run = convert(raw, RunFile)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise corrupt(what, f"it is no run ({str(error)[:200]})") from None
    check_id(run.id)
    check_id(run.thread_id)
    return run
