"""Leases: one driver at most, and a driver that was taken over writes nothing more."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.errors import InterlockError, LeaseHeld
from interlock.journal import Holder, Journal, Lease
from interlock.machine import Event
from patience import SECONDS

from .databases import Address, dump, sql
from .histories import HUMAN, Clock, created

HERE = "this host"


def holder_of(pid: int, host: str = HERE, name: str = "driver") -> Holder:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19] if host == HERE else "1"
    return Holder(host, boot, pid, started, name)


def is_alive(holder: Holder) -> bool | None:
    """Whether a process lives, as far as this host can see: it exists, is no zombie and is no other of the same pid."""
    if holder.host != HERE:
        return None
    try:
        state, *_, started = Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[:20]
    except FileNotFoundError:
        return False
    return state != "Z" and started == holder.started


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another living process, which waits until it is ended."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def me() -> Holder:
    return holder_of(os.getpid(), name="me")


@pytest.fixture
def elsewhere() -> Holder:
    return holder_of(4242, host="another host")


def held(journal: Journal, resource: str, holder: Holder) -> LeaseHeld:
    with pytest.raises(LeaseHeld) as refusal:
        journal.acquire(resource, holder, 60, is_alive)
    assert refusal.value.code == "lease_held"
    assert refusal.value.hint
    return refusal.value


def test_a_free_lease_is_given_with_the_first_epoch(journal: Journal, me: Holder) -> None:
    assert journal.acquire("work", me, 60, is_alive) == Lease("work", 1, me)
    assert journal.acquire("other work", me, 60, is_alive) == Lease("other work", 1, me)


def test_a_lease_of_a_living_process_is_refused_with_its_name(
    journal: Journal, address: Address, me: Holder, other: subprocess.Popen[bytes]
) -> None:
    journal.acquire("work", holder_of(other.pid), 60, is_alive)
    before = dump(address)
    error = held(journal, "work", me)
    assert f"driver {other.pid} on {HERE}" in error.message
    assert dump(address) == before


def test_a_dead_holder_on_this_host_loses_its_lease_at_once(
    journal: Journal, me: Holder, other: subprocess.Popen[bytes]
) -> None:
    journal.acquire("work", holder_of(other.pid), 3600, is_alive)
    other.kill()
    other.wait(SECONDS)
    assert journal.acquire("work", me, 60, is_alive) == Lease("work", 2, me)


def test_a_process_that_has_the_pid_of_a_dead_holder_is_not_taken_for_it(
    journal: Journal, me: Holder, other: subprocess.Popen[bytes]
) -> None:
    gone = Holder(HERE, me.boot, other.pid, "0", "an earlier process")
    journal.acquire("work", gone, 3600, is_alive)
    assert journal.acquire("work", me, 60, is_alive).epoch == 2


def test_a_stopped_holder_is_never_stolen_from_even_when_its_time_is_over(
    journal: Journal, clock: Clock, me: Holder, other: subprocess.Popen[bytes]
) -> None:
    journal.acquire("work", holder_of(other.pid), 1, is_alive)
    other.send_signal(signal.SIGSTOP)
    clock.forward(1_000_000)
    held(journal, "work", me)
    other.send_signal(signal.SIGCONT)
    held(journal, "work", me)


def test_a_holder_that_cannot_be_seen_loses_its_lease_by_time_only(
    journal: Journal, clock: Clock, me: Holder, elsewhere: Holder
) -> None:
    journal.acquire("work", elsewhere, 60, is_alive)
    held(journal, "work", me)
    clock.forward(59)
    held(journal, "work", me)
    clock.forward(2)
    assert journal.acquire("work", me, 60, is_alive) == Lease("work", 2, me)


def test_renewing_holds_a_lease_for_longer(journal: Journal, clock: Clock, me: Holder, elsewhere: Holder) -> None:
    lease = journal.acquire("work", elsewhere, 60, is_alive)
    clock.forward(50)
    journal.renew(lease, 60)
    clock.forward(50)
    held(journal, "work", me)
    clock.forward(11)
    assert journal.acquire("work", me, 60, is_alive).epoch == 2


def test_a_lease_that_was_given_back_is_free_and_its_epoch_goes_on(
    journal: Journal, me: Holder, other: subprocess.Popen[bytes]
) -> None:
    lease = journal.acquire("work", holder_of(other.pid), 60, is_alive)
    journal.release(lease)
    assert journal.acquire("work", me, 60, is_alive) == Lease("work", 2, me)
    journal.release(lease)
    held(journal, "work", holder_of(other.pid))


def test_the_same_holder_asks_again_and_has_the_same_lease_for_longer(
    journal: Journal, clock: Clock, me: Holder, elsewhere: Holder
) -> None:
    lease = journal.acquire("work", elsewhere, 60, is_alive)
    clock.forward(50)
    assert journal.acquire("work", elsewhere, 60, is_alive) == lease
    clock.forward(50)
    held(journal, "work", me)


def test_the_same_holder_that_came_too_late_has_a_new_epoch(journal: Journal, clock: Clock, elsewhere: Holder) -> None:
    journal.acquire("work", elsewhere, 60, is_alive)
    clock.forward(61)
    assert journal.acquire("work", elsewhere, 60, is_alive).epoch == 2


def lost(work: Callable[[], object]) -> None:
    with pytest.raises(InterlockError) as refusal:
        work()
    assert refusal.value.code == "lease_lost"
    assert refusal.value.hint


def test_an_append_under_the_lease_carries_its_epoch(journal: Journal, me: Holder) -> None:
    id_ = journal.create("thread", created()).entry.instance
    lease = journal.acquire(id_, me, 60, is_alive)
    assert journal.append(id_, Event("assess", HUMAN), lease=lease).entry.epoch == 1
    assert journal.append(id_, Event("revise", HUMAN)).entry.epoch is None
    assert journal.verify() == []


def test_an_append_with_a_lease_that_was_taken_over_writes_nothing(
    journal: Journal, address: Address, clock: Clock, me: Holder, elsewhere: Holder
) -> None:
    id_ = journal.create("thread", created()).entry.instance
    old = journal.acquire(id_, elsewhere, 60, is_alive)
    clock.forward(61)
    new = journal.acquire(id_, me, 60, is_alive)
    before = dump(address)
    lost(lambda: journal.append(id_, Event("assess", HUMAN), lease=old))
    lost(lambda: journal.renew(old, 60))
    journal.release(old)
    assert dump(address) == before
    assert journal.append(id_, Event("assess", HUMAN), lease=new).entry.epoch == 2


def test_an_append_with_a_lease_that_was_given_back_or_never_given_writes_nothing(
    journal: Journal, address: Address, me: Holder
) -> None:
    id_ = journal.create("thread", created()).entry.instance
    lease = journal.acquire(id_, me, 60, is_alive)
    journal.release(lease)
    before = dump(address)
    lost(lambda: journal.append(id_, Event("assess", HUMAN), lease=lease))
    lost(lambda: journal.append(id_, Event("assess", HUMAN), lease=Lease("never", 1, me)))
    lost(lambda: journal.append(id_, Event("assess", HUMAN), lease=Lease(id_, 2, me)))
    lost(lambda: journal.renew(lease, 60))
    assert dump(address) == before


def test_a_repeated_key_gives_its_answer_though_the_lease_was_lost(journal: Journal, me: Holder) -> None:
    id_ = journal.create("thread", created()).entry.instance
    lease = journal.acquire(id_, me, 60, is_alive)
    first = journal.append(id_, Event("assess", HUMAN), key="k", lease=lease)
    journal.release(lease)
    assert journal.append(id_, Event("assess", HUMAN), key="k", lease=lease).entry == first.entry


def test_leases_are_kept_when_instances_are_made_anew(journal: Journal, address: Address, me: Holder) -> None:
    journal.acquire("work", me, 60, is_alive)
    before = sql(address, "SELECT * FROM leases")
    journal.rebuild()
    assert sql(address, "SELECT * FROM leases") == before


def test_who_holds_a_lease_is_told_as_long_as_they_live(journal: Journal, me: Holder) -> None:
    assert journal.held("work", is_alive) is None
    lease = journal.acquire("work", me, 60, is_alive)
    assert journal.held("work", is_alive) == lease
    assert journal.held("work", lambda holder: False) is None
    assert journal.held("work", lambda holder: None) == lease
    journal.release(lease)
    assert journal.held("work", is_alive) is None
