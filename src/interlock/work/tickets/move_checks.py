"""What a move of a ticket needs besides its machine: no thread beside it, a person at a terminal, a merge.

`handoff` makes a move with it, and a refusal lists what is possible with it, so the two cannot disagree.
"""

from __future__ import annotations

import msgspec

from interlock.errors import Refusal
from interlock.journal import Instance
from interlock.machine import Actor, ActorKind, Event, Evidence, Machine, Snapshot
from interlock.machine.commands import Handoff

__all__ = ["MoveRequest", "check_move", "events_of", "refuse_beside"]

_MERGED = "merged"


class MoveRequest(msgspec.Struct, frozen=True):
    """Who asks for moves of a ticket, and what is known of them and of it."""

    actor: Actor
    holder: str | None = None
    """As whom they hold a lock."""
    present: bool = True
    """Whether a person is at a terminal; an agent's moves do not ask for it."""
    thread: Instance | None = None
    """The open thread that works on the ticket."""
    merged: str | None = None
    """A commit of the ticket that was seen in the target branch."""
    settings: dict[str, int | str] = {}


def refuse_beside(asked: MoveRequest) -> None:
    """Refuse a command beside the thread of a ticket; people may."""
    thread = asked.thread
    if thread is not None and asked.actor.kind != ActorKind.HUMAN:
        message = f"The thread {thread.id} works on it, in {thread.state}; until it ends, it alone and people move it."
        raise Refusal("driven_by_thread", message, "Leave this ticket to its thread, and take another one.")


def check_move(machine: Machine, state: str, asked: MoveRequest, wanted: Handoff) -> None:
    """Refuse a move that the machine might allow, and this caller cannot make."""
    refuse_beside(asked)
    if not asked.present and _is_persons(machine, state, wanted):
        message = f"only a person at a terminal moves it to {wanted.to!r}, and there is no terminal here."
        raise Refusal("person_needed", message, "Type the command in your own terminal.")


def _is_persons(machine: Machine, state: str, wanted: Handoff) -> bool:
    """Whether no agent could make this move, whatever its command."""
    rows = [row for row, _ in machine.outgoing[state] if row.on == wanted.event and row.to == wanted.to]
    return bool(rows) and not any(ActorKind.AGENT in row.by for row in rows)


def events_of(
    machine: Machine, ticket: Snapshot, asked: MoveRequest, wanted: Handoff, reason: str
) -> tuple[Event | None, Event]:
    """The events of a move: that its merge was seen, if that is news, and the move itself."""
    data = {"intent": wanted.intent} if wanted.intent else {}
    # What is given back too often leads to a person, and not to where the intent says.
    target = None if wanted.event == "release" else wanted.to
    evidence = Evidence(settings=asked.settings, holder=asked.holder, data=data)
    move = Event(wanted.event, asked.actor, target, wanted.command, reason, evidence)
    closes = machine.states[wanted.to].outcome == "success"
    if asked.merged is None or not closes or _MERGED in ticket.proofs:
        return None, move
    from interlock.work.sessions.verbs import DRIVER

    return Event("merge_observed", DRIVER, evidence=Evidence(subjects={"commit": asked.merged})), move
