"""The loop: read where it stands, do the next effect, write down what came of it, again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.work.driver.driver_lease import hold_driver_lease
from interlock.work.driver.thread_owned import refuse_on_a_threads_branch
from interlock.work.formats.times import day_of
from interlock.work.stories.context import DRIVER, StoryContext, read_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.ending import ending
from interlock.work.stories.files import move, settle, sweep_up
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import StoryStatus, parse
from interlock.work.stories.reading import MACHINE
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.stories.steps import STEPS

__all__ = ["LoopResult", "begin", "drive"]


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How far a loop was driven: to its end, or to where it was stopped, paused or has to wait."""

    loop: Loop
    ended: bool


def begin(context: StoryContext, parent: str | None = None, **options: str) -> str:
    """A new loop, or the one that is under way; with a parent, the thread that drives it."""
    counted = _counted(context)
    if parent is None:
        refuse_on_a_threads_branch(context.root)

    def work(transaction: Transaction) -> str:  # as one, so that two who begin at once begin one loop
        known = [one for one in transaction.open_instances(MACHINE) if one.parent == parent]
        if known:
            return known[-1].id
        day = day_of(context.journal.now())
        data = {"options": options, "counters": counted, "carried": _carried(transaction, day)}
        event = Event("created", DRIVER, evidence=Evidence(data=data))
        return transaction.create(MACHINE, event, parent=parent).entry.instance

    return context.journal.transact(work)


def _carried(transaction: Transaction, day: str) -> dict[str, Any] | None:
    """What the loops before have used on the day: the last one of it knows of all."""
    last = next(iter(transaction.recent(MACHINE, 1)), None)
    if last is None or last.updated[:10] != day:
        return None
    books = loop_of(transaction.history(last.id)).books
    return {"day": day, "iterations": books.iterations.get(day, 0), **books.of_day(day).data}


def _counted(context: StoryContext) -> dict[str, int]:
    """The failed attempts that `progress.txt` knows of: a new loop does not forget them."""
    try:
        text = read_text(context.progress)
        stories = parse(text).stories if text is not None else ()
    except Refusal:
        return {}
    under_way = [one for one in stories if one.status is StoryStatus.IN_PROGRESS and one.retry_count]
    return {f"retry:{task_name(one.id, one.current_task or '')}": one.retry_count for one in under_way}


def drive(context: StoryContext, id_: str) -> LoopResult:
    """Drive a loop until it ends, is paused, or is to stop. Calling it again goes on where it was."""
    journal = context.journal
    longest = (context.limits.agent_seconds, context.limits.test_seconds)
    with hold_driver_lease(journal, MACHINE, id_, context.state_directory, *longest) as right:
        try:
            sweep_up(context, loop_of(journal.history(id_)))
            while True:
                context.refresh()
                loop = context.desk.loop(journal, id_)
                if loop.outcome is not None:
                    context.tell(ending(loop))
                    return LoopResult(loop, ended=True)
                loop = settle(context, loop, right.lease)
                if loop.paused is not None or context.stop.is_set():
                    return LoopResult(loop, ended=False)
                instance = journal.instance(id_)
                context.tell(loop)
                step = StoryStep(context, loop, instance.snapshot, journal.machine_of(instance), right.lease)
                event = STEPS[loop.state](step)
                if event is not None:
                    move(context, loop, event, right.lease)
                right.renew()
        finally:
            context.desk.shut()
