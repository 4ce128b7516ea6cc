"""What is true of a machine, proven by exploring every configuration it can be in.

Each finding has a code, a sentence and a shortest way to the fault:

    unreachable_state     no way leads to the state
    dead_transition       nobody can ever fire the transition
    gate_not_human        somebody other than a person may pass a gate
    gate_avoided          a way into success on which a required gate was never passed
    gate_voided           a way into success on which a change voided a required gate after it was passed
    receipt_avoided       a way into success without a required receipt
    receipt_voided        a way into success with a receipt for what has changed since
    receipt_by_agent      an agent may make a receipt itself
    no_success            no way leads to an end with the outcome `success`
    dead_end              no way leads from a state to any end, and it does not wait for a person
    trap                  a state waits for a person, and no move of theirs leads to where success is possible
    lock_kept             only its holder can leave a lock, so a holder that is gone keeps it forever
    endless               agents and the system can go round forever and nothing counts it
    gap                   an event is handled for some values of its facts or counters and not for another
    ambiguous             two rows speak for the same event at once
    unreachable_output    a command can never produce one of its outputs
    unreachable_intent    an intent of a command can never be carried out
    counts_down           a counter is counted down, or set below 0
    states_alike          two states are told apart only by case, spaces, - or _
    parent_unknown        `parents` names a machine, an event, a state or a command that does not exist
    parent_cycle          the machine is above itself, directly or through other machines
    parent_untold         the machine above never hears of an end
    too_large             there are too many configurations to look at all of them
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import msgspec

from interlock.machine.explore import Edge, Exploration, TriedEvent, explore
from interlock.machine.form import Parent
from interlock.machine.load import SHIPPED, load_shipped
from interlock.machine.model import Machine
from interlock.machine.values import ActorKind, Event

__all__ = ["EDITION", "FINDINGS", "CheckReport", "Finding", "check"]

EDITION = 2
"""Raise it with every change of the rules: a report that other rules made is then not used again."""

FINDINGS = tuple(line.split()[0] for line in __doc__.splitlines() if line.startswith("    "))
"""The code of every kind of finding."""

_SHOWN = 5
"""How many findings of one kind are shown at the most; a machine is mended one by one anyway."""


class Finding(msgspec.Struct, frozen=True):
    """One fault of a machine, with a shortest counter-example."""

    code: str
    message: str
    path: tuple[str, ...] = ()
    begins: str = ""
    """The start of the path, with its settings and limits; empty if there is only one way to begin."""


class CheckReport(msgspec.Struct, frozen=True):
    """What the checker looked at and what it found."""

    machine: str
    digest: str
    states: int
    transitions: int
    configurations: int
    moves: int
    findings: tuple[Finding, ...]
    assumptions: tuple[str, ...]
    """What it took on trust: why moves that nothing counts come to an end."""


def check(machine: Machine, most: int = 200_000) -> CheckReport:
    """Explore a machine and report every fault of it."""
    found = explore(machine, most)
    rules = (*_RULES, *_ABSENCE) if found.complete else _RULES
    findings = [finding for rule in rules for finding in _at_most(rule(found))]
    if not found.complete:
        findings.append(Finding("too_large", f"{found.too_large}; what was not explored is unproven"))
    return CheckReport(
        machine=machine.name,
        digest=machine.digest,
        states=len(machine.states),
        transitions=len(machine.transitions),
        configurations=len(found.snapshots),
        moves=sum(len(edges) for edges in found.edges),
        findings=tuple(findings),
        assumptions=tuple(_assumptions(machine)),
    )


def _at_most(findings: Iterator[Finding]) -> Iterator[Finding]:
    counted: dict[str, int] = {}
    for finding in findings:
        counted[finding.code] = counted.get(finding.code, 0) + 1
        if counted[finding.code] <= _SHOWN:
            yield finding


def _assumptions(machine: Machine) -> Iterator[str]:
    if machine.observes:
        yield "moves off the path are recorded and marked, not prevented"
    ends = {transition.id: transition.progress for transition in machine.transitions if transition.progress}
    yield from (f"{move}: {why}" for move, why in ends.items())


def _at(found: Exploration, position: int, code: str, message: str, then: tuple[str, ...] = ()) -> Finding:
    """A finding at a configuration, with the shortest way to it and what follows there."""
    return Finding(code, message, (*found.path(position), *then), found.begins(position))


def _unreachable(found: Exploration) -> Iterator[Finding]:
    reached = {snapshot.state for snapshot in found.snapshots}
    for state in found.machine.states:
        if state not in reached:
            yield Finding("unreachable_state", f"no way leads to {state!r}")


def _dead(found: Exploration) -> Iterator[Finding]:
    fired = {id(edge.transition) for edge in found.all_edges()}
    reached = {snapshot.state for snapshot in found.snapshots}
    for transition in found.machine.transitions:
        if id(transition) not in fired and transition.source in reached:
            asked = f" when {transition.when}" if transition.when else ""
            yield Finding("dead_transition", f"nobody can ever fire {transition.id}{asked}")


def _gates(found: Exploration) -> Iterator[Finding]:
    passed = {(_gate_passed(edge), edge.kind): edge for edge in _shortest_first(found)}
    for (gate, kind), edge in passed.items():
        if gate is not None and kind != ActorKind.HUMAN:
            message = f"the gate {gate!r} can be passed by {kind}"
            yield _at(found, edge.source, "gate_not_human", message, (edge.label,))
    yield from _unenforced(found)
    yield from _avoided(found)


def _gate_passed(edge: Edge) -> str | None:
    if edge.transition is None or edge.event is None or edge.event.name != edge.transition.on:
        return None
    return edge.transition.gate


def _unenforced(found: Exploration) -> Iterator[Finding]:
    machine = found.machine
    for name, proof in machine.proofs.items():
        if proof.required_for and machine.observes:
            code = "gate_avoided" if name in machine.form.gates else "receipt_avoided"
            yield Finding(code, f"{name!r} is required for success, but a machine that observes enforces nothing")


def _avoided(found: Exploration) -> Iterator[Finding]:
    """Ways into success without a valid gate or receipt, the shortest for each."""
    machine = found.machine
    required = [name for name, proof in machine.proofs.items() if proof.required_for]
    seen: set[tuple[str, bool]] = set()
    for position, snapshot in enumerate(found.snapshots):
        if snapshot.outcome != "success":
            continue
        for name in required:
            was_given = name in found.given[position]
            if name not in snapshot.proofs and (name, was_given) not in seen:
                seen.add((name, was_given))
                kind = "gate" if name in machine.form.gates else "receipt"
                subject = machine.proofs[name].subject
                why = f"a change of the {subject} has voided it" if was_given else "it was never given"
                message = f"{snapshot.state!r} can be reached as a success while {name!r} is not valid: {why}"
                yield _at(found, position, f"{kind}_{'voided' if was_given else 'avoided'}", message)


def _receipts(found: Exploration) -> Iterator[Finding]:
    """Receipts that an agent may make, with the shortest way to each."""
    by_agents = (edge for edge in _shortest_first(found) if edge.kind == ActorKind.AGENT)
    made = {edge.transition.receipt: edge for edge in by_agents if edge.transition}
    for receipt, edge in made.items():
        if receipt is not None:
            message = f"the receipt {receipt!r} can be made by an agent, and an agent's word proves nothing"
            yield _at(found, edge.source, "receipt_by_agent", message, (edge.label,))


def _shortest_first(found: Exploration) -> Iterator[Edge]:
    """All edges, those that start farthest last seen first, so that a dict keeps the shortest."""
    for edges in reversed(found.edges):
        yield from edges


def _no_success(found: Exploration) -> Iterator[Finding]:
    outcomes = {snapshot.outcome for snapshot in found.snapshots if snapshot.outcome}
    if "success" not in outcomes and not found.machine.form.never_ends:
        ends = f"it can only end as {', '.join(sorted(outcomes))}" if outcomes else "it can never end"
        yield Finding("no_success", f"no way leads to an end with the outcome 'success': {ends}")


def _dead_ends(found: Exploration) -> Iterator[Finding]:
    """States from which no end can be reached. Those that wait for a person are `trap`'s."""
    machine = found.machine
    if machine.form.never_ends:
        ended = {position for position, edges in enumerate(found.edges) if edges}
    else:
        ended = {position for position, snapshot in enumerate(found.snapshots) if snapshot.outcome is not None}
    hopeful = _leading_to(found, ended)
    reported: set[str] = set()
    for position, snapshot in enumerate(found.snapshots):
        if position in hopeful or machine.states[snapshot.state].human or snapshot.state in reported:
            continue
        reported.add(snapshot.state)
        message = f"no way leads from {snapshot.state!r} to an end, and it does not wait for a person"
        yield _at(found, position, "dead_end", message)


