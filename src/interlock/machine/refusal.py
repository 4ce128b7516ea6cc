"""How a step is refused: a code, a sentence, what to do instead, and every event that is allowed now."""

from __future__ import annotations

from interlock.machine.model import Machine
from interlock.machine.values import Allowed, Event, Evidence, Refused, Snapshot

__all__ = ["allowed", "refuse", "what", "who"]

_NOTHING = Evidence()


def allowed(machine: Machine, snapshot: Snapshot) -> tuple[Allowed, ...]:
    """Every event that is possible now, with who may fire it and what it takes."""
    if snapshot.outcome is not None or snapshot.awaiting is not None:
        return ()
    found = [
        Allowed(
            event=transition.on,
            to=transition.to,
            by=transition.by,
            gate=transition.gate,
            needs=transition.needs,
            requires=transition.requires,
            commands=transition.commands,
            when=transition.when,
        )
        for transition, condition in machine.outgoing.get(snapshot.state, ())
        if (condition is None or condition.names & machine.form.facts.keys() or condition.holds(snapshot, _NOTHING))
        and all(name in snapshot.proofs for name in transition.requires)
    ]
    return tuple(found)


def refuse(machine: Machine, snapshot: Snapshot, code: str, message: str, hint: str = "") -> Refused:
    now = allowed(machine, snapshot)
    if not hint:
        names = ", ".join(dict.fromkeys(f"{one.event} → {one.to}" for one in now))
        hint = f"Allowed now: {names}." if names else "Nothing is allowed now."
    return Refused(code, message, hint, now)


def who(event: Event) -> str:
    return {"human": "a person", "agent": "an agent", "system": "the system"}.get(event.actor.kind, "nobody known")


def what(event: Event) -> str:
    return f"{event.name[:80]!r} by {who(event)}"
