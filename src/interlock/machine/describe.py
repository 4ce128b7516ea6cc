"""A machine as plain data: what `ralph machine show --json`, the docs and other programs read."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.machine.model import Machine

__all__ = ["describe", "summarise"]


def describe(machine: Machine) -> dict[str, Any]:
    """The normalised machine: states by name, one object for each edge, and everything else its file says."""
    form: dict[str, Any] = msgspec.to_builtins(machine.form)
    for name, state in form["states"].items():
        state.setdefault("label", name)
    return {
        **form,
        "enforcement": machine.form.enforcement,
        "digest": machine.digest,
        "transitions": [msgspec.to_builtins(transition) for transition in machine.transitions],
    }


def summarise(machine: Machine) -> dict[str, Any]:
    """A machine in one line."""
    return {
        "name": machine.name,
        "version": machine.form.version,
        "description": machine.form.description,
        "enforcement": machine.form.enforcement,
        "states": len(machine.states),
        "transitions": len(machine.transitions),
        "gates": list(machine.form.gates),
    }
