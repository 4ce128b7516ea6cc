"""The journal used from an event loop: tasks share commits, and each of them stands or falls alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Event
from patience import SECONDS

from .databases import Address
from .histories import HUMAN, Clock, created

TASKS = 50


def _create(transaction: Transaction) -> str:
    return transaction.create("thread", created()).entry.instance


def _move(instance: str, name: str) -> Callable[[Transaction], int]:
    return lambda transaction: transaction.append(instance, Event(name, HUMAN)).entry.seq


async def _all(journal: Journal) -> list[int]:
    async def one() -> list[int]:
        instance = await journal.transact_async(_create)
        moved = await journal.append_async(instance, Event("assess", HUMAN))
        return [moved.entry.seq, await journal.transact_async(_move(instance, "revise"))]

    async with asyncio.timeout(SECONDS):
        return [seq for seqs in await asyncio.gather(*(one() for _ in range(TASKS))) for seq in seqs]


def test_every_task_is_acknowledged_with_an_entry_of_its_own(journal: Journal) -> None:
    acknowledged = asyncio.run(_all(journal))
    assert len(set(acknowledged)) == 2 * TASKS
    assert journal.head() == 3 * TASKS
    assert journal.verify() == []


def test_a_task_that_is_refused_says_so_and_takes_no_other_with_it(journal: Journal) -> None:
    instance = journal.create("thread", created()).entry.instance

    async def both() -> tuple[object, object]:
        refused = journal.append_async(instance, Event("approve", HUMAN))
        made = journal.transact_async(_move(instance, "assess"))
        async with asyncio.timeout(SECONDS):
            first, second = await asyncio.gather(refused, made, return_exceptions=True)
        return first, second

    first, second = asyncio.run(both())
    assert isinstance(first, Refusal)
    assert first.code == "not_allowed"
    assert second == 2
    assert journal.instance(instance).state == "Assessing"


def test_a_task_that_is_cancelled_leaves_the_journal_whole(journal: Journal) -> None:
    instance = journal.create("thread", created()).entry.instance

    async def cancelled() -> None:
        task = asyncio.ensure_future(journal.transact_async(_move(instance, "assess")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    journal.transact(lambda transaction: None)
    assert journal.head() in (1, 2)
    assert journal.verify() == []


def test_a_journal_that_was_closed_refuses_tasks_too(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    journal.close()
    with pytest.raises(InterlockError) as caught:
        asyncio.run(journal.transact_async(partial(Transaction.create, machine="thread", event=created())))
    assert caught.value.code == "journal_closed"
