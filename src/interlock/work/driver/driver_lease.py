"""The right to drive something: a lease that a heartbeat renews for as long as it is held.

The heartbeat is a thread of its own, so the lease is renewed whatever the driver does: agents, verifiers, a checkout
that takes a minute, or a child that runs for hours. If the lease is lost, or is about to expire because no renewal has
succeeded, the stop signal of the driver's context is set, and whatever runs is ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, JournalError
from interlock.journal import Journal, Lease
from interlock.work.driver.agent_run import end_orphaned_runs
from interlock.work.driver.context import DriverContext
from interlock.work.driver.lease_holders import lease_name
from interlock.world.agents.running import StopSignal

__all__ = ["DriverLease", "hold_driver_lease", "hold_lease"]

_BEATS: Final = 3
"""Renewals within the time of a lease."""
_AGAIN: Final = 1.0
"""Seconds until a renewal is tried again that failed."""
_SPARE: Final = 5.0
"""Seconds before a lease expires by which whatever runs under it must be stopped."""


class _Heartbeat(msgspec.Struct):
    """The state of a lease that is renewed. As a signal, it is set when the lease is lost or about to expire."""

    stop: StopSignal
    """The driver's own signal."""
    monotonic: Callable[[], float]
    deadline: float
    """When whatever runs under the lease must have stopped, by `monotonic`."""
    is_lost: bool = False
    over: threading.Event = msgspec.field(default_factory=threading.Event)

    def has_failed(self) -> bool:
        """True if this lease is lost or about to expire, or that of the driver above."""
        is_failed_above = isinstance(self.stop, _Heartbeat) and self.stop.has_failed()
        return self.is_lost or is_failed_above or self.monotonic() >= self.deadline

    def is_set(self) -> bool:
        return self.has_failed() or self.stop.is_set()


class DriverLease(msgspec.Struct, frozen=True):
    """The right to drive something, and the context to drive it with."""

    lease: Lease
    context: DriverContext
    """The driver's context; its stop signal is also set when the lease is lost."""
    heartbeat: _Heartbeat

    def check(self) -> None:
        """Raise `lease_lost` if the lease is lost, or could not be renewed in time."""
        if self.heartbeat.has_failed():
            how = "was taken over" if self.heartbeat.is_lost else "could not be renewed in time"
            message = f"The lease on {self.lease.resource} {how}, so what ran was stopped."
            raise JournalError("lease_lost", message, "Run the same command again; what was written counts.")


@contextmanager
def hold_driver_lease(context: DriverContext, machine: str, id_: str) -> Iterator[DriverLease]:
    """Be the only one who drives an instance; runs that a dead driver left are ended first."""
    with hold_lease(context, lease_name(machine, id_)) as held:
        end_orphaned_runs(context, id_)
        yield held


@contextmanager
def hold_lease(context: DriverContext, resource: str) -> Iterator[DriverLease]:
    """Hold a lease, renewed by a heartbeat; raises `lease_held` if another process has it."""
    journal, ports = context.journal, context.ports
    seconds = float(context.settings.number("driver.lease_seconds"))
    heartbeat = _Heartbeat(context.stop, ports.monotonic, _deadline(ports.monotonic(), seconds))
    lease = journal.acquire(resource, ports.holder(), seconds, ports.is_present)
    join = ports.start_thread(lambda: _beat(journal, lease, seconds, heartbeat))
    try:
        yield DriverLease(lease, replace(context, stop=heartbeat), heartbeat)
    finally:
        heartbeat.over.set()
        join()
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)


def _deadline(now: float, seconds: float) -> float:
    return now + seconds - min(_SPARE, seconds / _BEATS)


def _beat(journal: Journal, lease: Lease, seconds: float, heartbeat: _Heartbeat) -> None:
    """Renew a lease until it is over. A renewal that fails is tried again soon: it may still be in time."""
    wait = seconds / _BEATS
    while not heartbeat.over.wait(wait):
        asked = heartbeat.monotonic()  # the lease counts from then, not from the answer
        try:
            journal.renew(lease, seconds)
        except InterlockError as error:
            if error.code == "lease_lost":
                heartbeat.is_lost = True
                return
            wait = _AGAIN
        else:
            wait, heartbeat.deadline = seconds / _BEATS, _deadline(asked, seconds)
