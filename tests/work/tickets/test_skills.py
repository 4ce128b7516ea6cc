"""The ticket commands as texts: every fact is the machine's, every call is one that the machine takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.source_form import source_form
from interlock.errors import Refusal
from interlock.faces.mcp.server import TOOLS
from interlock.machine import Machine, load_shipped
from interlock.machine.commands import resolve
from interlock.machine.override import load_override
from interlock.work.tickets import skills as module
from interlock.work.tickets.skills import Skill, agent_files, prompt, skill_file, skill_path, skills

MACHINE = load_shipped("ticket")
COMMANDS = {name: one for name, one in MACHINE.form.commands.items() if not one.internal}
WRITTEN = {path.stem: path.read_text(encoding="utf-8") for path in Path(module.__file__).with_name("skills").iterdir()}
HANDOFF = re.compile(r"handoff_ticket\((\{.*?\})\)")
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def _skill(command: str, machine: Machine = MACHINE) -> Skill:
    return next(one for one in skills(machine) if one.command == command)


def _calls(text: str) -> list[dict[str, Any]]:
    """Every handoff that a text for one ticket tells an agent to make."""
    return [json.loads(found) for found in HANDOFF.findall(text)]


def _fields(text: str) -> dict[str, str]:
    front = text.split("---\n")[1]
    return {key: json.loads(value) for key, _, value in (line.partition(": ") for line in front.splitlines())}


# The shipped machine


def test_every_command_that_agents_run_is_a_skill_and_has_a_text_of_its_own() -> None:
    assert [one.command for one in skills(MACHINE)] == list(COMMANDS)
    assert [one.name for one in skills(MACHINE)] == [f"ralph-{name}" for name in COMMANDS]
    assert WRITTEN.keys() == {*COMMANDS, "any"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_call_is_one_that_the_machine_takes(command: str) -> None:
    calls = _calls(prompt(MACHINE, command, 19))
    assert calls
    for call in calls:
        assert call.keys() in ({"number", "command", "intent", "reason"}, {"number", "command", "to_state", "reason"})
        assert (call["number"], call["command"]) == (19, command)
        target = resolve(MACHINE, command, intent=call.get("intent"), to=call.get("to_state")).to
        one = COMMANDS[command]
        assert target in {*one.outputs, one.lock} or call.get("intent") == "release"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_with_a_lock_claims_first_and_can_give_back_and_no_other_does(command: str) -> None:
    intents = [call.get("intent") for call in _calls(prompt(MACHINE, command, 19))]
    assert intents.count("lock") == intents.count("release") == (1 if COMMANDS[command].lock else 0)
    assert "lock" not in intents[1:]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_leave_it_to_a_person_and_then_stops(command: str) -> None:
    text = prompt(MACHINE, command)
    [after] = re.findall(r'"intent": "escalate".*', text)
    assert "`Human Needed`" in after
    assert "STOP" in after


@pytest.mark.parametrize("command", COMMANDS)
def test_a_text_finds_the_ticket_or_is_given_it(command: str) -> None:
    anyones, ones = prompt(MACHINE, command), prompt(MACHINE, command, 19)
    assert 'get_ticket({"number": N})' in anyones
    assert 'get_ticket({"number": 19})' in ones
    assert (f'next_ticket({{"command": "{command}"}})' in anyones) is (command != "hero")
    assert "next_ticket" not in ones
    assert not re.search(r"\bN\b", ones)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_text_says_what_the_machine_says_of_its_command(command: str) -> None:
    one, text = COMMANDS[command], prompt(MACHINE, command)
    for state in (*one.inputs, *one.outputs):
        assert f"`{state}`" in text or f'"{state}"' in text
    assert all(f"`{size}`" in text for size in one.estimates)
    assert all(f"- {condition}\n" in text for condition in (*one.preconditions, *one.postconditions))
    for artifact in one.creates:
        pattern = MACHINE.form.artifacts[artifact].pattern.replace("{number}", "N")
        assert pattern in text or artifact == "pull_request"


@pytest.mark.parametrize(("command", "kind"), [("research", "research"), ("plan", "plan"), ("review", "critique")])
def test_a_document_begins_with_its_four_fields(command: str, kind: str) -> None:
    [front] = re.findall(r"```yaml\n---\n(.*?)---\n```", prompt(MACHINE, command, 19), re.DOTALL)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert list(fields) == ["date", "github_issue", "status", "type"]
    assert (fields["github_issue"], fields["type"]) == ("19", kind)


def test_what_each_command_must_not_forget() -> None:
    assert 'plan_review = "auto"' in prompt(MACHINE, "review")
    assert "needs-iteration" in prompt(MACHINE, "review")
    assert {"create_ticket", "link_tickets"} <= set(re.findall(r"\w+", prompt(MACHINE, "split")))
    assert "--is-ancestor" in prompt(MACHINE, "merge")
    hero = prompt(MACHINE, "hero")
    places = [hero.index(f"| `ralph-{name}` |") for name in COMMANDS["hero"].delegates_to]
    assert places == sorted(places)
    impl = prompt(MACHINE, "impl", 19)
    calls = ["create_ralph_session", "update_session_state", "complete_ralph_session"]
    assert [impl.index(f"{one}(") for one in calls] == sorted(impl.index(f"{one}(") for one in calls)
    assert "git worktree add ../worktrees/GH-19 -b feature/GH-19" in impl


FORBIDDEN = [
    *("update_workflow_state", "save_issue", "--force", "--hard", "-D ", "rm -", "push -f", "--no-verify"),
    *("git clean", "git checkout -- ", "git stash drop", "sqlite", ".ralf"),
]


@pytest.mark.parametrize("text", [*WRITTEN.values(), *agent_files(MACHINE).values()])
def test_no_text_names_another_door_or_anything_that_destroys(text: str) -> None:
    assert [word for word in FORBIDDEN if word in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_moves_a_ticket_that_waits_for_a_person(command: str) -> None:
    assert "Human Needed" not in COMMANDS[command].inputs
    assert not re.search(r"(?i)(out of|from|leave) `?Human Needed", prompt(MACHINE, command))


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_machine_knows_is_not_written_into_a_text(name: str) -> None:
    text = WRITTEN[name]
    facts = [*MACHINE.states, *(one.pattern.partition("{")[0] for one in MACHINE.form.artifacts.values())]
    assert [fact for fact in facts if fact in text] == []
    assert not re.search(r"`(?:XS|S|M|L|XL)`|handoff_ticket\(", text)
    conditions = [*COMMANDS[name].preconditions, *COMMANDS[name].postconditions] if name in COMMANDS else []
    assert [one for one in conditions if one in text] == []


# Files


@pytest.mark.parametrize("skill", skills(MACHINE), ids=lambda skill: str(skill.command))
def test_a_skill_file_is_what_claude_code_reads(skill: Skill) -> None:
    text = skill_file(skill)
    fields = _fields(text)
    assert skill_path(skill) == f".claude/skills/{fields['name']}/SKILL.md"
    assert NAME.fullmatch(fields["name"])
    assert len(fields["name"]) <= 64
    assert 20 < len(fields["description"]) <= 1024
    assert "\n" not in fields["description"]
    assert " Use it " in fields["description"]
    assert text.endswith(f"---\n\n{skill.text}")
    assert re.search(r"\$[a-z]", text) is None, "a placeholder was not filled"
    assert "\n\n\n" not in text


def test_a_skill_asks_for_what_it_calls_and_permits_no_writing() -> None:
    known = {tool.name for tool in TOOLS}
    for skill in skills(MACHINE):
        tools = _fields(skill_file(skill))["allowed-tools"].split()
        ours = {tool.removeprefix("mcp__ralph__") for tool in tools if tool.startswith("mcp__ralph__")}
        assert ours <= known
        assert ours == {name for name in known if re.search(rf"`{name}[(`]", skill.text)}
        assert {tool for tool in tools if not tool.startswith("mcp__")} == {"Read", "Grep", "Glob"}


def test_the_agents_are_those_of_the_source_system_and_follow_the_skills() -> None:
    files = agent_files(MACHINE)
    does = {
        "triager": ("triage", "split"),
        "researcher": ("research",),
        "planner": ("plan",),
        "advocate": ("review",),
        "implementer": ("impl",),
    }
    assert list(files) == [f".claude/agents/ralph-{name}.md" for name in does]
    for (name, commands), text in zip(does.items(), files.values(), strict=True):
        fields = _fields(text)
        assert fields.keys() == {"name", "description", "tools"}
        assert fields["name"] == f"ralph-{name}"
        tools = fields["tools"].split(", ")
        assert {"Read", "Bash", "mcp__ralph__handoff_ticket"} <= set(tools)
        assert ("Write" in tools) is (name != "triager")
        assert all(_skill(command).text in text for command in commands)


def test_a_command_that_is_not_there_is_refused() -> None:
    for command in ("thread", "deploy", "", "x" * 1000):
        with pytest.raises(Refusal) as refused:
            prompt(MACHINE, command)
        assert refused.value.code == "unknown_command"
        assert len(refused.value.message) < 200
    assert prompt(MACHINE, "ralph_plan") == prompt(MACHINE, "plan")


# Another machine


@pytest.fixture
def overridden(tmp_path: Path) -> Callable[[dict[str, Any]], Machine]:
    def load(form: dict[str, Any]) -> Machine:
        path = tmp_path / "machine.json"
        path.write_text(json.dumps(form), encoding="utf-8")
        return load_override(path, MACHINE.form)

    return load


def test_another_machine_makes_another_text(overridden: Callable[[dict[str, Any]], Machine]) -> None:
    form = json.loads(json.dumps(source_form(MACHINE)).replace("Plan in Review", "Plan Waiting"))
    form["commands"]["ralph_plan"] |= {"valid_input_estimates": ["L"], "preconditions": ["The moon is full"]}
    machine = overridden(form)
    for command in ("plan", "review", "hero"):
        text = prompt(machine, command)
        assert "Plan Waiting" in text
        assert "Plan in Review" not in text
    assert "Its estimate must be `L`." in prompt(machine, "plan")
    assert "- The moon is full\n" in prompt(machine, "plan")


def test_a_command_of_ones_own_is_a_skill_with_its_exact_calls(
    overridden: Callable[[dict[str, Any]], Machine],
) -> None:
    form = source_form(MACHINE)
    form["commands"]["ralph_ship_it"] = {
        "description": "Ship what is reviewed",
        "valid_input_states": ["In Review"],
        "valid_output_states": ["Done", "Human Needed"],
    }
    machine = overridden(form)
    skill = _skill("ship_it", machine)
    assert skill.name == "ralph-ship-it"
    assert skill.description.startswith("Ship what is reviewed. Use it ")
    targets = [call.get("to_state") for call in _calls(prompt(machine, "ship_it", 3))]
    assert targets == ["Done", "Human Needed", None]


def test_where_the_machine_has_no_such_intent_the_states_are_named(
    overridden: Callable[[dict[str, Any]], Machine],
) -> None:
    form = source_form(MACHINE)
    del form["semantic_states"]["__REJECT__"]
    del form["commands"]["ralph_merge"], form["semantic_states"]["__COMPLETE__"]["ralph_merge"]
    form["commands"]["ralph_split"]["valid_output_states"] = ["Backlog"]
    machine = overridden(form)
    assert "merge" not in [one.command for one in skills(machine)]
    calls = _calls(prompt(machine, "review", 3))
    assert [call["to_state"] for call in calls if "to_state" in call] == COMMANDS["review"].outputs
    split = prompt(machine, "split", 3)
    assert [call["intent"] for call in _calls(split)] == ["complete"]
    assert "STOP" in split, "it cannot hand the ticket to a person, and stops all the same"
    for skill in skills(machine):
        assert re.search(r"\$[a-z]", skill_file(skill)) is None
