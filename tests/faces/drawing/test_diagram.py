"""Mermaid and XState say everything that the machine's table says."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.faces.drawing.diagram import edges, mermaid, xstate
from interlock.machine.form import State
from interlock.machine.load import SHIPPED, compile_machine, load_shipped, parse
from interlock.machine.model import Machine

HOSTILE = [
    "<b>&amp;</b> \"quoted\" 'single'; a: b # c %% d",
    "end note",
    "new direction LR",
    "two\nlines",
    "}",
    "\a",
    "",
]

ARROW = re.compile(r"^\s*(\w+) --> (\w+): (.+)$", re.MULTILINE)
DECLARED = re.compile(r'^\s*(?:state "[^"]*" as )?(\w+)$', re.MULTILINE)


def machine_of(states: dict[str, dict[str, object]], rows: list[tuple[str, str, str]] | None = None) -> Machine:
    """A machine with these states and these rows of (from, to, event)."""
    lines = [
        'name = "small"',
        "version = 1",
        'description = "A small machine"',
        f"initial = {json.dumps(next(iter(states)))}",
    ]
    if not rows:
        lines.append("transitions = []")
    for name, fields in states.items():
        lines.append(f"[states.{json.dumps(name)}]")
        lines += [f"{field} = {json.dumps(value)}" for field, value in fields.items()]
    for source, to, event in rows or []:
        ends = f"from = {json.dumps(source)}\nto = {json.dumps(to)}"
        lines.append(f'[[transitions]]\n{ends}\non = "{event}"\nby = ["human"]')
    return compile_machine(parse("\n".join(lines)))


def pairs(machine: Machine) -> set[tuple[str, str]]:
    return {(transition.source, transition.to) for transition in machine.transitions}


def drawn(machine: Machine) -> dict[tuple[str, str], str]:
    """The labels of a Mermaid diagram's arrows, by the states' names."""
    names = {re.sub(r"\W", "_", name): name for name in machine.states}
    return {(names[source], names[to]): label for source, to, label in ARROW.findall(mermaid(machine))}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_edges_hold_every_transition_once(name: str) -> None:
    machine = load_shipped(name)
    found = edges(machine)
    assert {(edge.source, edge.to) for edge in found} == pairs(machine)
    assert sum(len(edge.transitions) for edge in found) == len(machine.transitions)


@pytest.mark.parametrize("name", SHIPPED)
def test_mermaid_declares_every_state_once(name: str) -> None:
    machine = load_shipped(name)
    text = "\n".join(line for line in mermaid(machine).split("    note right", 1)[0].splitlines())
    assert sorted(DECLARED.findall(text)) == sorted(re.sub(r"\W", "_", state) for state in machine.states)


@pytest.mark.parametrize("name", SHIPPED)
def test_mermaid_has_an_arrow_for_every_pair_with_all_events_that_lead_there(name: str) -> None:
    machine = load_shipped(name)
    arrows = drawn(machine)
    assert arrows.keys() == pairs(machine)
    for edge in edges(machine):
        events = [event.removesuffix(" (gate)") for event in arrows[edge.source, edge.to].split(" / ")]
        assert events == list(edge.events)


@pytest.mark.parametrize("name", SHIPPED)
def test_mermaid_marks_the_gates_and_nothing_else(name: str) -> None:
    machine = load_shipped(name)
    for (source, to), label in drawn(machine).items():
        gated = {one.on for one in machine.transitions if (one.source, one.to) == (source, to) and one.gate}
        assert {part.removesuffix(" (gate)") for part in label.split(" / ") if part.endswith(" (gate)")} == gated


@pytest.mark.parametrize("name", SHIPPED)
def test_mermaid_starts_at_the_initial_state_and_ends_at_the_terminal_ones(name: str) -> None:
    machine = load_shipped(name)
    text = mermaid(machine)
    assert text.startswith(f"stateDiagram-v2\n    [*] --> {re.sub(r'[^a-zA-Z]', '_', machine.form.initial)}\n")
    ends = {re.sub(r"\W", "_", state) for state, form in machine.states.items() if form.terminal}
    assert set(re.findall(r"(\w+) --> \[\*\]", text)) == ends


def test_mermaid_puts_each_phase_and_the_arrows_inside_it_in_a_block() -> None:
    machine = load_shipped("thread")
    blocks = dict(re.findall(r'state "([^"]+)" as phase_\d+ {\n(.*?)\n    }', mermaid(machine), re.DOTALL))
    assert list(blocks) == list(dict.fromkeys(state.phase for state in machine.states.values()))
    for phase, block in blocks.items():
        inside = {name for name, state in machine.states.items() if state.phase == phase}
        assert set(DECLARED.findall(block)) == inside
        wanted = {pair for pair in pairs(machine) if set(pair) <= inside}
        assert {(source, to) for source, to, _ in ARROW.findall(block)} == wanted


@pytest.mark.parametrize("name", SHIPPED)
def test_mermaid_shows_the_notes(name: str) -> None:
    machine = load_shipped(name)
    assert mermaid(machine).count("end note") == sum(bool(state.notes) for state in machine.states.values())


@pytest.mark.parametrize("text", HOSTILE)
def test_mermaid_stays_one_statement_a_line_whatever_the_texts_hold(text: str) -> None:
    machine = machine_of({"A": {"label": text, "phase": text, "notes": [text]}})
    free = re.sub(r"#(\d+|\w+);", "", mermaid(machine))
    shape = r'stateDiagram-v2\n    \[\*\] --> A\n(    state "[^"\n]+" as phase_1 {\n    )?    (state "[^"\n]+" as )?A\n'
    assert re.fullmatch(shape + r"(    }\n)?(    note right of A\n        [^\n]+\n    end note\n)?", free)
    assert not re.search(r"[#;<>&%\\\a]", free.replace("-->", ""))
    assert not re.search(r"direction\s+(LR|TB)", free)


def test_mermaid_gives_each_state_an_id_of_its_own_that_is_no_word_of_mermaid() -> None:
    names = ["B c", "B_c", "B-c", "b_C", "state", "State", "end", "note", "phase_1", "root", "accTitle"]
    text = mermaid(machine_of({name: {} for name in names}))
    ids = [found.lower() for found in DECLARED.findall(text)]
    assert len(set(ids)) == len(names)
    assert not {"state", "end", "note", "phase_1", "root", "acctitle"} & set(ids)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_text_is_the_same_every_time(name: str) -> None:
    again = compile_machine(load_shipped(name).form)
    assert mermaid(load_shipped(name)) == mermaid(again)
    assert json.dumps(xstate(load_shipped(name))) == json.dumps(xstate(again))


@pytest.mark.parametrize("name", SHIPPED)
def test_xstate_survives_json(name: str) -> None:
    config = xstate(load_shipped(name))
    assert json.loads(json.dumps(config)) == config


@pytest.mark.parametrize("name", SHIPPED)
def test_xstate_has_every_state_and_every_transition(name: str) -> None:
    machine = load_shipped(name)
    config = xstate(machine)
    assert list(config["states"]) == list(machine.states)
    assert config["initial"] in config["states"]
    found = [
        (source, candidate["target"], event, candidate.get("guard"), tuple(candidate["meta"]["by"]))
        for source, node in config["states"].items()
        for event, candidates in node.get("on", {}).items()
        for candidate in candidates
    ]
    wanted = [(one.source, one.to, one.on, one.when, one.by) for one in machine.transitions]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("name", SHIPPED)
def test_xstate_ends_in_the_terminal_states_and_only_there(name: str) -> None:
    machine = load_shipped(name)
    for state, node in xstate(machine)["states"].items():
        assert (node.get("type") == "final") == machine.states[state].terminal == ("on" not in node)


@pytest.mark.parametrize("name", SHIPPED)
def test_xstate_keeps_flags_counters_and_gates(name: str) -> None:
    machine = load_shipped(name)
    config = xstate(machine)
    assert config["context"] == {counter: form.start for counter, form in machine.form.counters.items()}
    for state, node in config["states"].items():
        form = machine.states[state]
        assert ("human" in node["tags"], "lock" in node["tags"]) == (form.human, form.lock)
        gates = {
            (event, candidate["target"], candidate["meta"]["gate"])
            for event, candidates in node.get("on", {}).items()
            for candidate in candidates
            if "gate" in candidate["meta"]
        }
        assert gates == {(one.on, one.to, one.gate) for one, _ in machine.outgoing[state] if one.gate}


@pytest.mark.parametrize("name", SHIPPED)
def test_xstate_tries_what_is_guarded_before_what_is_not(name: str) -> None:
    for node in xstate(load_shipped(name))["states"].values():
        for candidates in node.get("on", {}).values():
            guarded = ["guard" in candidate for candidate in candidates]
            assert guarded == sorted(guarded, reverse=True)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_no_text_breaks_out_of_a_mermaid_label(text: str) -> None:
    form = machine_of({"A": {}}).form
    labelled = msgspec.structs.replace(form, states={"A": State(label=text)})
    lines = mermaid(compile_machine(labelled)).splitlines()
    assert len(lines) == 3
    assert lines[2].count('"') in (0, 2)
