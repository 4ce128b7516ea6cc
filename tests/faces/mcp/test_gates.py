"""Nobody moves a thread over MCP: whatever is called, over whichever transport, with the thread for every argument."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal
from mcp import MCPError

from faces.journals import PERSON, opened
from interlock.machine import Event, Evidence, load_shipped
from interlock.machine.model import NOTED

from .servers import Agent, Served, entries, stdio_agent

SPEC = "# Greet\n\n## Completion Criteria\n\n- [ ] it is there\n\n<promise>COMPLETE</promise>\n"


def thread_in(repository: Path) -> str:
    """A thread whose spec waits for a person."""
    with opened(repository) as journal:
        made = journal.create("thread", Event("created", PERSON, evidence=Evidence(data={"title": "Greet"})))
        data = {"type": "revised", "revision": 1, "sha256": "", "text": SPEC}
        journal.append(made.entry.instance, Event(NOTED, PERSON, evidence=Evidence(data=data)))
        return made.entry.instance


def value_of(name: str, schema: dict[str, Any], thread: str, event: str) -> object:
    """Something that the argument may be, and the thread or the move wherever a text is wanted."""
    kinds = {schema.get("type"), *(one.get("type") for one in schema.get("anyOf", ()))}
    if "enum" in schema:
        return schema["enum"][-1]
    if "string" in kinds:
        return event if any(word in name.lower() for word in ("state", "intent", "command", "event")) else thread
    return 1 if kinds & {"integer", "number"} else [] if "array" in kinds else {}


def call_everything(agent: Agent, repository: Path) -> None:
    thread = thread_in(repository)
    before = entries(repository, thread)
    machine = load_shipped("thread")
    moves = sorted({one.on for one in machine.transitions})
    tools = agent.portal.call(agent.client.list_tools).tools
    assert {"finalize", "approve", "commit", "assist"} <= set(moves)
    for tool in tools:
        properties = tool.input_schema.get("properties", {})
        for event in ("finalize", "approve", "Finalized"):
            given = {name: value_of(name, schema, thread, event) for name, schema in properties.items()}
            with suppress(MCPError):
                agent.result(tool.name, **given)
    for name in [*moves, *(f"thread_{move}" for move in moves), "thread", "gate_enroll", "config_accept"]:
        assert name not in {tool.name for tool in tools}
        with suppress(MCPError):
            agent.result(name, id=thread, thread=thread)
    assert entries(repository, thread) == before
    with opened(repository) as journal:
        assert journal.instances("trust") == [], "no key and no settings either"


def test_no_tool_over_http_moves_a_thread(agent: Agent, served: Served) -> None:
    call_everything(agent, served.repository)


def test_no_tool_over_stdio_moves_a_thread(
    portal: BlockingPortal, repository: Path, environment: dict[str, str]
) -> None:
    with stdio_agent(portal, repository, environment) as agent:
        call_everything(agent, repository)


def test_both_transports_have_the_same_tools(
    agent: Agent, portal: BlockingPortal, repository: Path, environment: dict[str, str]
) -> None:
    with stdio_agent(portal, repository, environment) as other:
        ours, theirs = (one.portal.call(one.client.list_tools).tools for one in (agent, other))
    assert [tool.name for tool in ours] == [tool.name for tool in theirs]