def _kept_locks(found: Exploration) -> Iterator[Finding]:
    reported: set[str] = set()
    for position, snapshot in enumerate(found.snapshots):
        is_held = found.machine.states[snapshot.state].lock and snapshot.holder and snapshot.awaiting is None
        if not is_held or snapshot.state in reported:
            continue
        if not any(_frees(found, edge) for edge in found.edges[position]):
            reported.add(snapshot.state)
            message = f"the lock {snapshot.state!r} can only be left by its holder: one that is gone keeps it forever"
            yield _at(found, position, "lock_kept", message)


def _frees(found: Exploration, edge: Edge) -> bool:
    """True if a move takes a lock from its holder: a person's, or one with `any_holder`."""
    others = edge.kind == ActorKind.HUMAN or (edge.transition is not None and edge.transition.any_holder)
    return others and found.snapshots[edge.target].holder is None


def _traps(found: Exploration) -> Iterator[Finding]:
    succeeded = {position for position, snapshot in enumerate(found.snapshots) if snapshot.outcome == "success"}
    hopeful = _leading_to(found, succeeded)
    if not hopeful:
        return
    trapped: set[str] = set()
    for position, snapshot in enumerate(found.snapshots):
        waits = found.machine.states[snapshot.state].human and snapshot.awaiting is None and snapshot.outcome is None
        if not waits or snapshot.state in trapped:
            continue
        ways_out = [edge for edge in found.edges[position] if edge.kind == ActorKind.HUMAN and edge.target in hopeful]
        if not ways_out:
            trapped.add(snapshot.state)
            message = f"{snapshot.state!r} waits for a person, and no move of theirs leads to where success is possible"
            yield _at(found, position, "trap", message)


