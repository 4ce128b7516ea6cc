"""The loop: read where it stands, do the next effect, write down what came of it, again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.work.driven import refuse_on_a_threads_branch
from interlock.work.driving import driving
from interlock.work.stories.ending import ending
from interlock.work.stories.files import move, settle, sweep_up
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import Status, parse
from interlock.work.stories.reading import MACHINE
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.stories.steps import STEPS
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import DRIVER, Yard, read_text
from interlock.work.times import day_of

__all__ = ["Driven", "begin", "drive"]


@dataclass(frozen=True, slots=True)
class Driven:
    """How far a loop was driven: to its end, or to where it was stopped, paused or has to wait."""

    loop: Loop
    ended: bool


def begin(yard: Yard, parent: str | None = None, **options: str) -> str:
    """A new loop, or the one that is under way; with a parent, the thread that drives it."""
    counted = _counted(yard)
    if parent is None:
        refuse_on_a_threads_branch(yard.root)

    def work(transaction: Transaction) -> str:  # as one, so that two who begin at once begin one loop
        known = [one for one in transaction.open_instances(MACHINE) if one.parent == parent]
        if known:
            return known[-1].id
        day = day_of(yard.journal.now())
        data = {"options": options, "counters": counted, "carried": _carried(transaction, day)}
        event = Event("created", DRIVER, evidence=Evidence(data=data))
        return transaction.create(MACHINE, event, parent=parent).entry.instance

    return yard.journal.transact(work)


def _carried(transaction: Transaction, day: str) -> dict[str, Any] | None:
    """What the loops before have used on the day: the last one of it knows of all."""
    last = next(iter(transaction.recent(MACHINE, 1)), None)
    if last is None or last.updated[:10] != day:
        return None
    books = loop_of(transaction.history(last.id)).books
    return {"day": day, "iterations": books.iterations.get(day, 0), **books.of_day(day).data}


def _counted(yard: Yard) -> dict[str, int]:
    """The failed attempts that `progress.txt` knows of: a new loop does not forget them."""
    try:
        text = read_text(yard.progress)
        stories = parse(text).stories if text is not None else ()
    except Refusal:
        return {}
    under_way = [one for one in stories if one.status is Status.IN_PROGRESS and one.retry_count]
    return {f"retry:{task_name(one.id, one.current_task or '')}": one.retry_count for one in under_way}


def drive(yard: Yard, id_: str) -> Driven:
    """Drive a loop until it ends, is paused, or is to stop. Calling it again goes on where it was."""
    journal = yard.journal
    longest = (yard.limits.agent_seconds, yard.limits.test_seconds)
    with driving(journal, MACHINE, id_, yard.state_directory, *longest) as right:
        try:
            sweep_up(yard, loop_of(journal.history(id_)))
            while True:
                yard.heed()
                loop = yard.desk.loop(journal, id_)
                if loop.outcome is not None:
                    yard.tell(ending(loop))
                    return Driven(loop, ended=True)
                loop = settle(yard, loop, right.lease)
                if loop.paused is not None or yard.stop.is_set():
                    return Driven(loop, ended=False)
                instance = journal.instance(id_)
                yard.tell(loop)
                visit = Visit(yard, loop, instance.snapshot, journal.machine_of(instance), right.lease)
                event = STEPS[loop.state](visit)
                if event is not None:
                    move(yard, loop, event, right.lease)
                right.renew()
        finally:
            yard.desk.shut()
