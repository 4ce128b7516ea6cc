"""The ticket machine from a JSON file of the source system's form: its own file, changed ones, broken ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InvalidMachine
from interlock.machine import Accepted, Event, Evidence, Machine, Refused, Snapshot, load_shipped, step
from interlock.machine.check import check
from interlock.machine.commands import resolve
from interlock.machine.override import WARNINGS, load_override

from .walks import HOLDER, by

Source = dict[str, Any]

EDGES = {
    "Backlog": ["Research Needed", "Ready for Plan", "Done", "Canceled"],
    "Research Needed": ["Research in Progress", "Ready for Plan", "Human Needed"],
    "Research in Progress": ["Ready for Plan", "Human Needed"],
    "Ready for Plan": ["Plan in Progress", "Human Needed"],
    "Plan in Progress": ["Plan in Review", "Human Needed"],
    "Plan in Review": ["In Progress", "Ready for Plan", "Human Needed"],
    "In Progress": ["In Review", "Human Needed"],
    "In Review": ["Done", "In Progress", "Human Needed"],
    "Human Needed": ["Backlog", "Research Needed", "Ready for Plan", "In Progress"],
    "Done": [],
    "Canceled": [],
}


def _state(name: str) -> Source:
    flags = {
        "is_lock_state": ("Research in Progress", "Plan in Progress"),
        "is_terminal": ("Done", "Canceled"),
        "requires_human_action": ("Plan in Review", "In Review", "Human Needed"),
    }
    own = {flag: True for flag, states in flags.items() if name in states}
    return {"description": name, "allowed_transitions": EDGES[name], "produces_for_commands": ["*"], **own}


def _command(inputs: list[str], outputs: list[str], **more: Any) -> Source:
    return {"description": "work", "valid_input_states": inputs, "valid_output_states": outputs, **more}


def _source() -> Source:
    """The source system's own file, as its tables tell."""
    hero = ["Backlog", "Research Needed", "Ready for Plan", "Plan in Review", "In Progress"]
    triage = ["Research Needed", "Ready for Plan", "Done", "Canceled", "Human Needed"]
    return {
        "version": "1.0.0",
        "states": {name: _state(name) for name in EDGES},
        "lock_states": {
            "description": "exclusive ownership",
            "states": ["Research in Progress", "Plan in Progress", "In Progress"],
        },
        "commands": {
            "ralph_triage": _command(["Backlog"], triage, can_create_tickets=True, can_modify_blocks=True),
            "ralph_split": _command(
                ["Backlog", "Research Needed"], ["Backlog"], valid_input_estimates=["M", "L", "XL"]
            ),
            "ralph_research": _command(
                ["Research Needed"], ["Ready for Plan", "Human Needed"], lock_state="Research in Progress"
            ),
            "ralph_plan": _command(
                ["Ready for Plan"], ["Plan in Review", "Human Needed"], lock_state="Plan in Progress"
            ),
            "ralph_impl": _command(["Plan in Review", "In Progress"], ["In Progress", "In Review", "Human Needed"]),
            "ralph_hero": _command(
                hero, ["In Review", "Human Needed"], delegates_to=["ralph_split", "ralph_plan"], uses_task_system=True
            ),
            "ralph_review": _command(
                ["Plan in Review"], ["In Progress", "Ready for Plan", "Human Needed"], modes=["interactive", "auto"]
            ),
        },
        "semantic_states": {
            "description": "intents",
            "__LOCK__": {
                "ralph_research": "Research in Progress",
                "ralph_plan": "Plan in Progress",
                "ralph_impl": "In Progress",
            },
            "__COMPLETE__": {
                "ralph_triage": None,
                "ralph_split": "Backlog",
                "ralph_research": "Ready for Plan",
                "ralph_plan": "Plan in Review",
                "ralph_impl": "In Review",
                "ralph_review": "In Progress",
            },
            "__ESCALATE__": {"*": "Human Needed"},
            "__CLOSE__": {"*": "Done"},
            "__CANCEL__": {"*": "Canceled"},
        },
        "triage_actions": {"RESEARCH": "Research Needed", "KEEP": None},
        "artifact_patterns": {"worktree": "../worktrees/GH-{n}"},
        "conflict_rules": {"duplicate_artifacts": {"allowed": False}},
    }


