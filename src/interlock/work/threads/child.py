"""The shape of whatever can drive a thread as its child, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from interlock.journal import Journal
from interlock.work.driver.system import StepResult
from interlock.work.threads.driver_step import ThreadStep

__all__ = ["Child", "ChildPart", "ChildView"]


class ChildPart(msgspec.Struct, frozen=True):
    """One piece of a child's work: a story or a task, and where it stands."""

    id: str
    mark: str
    text: str


class Child(msgspec.Struct, frozen=True):
    """One kind of child."""

    machine: str
    begin: Callable[[ThreadStep], str]
    """A new one, with the work that the thread has for it; noted as the thread's child."""
    hindrance: Callable[[ThreadStep], str | None]
    """Why it must not go on before a person has looked; None where nothing is in its way."""
    fits: Callable[[ThreadStep, str], bool]
    """Whether one that is under way still is what the thread wants, or is to be closed for a new one."""
    wake: Callable[[ThreadStep, str], None]
    """Let one go on that rests by itself: a person has decided so."""
    drive: Callable[[ThreadStep, str], StepResult]
    """Drive it as far as it goes, and return what that means for the thread."""
    parts: Callable[[Journal, str], tuple[str, tuple[ChildPart, ...]]]
    """The state it is in, and its work."""


class ChildView(msgspec.Struct, frozen=True):
    """A child as people see it."""

    machine: str
    id: str
    state: str
    outcome: str | None
    parts: tuple[ChildPart, ...]
