"""The ticket commands as texts that an agent follows: skills, agents and prompts.

The prose is in `skills/<command>.md`; every fact in it (states, locks, estimates, calls, documents) comes from the
machine in force, so that another machine makes another text. A command without a text of its own gets `any.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

import msgspec

from interlock.errors import Refusal
from interlock.machine import Machine
from interlock.machine.commands import normalise_command
from interlock.work.tickets.placeholders import placeholders
from interlock.world.agents.registration import SERVER

__all__ = ["Skill", "agent_files", "prompt", "skill_file", "skill_path", "skills"]

_TEXTS: Final = Path(__file__).with_name("skills")
_TOOLS: Final = (
    "get_ticket",
    "list_tickets",
    "next_ticket",
    "handoff_ticket",
    "comment_ticket",
    "create_ticket",
    "update_ticket",
    "link_tickets",
    "ticket_group",
    "pipeline_position",
    "check_convergence",
    "create_ralph_session",
    "update_session_state",
    "complete_ralph_session",
)
"""The tools of our server that a text may name; those that it does name are what its skill asks for."""
_AGENTS: Final = {
    "triager": (("triage", "split"), "You assess tickets, and divide those that are too large.", False),
    "researcher": (("research",), "You find out how things are before anybody decides what to do.", True),
    "planner": (("plan",), "You turn research into a plan that can be built from.", True),
    "advocate": (("review",), "You doubt a plan before anybody builds it.", True),
    "implementer": (("impl",), "You build what an approved plan says.", True),
}
"""For each agent its commands, what it is, and whether it writes files."""
_DELEGATES: Final = {command: f"`ralph-{name}`" for name, (does, *_) in _AGENTS.items() for command in does}
_READERS: Final = ("Read", "Grep", "Glob")
_WRITERS: Final = ("Write", "Edit")


class Skill(msgspec.Struct, frozen=True):
    """A command as a text that an agent follows."""

    name: str
    command: str
    description: str
    """What it does and when to use it: what an agent chooses it by."""
    text: str


def skills(machine: Machine) -> list[Skill]:
    """The commands of a machine that agents run, in its order."""
    return [_skill(machine, name, None) for name, one in machine.form.commands.items() if not one.internal]


def prompt(machine: Machine, command: str, number: int | None = None) -> str:
    """The text of one command, for one ticket where a number is given."""
    name = normalise_command(command)
    offered = [known for known, one in machine.form.commands.items() if not one.internal]
    if name not in offered:
        raise Refusal("unknown_command", f"There is no command {command[:80]!r}.", f"Use one of: {', '.join(offered)}.")
    return _skill(machine, name, number).text


def skill_path(skill: Skill) -> str:
    """Where Claude Code looks for it in a repository."""
    return f".claude/skills/{skill.name}/SKILL.md"


def skill_file(skill: Skill, server: str = SERVER) -> str:
    """The skill as `SKILL.md`. What reads or is ours needs no permission; writing and running are still asked for.

    `server` is what the agent calls our server, which is another name where a plugin brings it.
    """
    tools = " ".join([*_READERS, *_ours(skill.text, server)])
    fields = {"name": skill.name, "description": skill.description, "argument-hint": "[number]", "allowed-tools": tools}
    return f"{_front_matter(fields)}\n{skill.text}"


def agent_files(machine: Machine, server: str = SERVER) -> dict[str, str]:
    """Claude Code's sub-agents, by the path of each: one for each part of a ticket's way."""
    known = {skill.command: skill for skill in skills(machine)}
    return {
        f".claude/agents/ralph-{name}.md": _agent(
            f"ralph-{name}", [known[one] for one in commands], about, writes, server
        )
        for name, (commands, about, writes) in _AGENTS.items()
        if known.keys() >= set(commands)
    }


def _agent(name: str, does: list[Skill], about: str, writes: bool, server: str) -> str:
    text = "\n".join(skill.text for skill in does)
    tools = ", ".join([*_READERS, "Bash", *(_WRITERS if writes else ()), *_ours(text, server)])
    description = " ".join(skill.description for skill in does)
    told = "You are given one ticket, by its number. End by saying which state it is in, and what you left for others."
    fields = {"name": name, "description": description, "tools": tools}
    return f"{_front_matter(fields)}\n{about} {told}\n\n{text}"


def _ours(text: str, server: str) -> list[str]:
    return [f"mcp__{server}__{tool}" for tool in _TOOLS if tool in text]


def _front_matter(fields: Mapping[str, str]) -> str:
    """YAML; a JSON string is one of its strings."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
    return f"---\n{''.join(lines)}---\n"


# From the machine to the text


def _skill(machine: Machine, name: str, number: int | None) -> Skill:
    about = machine.form.commands[name].description or f"The ticket command {name}"
    file = _TEXTS / f"{name}.md"
    written = (file if file.is_file() else _TEXTS / "any.md").read_text(encoding="utf-8")
    when, _, body = written.partition("\n\n")
    called = f"ralph-{name.replace('_', '-')}"
    facts = placeholders(machine, name, number, _DELEGATES)
    text = Template(body).substitute(facts).replace("\n\n\n\n", "\n\n")
    return Skill(called, name, f"{about}. {when}", f"# {called}: {about}\n\n{text}")
