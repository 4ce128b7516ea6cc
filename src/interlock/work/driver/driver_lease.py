"""The right to drive something: a lease that a heartbeat renews for as long as it is held.

The heartbeat is a thread of its own, so the lease is renewed whatever the driver does: agents, verifiers, a checkout
that takes a minute, or a child that runs for hours. If the lease is lost, or cannot be renewed before it expires, the
stop signal of the driver's context is set, and whatever runs is ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Journal, Lease
from interlock.work.driver.agent_run import end_orphaned_runs
from interlock.work.driver.context import DriverContext
from interlock.work.driver.lease_holders import is_present, lease_name, process_holder
from interlock.world.agents.running import StopSignal

__all__ = ["DriverLease", "hold_driver_lease", "hold_lease"]

_BEATS: Final = 3
"""How often a lease is renewed within its time."""
_AGAIN: Final = 1.0
"""Seconds until a renewal is tried again that failed."""
_SPARE: Final = 5.0
"""Seconds before a lease expires by which whatever runs under it must be stopped."""


class DriverLease(msgspec.Struct, frozen=True):
    """The right to drive something, and the context to drive it with."""

    lease: Lease
    context: DriverContext
    """The driver's context; its stop signal is also set when the lease is lost."""


class _EitherSignal(msgspec.Struct, frozen=True):
    """Set when one of the two is."""

    first: StopSignal
    lost: threading.Event

    def is_set(self) -> bool:
        return self.lost.is_set() or self.first.is_set()


@contextmanager
def hold_driver_lease(context: DriverContext, machine: str, id_: str) -> Iterator[DriverLease]:
    """Be the only one who drives an instance; runs that a dead driver left are ended first."""
    with hold_lease(context, lease_name(machine, id_)) as held:
        end_orphaned_runs(context.journal, id_, context.state_directory)
        yield held


@contextmanager
def hold_lease(context: DriverContext, resource: str) -> Iterator[DriverLease]:
    """Hold a lease, renewed by a heartbeat; raises `lease_held` where somebody else has it."""
    journal, seconds = context.journal, float(context.settings.number("driver.lease_seconds"))
    lease = journal.acquire(resource, process_holder(), seconds, is_present)
    lost, over = threading.Event(), threading.Event()
    beats = threading.Thread(target=_beat, args=(journal, lease, seconds, lost, over), daemon=True)
    beats.start()
    try:
        yield DriverLease(lease, replace(context, stop=_EitherSignal(context.stop, lost)))
    finally:
        over.set()
        beats.join()
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)


def _beat(journal: Journal, lease: Lease, seconds: float, lost: threading.Event, over: threading.Event) -> None:
    """Renew a lease until it is over; set `lost` where that is not possible in time."""
    wait, expires = seconds / _BEATS, time.monotonic() + seconds
    while not over.wait(wait):
        try:
            journal.renew(lease, seconds)
        except InterlockError as error:
            if error.code == "lease_lost" or time.monotonic() + _AGAIN + _SPARE >= expires:
                lost.set()
                return
            wait = _AGAIN
        else:
            wait, expires = seconds / _BEATS, time.monotonic() + seconds
