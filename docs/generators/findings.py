"""Every finding of the checker with its meaning, from the docstring of `interlock.machine.check`, and what mends it."""

from __future__ import annotations

import importlib
from typing import Final

__all__ = ["MENDING", "findings", "meanings"]

MENDING: Final = {
    "unreachable_state": "Add a row that leads to it, or delete it.",
    "dead_transition": (
        "Its condition never holds where its state is reached, or an earlier row always applies first. "
        "Rows out of a state that cannot be reached are not reported on their own."
    ),
    "gate_not_human": 'Only `by = ["human"]` may stand on a row with a `gate`.',
    "gate_avoided": (
        "Let the row into success pass the gate or require it. "
        "A machine that observes enforces nothing, so it cannot require a gate at all."
    ),
    "gate_voided": (
        "Having been passed once is not enough: require the gate on the last row, where a change has been seen. "
        "[An example](#an-approval-that-outlives-what-was-approved)."
    ),
    "receipt_avoided": "Let the row into success bring the receipt or require it.",
    "receipt_voided": "Require the receipt on the last row, so that a change has to be proven again.",
    "receipt_by_agent": "Leave `agent` out of `by` on a row with a `receipt`: the system proves, and then brings it.",
    "no_success": (
        'Give the end that is meant `outcome = "success"`; gates and receipts guard no other. '
        "A machine that keeps a record and never ends says `never_ends = true`."
    ),
    "dead_end": "Add a row that leads on, end the instance there, or mark the state `human = true` with a way on.",
    "lock_kept": (
        "Give people a move out of the state, or the system one with `any_holder = true` for when the holder is gone."
    ),
    "counts_down": "Count up to a limit instead, and use `set` to begin again at 0 or more.",
    "states_alike": "Rename one of them.",
    "parent_unknown": "The machines above are the shipped ones; name an event, a state and a command that they have.",
    "parent_cycle": "Take the row out: a machine is above another one, never above itself.",
    "parent_untold": "Add the state to `enters` or the outcome to `outcomes` of a row of `parents`.",
    "trap": (
        "Give the person a move out that works in that configuration. Abandoning does not count. "
        "Only states with `human = true` are looked at."
    ),
    "endless": "Count a move of the round, or say in `progress` why it ends. [An example](#an-endless-loop).",
    "gap": (
        "Add a transition or a refusal for the case. It is reported only for facts and counters: "
        "that a proof is not valid is no gap. [An example](#a-gap)."
    ),
    "ambiguous": "The first row would win silently. Make the conditions exclude each other.",
    "unreachable_output": "Add the row, or take the state out of the command's `outputs`.",
    "unreachable_intent": "Add the row, or take the command out of the intent.",
    "too_large": "Fewer settings, facts and counters make it smaller.",
}
"""What mends each finding."""


def meanings() -> dict[str, str]:
    """Every code of a finding with the checker's own words for it."""
    checker = importlib.import_module("interlock.machine.check")
    lines = [line.split(maxsplit=1) for line in (checker.__doc__ or "").splitlines() if line.startswith("    ")]
    return {line[0]: line[1] for line in lines}


def findings() -> str:
    """A heading for each code, the checker's own words, and what mends it."""
    parts: list[str] = []
    for code, meaning in meanings().items():
        parts += [f"### {code}", f"{meaning[:1].upper()}{meaning[1:]}.", MENDING[code]]
    return "\n\n".join(parts)
