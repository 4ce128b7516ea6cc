"""A story loop: how it begins, and its steps and files as the driver's loop uses them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event, Evidence
from interlock.work.driver import loop as driver
from interlock.work.driver.driver_lease import hold_driver_lease
from interlock.work.driver.fold import Fold
from interlock.work.driver.readiness import refuse_on_a_threads_branch
from interlock.work.driver.system import AfterCommit, NoEvent, StepFunction, StepResult, interrupt_events
from interlock.work.formats.times import day_of
from interlock.work.stories.context import DRIVER, StoryContext, read_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import move, settle
from interlock.work.stories.mirror import end_tree, end_trees, sweep_up, with_tree, write_out
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import StoryStatus
from interlock.work.stories.progress_file import parse
from interlock.work.stories.reading import MACHINE
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of, take
from interlock.work.stories.runs import pause
from interlock.work.stories.steps import STEPS

__all__ = ["LoopResult", "begin", "drive", "ending"]


class LoopResult(msgspec.Struct, frozen=True):
    """How far a loop was driven: to its end, or to where it was stopped, paused or has to wait."""

    loop: Loop
    ended: bool


def begin(context: StoryContext, parent: str | None = None, **options: str) -> str:
    """A new loop, or the one that is under way; with a parent, the thread that drives it."""
    counted = _counted(context)
    if parent is None:
        refuse_on_a_threads_branch(context)
        end_trees(context)

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
        text = read_text(context.progress, context.root)
        stories = parse(text).stories if text is not None else ()
    except Refusal:
        return {}
    under_way = [one for one in stories if one.status is StoryStatus.IN_PROGRESS and one.retry_count]
    return {f"retry:{task_name(one.id, one.current_task or '')}": one.retry_count for one in under_way}


def drive(context: StoryContext, id_: str) -> LoopResult:
    """Drive a loop until it ends, is paused, or is stopped. Calling it again continues."""
    with hold_driver_lease(context, MACHINE, id_) as held:
        fold = Fold(id_, Loop, take)
        watched = with_tree(replace(context, stop=held.context.stop), fold.read(context.journal), held.lease)
        loop = driver.drive(_LoopSystem(watched, fold), watched, held.lease, held.check).loop
    return LoopResult(loop, loop.outcome is not None)


class _LoopSystem(msgspec.Struct, frozen=True):
    """One story loop, as the driver's loop drives it."""

    context: StoryContext
    fold: Fold[Loop]

    def read(self, lease: Lease) -> StoryStep:
        return StoryStep.read(self.context, self.fold, lease)

    def next(self, step: StoryStep) -> StepFunction[StoryStep] | None:
        return STEPS.get(step.snapshot.state)

    def enter(self, step: StoryStep) -> bool:
        sweep_up(self.context, step.loop)
        if step.loop.failing and step.loop.outcome is None:
            step.note("tried_again")  # driving it again means that a person fixed its agents
        return True

    def settle(self, step: StoryStep) -> bool:
        return step.loop.outcome is None and settle(step)

    def pause(self, step: StoryStep) -> Sequence[Event]:
        return interrupt_events(self.context)

    def overspent(self, step: StoryStep, refusal: Refusal) -> StepResult:
        pause(step, f"{refusal.message} {refusal.hint}", "budget")
        return NoEvent.RETRY

    def append(self, transaction: Transaction, step: StoryStep, events: Sequence[Event]) -> AfterCommit | None:
        return move(transaction, step, events)

    def leave(self, step: StoryStep) -> None:
        write_out(self.context, step.loop, is_whole=True)
        if step.loop.outcome is not None:
            self.context.cache.shut()
            end_tree(self.context, step.loop)
            self.context.report(ending(step.loop))

    def close(self) -> None:
        self.context.cache.shut()


def ending(loop: Loop) -> str:
    """The last words of a loop that has ended, beginning with its promise."""
    match loop.outcome:
        case "all_complete":
            return f"<promise>COMPLETED</promise>\n\n{_summary(loop)}"
        case "only_blocked_left":
            needs = "\n".join(f"- {story}: {reason}" for story, reason in loop.needs.items())
            return f"<promise>BLOCKED</promise>\n\nA person is needed:\n{needs}\n\n{_summary(loop)}"
    return f"<promise>SETUP_REQUIRED</promise>\nExplanation: {loop.explanation}"


def _summary(loop: Loop) -> str:
    done = sum(one.status is StoryStatus.COMPLETE for one in loop.progress.stories)
    elapsed = datetime.fromisoformat(loop.updated) - datetime.fromisoformat(loop.started)
    return (
        "Summary:\n"
        f"- Stories completed: {done}\n"
        f"- Total iterations: {loop.iteration}\n"
        f"- Final commit: {loop.last_commit or 'none'}\n"
        f"- Time elapsed: {str(elapsed).partition('.')[0]}"
    )
