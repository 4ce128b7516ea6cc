"""Every state of a thread has its facts, and they agree with its steps, its files and the verbs of `ralph thread`.

A new state is checked by all of these: see AGENTS.md.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from textwrap import dedent

import pytest

from faces.parsing import parsed
from interlock.machine import ActorKind, load_shipped
from interlock.machine.load import compile_machine, definition_path, parse
from interlock.machine.states import onward_event, target_of
from interlock.work.threads.choices import next_command, next_commands
from interlock.work.threads.decisions import event_of
from interlock.work.threads.phases import carried
from interlock.work.threads.record import Thread
from interlock.work.threads.steps import STEPS
from interlock.work.tickets.threads import pause_events

ROOT = Path(__file__).parents[3]
WORK = ROOT / "src" / "interlock" / "work"
MACHINE = load_shipped("thread")
OPEN = [name for name, state in MACHINE.states.items() if not state.terminal]
IN_RUN = {"Running", "Paused", "Verifying"}


def test_a_state_has_a_step_if_it_is_driven_or_quick_mode_goes_through_it() -> None:
    driven = {name for name in OPEN if MACHINE.states[name].driven}
    assert driven | {name for name in OPEN if onward_event(MACHINE, name)} == STEPS.keys()


@pytest.mark.parametrize("state", MACHINE.states)
def test_a_state_names_commands_that_exist_unless_it_is_the_end(state: str) -> None:
    for is_driven in (False, True):
        found = next_commands(state, is_driven=is_driven)
        assert bool(found) is (state in OPEN)
        for one in found:
            noun, verb, arguments = parsed(one.command.replace("{id}", "abc123"))
            assert (noun, arguments.thread) == ("thread", "abc123"), verb
    assert parsed(next_command(state, "01ABC123"))[2].thread == "ABC123"


@pytest.mark.parametrize("state", [name for name in OPEN if MACHINE.states[name].driven])
def test_a_thread_without_a_driver_is_continued_by_resume(state: str) -> None:
    assert event_of("resume", Thread(state=state)) == ""


@pytest.mark.parametrize("state", OPEN)
def test_the_events_of_a_pause_lead_to_paused(state: str) -> None:
    to: str | None = state
    for event in pause_events(state):
        assert to is not None
        to = target_of(MACHINE, to, event)
    assert to == ("Paused" if pause_events(state) else state)


def test_the_states_of_a_run_carry_its_iteration() -> None:
    assert {name for name, state in MACHINE.states.items() if "iteration" in state.carries} == IN_RUN
    assert carried().keys() == MACHINE.states.keys()


def test_a_thread_has_its_work_tree_from_the_passed_checks_to_the_end() -> None:
    owned = {name for name in OPEN if MACHINE.states[name].tree}
    assert owned == set(_reached("Configuring")) & set(OPEN)
    assert all("tree" not in MACHINE.states[name].changes for name in owned if MACHINE.states[name].tree == "proven")


def test_no_module_but_the_steps_lists_states() -> None:
    """A list that a new state has to join goes wrong silently; what is true of a state is in the machine's file."""
    found = {}
    for path in WORK.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            listed = {one.value for one in items if isinstance(one, ast.Constant)} & MACHINE.states.keys()
            if len(listed) > 1:
                found[str(path.relative_to(WORK))] = listed
    assert found.keys() == {"threads/steps.py", "views/thread.py"}, found  # the steps, and the headings of seed menus


def test_the_example_of_a_new_state_is_a_sound_machine() -> None:
    text = definition_path("thread").read_text(encoding="utf-8")
    [block] = re.findall(r"  ```toml\n(.*?)  ```", (ROOT / "AGENTS.md").read_text(encoding="utf-8"), re.DOTALL)
    machine = compile_machine(parse(f"{text}\n{dedent(block)}"))
    [added] = machine.states.keys() - MACHINE.states.keys()
    assert machine.states[added].driven
    assert "iteration" in machine.states[added].carries
    assert machine.states[added].next
    assert target_of(machine, "Running", "format", ActorKind.SYSTEM) == added


def _reached(first: str) -> list[str]:
    """The states that are reached from one without going back to the spec."""
    found = [first]
    for name in found:
        found += {row.to for row in MACHINE.transitions if row.source == name} - {*found, "Drafting"}
    return found