def _leading_to(found: Exploration, targets: set[int]) -> set[int]:
    """The configurations from which one of the targets can be reached, and the targets."""
    sources: dict[int, list[int]] = {}
    for edge in found.all_edges():
        sources.setdefault(edge.target, []).append(edge.source)
    hopeful = set(targets)
    front = list(targets)
    while front:
        for source in sources.get(front.pop(), ()):
            if source not in hopeful:
                hopeful.add(source)
                front.append(source)
    return hopeful


def _endless(found: Exploration) -> Iterator[Finding]:
    """Cycles of moves that no person makes and nothing counts; of cycles through the same states, one."""
    edges = [[edge for edge in here if _goes_on_by_itself(edge)] for here in found.edges]
    left = {position for position in range(len(edges)) if edges[position]}
    while (somewhere := _on_a_cycle(edges, left)) is not None:
        cycle = _cycle(edges, somewhere, left)
        states = {found.snapshots[edge.source].state for edge in cycle}
        message = f"without a person and uncounted, it can go round forever through {', '.join(sorted(states))}"
        yield _at(found, somewhere, "endless", message, tuple(f"↻ {edge.label}" for edge in cycle))
        left = {position for position in left if found.snapshots[position].state not in states}


def _goes_on_by_itself(edge: Edge) -> bool:
    counted = edge.transition is not None and edge.transition.progress is not None
    return edge.kind in (ActorKind.AGENT, ActorKind.SYSTEM) and not counted


