"""A process in the name of a file, so that a later call can tell whether the process is gone."""

from __future__ import annotations

from interlock.world.processes import Process, is_alive, process_here, this_process

__all__ = ["PATTERN", "is_marked_alive", "mark"]

PATTERN = "[0-9]{1,10}-[0-9a-zA-Z]+-[0-9a-f]{16}-[0-9a-zA-Z]*-[0-9]*"
"""A mark as a regular expression."""


def mark() -> str:
    """This process as a part of a file's name: pid, start time, machine, boot and pid namespace."""
    here = this_process()
    return f"{here.pid}-{here.started}-{here.machine}-{_short(here.boot)}-{here.namespace}"


def is_marked_alive(found: str) -> bool | None:
    """True if the process of a mark lives; None if that cannot be seen from here."""
    pid, began, machine, boot, namespace = found.split("-")
    here = process_here(int(pid), began)
    return is_alive(
        Process(here.host, here.boot if boot == _short(here.boot) else boot, here.pid, began, namespace, machine)
    )


def _short(boot: str) -> str:
    return boot.replace("-", "")
