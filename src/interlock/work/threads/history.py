"""PURE. What a thread's entries tell of its way: the moves, the gates that were passed, and what came of each try."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.machine.model import NOTED
from interlock.work.gates.statement import Approval

__all__ = ["Passing", "ThreadMove", "TryResult", "moves_of", "passings_of", "tries_of"]

_VERDICTS = {"criteria_passed": True, "criteria_failed": False}


class ThreadMove(msgspec.Struct, frozen=True):
    """A move from one state to another: by whom, and why."""

    seq: int
    version: int
    event: str
    to: str
    kind: str
    who: str
    at: str
    reason: str


class Passing(msgspec.Struct, frozen=True):
    """A gate that a person passed: for what, by its hash, over which channel, and signed with which key."""

    seq: int
    event: str
    gate: str
    subject: str
    hash: str
    who: str
    channel: str
    at: str
    key: str | None


class TryResult(msgspec.Struct, frozen=True):
    """One run of an agent, and what came of it."""

    number: int
    run: str
    role: str
    agent: str
    ending: str
    seconds: float
    cost_usd: float
    tokens: int
    is_promised: bool
    at: str
    is_verified: bool | None = None
    """None where nothing was verified of it."""
    met: int | None = None
    criteria: int | None = None


def moves_of(entries: Iterable[Entry]) -> list[ThreadMove]:
    """Every change of the state, from its first one on."""
    return [
        ThreadMove(
            one.seq, one.version, one.event, one.to_state, one.actor_kind, one.actor_id, one.time, one.reason or ""
        )
        for one in entries
        if one.to_state != one.from_state
    ]


def passings_of(entries: Iterable[Entry]) -> list[Passing]:
    """The gates that were passed. What cannot be read as an approval is none; `ralph journal verify` says so."""
    found = []
    for one in entries:
        if '"approval"' not in one.evidence:
            continue
        try:
            given = convert(one.decoded_evidence().data.get("approval"), Approval)
        except msgspec.ValidationError:
            continue
        said = given.statement
        found.append(
            Passing(
                one.seq, one.event, said.gate, said.subject, said.hash, one.actor_id, one.channel, one.time, given.key
            )
        )
    return found


def tries_of(entries: Iterable[Entry]) -> list[TryResult]:
    """The runs of agents, the oldest first. A verdict is about the implementer's run before it."""
    found: list[TryResult] = []
    for one in entries:
        data = one.decoded_evidence().data
        if one.event == NOTED and data.get("type") == "iteration":
            told = {name: data[name] for name in ("number", "run", "role", "agent", "ending", "seconds", "tokens")}
            spent, promised = data["cost_usd"] or 0.0, data["promise"] is not None
            found.append(TryResult(**told, cost_usd=spent, is_promised=promised, at=one.time))
        elif one.event in _VERDICTS:
            _judge(found, _VERDICTS[one.event], data.get("receipt"))
    return found


def _judge(found: list[TryResult], verdict: bool, receipt: object) -> None:
    place = next((place for place in reversed(range(len(found))) if found[place].role == "implementer"), None)
    if place is None:
        return
    criteria = receipt.get("criteria", ()) if isinstance(receipt, dict) else ()
    met = sum(bool(one["met"]) for one in criteria)
    found[place] = replace(found[place], is_verified=verdict, met=met, criteria=len(criteria))
