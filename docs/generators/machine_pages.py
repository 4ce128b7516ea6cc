"""A page for each machine: everything its definition says, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docs.generators.markdown import code, codes, listed, prose, table
from interlock.machine import Machine, Transition
from interlock.machine.form import Estimate, MachineForm, Proof, RefusalForm, State

__all__ = ["page"]

Row = Mapping[str, str]


def page(machine: Machine) -> str:
    """The whole page."""
    return "\n\n".join(part for part in _parts(machine) if part) + "\n"


def _parts(machine: Machine) -> Iterator[str]:
    form = machine.form
    yield f"<!-- Made from {form.name}.toml by `make generate`; edit that file instead. -->"
    yield f"# The {form.name} machine"
    yield f"{prose(form.description)}."
    yield _facts(machine)
    yield f"[![The {form.name} machine]({form.name}.svg)]({form.name}.svg)"
    for title, note, rows in _sections(machine):
        if rows:
            yield f"## {title}"
            yield note
            yield table(rows)


def _facts(machine: Machine) -> str:
    form = machine.form
    begins = f"It begins in `{form.initial}`"
    begins += "".join(f", or in `{one.state}` by the command `{one.command}`" for one in form.starts)
    enforced = "refuses" if form.enforcement == "strict" else "records and marks"
    added = sum(1 for one in machine.transitions if one.added)
    return (
        f"Version {form.version}, {len(machine.states)} states, {len(machine.transitions)} transitions, "
        f"of which {added} are additions to its seed `{form.seed}`. {begins}. "
        f'It {enforced} what is off its table (`enforcement = "{form.enforcement}"`).'
    )


def _sections(machine: Machine) -> Iterator[tuple[str, str, list[Row]]]:
    form = machine.form
    yield "States", "", [_state(machine, name, state) for name, state in form.states.items()]
    yield "In each state", "", list(_details(form))
    yield "Transitions", _ADDED, [_transition(machine, one) for one in machine.transitions]
    yield "Refusals", "What the table refuses on purpose, with the reason.", [_refusal(row) for row in form.refusals]
    yield "Events", "", list(_events(form))
    yield "Counters", "A limit of 0 is never reached.", list(_counters(form))
    yield "Gates", "Only a person passes a gate.", [_proof(name, one) for name, one in form.gates.items()]
    yield "Receipts", "A receipt is proof of our own.", [_proof(name, one) for name, one in form.receipts.items()]
    yield "Facts", "An event brings them; they decide where it leads.", list(_facts_rows(form))
    yield "Settings", "Chosen for an instance.", list(_settings(form))
    yield from _people(form)
    yield from _words(form)
    yield "Moves of the parent", "What a move here means for the instance above.", list(_parents(form))
    yield "Assumptions", _ASSUMED, list(_assumptions(machine))


_ADDED = "One row for each edge. **Added** marks what the seed's table does not have, with the reason."
_ASSUMED = "Why repeating these moves ends although nothing counts them. The checker takes this on trust."


def _people(form: MachineForm) -> Iterator[tuple[str, str, list[Row]]]:
    yield "Menus", "What a person may choose in a state.", list(_menus(form))
    yield "Next commands", "What a person can run where nobody drives it, the likeliest first.", list(_next(form))
    yield "Commands", "", list(_commands(form))
    yield "Intents", "A word for a target; each command maps it in its own way.", list(_intents(form))


def _words(form: MachineForm) -> Iterator[tuple[str, str, list[Row]]]:
    yield "Estimates", "", [_estimate(name, one) for name, one in form.estimates.items()]
    yield "Priorities", "", [_estimate(name, one) for name, one in form.priorities.items()]
    yield "Triage actions", "", _pairs("action", "means", {k: code(v) for k, v in form.triage_actions.items()})
    yield "Artifacts", "", _artifacts(form)
    yield "Conflicts", "", _conflicts(form)
    yield "Promises", "", _pairs("promise", "means", {name: prose(text) for name, text in form.promises.items()})
    yield "Limits", "", _pairs("limit", "value", {name: str(number) for name, number in form.limits.items()})


# States


def _state(machine: Machine, name: str, state: State) -> Row:
    return {
        "state": code(name),
        "label": prose(machine.label(name)) if state.label and state.label != name else "",
        "description": prose(state.description),
        "phase": prose(state.phase),
        "owner": prose(state.owner),
        "flags": ", ".join(_flags(machine, name, state)),
        "icon": state.icon or "",
        "colour": state.color or "",
        "indicator": state.indicator or "",
        "duration": prose(state.duration),
    }


def _flags(machine: Machine, name: str, state: State) -> Iterator[str]:
    if name == machine.form.initial:
        yield "initial"
    if state.human:
        yield "human"
    if state.lock:
        yield "lock"
    if state.driven:
        yield "driven"
    if state.tree:
        yield f"work tree {state.tree}"
    if state.pause:
        yield f"paused by {', '.join(code(event) for event in state.pause)}"
    if state.terminal:
        yield f"terminal, `{state.outcome}`"


def _details(form: MachineForm) -> Iterator[Row]:
    for name, state in form.states.items():
        row = {
            "state": code(name),
            "entered when": prose(state.entry_criteria),
            "left when": prose(state.exit_criteria),
            "on entry": listed(prose(action) for action in state.entry_actions),
            "changes": codes(state.changes),
            "carries": codes(state.carries),
            "tools": ", ".join(state.tools or ()),
            "notes": listed(prose(note) for note in state.notes),
        }
        if any(row[key] for key in row if key != "state"):
            yield row


# Rows of the table


def _transition(machine: Machine, one: Transition) -> Row:
    added = f"**Added:** {prose(one.added)}" if one.added else ""
    said = [prose(one.trigger), prose(one.action and f"Does: {one.action}"), added]
    return {
        "from": code(one.source),
        "to": code(one.to),
        "on": code(one.on),
        "by": ", ".join(one.by),
        "gate": code(one.gate),
        "when": code(one.when),
        "needs, requires": listed(_demands(one)),
        "does": listed(_deeds(machine, one)),
        "why": ". ".join(text for text in said if text),
    }


def _demands(one: Transition) -> Iterator[str]:
    if one.needs:
        yield f"needs {codes(one.needs)}"
    if one.requires:
        yield f"requires {codes(one.requires)}"
    if one.commands:
        yield f"command {codes(one.commands)}"
    if one.selects:
        yield "names the task"
    if one.any_holder:
        yield "whoever holds the lock"


def _deeds(machine: Machine, one: Transition) -> Iterator[str]:
    if one.receipt:
        yield f"gives {code(one.receipt)}"
    if one.voids:
        yield f"voids {codes(one.voids)}"
    if one.count:
        yield f"counts {codes(one.count)}"
    if one.set:
        yield "sets " + codes(f"{name} = {value}" for name, value in one.set.items())
    if one.holds:
        yield "takes the lock"
    if one.releases:
        yield f"releases the {' and the '.join(one.releases)}"
    if one.effects:
        yield f"effect {codes(one.effects)}" + (", then moves" if one.after_effects else "")
    if one.off_path:
        yield "marked off the path"
    if one.outcome and machine.states[one.to].terminal:
        yield f"outcome {code(one.outcome)}"


def _refusal(row: RefusalForm) -> Row:
    return {
        "from": code(row.source) if isinstance(row.source, str) else codes(row.source),
        "to": code(row.to),
        "on": code(row.on),
        "by": ", ".join(row.by),
        "when": code(row.when),
        "because": prose(row.because),
    }


# Terms


def _events(form: MachineForm) -> Iterator[Row]:
    for name, event in form.events.items():
        named = "names the state it leads to" if event.targeted else ""
        yield {"event": code(name), "meaning": prose(event.description), "target": named}


def _counters(form: MachineForm) -> Iterator[Row]:
    for name, one in form.counters.items():
        yield {
            "counter": code(name),
            "start": str(one.start),
            "limit": str(one.limit),
            "per": one.per or "",
            "reset by": ", ".join(one.reset_by),
            "meaning": prose(one.description),
        }


def _proof(name: str, one: Proof) -> Row:
    return {
        "name": code(name),
        "subject": code(one.subject) + (", immutable" if one.immutable else ""),
        "required for": one.required_for or "",
        "meaning": prose(one.description),
    }


def _facts_rows(form: MachineForm) -> Iterator[Row]:
    for name, one in form.facts.items():
        yield {
            "fact": code(name),
            "values": codes(one.values),
            "default": code(one.default),
            "meaning": prose(one.description),
        }


def _settings(form: MachineForm) -> Iterator[Row]:
    for name, one in form.settings.items():
        yield {
            "setting": code(name),
            "values": codes(one.values),
            "default": code(one.default),
            "meaning": prose(one.description),
        }


def _menus(form: MachineForm) -> Iterator[Row]:
    for name, state in form.states.items():
        for item in state.menu:
            yield {
                "state": code(name),
                "key": code(item.key),
                "choice": prose(item.label),
                "does": prose(item.does),
                "event": code(item.on),
            }


def _next(form: MachineForm) -> Iterator[Row]:
    for name, state in form.states.items():
        for one in state.next:
            yield {"state": code(name), "command": code(one.command), "does": prose(one.does)}


def _commands(form: MachineForm) -> Iterator[Row]:
    for name, one in form.commands.items():
        may = [text for text, is_so in _MAY if getattr(one, is_so)]
        added = f"**Added:** {prose(one.added)}" if one.added else ""
        yield {
            "command": code(name) + (", internal" if one.internal else ""),
            "meaning": ". ".join(text for text in (prose(one.description), added) if text),
            "inputs": codes(one.inputs),
            "lock": code(one.lock),
            "outputs": codes(one.outputs),
            "estimates": ", ".join(one.estimates),
            "may": listed(may),
            "modes": ", ".join(one.modes),
            "delegates to": codes(one.delegates_to),
            "requires": listed(map(prose, one.requires)),
            "creates": codes(one.creates),
            "before": listed(map(prose, one.preconditions)),
            "after": listed(map(prose, one.postconditions)),
        }


_MAY = (("create tickets", "can_create_tickets"), ("change blocking relations", "can_modify_blocks"))


def _intents(form: MachineForm) -> Iterator[Row]:
    for name, one in form.intents.items():
        added = f"**Added:** {prose(one.added)}" if one.added else ""
        yield {
            "intent": code(name),
            "meaning": ". ".join(text for text in (prose(one.description), added) if text),
            "event": code(one.event),
            "leads to": listed(f"{code(command)} → {code(target)}" for command, target in one.commands.items()),
            "ambiguous for": codes(one.ambiguous),
            "not for": codes(one.unsupported),
        }


def _estimate(name: str, one: Estimate) -> Row:
    return {"name": code(name), "rank": str(one.rank), "colour": one.color, "meaning": prose(one.description)}


def _artifacts(form: MachineForm) -> list[Row]:
    return [
        {"artifact": code(name), "pattern": code(one.pattern), "note": prose(one.note)}
        for name, one in form.artifacts.items()
    ]


def _conflicts(form: MachineForm) -> list[Row]:
    return [
        {"conflict": code(one.name), "meaning": prose(one.description), "action": prose(one.action)}
        for one in form.conflicts
    ]


def _pairs(left: str, right: str, pairs: Mapping[str, str]) -> list[Row]:
    return [{left: code(name), right: text} for name, text in pairs.items()]


def _parents(form: MachineForm) -> Iterator[Row]:
    for one in form.parents:
        causes = [
            text
            for text, names in (("enters", one.enters), ("leaves", one.leaves), ("ends as", one.outcomes))
            for text in ([f"{text} {codes(names)}"] if names else [])
        ]
        yield {
            "when it": listed(causes),
            "machine": code(one.machine),
            "event": code(one.event),
            "to": code(one.to),
            "command": code(one.command),
            "note": prose(one.note),
        }


def _assumptions(machine: Machine) -> Iterator[Row]:
    ends = {one.id: one.progress for one in machine.transitions if one.progress}
    for move, why in ends.items():
        yield {"move": code(move), "ends because": prose(why)}
