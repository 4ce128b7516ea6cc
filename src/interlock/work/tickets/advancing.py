"""Handing on the parts of a ticket together, each by itself: one that is refused holds up no other."""

from __future__ import annotations

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.machine import Machine
from interlock.work.sessions.verbs import Caller
from interlock.work.settings.values import Settings
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.pipeline import is_earlier
from interlock.work.tickets.queries import children

__all__ = ["AdvanceFailure", "Advanced", "SkippedTicket", "advance_children"]


class SkippedTicket(msgspec.Struct, frozen=True, rename="camel"):
    """A part that was left where it is."""

    number: int
    state: str = msgspec.field(name="workflowState")
    reason: str


class AdvanceFailure(msgspec.Struct, frozen=True, rename="camel"):
    """A part whose move was refused."""

    number: int
    code: str
    message: str


class Advanced(msgspec.Struct, frozen=True, rename="camel"):
    """What became of each part."""

    advanced: list[int]
    skipped: list[SkippedTicket]
    errors: list[AdvanceFailure]


def advance_children(
    journal: Journal,
    settings: Settings,
    machine: Machine,
    caller: Caller,
    called: str | int,
    *,
    command: str,
    to: str,
    reason: str,
) -> Advanced:
    """Hand each part of a ticket that is before a state on to it."""
    told = Advanced([], [], [])
    for child in children(journal, called):
        if not is_earlier(machine, child.state, to):
            told.skipped.append(SkippedTicket(child.number, child.state, f"it is not before {to!r} on the way"))
            continue
        work = handoff(
            caller,
            child.number,
            command=command,
            to=to,
            reason=reason,
            plan_review=settings.text("ticket.plan_review"),
            timeout=settings.number("session.timeout_minutes") * 60.0,
        )
        try:
            journal.transact(work)
            told.advanced.append(child.number)
        except InterlockError as error:
            told.errors.append(AdvanceFailure(child.number, error.code, f"{error.message} {error.hint}"))
    return told