@pytest.fixture
def load(tmp_path: Path) -> Callable[[Any], Machine]:
    def loaded(source: Any) -> Machine:
        path = tmp_path / "ralph-state-machine.json"
        path.write_text(source if isinstance(source, str) else json.dumps(source))
        return load_override(path, load_shipped("ticket").form)

    return loaded


Load = Callable[[Any], Machine]


def _try(machine: Machine, state: str, to: str, kind: str = "agent", command: str | None = None, **more: Any) -> str:
    """The state that a handoff leads to, or the code that it is refused with."""
    holder = HOLDER if machine.states[state].lock else None
    event = Event("handoff", by(kind), to, command, "because", Evidence(holder=HOLDER))
    result = step(machine, Snapshot(state, holder=holder, **more), event)
    return result.snapshot.state if isinstance(result, Accepted) else result.code


def test_the_source_systems_own_file_loads_with_its_states_and_commands(load: Load) -> None:
    machine = load(_source())
    assert list(machine.states) == list(EDGES)
    assert {name for name, one in machine.states.items() if one.lock} == set(_source()["lock_states"]["states"])
    assert {name for name, one in machine.states.items() if one.terminal} == {"Done", "Canceled"}
    assert {name for name, one in machine.form.commands.items() if not one.internal} == {
        name.removeprefix("ralph_") for name in _source()["commands"]
    }


def test_what_the_checker_finds_in_the_source_systems_own_file_is_warnings(load: Load) -> None:
    findings = check(load(_source())).findings
    assert {finding.code for finding in findings} <= WARNINGS
    said = " ".join(finding.message for finding in findings)
    assert "'triage' can never produce 'Human Needed'" in said
    assert "'split' can never produce 'Backlog'" in said


@pytest.mark.parametrize(("state", "to"), [(state, to) for state, targets in EDGES.items() for to in targets])
def test_a_person_makes_every_move_of_the_files_graph(load: Load, state: str, to: str) -> None:
    assert _try(load(_source()), state, to, "human") == to


def test_a_person_makes_no_move_that_is_not_in_the_files_graph(load: Load) -> None:
    machine = load(_source())
    for state, targets in EDGES.items():
        for to in EDGES.keys() - set(targets):
            assert _try(machine, state, to, "human") not in EDGES


def test_intents_and_their_meanings_are_the_files(load: Load) -> None:
    machine = load(_source())
    assert resolve(machine, "research", intent="lock").to == "Research in Progress"
    assert resolve(machine, "impl", intent="complete").to == "In Review"
    assert resolve(machine, "ralph_review", intent="__COMPLETE__").to == "In Progress"
    assert resolve(machine, "hero", intent="escalate").to == "Human Needed"


def test_agents_still_cannot_move_a_ticket_out_of_human_needed(load: Load) -> None:
    machine = load(_source())
    for to in EDGES["Human Needed"]:
        for command in machine.form.commands:
            assert _try(machine, "Human Needed", to, command=command) == "person_needed"


def test_a_plan_is_still_approved_by_a_person_unless_that_is_set(load: Load) -> None:
    machine = load(_source())
    assert _try(machine, "Plan in Review", "In Progress", command="review") == "refused_by_rule"
    auto = {"plan_review": "auto"}
    assert _try(machine, "Plan in Review", "In Progress", command="review", settings=auto) == "In Progress"
    lock = Event("lock", by("agent"), command="impl", evidence=Evidence(holder=HOLDER))
    assert isinstance(step(machine, Snapshot("Plan in Review"), lock), Refused)


def test_holders_stay(load: Load) -> None:
    machine = load(_source())
    lock = Event("lock", by("agent"), command="research", evidence=Evidence(holder=HOLDER))
    claimed = step(machine, Snapshot("Research Needed"), lock)
    assert isinstance(claimed, Accepted)
    assert (claimed.snapshot.state, claimed.snapshot.holder) == ("Research in Progress", HOLDER)
    other = Event("handoff", by("agent"), "Ready for Plan", "research", evidence=Evidence(holder="run-2"))
    refused = step(machine, claimed.snapshot, other)
    assert isinstance(refused, Refused)
    assert refused.code == "lock_held"
    release = Event("release", by("agent"), command="research", evidence=Evidence(holder=HOLDER))
    released = step(machine, claimed.snapshot, release)
    assert isinstance(released, Accepted)
    assert (released.snapshot.state, released.snapshot.counters) == ("Research Needed", {"rework": 1})


