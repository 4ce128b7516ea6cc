"""From what a command asks for, an intent or a state, to the event that does it."""

from __future__ import annotations

import msgspec

from interlock.errors import Refusal, UsageError
from interlock.machine.form import Command
from interlock.machine.model import Machine
from interlock.machine.values import ActorKind

__all__ = ["Handoff", "normalise_command", "normalise_intent", "resolve", "resolve_for_person"]


class Handoff(msgspec.Struct, frozen=True):
    """What a command asks for, resolved."""

    command: str | None
    event: str
    to: str
    intent: str | None


def normalise_command(name: str) -> str:
    """`ralph_research` and `research` are the same command."""
    return name.removeprefix("ralph_")


def normalise_intent(name: str) -> str:
    """`__LOCK__` and `lock` are the same intent."""
    return name.removeprefix("__").removesuffix("__").lower()


def resolve(machine: Machine, command: str, *, intent: str | None = None, to: str | None = None) -> Handoff:
    """The event and the target of a command that names an intent or, instead, a state."""
    _one_of(machine, intent, to)
    name = normalise_command(command)
    offered = _offered(machine)
    if name not in offered:
        message = f"There is no command {command[:80]!r}."
        raise Refusal("unknown_command", message, f"Use one of: {', '.join(offered)}.")
    if intent is not None:
        return _by_intent(machine, name, offered[name], _intent(machine, intent))
    to = _state(machine, to)
    return Handoff(name, "lock" if to == offered[name].lock else "handoff", to, None)


def resolve_for_person(machine: Machine, state: str, *, intent: str | None = None, to: str | None = None) -> Handoff:
    """The event and the target of a person's wish, who need name no command: what the intent means from here."""
    _one_of(machine, intent, to)
    if intent is None:
        to = _state(machine, to)
        claims = to == state and machine.states[state].lock
        return Handoff(None, "lock" if claims else "handoff", to, None)
    intent = _intent(machine, intent)
    meaning = machine.form.intents[intent]
    here = {name for name, one in _offered(machine).items() if state in (*one.inputs, one.lock)} | {"*"}
    meant = dict.fromkeys(
        target
        for name, target in meaning.commands.items()
        if name in here
        and any(
            row.to == target and row.on == meaning.event and ActorKind.HUMAN in row.by
            for row, _ in machine.outgoing[state]
        )
    )
    if len(meant) > 1 or here & {*meaning.ambiguous}:
        message = f"{intent!r} in {state!r} could mean {', '.join(meant) or 'several things'}."
        raise Refusal("intent_ambiguous", message, "Name the state instead of the intent.")
    if not meant:
        targets = dict.fromkeys(row.to for row, _ in machine.outgoing[state] if ActorKind.HUMAN in row.by)
        hint = f"Name a state instead: {', '.join(targets)}." if targets else "It has ended; make a new ticket."
        raise Refusal("intent_unmapped", f"{intent!r} means nothing in {state!r}.", hint)
    return Handoff(None, meaning.event, next(iter(meant)), intent)


def _offered(machine: Machine) -> dict[str, Command]:
    return {known: one for known, one in machine.form.commands.items() if not one.internal}


def _one_of(machine: Machine, intent: str | None, to: str | None) -> None:
    if (intent is None) == (to is None):
        given = "neither is" if intent is None else "both are"
        message = f"Exactly one of an intent and a state is needed, and {given} given."
        hint = f"Intents: {', '.join(machine.form.intents)}. States: {', '.join(machine.states)}."
        raise UsageError("invalid_argument", message, hint)


def _state(machine: Machine, to: str | None) -> str:
    if to is None or to not in machine.states:
        message = f"There is no state {str(to)[:80]!r}."
        raise Refusal("unknown_state", message, f"Use one of: {', '.join(machine.states)}.")
    return to


def _intent(machine: Machine, given: str) -> str:
    known, intent = machine.form.intents, normalise_intent(given)
    if intent not in known:
        glossed = ", ".join(f"{word} ({one.description})" for word, one in known.items())
        raise Refusal("unknown_intent", f"There is no intent {given[:80]!r}.", f"Use one of: {glossed}.")
    return intent


def _by_intent(machine: Machine, name: str, command: Command, intent: str) -> Handoff:
    meaning = machine.form.intents[intent]
    if name in meaning.ambiguous:
        message = f"{intent!r} of the command {name} could mean {', '.join(command.outputs)}."
        raise Refusal("intent_ambiguous", message, "Name the state instead of the intent.")
    target = meaning.commands.get(name)
    anybodys = meaning.commands.get("*")
    if target is None and name not in meaning.unsupported and anybodys in command.outputs:
        target = anybodys
    if target is None:
        supporting = ", ".join(one for one in meaning.commands if one != "*") or "others"
        message = f"The command {name} has no intent {intent!r}; {supporting} have."
        raise Refusal("intent_unmapped", message, f"Name a state instead: {', '.join(command.outputs)}.")
    return Handoff(name, meaning.event, target, intent)
