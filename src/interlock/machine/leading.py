"""What a move of an instance means for the one above it, by the table `[[parents]]` of its machine."""

from __future__ import annotations

from interlock.machine.form import Parent
from interlock.machine.model import Machine

__all__ = ["led"]


def led(machine: Machine, came_from: str | None, to: str) -> Parent | None:
    """The row that leads the instance above, for a move from one state to another.

    What is entered counts more than what is left. Rows without a state to lead to are not meant: whoever drives the
    instance above brings them, with what they need.
    """
    if came_from == to:
        return None
    rows = [row for row in machine.form.parents if row.to is not None]
    entered = (row for row in rows if to in row.enters)
    left = (row for row in rows if came_from in row.leaves)
    return next(entered, None) or next(left, None)