def test_a_command_whose_lock_only_its_intent_names_claims_it_too(load: Load) -> None:
    lock = Event("lock", by("agent"), command="impl", evidence=Evidence(holder=HOLDER))
    claimed = step(load(_source()), Snapshot("In Progress"), lock)
    assert isinstance(claimed, Accepted)
    assert claimed.snapshot.holder == HOLDER


def test_rework_stays(load: Load) -> None:
    machine = load(_source())
    assert _try(machine, "Plan in Review", "Ready for Plan", command="review") == "Ready for Plan"
    often = {"rework": 3}
    assert _try(machine, "Plan in Review", "Ready for Plan", command="review", counters=often) == "refused_by_rule"


def test_an_edge_that_the_file_leaves_out_is_refused(load: Load) -> None:
    source = _source()
    source["states"]["Backlog"]["allowed_transitions"] = ["Research Needed", "Canceled"]
    machine = load(source)
    assert _try(machine, "Backlog", "Done", "human") == "target_not_allowed"
    assert _try(machine, "Backlog", "Research Needed", "human") == "Research Needed"


def test_a_new_state_and_its_edges_are_followed(load: Load) -> None:
    source = _source()
    source["states"]["Design"] = {"allowed_transitions": ["Ready for Plan"], "description": "Draw it first"}
    source["states"]["Backlog"]["allowed_transitions"] = [*EDGES["Backlog"], "Design"]
    source["commands"]["ralph_triage"]["valid_output_states"].append("Design")
    source["commands"]["ralph_draw"] = _command(["Design"], ["Ready for Plan"])
    machine = load(source)
    assert _try(machine, "Backlog", "Design", command="triage") == "Design"
    assert _try(machine, "Design", "Ready for Plan", command="draw") == "Ready for Plan"
    assert _try(machine, "Design", "Done", "human") == "target_not_allowed"
    assert {finding.code for finding in check(machine).findings} <= WARNINGS


@pytest.mark.parametrize(
    ("state", "to"),
    [("Backlog", "Human Needed"), ("Research in Progress", "Research Needed"), ("Human Needed", "In Review")],
)
def test_an_edge_that_the_file_has_is_followed_also_where_we_know_it_as_something_else(
    load: Load, state: str, to: str
) -> None:
    source = _source()
    source["states"][state]["allowed_transitions"] = [*EDGES[state], to]
    assert _try(load(source), state, to, "human") == to


def test_a_command_that_has_a_lock_completes_only_from_it(load: Load) -> None:
    source = _source()
    source["states"]["Ready for Plan"]["allowed_transitions"] = [*EDGES["Ready for Plan"], "Plan in Review"]
    machine = load(source)
    assert _try(machine, "Ready for Plan", "Plan in Review", command="plan") == "lock_unclaimed"
    assert _try(machine, "Ready for Plan", "Plan in Review", "human") == "Plan in Review"


def test_out_of_a_state_that_escalation_leads_to_only_people_lead(load: Load) -> None:
    source = copy.deepcopy(_source())
    source["states"]["Human Needed"]["allowed_transitions"] = [*EDGES["Human Needed"], "Plan in Review"]
    source["commands"]["ralph_hero"]["valid_input_states"].append("Human Needed")
    source["commands"]["ralph_hero"]["valid_output_states"].append("Plan in Review")
    machine = load(source)
    assert _try(machine, "Human Needed", "Plan in Review", command="hero") == "person_needed"
    assert _try(machine, "Human Needed", "Plan in Review", "human") == "Plan in Review"


def _renamed(state: str, name: str = "Renamed") -> str:
    return json.dumps(_source()).replace(f'"{state}"', f'"{name}"')