def _on_a_cycle(edges: list[list[Edge]], inside: set[int]) -> int | None:
    """The earliest configuration of some cycle, if there is one."""
    graph = {position: [edge.target for edge in edges[position] if edge.target in inside] for position in inside}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        return min(cycle)
    return None


def _cycle(edges: list[list[Edge]], first: int, inside: set[int]) -> list[Edge]:
    """A shortest way from a configuration back to itself."""
    came_by: dict[int, Edge] = {}
    front = [first]
    while front and first not in came_by:
        reached: list[int] = []
        for position in front:
            for edge in edges[position]:
                if edge.target in inside and edge.target not in came_by:
                    came_by[edge.target] = edge
                    reached.append(edge.target)
        front = reached
    cycle = [came_by[first]]
    while cycle[-1].source != first:
        cycle.append(came_by[cycle[-1].source])
    return list(reversed(cycle))


def _gaps(found: Exploration) -> Iterator[Finding]:
    machine = found.machine
    countable = (
        machine.form.facts.keys() | machine.form.counters.keys() | {f"{name}.limit" for name in machine.form.counters}
    )
    handled: set[tuple[str, str, str, str | None]] = set()
    handled_here: set[tuple[int, str, str, str | None]] = set()
    open_tries: list[TriedEvent] = []
    for one in found.tries:
        kind = one.event.actor.kind
        if one.code == "condition_unmet":
            open_tries.append(one)
        else:
            handled.add((found.snapshots[one.at].state, one.event.name, kind, one.event.to))
            handled_here.add((one.at, one.event.name, kind, one.event.to))
    reported: set[tuple[str, str, str]] = set()
    for one in open_tries:
        state, name, kind = found.snapshots[one.at].state, one.event.name, one.event.actor.kind
        rules = machine.rules[(state, name, kind)]
        counted_only = all(rule.condition is None or rule.condition.names <= countable for rule in rules)
        by_facts = (one.at, name, kind, one.event.to) in handled_here
        by_counters = counted_only and (state, name, kind, one.event.to) in handled
        if (by_facts or by_counters) and (state, name, kind) not in reported:
            reported.add((state, name, kind))
            message = f"in {state!r}, {name!r} by {kind} is neither accepted nor refused {_situation(found, one)}"
            yield _at(found, one.at, "gap", message)


def _situation(found: Exploration, one: TriedEvent) -> str:
    facts = one.event.evidence.facts if one.event.evidence else {}
    said = [f"{name} = {value}" for name, value in {**facts, **found.snapshots[one.at].counters}.items()]
    return f"for {', '.join(said)}" if said else "as things are at first"


def _ambiguous(found: Exploration) -> Iterator[Finding]:
    reported: set[tuple[str, str, str]] = set()
    for one in found.tries:
        state, name, kind = found.snapshots[one.at].state, one.event.name, one.event.actor.kind
        if len(one.rules) > 1 and (state, name, kind) not in reported:
            reported.add((state, name, kind))
            ways = " and ".join(rule.transition.to if rule.transition else "a refusal" for rule in one.rules)
            message = f"in {state!r}, {_event(one.event)} by {kind} means two things at once: {ways}"
            yield _at(found, one.at, "ambiguous", message)


def _event(event: Event) -> str:
    facts = event.evidence.facts if event.evidence else {}
    return repr(event.name) + "".join(f" with {name} = {value}" for name, value in facts.items())


