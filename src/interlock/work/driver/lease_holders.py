"""Leases of processes: this one as a holder, whether who holds one is still there, and who drives an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.journal import Holder, Journal, Lease

if TYPE_CHECKING:
    from interlock.world.processes import Process

__all__ = ["current_driver", "is_driven", "is_present", "lease_name", "process_holder"]


def process_holder(process: Process | None = None, name: str = "ralph") -> Holder:
    """A process as the holder of a lease, by default this one."""
    from interlock.world.processes import this_process

    one = process or this_process()
    return Holder(one.host, one.boot, one.pid, one.started, name, one.namespace, one.machine)


def is_present(holder: Holder) -> bool | None:
    """True if the holder of a lease lives; None where only time can tell."""
    from interlock.world.processes import Process, is_alive  # most look at leases that nobody holds

    return is_alive(Process(holder.host, holder.boot, holder.pid, holder.started, holder.namespace, holder.machine))


def lease_name(machine: str, id_: str) -> str:
    """What the lease of the only driver of a thread, a loop or a run is called."""
    return f"{machine}:{id_}"


def current_driver(journal: Journal, machine: str, id_: str) -> Lease | None:
    """The lease of whoever drives an instance now; None where nobody does."""
    return journal.held(lease_name(machine, id_), is_present)


def is_driven(journal: Journal, machine: str, id_: str) -> bool:
    """Whether somebody drives an instance now."""
    return current_driver(journal, machine, id_) is not None
