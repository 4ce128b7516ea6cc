"""Steps in memory, without a journal: rows of a shipped machine, and the same rows in two libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from bench.timing import Aim, Comparison, Effort, Side, at_least, by_turns, compare, missing
from bench.workload import BEGIN, LOOP
from interlock.machine import Accepted, Actor, ActorKind, Channel, Event, Machine, Snapshot, Transition, load_shipped
from interlock.machine import step as make_step

__all__ = ["measure"]

_BATCH = 50
"""How often a side goes through its loop in one call."""
_COUNTED = Event("iteration_finished", Actor(ActorKind.SYSTEM, "bench", Channel.TEST))


class Walk(msgspec.Struct, frozen=True):
    """Rows of a machine, and a way through them that can be gone for ever."""

    machine: Machine
    start: Snapshot
    rows: list[Transition]
    begin: tuple[Event, ...]
    loop: tuple[Event, ...]


class Subject:
    """What the libraries' guards read and their actions change."""

    def __init__(self) -> None:
        self.iteration = 1
        self.limit = math.inf
        self.tests = "unknown"

    def within_limit(self) -> bool:
        return self.iteration < self.limit

    def at_limit(self) -> bool:
        return self.iteration >= self.limit

    def tests_not_failed(self) -> bool:
        return self.tests != "failed"

    def count(self) -> None:
        self.iteration += 1


_GUARDS = {
    "iteration < iteration.limit": "within_limit",
    "iteration >= iteration.limit": "at_limit",
    "tests != 'failed'": "tests_not_failed",
}


def measure(effort: Effort, _directory: Path) -> Iterator[Comparison]:
    """A session's plain moves, and a thread's iterations with a guard and a counter."""
    session, thread = load_shipped("session"), load_shipped("thread")
    moves = [row for row in session.transitions if row.on == LOOP[0].name]
    plain = Walk(session, Snapshot(session.form.initial), moves, BEGIN, LOOP)
    iterations = [row for row in thread.transitions if row.on == _COUNTED.name]
    unlimited = Snapshot("Running", settings={"iteration.limit": 0})
    guarded = Walk(thread, unlimited, iterations, (), (_COUNTED, _COUNTED))
    yield from _against_libraries(effort, "step, plain", plain, at_least(5))
    yield from _against_libraries(effort, "step, guard and counter", guarded, None)


def _against_libraries(effort: Effort, subject: str, walk: Walk, aim: Aim | None) -> Iterator[Comparison]:
    makers: dict[str, Callable[[Walk], Side]] = {
        "transitions": _in_transitions,
        "python-statemachine": _in_statemachine,
    }
    sides, absent = {"ours": _in_interlock(walk)}, set()
    for name, maker in makers.items():
        try:
            sides[name] = maker(walk)
        except ImportError:
            absent.add(name)
    rates = by_turns(sides, effort.rounds, effort.seconds / 2)
    for name in makers:
        if name in absent:
            yield missing(subject, name, "not installed", aim)
        else:
            yield compare(subject, name, rates["ours"], rates[name], aim=aim)


def _in_interlock(walk: Walk) -> Side:
    machine = walk.machine
    snapshot = walk.start

    def go(events: tuple[Event, ...]) -> None:
        nonlocal snapshot
        for event in events:
            result = make_step(machine, snapshot, event)
            assert isinstance(result, Accepted)
            snapshot = result.snapshot

    go(walk.begin)
    return _repeated(lambda: go(walk.loop), walk)


def _in_transitions(walk: Walk) -> Side:
    library: Any = import_module("transitions")
    model: Any = Subject()
    library.Machine(
        model=model,
        states=_states(walk),
        transitions=[
            {
                "trigger": _trigger(walk, row.on, row.to),
                "source": row.source,
                "dest": row.to,
                "conditions": _guards(row),
                "after": _actions(row),
            }
            for row in walk.rows
        ],
        initial=walk.start.state,
        auto_transitions=False,
    )
    return _sending(walk, model)


def _in_statemachine(walk: Walk) -> Side:
    library: Any = import_module("statemachine")
    sources = {row.source for row in walk.rows}
    states: dict[str, Any] = {
        name: library.State(name, initial=name == walk.start.state, final=name not in sources) for name in _states(walk)
    }
    body: dict[str, Any] = dict(states)
    for row in walk.rows:
        made = states[row.source].to(states[row.to], cond=_guards(row), on=_actions(row))
        trigger = _trigger(walk, row.on, row.to)
        body[trigger] = body[trigger] | made if trigger in body else made
    machine = type(library.StateMachine)("Generated", (library.StateMachine,), body)
    return _sending(walk, machine(model=Subject()))


def _sending(walk: Walk, machine: Any) -> Side:
    """The way through the rows, with a library's own methods for the events."""
    for event in walk.begin:
        getattr(machine, _trigger(walk, event.name, event.to))()
    loop = [getattr(machine, _trigger(walk, event.name, event.to)) for event in walk.loop]

    def go() -> None:
        for send in loop:
            send()

    return _repeated(go, walk)


def _repeated(go: Callable[[], None], walk: Walk) -> Side:
    def repeat() -> int:
        for _ in range(_BATCH):
            go()
        return _BATCH * len(walk.loop)

    return repeat


def _states(walk: Walk) -> list[str]:
    return list(dict.fromkeys(name for row in walk.rows for name in (row.source, row.to)))


def _trigger(walk: Walk, event: str, to: str | None) -> str:
    """The name of an event in the libraries, where the target is part of the name."""
    return f"{event}_{to}" if event in walk.machine.targets else event


def _guards(row: Transition) -> list[str]:
    return [_GUARDS[row.when]] if row.when else []


def _actions(row: Transition) -> list[str]:
    return ["count"] if row.count else []
