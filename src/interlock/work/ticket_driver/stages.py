"""PURE. What comes next for a ticket, by the machine that it was made by."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from interlock.machine import Machine

__all__ = ["Stage", "StageKind", "WorkStop", "stage_of", "too_large"]

_PREPARES = ("triage", "research", "plan", "review")
"""The commands that bring a ticket to where it is built, in their order."""
_REVIEWS = "review"
_BUILDS = "impl"
_MERGES = "merge"
_DIVIDES = "split"


class StageKind(StrEnum):
    """What a ticket needs next."""

    COMMAND = "command"
    """An agent runs a command of the pipeline."""
    PLAN = "plan"
    """A person reads the plan."""
    THREAD = "thread"
    """It is built."""
    MERGE = "merge"
    """It is in review, and done when its commit is merged."""
    PERSON = "person"
    """A person has to decide."""
    NOTHING = "nothing"
    """It has ended."""


class Stage(msgspec.Struct, frozen=True):
    """What a ticket needs next, and the command that does it, where one does."""

    what: StageKind
    command: str | None = None


class WorkStop(msgspec.Struct, frozen=True):
    """Why nothing goes on by itself now, and what a person does next."""

    why: str
    hint: str
    failed: bool = False
    """Whether something went wrong; else it only is a person's turn."""
    thread: str | None = None


def stage_of(machine: Machine, state: str, plan_review: str) -> Stage:
    """What comes next for a ticket in a state."""
    commands = machine.form.commands
    if machine.states[state].terminal:
        return Stage(StageKind.NOTHING)
    if _is_for(machine, _BUILDS, state):
        return Stage(StageKind.THREAD)
    if _MERGES in commands and state in commands[_MERGES].inputs:
        return Stage(StageKind.MERGE)
    command = next((name for name in _PREPARES if _is_for(machine, name, state)), None)
    if command is None:
        return Stage(StageKind.PERSON)
    if command == _REVIEWS and plan_review != "auto":
        return Stage(StageKind.PLAN, command)
    return Stage(StageKind.COMMAND, command)


def _is_for(machine: Machine, name: str, state: str) -> bool:
    command = machine.form.commands.get(name)
    return command is not None and (state in command.inputs or state == command.lock)


def too_large(machine: Machine, command: str, estimate: str | None) -> bool:
    """Whether a ticket has to be divided before a command takes it."""
    known, divides = machine.form.commands[command], machine.form.commands.get(_DIVIDES)
    is_large = divides is not None and estimate in divides.estimates
    return is_large and (not known.estimates or estimate not in known.estimates)
