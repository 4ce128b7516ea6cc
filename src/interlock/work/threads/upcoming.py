"""What a person does next with a thread, in each of its states: the `next` of its machine. There is always a way."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.machine.form import NextCommand
from interlock.machine.states import shipped_state

__all__ = ["next_command", "next_commands"]

_PAUSE = NextCommand("ralph thread pause {id}", "pause the loop")


def next_commands(state: str, *, is_driven: bool = False) -> Sequence[NextCommand]:
    """What a person can run for a thread, the likeliest first; `{id}` is the thread. None once it has ended."""
    known = shipped_state("thread", state)
    return [_PAUSE] if is_driven and known.pause else known.next


def next_command(state: str, thread: str) -> str:
    """What to type for a thread that nobody drives."""
    found = [one.command for one in next_commands(state)] or ["ralph thread show {id}"]
    return found[0].replace("{id}", thread[-6:])