@pytest.mark.parametrize("state", EDGES)
def test_a_file_may_rename_any_state(load: Load, state: str) -> None:
    machine = load(_renamed(state))
    assert list(machine.states) == ["Renamed" if name == state else name for name in EDGES]
    assert {finding.code for finding in check(machine).findings} <= WARNINGS
    for source, targets in EDGES.items():
        for to in targets:
            there = "Renamed" if to == state else to
            assert _try(machine, "Renamed" if source == state else source, there, "human") == there


@pytest.mark.parametrize("state", ["Ready for Plan", "Research Needed", "In Progress"])
def test_giving_back_means_nothing_where_the_file_has_not_got_what_it_leads_to(load: Load, state: str) -> None:
    shipped = load_shipped("ticket").form.intents["release"].commands
    kept = load(_renamed(state)).form.intents["release"].commands
    assert kept == {command: to for command, to in shipped.items() if to != state}
    assert kept != shipped


@pytest.mark.parametrize("state", EDGES)
def test_the_lock_of_a_holder_that_is_gone_ends_whatever_a_file_renames(load: Load, state: str) -> None:
    machine = load(_renamed(state))
    for name in ("Research in Progress", "Plan in Progress", "In Progress"):
        for count in (0, 3) if name in machine.states else ():
            gone = Event("lock_expired", by("system"), reason="it is gone")
            result = step(machine, Snapshot(name, holder=HOLDER, counters={"rework": count}), gone)
            assert isinstance(result, Accepted), (name, count)
            assert result.snapshot.holder is None


def test_a_command_that_we_know_too_keeps_what_it_requires_and_creates(load: Load) -> None:
    source = _source()
    source["commands"]["ralph_draw"] = _command(["Backlog"], ["Done"])
    found, shipped = load(source).form.commands, load_shipped("ticket").form.commands
    for name in ("research", "plan", "impl", "review"):
        assert (found[name].requires, found[name].creates) == (shipped[name].requires, shipped[name].creates)
        assert found[name].creates
    assert (found["draw"].requires, found["draw"].creates) == ([], [])


def _broken(place: str, value: Any) -> Source:
    source = _source()
    *inside, last = place.split("/")
    found = source
    for key in inside:
        found = found[key]
    if value is None:
        del found[last]
    else:
        found[last] = value
    return source


BROKEN: dict[str, Any] = {
    "nothing": "",
    "no JSON": "{",
    "a list": [],
    "a word": '"states"',
    "deep nesting": "[" * 100_000,
    "without states": _broken("states", None),
    "without commands": _broken("commands", None),
    "without intents": _broken("semantic_states", None),
    "no states at all": _broken("states", {}),
    "states as a list": _broken("states", []),
    "a state without edges": _broken("states/Backlog/allowed_transitions", None),
    "edges as a word": _broken("states/Backlog/allowed_transitions", "Done"),
    "a flag in words": _broken("states/Done/is_terminal", "yes"),
    "an edge to nowhere": _broken("states/Backlog/allowed_transitions", ["Nowhere"]),
    "an edge out of the end": _broken("states/Done/allowed_transitions", ["Backlog"]),
    "a state with a path for a name": _broken("states/..~", {"allowed_transitions": []}),
    "a command without inputs": _broken("commands/ralph_plan/valid_input_states", None),
    "a command from nowhere": _broken("commands/ralph_plan/valid_input_states", ["Nowhere"]),
    "a command to nowhere": _broken("commands/ralph_plan/valid_output_states", ["Nowhere"]),
    "a command with a lock that is no state": _broken("commands/ralph_plan/lock_state", "Nowhere"),
    "a lock state that is no state": _broken("lock_states/states", ["Nowhere"]),
    "an intent as a word": _broken("semantic_states/__LOCK__", "Done"),
    "an intent to nowhere": _broken("semantic_states/__LOCK__/ralph_plan", "Nowhere"),
    "an intent to a number": _broken("semantic_states/__LOCK__/ralph_plan", 1),
    "an intent of a command that is none": _broken("semantic_states/__LOCK__/ralph_deploy", "Done"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_an_error_and_never_a_silent_default(load: Load, what: str) -> None:
    with pytest.raises(InvalidMachine) as caught:
        load(BROKEN[what])
    assert caught.value.code == "machine_invalid"
    assert caught.value.hint


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InvalidMachine) as caught:
            load_override(path, load_shipped("ticket").form)
        assert caught.value.code == "machine_unreadable"
