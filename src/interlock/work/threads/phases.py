"""PURE. `thread.json`: where a thread stands, as the seed's schema has it.

    {"schema_version": 1, "id": "abc123", "title": "Add feature X",
     "phase": {"type": "Running", "data": {"iteration": 3}}, ...}

A phase is tagged: its name, and what it carries, if it carries anything. An older version is migrated when it is read,
one step a version; a newer one is refused. Keys that the schema does not have are kept in `extra`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeAlias, get_type_hints

import msgspec

from interlock.decoding import convert
from interlock.errors import InterlockError, UsageError
from interlock.machine import load_shipped

__all__ = [
    "MIGRATIONS",
    "SCHEMA_VERSION",
    "BaselineView",
    "Committed",
    "Data",
    "Diagnosed",
    "DiagnosisView",
    "Iterated",
    "Mode",
    "Phase",
    "Reasoned",
    "RunConfig",
    "ThreadFile",
    "carried",
    "check_id",
    "corrupt",
    "load",
    "written",
]

SCHEMA_VERSION: Final = 1
Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""What makes of a version the next one, by the version that it starts from. Version 1 is the first there ever was."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LARGEST: Final = 1 << 32


class Mode(StrEnum):
    """How much of the way between the gates a thread goes by itself."""

    QUICK = "Quick"
    METHODICAL = "Methodical"


class Iterated(msgspec.Struct, frozen=True):
    """What a state of a run carries."""

    iteration: int


class Reasoned(msgspec.Struct, frozen=True):
    """What PreflightFailed and Abandoned carry."""

    reason: str


class DiagnosisView(msgspec.Struct, frozen=True):
    """How far a thread came before it was stuck."""

    iterations_attempted: int
    models_tried: tuple[str, ...]
    best_criteria_passed: int
    total_criteria: int
    last_error: str | None = None

    def __str__(self) -> str:
        many = "iteration" if self.iterations_attempted == 1 else "iterations"
        return f"{self.best_criteria_passed}/{self.total_criteria} criteria ({self.iterations_attempted} {many})"


class Diagnosed(msgspec.Struct, frozen=True):
    """What Stuck carries."""

    diagnosis: DiagnosisView


class Committed(msgspec.Struct, frozen=True):
    """What Done carries."""

    commit_sha: str


Data: TypeAlias = Iterated | Reasoned | Diagnosed | Committed

_SHAPES: Final[Mapping[str, type[Data]]] = {
    "iteration": Iterated,
    "reason": Reasoned,
    "diagnosis": Diagnosed,
    "commit_sha": Committed,
}
"""The shape of each thing that a state of the thread's machine carries."""


@cache
def carried() -> Mapping[str, type[Data] | None]:
    """Every phase, with the shape of what it carries: the states of the shipped machine."""
    states = load_shipped("thread").states
    return {name: next((_SHAPES[one] for one in state.carries), None) for name, state in states.items()}


class Phase(msgspec.Struct, frozen=True, omit_defaults=True):
    """A phase by its name, with what it carries."""

    type: str
    data: Data | None = None


class RunConfig(msgspec.Struct, frozen=True):
    """How a thread is run."""

    max_iterations: int = 5
    models: tuple[str, ...] = ("claude-sonnet",)


class BaselineView(msgspec.Struct, frozen=True):
    """Where a thread began, and where a reset leads."""

    branch: str
    commit_sha: str
    captured_at: str


class ThreadFile(msgspec.Struct, frozen=True):
    """What `thread.json` says. Times are RFC 3339."""

    id: str
    title: str
    created_at: str
    updated_at: str
    phase: Phase
    current_spec_revision: int = 1
    """The revision of the spec that counts, or the first one to come."""
    current_run_id: str | None = None
    mode: Mode = Mode.METHODICAL
    run_config: RunConfig | None = None
    baseline: BaselineView | None = None
    extra: Mapping[str, Any] = {}
    """Keys beside those of the schema, in their order: ours, or whoever's."""


_FIELDS: Final = tuple(name for name in ThreadFile.__struct_fields__ if name != "extra")
_REQUIRED: Final = frozenset({"id", "title", "created_at", "updated_at", "phase"})
_KEYS: Final = frozenset({"schema_version", *_FIELDS})
_TYPES: Final = get_type_hints(ThreadFile)


# Writing


def written(view: ThreadFile) -> str:
    """The text that says this; `load` gives the very same again, or `thread_corrupt` is raised here already."""
    doubled = _KEYS & view.extra.keys()
    if doubled:
        raise corrupt(view.id, f"`{min(doubled)}` is given twice")
    _check(view)
    fields = {name: getattr(view, name) for name in _FIELDS}
    text = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **fields, **view.extra})
    return msgspec.json.format(text, indent=2).decode() + "\n"


# Reading


