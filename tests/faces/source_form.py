"""A ticket machine in the source system's JSON form, made from our own table."""

from __future__ import annotations

from typing import Any

from interlock.machine import Machine

__all__ = ["source_form"]


def source_form(machine: Machine) -> dict[str, Any]:
    """The states, edges, commands and intents of a machine as the source system writes them."""
    form = machine.form
    targets: dict[str, list[str]] = {name: [] for name in form.states}
    for transition in machine.transitions:
        if transition.on == "handoff" and not transition.added and transition.to not in targets[transition.source]:
            targets[transition.source].append(transition.to)
    return {
        "states": {
            name: {
                "description": state.description,
                "allowed_transitions": targets[name],
                "is_lock_state": state.lock,
                "is_terminal": state.terminal,
                "requires_human_action": state.human,
            }
            for name, state in form.states.items()
        },
        "commands": {
            f"ralph_{name}": {
                "description": command.description,
                "valid_input_states": command.inputs,
                "valid_output_states": command.outputs,
                "lock_state": command.lock,
            }
            for name, command in form.commands.items()
            if not command.internal
        },
        "semantic_states": {
            f"__{name.upper()}__": {
                **{f"ralph_{one}" if one != "*" else one: target for one, target in intent.commands.items()},
                **{f"ralph_{one}": None for one in intent.ambiguous},
            }
            for name, intent in form.intents.items()
            if name != "release"
        },
    }
