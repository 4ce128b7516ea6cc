"""The loop: read where it stands, do the next effect, write down what came of it, again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Event, Evidence
from interlock.work.sessions.verbs import is_present
from interlock.work.stories.ending import ending
from interlock.work.stories.files import settle
from interlock.work.stories.plan import task_name
from interlock.work.stories.progress import Status, parse
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from interlock.work.stories.runs import end_left_runs
from interlock.work.stories.steps import STEPS
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import DRIVER, Yard, read_text
from interlock.work.tickets.locks import process_holder

__all__ = ["Driven", "begin", "drive", "open_loop"]

MACHINE = "story"
_LEASE_SECONDS = 600.0
"""How long a driver may be silent besides the longest thing that it waits for."""
_LONGEST = 86_400.0


@dataclass(frozen=True, slots=True)
class Driven:
    """How far a loop was driven: to its end, or to where it was stopped, paused or has to wait."""

    loop: Loop
    ended: bool


def open_loop(journal: Journal) -> str | None:
    """The loop that has not ended; there is one at a time."""
    found = journal.open_instances(MACHINE)
    return found[-1].id if found else None


def begin(yard: Yard, **options: str) -> str:
    """A new loop, or the one that is under way."""
    known = open_loop(yard.journal)
    if known is not None:
        return known
    evidence = Evidence(data={"options": options, "counters": _counted(yard)})
    return yard.journal.create(MACHINE, Event("created", DRIVER, evidence=evidence)).entry.instance


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
    seconds = _lease_seconds(yard)
    lease = journal.acquire(f"{MACHINE}:{id_}", process_holder(), seconds, is_present)
    try:
        end_left_runs(journal, id_)
        while True:
            loop = loop_of(journal.history(id_))
            if loop.outcome is not None:
                yard.tell(ending(loop))
                return Driven(loop, ended=True)
            loop = settle(yard, loop, lease)
            if loop.paused is not None or yard.stop.is_set():
                return Driven(loop, ended=False)
            instance = journal.instance(id_)
            yard.tell(loop)
            visit = Visit(yard, loop, instance.snapshot, journal.machine_of(instance), lease)
            event = STEPS[loop.state](visit)
            if event is not None:
                journal.append(id_, event, lease=lease)
            journal.renew(lease, seconds)
    finally:
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)


def _lease_seconds(yard: Yard) -> float:
    """As long as the longest step: nobody on another host takes over while an agent works."""
    longest = (yard.limits.agent_seconds, yard.limits.test_seconds)
    return _LEASE_SECONDS + max(seconds or _LONGEST for seconds in longest)
