"""From what a command asks for, an intent or a state, to the event that does it."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.errors import Refusal
from interlock.machine.form import Command
from interlock.machine.model import Machine

__all__ = ["Handoff", "normalise_command", "normalise_intent", "resolve"]


@dataclass(frozen=True, slots=True)
class Handoff:
    """What a command asks for, resolved."""

    command: str
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
    name = normalise_command(command)
    offered = {known: one for known, one in machine.form.commands.items() if not one.internal}
    if name not in offered:
        message = f"There is no command {command[:80]!r}."
        raise Refusal("unknown_command", message, f"Use one of: {', '.join(offered)}.")
    if (intent is None) == (to is None):
        message = "Exactly one of an intent and a state is needed."
        raise Refusal("invalid_argument", message, f"Intents: {', '.join(machine.form.intents)}.")
    if intent is not None:
        return _by_intent(machine, name, offered[name], normalise_intent(intent))
    assert to is not None
    if to not in machine.states:
        message = f"There is no state {to[:80]!r}."
        raise Refusal("unknown_state", message, f"Use one of: {', '.join(machine.states)}.")
    return Handoff(name, "lock" if to == offered[name].lock else "handoff", to, None)


def _by_intent(machine: Machine, name: str, command: Command, intent: str) -> Handoff:
    known = machine.form.intents
    if intent not in known:
        glossed = ", ".join(f"{word} ({one.description})" for word, one in known.items())
        raise Refusal("unknown_intent", f"There is no intent {intent[:80]!r}.", f"Use one of: {glossed}.")
    meaning = known[intent]
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
