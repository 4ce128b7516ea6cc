"""What views of different things have in common."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.journal import Entry, Journal
from interlock.work.driver.lease_holders import current_driver

__all__ = ["DrivenView", "Driver", "InstanceView", "Spent", "driver_of", "spent_of"]


class InstanceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of each view of one instance of a machine."""

    id: str
    machine: str
    title: str
    state: str
    label: str
    """The state as people read it."""
    outcome: str | None
    updated_at: str


class Spent(msgspec.Struct, frozen=True, rename="camel"):
    """What agents have used."""

    seconds: float
    usd: float
    tokens: int

    @property
    def text(self) -> str:
        """It in words, for people."""
        return f"{self.seconds:.0f} s of agents, ${self.usd:.2f}, {self.tokens} tokens"

    def __bool__(self) -> bool:
        return bool(self.seconds or self.usd or self.tokens)


def spent_of(amount: tuple[float, float, int]) -> Spent:
    """Seconds, dollars and tokens as a value, rounded as people and programs read it."""
    seconds, usd, tokens = amount
    return Spent(round(seconds, 3), round(usd, 4), tokens)


class Driver(msgspec.Struct, frozen=True, rename="camel"):
    """The process that drives an instance."""

    name: str
    since: str | None
    """The time of its first entry; None before that."""


def driver_of(journal: Journal, machine: str, id_: str, entries: Sequence[Entry]) -> Driver | None:
    """Return the process that drives an instance, or None."""
    lease = current_driver(journal, machine, id_)
    if lease is None:
        return None
    return Driver(str(lease.holder), next((one.time for one in entries if one.epoch == lease.epoch), None))


class DrivenView(InstanceView, frozen=True, kw_only=True, rename="camel"):
    """The base of the views of whatever a driver works on: threads, story loops and runs."""

    reason: str | None
    """Why it is where it is, where that was said."""
    driver: Driver | None
    paused: str | None
    """Why it is paused; None where it is not."""
    spent: Spent
    trouble: str = ""
    """Why the last driver that the dashboard started failed."""