def _commands(found: Exploration) -> Iterator[Finding]:
    machine = found.machine
    made = {
        (command, transition.on, transition.to)
        for transition in {id(edge.transition): edge.transition for edge in found.all_edges()}.values()
        if transition is not None
        for command in transition.commands
    }
    for name, command in machine.form.commands.items():
        for output in command.outputs:
            if not any(made_by == name and to == output for made_by, _, to in made):
                yield Finding("unreachable_output", f"the command {name!r} can never produce {output!r}")
    for intent_name, intent in machine.form.intents.items():
        for name, target in intent.commands.items():
            if name != "*" and (name, intent.event, target) not in made:
                message = f"the intent {intent_name!r} of {name!r} can never lead to {target!r}"
                yield Finding("unreachable_intent", message)


def _counted_down(found: Exploration) -> Iterator[Finding]:
    for row in found.machine.form.transitions:
        down = [name for name, number in row.count.items() if number < 0]
        below = [name for name, number in row.set.items() if number < 0]
        for name in dict.fromkeys([*down, *below]):
            how = "counts down" if name in down else "is set below 0"
            message = f"the counter {name!r} {how} on {row.on!r} from {row.source!r}; counters count up to a limit"
            yield Finding("counts_down", message)


def _alike(found: Exploration) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name in found.machine.states:
        other = first.setdefault(" ".join(name.replace("_", " ").replace("-", " ").lower().split()), name)
        if other != name:
            yield Finding("states_alike", f"{other!r} and {name!r} are told apart only by case, spaces, - or _")


def _parents(found: Exploration) -> Iterator[Finding]:
    machine = found.machine
    for row in machine.form.parents:
        missing = _missing_above(row, machine.name)
        if missing:
            yield Finding("parent_unknown", f"`parents` names {missing}, which does not exist")
    for name in dict.fromkeys(row.machine for row in machine.form.parents):
        chain = _chain_to(machine.name, name, (machine.name,))
        if chain:
            yield Finding("parent_cycle", f"the machine is above itself: {' → '.join(chain)}")


def _missing_above(row: Parent, own: str) -> str | None:
    """The first name in a row of `parents` that the machine above does not have."""
    if row.machine == own:
        return None  # a cycle, and it is reported as one
    if row.machine not in SHIPPED:
        return f"the machine {row.machine!r}"
    above = load_shipped(row.machine)
    if row.event not in above.actors:
        return f"the event {row.event!r} of {row.machine}"
    if row.to is not None and row.to not in above.targets.get(row.event, above.states):
        return f"the state {row.to!r} of {row.machine}, to which {row.event!r} leads"
    if row.command is not None and row.command not in above.form.commands:
        return f"the command {row.command!r} of {row.machine}"
    return None


def _chain_to(own: str, name: str, so_far: tuple[str, ...]) -> tuple[str, ...]:
    """The machines from one back to itself by way of `name`; none, if its parents do not lead there."""
    chain = (*so_far, name)
    if name == own or name not in SHIPPED or name in so_far:
        return chain if name == own else ()
    above = dict.fromkeys(row.machine for row in load_shipped(name).form.parents)
    return next((found for one in above if (found := _chain_to(own, one, chain))), ())


def _untold(found: Exploration) -> Iterator[Finding]:
    """Ends of which the machine above hears nothing, although it hears of others."""
    rows = found.machine.form.parents
    reported: set[tuple[str, str]] = set()
    for position, snapshot in enumerate(found.snapshots):
        for name in dict.fromkeys(row.machine for row in rows) if snapshot.outcome is not None else ():
            told = [row for row in rows if row.machine == name]
            heard = any(snapshot.state in row.enters or snapshot.outcome in row.outcomes for row in told)
            if not heard and (name, snapshot.outcome or "") not in reported:
                reported.add((name, snapshot.outcome or ""))
                message = f"the {name} above does not hear when it ends in {snapshot.state!r} as {snapshot.outcome!r}"
                yield _at(found, position, "parent_untold", message)


_RULES = (_gates, _receipts, _endless, _gaps, _ambiguous, _counted_down, _alike, _parents, _untold)
_ABSENCE = (_unreachable, _dead, _no_success, _dead_ends, _traps, _kept_locks, _commands)
"""Rules about what is not there: they say nothing where not everything was looked at."""