def check_id(id_: str) -> str:
    """The id of a thread or a run, if it can be a name in a directory and nothing else."""
    if not _ID.fullmatch(id_):
        message = f"{id_[:80]!r} is no id: an id has 1 to 128 letters, digits, `-` and `_`."
        raise UsageError("invalid_argument", message, "`ralph thread list` shows the ids.")
    return id_


def corrupt(what: str, why: str) -> InterlockError:
    """The error of a file that does not say what it has to say."""
    hint = "The journal knows where the thread stands: `ralph thread list` writes its files anew."
    return InterlockError("thread_corrupt", f"{what}: {why}.", hint)


def load(
    text: str | bytes,
    what: str = "thread.json",
    *,
    current: int = SCHEMA_VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> ThreadFile:
    """What a text says. `what` names it in the errors: `thread_corrupt`, `thread_newer`, `invalid_argument`."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise corrupt(what, f"it is no JSON ({str(error)[:200]})") from None
    if not isinstance(raw, dict):
        raise corrupt(what, "it is no JSON object")
    raw = _migrated(raw, what, current, migrations)
    fields = {name: _field(raw, name, what) for name in _FIELDS if name in raw or name in _REQUIRED}
    extra = {name: value for name, value in raw.items() if name not in _KEYS}
    view = ThreadFile(**fields, extra=extra)
    _check(view, what)
    return view


def _migrated(raw: dict[str, Any], what: str, current: int, migrations: Mapping[int, Migration]) -> dict[str, Any]:
    version = raw.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise corrupt(what, "`schema_version` is missing, or no whole number")
    if version > current:
        message = f"{what} has version {version} of its schema; this version of Interlock knows up to {current}."
        raise InterlockError("thread_newer", message, "Update Interlock; nothing was changed.")
    for step in range(version, current):
        if step not in migrations:
            raise corrupt(what, f"there never was a version {step} of the schema")
        raw = migrations[step](raw)
    return raw


def _field(raw: dict[str, Any], name: str, what: str) -> Any:
    if name not in raw:
        raise corrupt(what, f"`{name}` is missing")
    if name == "phase":
        return _phase(raw[name], what)
    try:
        return convert(raw[name], _TYPES[name])
    except msgspec.ValidationError as error:
        raise corrupt(what, f"`{name}`: {_said(error)}") from None


def _phase(phase: Any, what: str) -> Phase:
    """A phase, with its data as what it carries; what else is in there is nothing of ours."""
    name = phase.get("type") if isinstance(phase, dict) else None
    if not isinstance(name, str):
        raise corrupt(what, "`phase` is no object with a `type`")
    if name not in carried():
        raise corrupt(what, f"{name[:80]!r} is no phase")
    shape, data = carried()[name], phase.get("data")
    if shape is None and data is not None:
        raise corrupt(what, f"the phase {name} has no `data`")
    try:
        return Phase(name, None if shape is None else convert(data, shape))
    except msgspec.ValidationError as error:
        raise corrupt(what, f"the `data` of the phase {name}: {_said(error)}") from None


def _said(error: msgspec.ValidationError) -> str:
    said = str(error)
    return said[:1].lower() + said[1:300]


def _check(view: ThreadFile, what: str = "thread.json") -> None:
    """What types alone do not say."""
    check_id(view.id)
    if view.current_run_id is not None:
        check_id(view.current_run_id)
    data, base = view.phase.data, view.baseline
    if type(data) is not (carried().get(view.phase.type, Phase) or type(None)):
        raise corrupt(what, f"the phase {view.phase.type[:80]!r} does not carry {type(data).__name__}")
    for name, value in _numbers(view):
        if not (name == "current_spec_revision") <= value < _LARGEST:
            raise corrupt(what, f"`{name}` is {value}")
    commits = {"baseline.commit_sha": base.commit_sha if base else None}
    commits["phase.data.commit_sha"] = data.commit_sha if isinstance(data, Committed) else None
    for name, commit in commits.items():
        if commit is not None and not _COMMIT.fullmatch(commit):
            raise corrupt(what, f"`{name}` is no commit: {commit[:80]!r}")
    times = {"created_at": view.created_at, "updated_at": view.updated_at}
    for name, time in (times | ({"baseline.captured_at": base.captured_at} if base else {})).items():
        if not _is_time(time):
            raise corrupt(what, f"`{name}` is no time: {time[:80]!r}")


def _numbers(view: ThreadFile) -> list[tuple[str, int]]:
    data = view.phase.data
    found = [("current_spec_revision", view.current_spec_revision)]
    if view.run_config:
        found.append(("run_config.max_iterations", view.run_config.max_iterations))
    if isinstance(data, Iterated):
        found.append(("phase.data.iteration", data.iteration))
    if isinstance(data, Diagnosed):
        names = ("iterations_attempted", "best_criteria_passed", "total_criteria")
        found += [(f"phase.data.diagnosis.{name}", getattr(data.diagnosis, name)) for name in names]
    return found


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
