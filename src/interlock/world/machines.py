"""The machines in force: the shipped ones, the ticket machine's override, and people's own files.

A machine of one's own is checked before it is used; what the checker found is remembered by the machine's
digest, so that a machine is explored once and not at every command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from interlock import __version__
from interlock.decoding import decode
from interlock.errors import InvalidMachine, NotFound
from interlock.machine import INTERNAL, SHIPPED, Machine, load_file, load_shipped
from interlock.machine.compile import compile_machine
from interlock.machine.load import FORMS

if TYPE_CHECKING:
    from interlock.machine.check import CheckReport

__all__ = [
    "OVERRIDE",
    "REPORTS",
    "cache_directory",
    "checked",
    "find_machine",
    "is_warning",
    "load_unchecked",
    "machine_finder",
    "shipped_reports",
]

OVERRIDE = "RALPH_STATE_MACHINE_CONFIG"
REPORTS = FORMS.with_name("reports.json")
"""What the checker found in the shipped machines, by the edition of its rules and the digest of the machine."""


def machine_finder(
    environment: Mapping[str, str], enforcement: Callable[[], str | None] = lambda: None
) -> Callable[[str], Machine]:
    """How the journal finds a machine by name; `enforcement` says how strict the session machine is to be."""

    def find(name: str) -> Machine:
        machine = find_machine(name, environment)
        wanted = enforcement() if name == "session" else None
        if wanted is not None and wanted != machine.form.enforcement:
            return _enforced(machine.digest, wanted)
        return machine

    return find


@cache
def _enforced(digest: str, enforcement: str) -> Machine:
    return compile_machine(replace(load_shipped("session").form, enforcement=enforcement))


def find_machine(name: str, environment: Mapping[str, str]) -> Machine:
    """A machine by its name, or by the path of its file; one that is not shipped is checked first."""
    if name in SHIPPED + INTERNAL and not (name == "ticket" and environment.get(OVERRIDE)):
        return load_shipped(name)
    machine = load_unchecked(name, environment)
    faults = [one for one in checked(machine, environment).findings if not is_warning(name, one.code, environment)]
    if faults:
        listed = "; ".join(f"{one.code}: {one.message}" for one in faults)
        hint = f"`ralph machine check {name}` shows the way to each."
        raise InvalidMachine("machine_unsound", f"The machine {machine.name!r} is not sound: {listed}.", hint)
    return machine


def load_unchecked(name: str, environment: Mapping[str, str]) -> Machine:
    """A machine by name or path, whatever the checker may say of it."""
    if name == "ticket" and is_override(name, environment):
        return _overridden(environment[OVERRIDE])
    if name in SHIPPED + INTERNAL:
        return load_shipped(name)
    if Path(name).suffix == ".json":
        from interlock.machine.override import load_override

        return load_override(Path(name), load_shipped("ticket").form)
    if name and (Path(name).suffix == ".toml" or os.sep in name or _exists(name)):
        return load_file(Path(name))
    from difflib import get_close_matches

    near = get_close_matches(name, SHIPPED, 1)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    hint = f"{guess}The machines are {', '.join(SHIPPED)}; a file of your own is named by its path."
    raise NotFound("unknown_machine", f"There is no machine {name[:80]!r}.", hint)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _overridden(path: str) -> Machine:
    from interlock.machine.override import load_override

    try:
        return load_override(Path(path), load_shipped("ticket").form)
    except InvalidMachine as error:
        error.hint = f"Mend {path}, or unset {OVERRIDE}, which names it."
        raise


def is_override(name: str, environment: Mapping[str, str]) -> bool:
    """Whether a name stands for a file of the source system's JSON form."""
    return (name == "ticket" and bool(environment.get(OVERRIDE))) or Path(name).suffix == ".json"


def is_warning(name: str, code: str, environment: Mapping[str, str]) -> bool:
    """Whether a finding is only a warning, because it is in the nature of the override form."""
    from interlock.machine.override import WARNINGS

    return code in WARNINGS and is_override(name, environment)


def checked(machine: Machine, environment: Mapping[str, str]) -> CheckReport:
    """What the checker finds, remembered by the machine's digest. A cache that cannot be kept is done without.

    The reports of the shipped machines come with them.
    """
    from interlock.machine.check import EDITION, CheckReport, check

    shipped = shipped_reports().get(machine.digest)
    if shipped is not None:
        return shipped
    path = cache_directory(environment) / f"check-{__version__}-{EDITION}-{machine.digest}.json"
    try:
        return decode(path.read_bytes(), CheckReport)
    except (OSError, msgspec.MsgspecError):
        report = check(machine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}.tmp")
        scratch.write_bytes(msgspec.json.encode(report))
        scratch.replace(path)
    except OSError:
        pass
    return report


@cache
def shipped_reports() -> Mapping[str, CheckReport]:
    """What the checker found in the shipped machines when `make generate` wrote it down, by digest."""
    from interlock.machine.check import EDITION, CheckReport

    try:
        written = decode(REPORTS.read_bytes(), dict[int, dict[str, CheckReport]])
    except (OSError, msgspec.MsgspecError):
        return {}
    return written.get(EDITION, {})


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where things are kept that can be made anew."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the standard says to ignore it
        base = Path(environment.get("HOME") or "~").expanduser() / ".cache"
    return base / "interlock"
