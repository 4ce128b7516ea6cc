"""PURE. What somebody did on a tracker's board since it was last seen, told apart from what we wrote there ourselves.

A write of ours may have reached the board though nobody told us. So whatever the ticket was, or was called, since the
last entry that the board is known to show is ours, and not somebody's change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.journal import Entry, Instance
from interlock.machine import Accepted, Actor, ActorKind, Channel, Event, Machine, Snapshot, step
from interlock.work.tickets.audit import is_move
from interlock.work.tickets.record import EDITED, TicketRecord, Tracked
from interlock.work.tickets.tracker import STATE, compared, plain_there, written
from interlock.world.github import BoardItem

__all__ = ["GONE", "REOPENED", "TRACKER", "BoardNews", "asked_for", "gone", "news_of", "verdict_on"]

TRACKER = Actor(ActorKind.SYSTEM, "github", Channel.TRACKER)
REOPENED = "(reopened)"
"""Where a ticket that has ended is said to be when its issue was opened again."""
GONE = "(not on the board)"
_DONE, _CANCELED = "Done", "Canceled"
_SOMEBODY = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)


class BoardNews(msgspec.Struct, frozen=True):
    """What the board has that the ticket has not."""

    edits: dict[str, Any]
    """The plain fields that somebody changed there."""
    asked: str | None
    """The state that somebody asks for by what they did there."""
    seen: Tracked
    """The ticket on the board as it is now, for the ticket to remember."""


def news_of(
    item: BoardItem, ticket: Instance, card: TicketRecord, machine: Machine, history: Sequence[Entry]
) -> BoardNews:
    """What is new about a ticket that is known to be on the board. Without a history, all that may be."""
    tracked = card.tracked
    assert tracked is not None
    ours = [entry for entry in history if entry.seq > tracked.upto and entry.channel != Channel.TRACKER]
    has_ended = ticket.outcome is not None
    asked = asked_for(item, tracked, ticket.state, has_ended, _stood(ours))
    agrees = item.fields.get(STATE) == ticket.state and item.is_open == (not has_ended)
    is_same = (item.fields.get(STATE), item.is_open) == (tracked.state, tracked.is_open)
    seen = replace(
        tracked,
        item=item.id,
        issue=item.issue,
        number=item.number,
        url=item.url,
        state=item.fields.get(STATE),
        is_open=item.is_open,
        fields=compared(plain_there(item, machine)),
        stale=False,
    )
    if agrees or not is_same or tracked.outside == GONE:
        seen = replace(seen, outside=None, verdict=None)
    elif seen.outside is not None:
        seen = replace(seen, verdict=verdict_on(machine, ticket.snapshot, seen.outside, card.number))
    if asked is None and seen.outside is None and not agrees and (tracked.stale or card.shown <= tracked.upto):
        seen = replace(seen, stale=True)  # nobody means what the board shows, and nothing else would mend it
    return BoardNews(_edits(item, card, tracked, machine, _touched(ours)), asked, seen)


def asked_for(
    item: BoardItem, tracked: Tracked, state: str, has_ended: bool, stood: Collection[str] = ()
) -> str | None:
    """The state that somebody asks for; None where nobody touched the card, or it stands where the ticket stood.

    Closing an issue asks for Done, or for Canceled where it is not planned. While a person waits for the board to be
    put right, only a card that is moved to yet another state asks for anything.
    """
    there = item.fields.get(STATE)
    was_moved = there not in (None, tracked.state, state, *stood)
    was_closed = not item.is_open and (tracked.is_open or was_moved)
    if not has_ended and was_closed and not tracked.stale:
        return there if there in (_DONE, _CANCELED) else (_DONE if item.is_planned else _CANCELED)
    if was_moved:
        return there
    is_reopened = has_ended and item.is_open and not tracked.is_open
    return REOPENED if is_reopened and not tracked.stale else None


def _stood(ours: Sequence[Entry]) -> set[str]:
    """Where the ticket stood meanwhile."""
    return {state for entry in ours if is_move(entry) for state in (entry.from_state, entry.to_state) if state}


def _touched(ours: Sequence[Entry]) -> set[str]:
    """The plain fields that were changed here meanwhile."""
    notes = [entry.decoded_evidence().data for entry in ours if entry.event == "noted"]
    edits = [note for note in notes if note.get("type") == EDITED]
    return {name for edit in edits for how in ("set", "add", "remove") for name in edit.get(how, {})}


def _edits(
    item: BoardItem, card: TicketRecord, tracked: Tracked, machine: Machine, touched: set[str]
) -> dict[str, Any]:
    """What was changed there and not here; where both changed, what is here goes there."""
    theirs, ours = plain_there(item, machine), written(card)
    # A card that was put on the board anew is blank: nobody cleared what it does not have.
    blank = {} if item.id == tracked.item else {"estimate": None, "priority": None}
    were, are = tracked.fields | blank, compared(theirs)
    return {
        name: value
        for name, value in theirs.items()
        if are[name] != were.get(name) and name not in touched and value != ours[name]
    }


def verdict_on(machine: Machine, snapshot: Snapshot, target: str, number: int) -> str:
    """Why a move that was made on the board waits, and what a person can do about it."""
    undo = f"`ralph ticket sync --restore {number}` puts the board right"
    if target == REOPENED:
        return f"its issue was opened again, and the ticket has ended; {undo}"
    if isinstance(step(machine, snapshot, Event("handoff", _SOMEBODY, target)), Accepted):
        return f"this move needs a person: `ralph ticket sync --accept {number}` makes it, and {undo}"
    if target not in machine.states:
        return f"that is no state of a ticket; {undo}"
    return f"nobody may move it there; {undo}"


def gone(tracked: Tracked, number: int) -> Tracked:
    """A ticket whose issue was taken off the board, or deleted."""
    verdict = f"its issue ({tracked.url}) is not on the board; `ralph ticket sync --restore {number}` puts it there"
    return replace(tracked, outside=GONE, verdict=verdict)
