"""Many agents at once through one server: all that was acknowledged is in the journal, in the order of each agent."""

from __future__ import annotations

from collections import defaultdict
from itertools import cycle, pairwise
from pathlib import Path

import anyio
import httpx2
import mcp_types as types
import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from exhaustive import EXHAUSTIVE
from faces.programs import AUTHORIZED, SECONDS

from .servers import ERAS, entries, problems, serving

AGENTS = 50 if EXHAUSTIVE else 12
STATES = ["analyzing", "implementing", "testing", "implementing", "testing", "committing", "reviewing"]
_MODES = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}


class Crowd(msgspec.Struct):
    """Agents that begin together, and what each of them was told."""

    url: str
    here: int = 0
    all_here: anyio.Event = msgspec.field(default_factory=anyio.Event)
    acknowledged: dict[str, list[tuple[str, str]]] = msgspec.field(default_factory=lambda: defaultdict(list))

    async def meet(self) -> None:
        self.here += 1
        if self.here == AGENTS:
            self.all_here.set()
        await self.all_here.wait()

    async def work(self, number: int, era: str) -> None:
        """One agent's whole session, in step with nobody."""
        info = types.Implementation(name=f"agent {number}", version="1")
        async with (
            httpx2.AsyncClient(headers=AUTHORIZED, verify=False, timeout=SECONDS) as http,
            Client(
                streamable_http_client(f"{self.url}/mcp", http_client=http), mode=_MODES[era], client_info=info
            ) as client,
        ):
            await self.meet()
            opened = await client.call_tool("create_ralph_session", {"ticketId": f"ticket {number}"})
            assert opened.structured_content is not None
            session = str(opened.structured_content["sessionId"])
            for state in STATES:
                moved = await client.call_tool("update_session_state", {"sessionId": session, "state": state})
                assert moved.structured_content is not None, moved
                self.acknowledged[session].append((state, str(moved.structured_content["transitionedAt"])))
            ended = await client.call_tool("complete_ralph_session", {"sessionId": session, "outcome": "success"})
            assert ended.structured_content is not None
            self.acknowledged[session].append(("done", str(ended.structured_content["transitionedAt"])))


async def _all(url: str) -> dict[str, list[tuple[str, str]]]:
    crowd = Crowd(url)
    with anyio.fail_after(2 * SECONDS):
        async with anyio.create_task_group() as tasks:
            for number, era in zip(range(AGENTS), cycle(ERAS), strict=False):
                tasks.start_soon(crowd.work, number, era)
    return crowd.acknowledged


@pytest.mark.exhaustive
def test_many_agents_at_once_each_with_a_session_of_its_own(repository: Path, environment: dict[str, str]) -> None:
    with serving(repository, environment) as server:
        acknowledged = anyio.run(_all, server.url)
        ended = server.end()
    assert "Traceback" not in ended.err
    assert len(acknowledged) == AGENTS
    for session, moves in acknowledged.items():
        written = entries(repository, session)[1:]
        assert [(one.to_state, one.time) for one in written if one.event != "noted"] == moves
        assert not any(one.off_path for one in written)
    order = [one.instance for one in entries(repository) if one.instance in acknowledged]
    turns = sum(first != second for first, second in pairwise(order))
    assert turns > AGENTS, "they took turns"
    assert problems(repository) == []


async def _race(url: str) -> list[types.CallToolResult]:
    results: list[types.CallToolResult] = []

    async def one(client: Client) -> None:
        results.append(await client.call_tool("create_ralph_session", {"ticketId": "the only one"}))

    with anyio.fail_after(SECONDS):
        async with (
            httpx2.AsyncClient(headers=AUTHORIZED, verify=False, timeout=SECONDS) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode="2026-07-28") as client,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(20):
                tasks.start_soon(one, client)
    return results


def test_of_twenty_that_want_one_ticket_one_gets_it(repository: Path, environment: dict[str, str]) -> None:
    with serving(repository, environment) as server:
        results = anyio.run(_race, server.url)
    won = [one for one in results if not one.is_error]
    assert len(results) == 20
    assert len(won) == 1
    assert won[0].structured_content is not None
    session = won[0].structured_content["sessionId"]
    for one in results:
        [content] = one.content
        assert isinstance(content, types.TextContent)
        assert session in content.text
        assert not one.is_error or "[session_open]" in content.text
    created = [one for one in entries(repository) if one.event == "created"]
    assert len(created) == 2, "the ticket's stub and the session"
    assert problems(repository) == []
