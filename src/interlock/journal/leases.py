"""Leases: at most one driver for an instance, and a driver that was taken over can write nothing more.

A lease has an epoch that only grows. Taking one over raises it, and an entry with an old epoch is refused. A
holder that can be seen from here loses its lease at once when its process is gone, and never while it lives, even
stopped; one on another host or in another container loses it by time.
"""

# Annotations are not postponed here: msgspec would compile each of them when the type is first decoded.

import time
from collections.abc import Callable

import msgspec

from interlock.decoding import decoder
from interlock.errors import JournalError, LeaseHeld
from interlock.journal.ids import time_text
from interlock.journal.store import Sql

__all__ = [
    "Holder",
    "Lease",
    "acquire",
    "check_lease",
    "find_held",
    "find_lease",
    "holder_of",
    "is_held",
    "lease_time",
    "lost",
    "prolong",
    "release",
    "renew",
    "vacate",
]


class Holder(msgspec.Struct, frozen=True):
    """A process, named so that no other can be taken for it."""

    host: str
    boot: str
    pid: int
    started: str
    name: str = ""
    namespace: str = ""
    machine: str = ""

    def __str__(self) -> str:
        return f"{self.name or 'process'} {self.pid} on {self.host}"


class Lease(msgspec.Struct, frozen=True):
    """The right to drive, until a higher epoch is given out."""

    resource: str
    epoch: int
    holder: Holder


HOST_CLOCK: Callable[[], int] = time.time_ns


def lease_time(sql: Sql, now: Callable[[], int]) -> int:
    """Milliseconds by which leases expire: those of the database's clock where several hosts share it.

    Another clock than the host's, such as a test's, counts everywhere.
    """
    if sql.dialect == "postgresql" and now is HOST_CLOCK:
        return int(sql.rows("SELECT extract(epoch FROM clock_timestamp()) * 1000")[0][0])
    return now() // 1_000_000


_holders = decoder(Holder)


def acquire(
    sql: Sql, resource: str, holder: Holder, now: int, milliseconds: int, is_alive: Callable[[Holder], bool | None]
) -> Lease:
    """Take a lease that is free, or whose holder is gone; `is_alive` says None of a process it cannot see."""
    found = sql.rows("SELECT epoch, holder, expires FROM leases WHERE resource = ?", (resource,))
    epoch, held_by, expires = found[0] if found else (0, None, 0)
    if held_by is not None:
        current = _holders.decode(held_by)
        if not _is_same(current, holder):
            _must_be_gone(resource, current, is_alive(current), expires, now)
        elif expires > now:
            epoch -= 1  # the same process asks again: the same lease, renewed
    lease = Lease(resource, epoch + 1, holder)
    values = (lease.epoch, msgspec.json.encode(holder).decode(), now + milliseconds, resource)
    if found:
        sql.rows("UPDATE leases SET epoch = ?, holder = ?, expires = ? WHERE resource = ?", values)
    else:
        sql.rows("INSERT INTO leases (epoch, holder, expires, resource) VALUES (?, ?, ?, ?)", values)
    return lease


def _is_same(known: Holder, holder: Holder) -> bool:
    """True if both are one process; what an older version wrote of it lacks the namespace and the machine."""
    is_old = not known.namespace and not known.machine
    return known == (msgspec.structs.replace(holder, namespace="", machine="") if is_old else holder)


def _must_be_gone(resource: str, current: Holder, alive: bool | None, expires: int, now: int) -> None:
    message = f"{resource} is driven by {current}."
    hint = "Wait for it to finish, or stop it where it runs."
    if alive:
        raise LeaseHeld("lease_held", message, hint)
    if alive is None and expires > now:
        until = time_text(expires * 1_000_000)
        message += f" That process cannot be seen from here, so it counts as running until {until}."
        hint = f"{hint} If it was ended with its machine or container, try again after {until}."
        raise LeaseHeld("lease_held", message, hint, {"until": until})


def renew(sql: Sql, lease: Lease, now: int, milliseconds: int) -> None:
    """Hold a lease for longer."""
    check_lease(sql, lease)
    sql.rows("UPDATE leases SET expires = ? WHERE resource = ?", (now + milliseconds, lease.resource))


def release(sql: Sql, lease: Lease) -> None:
    """Give a lease back; nothing happens where it was taken over."""
    values = (lease.resource, lease.epoch)
    sql.rows("UPDATE leases SET holder = NULL, expires = 0 WHERE resource = ? AND epoch = ?", values)


LeaseRow = tuple[int, str | None, int]
"""The epoch of a lease, its holder as JSON, and when it expires."""


def find_lease(sql: Sql, resource: str) -> LeaseRow | None:
    """The lease of a resource; None where nobody ever had it."""
    found = sql.rows("SELECT epoch, holder, expires FROM leases WHERE resource = ?", (resource,))
    return (found[0][0], found[0][1], found[0][2]) if found else None


def find_held(sql: Sql) -> dict[str, LeaseRow]:
    """Every lease that was not given back, by its resource; its holder may be gone."""
    rows = sql.rows("SELECT resource, epoch, holder, expires FROM leases WHERE holder IS NOT NULL")
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


def is_held(found: LeaseRow, now: int, is_alive: Callable[[Holder], bool | None]) -> bool:
    """True if a lease has a holder that lives, or that cannot be seen and is in time."""
    _, holder, expires = found
    if holder is None:
        return False
    alive = is_alive(_holders.decode(holder))
    return expires > now if alive is None else alive


def holder_of(found: LeaseRow) -> Holder:
    """The holder of a lease that is held."""
    return _holders.decode(found[1] or "")


def lost(sql: Sql, prefix: str, now: int, is_alive: Callable[[Holder], bool | None]) -> list[str]:
    """The leases under a prefix that are held by somebody who is gone."""
    statement = "SELECT resource, holder, expires FROM leases WHERE holder IS NOT NULL AND resource LIKE ?"
    held = [(row[0], is_alive(_holders.decode(row[1])), row[2] > now) for row in sql.rows(statement, (f"{prefix}%",))]
    return [resource for resource, alive, in_time in held if alive is False or (alive is None and not in_time)]


def prolong(sql: Sql, resource: str, expires: int) -> None:
    """Hold what is held for longer: there was a sign of life."""
    sql.rows("UPDATE leases SET expires = ? WHERE resource = ? AND holder IS NOT NULL", (expires, resource))


def vacate(sql: Sql, resource: str) -> None:
    """Nobody holds the lease any more."""
    sql.rows("UPDATE leases SET holder = NULL, expires = 0 WHERE resource = ?", (resource,))


def check_lease(sql: Sql, lease: Lease) -> None:
    """Refuse a lease that is not the newest one."""
    found = sql.rows("SELECT epoch, holder FROM leases WHERE resource = ?", (lease.resource,))
    if not found or found[0][0] != lease.epoch or found[0][1] is None:
        message = f"The lease on {lease.resource} (epoch {lease.epoch}) was taken over or given back."
        raise JournalError("lease_lost", message, "Stop driving; whoever holds it now goes on.")
