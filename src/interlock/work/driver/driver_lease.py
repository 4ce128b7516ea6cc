"""Being the only driver of a thread, a loop or a run: its lease is held for as long as it is driven."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Journal, Lease
from interlock.work.driver.agent_run import end_orphaned_runs
from interlock.work.driver.lease_holders import is_present, lease_name, process_holder

__all__ = ["DriverLease", "hold_driver_lease", "lease_seconds"]

_SILENT: Final = 600.0
"""How long a driver may be silent besides the longest thing that it waits for."""
_LONGEST: Final = 86_400.0


def lease_seconds(*longest: float | None) -> float:
    """As long as the longest step: nobody on another host takes over while an agent works. None is no limit."""
    return _SILENT + max((one or _LONGEST for one in longest), default=0.0)


class DriverLease(msgspec.Struct):
    """The right to drive something."""

    journal: Journal
    lease: Lease
    seconds: float
    renewed: float

    def renew(self) -> None:
        """Keep it, from one step to the next; it is written only now and then."""
        if self.journal.now() - self.renewed > _SILENT / 10:
            self.journal.renew(self.lease, self.seconds)
            self.renewed = self.journal.now()


@contextmanager
def hold_driver_lease(
    journal: Journal, machine: str, id_: str, state_directory: Path, *longest: float | None
) -> Iterator[DriverLease]:
    """Be the only one who drives an instance; runs that a dead driver left are ended first."""
    seconds = lease_seconds(*longest)
    lease = journal.acquire(lease_name(machine, id_), process_holder(), seconds, is_present)
    try:
        end_orphaned_runs(journal, id_, state_directory)
        yield DriverLease(journal, lease, seconds, journal.now())
    finally:
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)
