"""A memory on a server that speaks Bolt: Neo4j, or another.

The driver has no time-out of its own for a server that takes a question and never answers, so every call runs on an
event loop that gives up after a bounded time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from interlock.errors import InterlockError, UsageError
from interlock.world.memory.memory import MemoryEvent, MemoryNode, node_of

if TYPE_CHECKING:
    from neo4j import AsyncDriver, Record
    from neo4j.graph import Node as DriversNode

__all__ = ["AGENT_CONTEXT", "KNOWN_ISSUES", "Neo4jMemory", "connect"]

AGENT_CONTEXT = """MATCH (n) WHERE n.name CONTAINS 'Brooks' OR n.name CONTAINS 'Developer Agent'
RETURN n LIMIT 10"""
KNOWN_ISSUES = """MATCH (n) WHERE n.memoryType IN ['blocker', 'bug', 'technical_debt']
RETURN n ORDER BY n.date DESC LIMIT 10"""
_REMEMBER = "MERGE (n:Event {event_id: $id}) ON CREATE SET n += $properties RETURN n.event_id AS id"
_SECONDS = 5.0
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
T = TypeVar("T")


def connect(
    uri: str,
    user: str = "neo4j",
    database: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    seconds: float = _SECONDS,
) -> Neo4jMemory:
    """A memory on a server; the password is in NEO4J_PASSWORD. The server is first asked when it is needed."""
    if uri.partition("://")[0] not in _SCHEMES:
        message = f"{_shown(uri)} is no address of a memory."
        raise UsageError("invalid_argument", message, "Give one such as `neo4j://localhost:7687`.")
    password = environment.get("NEO4J_PASSWORD")
    if not password:
        hint = "Set it in the environment; it is never read from a file of the repository."
        raise InterlockError("memory_refused", f"NEO4J_PASSWORD is not set, for {_shown(uri)}.", hint)
    return Neo4jMemory(uri, user, password, database, seconds)


class Neo4jMemory:
    """The memory of a server. One thread uses it at a time, and none that has an event loop running."""

    def __init__(self, uri: str, user: str, password: str, database: str | None, seconds: float) -> None:
        try:
            from neo4j import AsyncGraphDatabase
            from neo4j.exceptions import ConfigurationError
        except ImportError:
            from interlock.extras import how_to_install

            message = "The driver for Neo4j is not installed."
            raise InterlockError("memory_unreachable", message, f"Install it: `{how_to_install('neo4j')}`") from None
        self._shown = _shown(uri)
        self._database = database
        self._seconds = seconds
        try:
            self._driver: AsyncDriver = AsyncGraphDatabase.driver(
                uri,
                auth=(user, password),
                connection_timeout=seconds,
                connection_acquisition_timeout=seconds,
                liveness_check_timeout=1,
                telemetry_disabled=True,
            )
        except (ConfigurationError, ValueError) as error:
            message = f"{self._shown} is no address of a memory: {error}."
            raise UsageError("invalid_argument", message, "Give one such as `neo4j://localhost:7687`.") from None
        self._loop = asyncio.Runner()

    def agent_context(self) -> list[MemoryNode]:
        return [_node(record["n"]) for record in self._ask(AGENT_CONTEXT)]

    def known_issues(self) -> list[MemoryNode]:
        return [_node(record["n"]) for record in self._ask(KNOWN_ISSUES)]

    def remember(self, event: MemoryEvent) -> str:
        properties = {name: _stored(value) for name, value in node_of(event).properties.items()}
        records = self._ask(_REMEMBER, id=event.id, properties=properties)
        if [record["id"] for record in records] != [event.id]:
            message = f"{self._shown} did not say that it has the event {event.id}."
            raise InterlockError("memory_unreachable", message, "Send it again; it is remembered once.")
        return event.id

    def close(self) -> None:
        try:
            self._within(self._driver.close())
        except InterlockError:
            pass  # a server that is gone need not be told
        finally:
            self._loop.close()

    def _ask(self, query: str, **parameters: object) -> list[Record]:
        from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError

        try:
            return self._within(self._run(query, parameters))
        except AuthError as error:
            hint = "Look at NEO4J_PASSWORD and at the user."
            raise InterlockError("memory_refused", f"{self._shown} refused the user: {error.code}.", hint) from None
        except ClientError as error:
            message = f"{self._shown} refused the question: {error.code}."
            raise InterlockError("memory_refused", message, "Look at the database's name and at the user.") from None
        except (DriverError, Neo4jError, OSError) as error:
            raise self._unreachable(type(error).__name__) from None

    async def _run(self, query: str, parameters: dict[str, object]) -> list[Record]:
        """One question in one transaction; the driver does not repeat it, because that is not its to decide."""
        async with self._driver.session(database=self._database) as session:
            answer = await session.run(query, parameters)
            return [record async for record in answer]

    def _within(self, asking: Coroutine[Any, Any, T]) -> T:
        """Do it in bounded time."""

        async def bounded() -> T:
            async with asyncio.timeout(self._seconds):
                return await asking

        try:
            return self._loop.run(bounded())
        except TimeoutError:
            raise self._unreachable(f"no answer within {self._seconds:g} s") from None

    def _unreachable(self, why: str) -> InterlockError:
        message = f"The memory at {self._shown} does not answer: {why}."
        return InterlockError("memory_unreachable", message, "Start it, or go on without; events are sent later.")


def _shown(uri: str) -> str:
    """An address without what could be a password in it."""
    try:
        parts = urlsplit(uri)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return "the address"


def _node(node: DriversNode) -> MemoryNode:
    return MemoryNode(tuple(sorted(node.labels)), {name: _read(value) for name, value in node.items()})


def _read(value: object) -> object:
    if isinstance(value, list):
        return tuple(_read(one) for one in value)
    return value if isinstance(value, str | int | float | bool) else str(value)


def _stored(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
