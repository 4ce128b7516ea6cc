"""A memory answers the seed's two questions and remembers each event once, with a server and without."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.memory import (
    EmbeddedMemory,
    EventType,
    Memory,
    MemoryEvent,
    Neo4jMemory,
    connect,
    node_of,
    once_more,
)
from interlock.world.memory.memory import Value
from interlock.world.memory.neo4j import AGENT_CONTEXT, KNOWN_ISSUES
from world.memory.bolt import DATABASE, BoltServer

DATA: dict[EventType, dict[str, Value]] = {
    EventType.ITERATION_START: {"iteration_id": "ralph-47"},
    EventType.TASK_ATTEMPT: {"retry_count": 1},
    EventType.TASK_COMPLETE: {"files_modified": ("a.py", "é b.py"), "tests_passed": 12, "commit": "0" * 40},
    EventType.TASK_BLOCKER: {
        "reason": 'it\'s "stuck"\n`x`',
        "attempted_fixes": ("one", "two"),
        "fix_sources_tried": (),
        "error": "E1",
    },
    EventType.TEST_FAILURE_PATTERN: {"failure_type": "timeout", "frequency": 0.25},
    EventType.CODE_PATTERN_REUSE: {"pattern_name": "retry", "reuse_context": "') DETACH DELETE n //"},
}
SEED = """// Query A: Agent context
MATCH (n) WHERE n.name CONTAINS 'Brooks' OR n.name CONTAINS 'Developer Agent'
RETURN n LIMIT 10

// Query B: Known issues
MATCH (n) WHERE n.memoryType IN ['blocker', 'bug', 'technical_debt']
RETURN n ORDER BY n.date DESC LIMIT 10
"""


def event(number: int, kind: EventType) -> MemoryEvent:
    at = f"2026-01-{number + 1:02}T10:00:00Z"
    return MemoryEvent(f"event-{number}", kind, at, "story-2-1", f"task-{number}", DATA[kind])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltServer]:
    server = BoltServer(tmp_path_factory.mktemp("arcadedb"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(running: BoltServer) -> BoltServer:
    """A server that runs and remembers nothing."""
    memory = _connected(running, seconds=30)
    memory._ask("MATCH (n) DETACH DELETE n")
    memory.close()
    return running


def _connected(server: BoltServer, password: str = "", seconds: float = 10) -> Neo4jMemory:
    environment = {"NEO4J_PASSWORD": password or server.password}
    return connect(server.uri, "root", DATABASE, environment=environment, seconds=seconds)


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.memory)])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory of each kind that remembers nothing."""
    found: Memory
    found = EmbeddedMemory() if request.param == "embedded" else _connected(request.getfixturevalue("server"))
    yield found
    found.close()


# With a server and without


def test_a_new_memory_knows_nothing(memory: Memory) -> None:
    assert memory.agent_context() == []
    assert memory.known_issues() == []


def test_every_type_of_event_is_remembered_with_all_it_brings(memory: Memory) -> None:
    events = [event(number, kind) for number, kind in enumerate(EventType)]
    assert [memory.remember(one) for one in events] == [one.id for one in events]
    context = {str(node.properties["event_id"]): node for node in memory.agent_context()}
    assert context == {one.id: node_of(one) for one in events if "BROOKS" in one.type}
    assert memory.known_issues() == [node_of(events[4]), node_of(events[3])], "the newest first"


def test_an_event_is_remembered_once(memory: Memory) -> None:
    first = event(1, EventType.TASK_BLOCKER)
    again = MemoryEvent(first.id, first.type, "2027-01-01T00:00:00Z", "another", None, first.data)
    assert memory.remember(first) == memory.remember(first) == memory.remember(again) == first.id
    assert memory.known_issues() == [node_of(first)]


def test_an_answer_has_ten_nodes_at_most(memory: Memory) -> None:
    for number in range(15):
        memory.remember(event(number, EventType.TASK_BLOCKER))
    assert len(memory.agent_context()) == 10
    assert memory.known_issues() == [node_of(event(number, EventType.TASK_BLOCKER)) for number in range(14, 4, -1)]


def test_an_event_without_a_story_has_none(memory: Memory) -> None:
    kind = EventType.TEST_FAILURE_PATTERN
    memory.remember(MemoryEvent("e", kind, "2026-01-01T00:00:00Z", data=DATA[kind]))
    [node] = memory.known_issues()
    assert node.labels == ("Event",)
    assert {"story_id", "task_id"} & node.properties.keys() == set()
    assert (node.properties["name"], node.properties["memoryType"]) == ("Test failure pattern", "bug")


# Without


def test_an_embedded_memory_is_what_its_owner_kept() -> None:
    events = [event(number, kind) for number, kind in enumerate(EventType)]
    memory = EmbeddedMemory([*events, *events])
    assert memory.events == tuple(events)
    other = EmbeddedMemory(memory.events)
    assert other.known_issues() == memory.known_issues()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (EventType.TASK_ATTEMPT, {}),
        (EventType.TASK_ATTEMPT, {"retry_count": 1, "secret": "x"}),
        (EventType.TASK_ATTEMPT, {"retry_count": {"nested": 1}}),
        (EventType.TASK_ATTEMPT, {"retry_count": None}),
        (EventType.TASK_ATTEMPT, {"retry_count": (1, 2)}),
    ],
)
def test_an_event_that_no_node_can_hold_is_refused(kind: EventType, data: dict[str, Value]) -> None:
    with pytest.raises(InterlockError) as caught:
        MemoryEvent("e", kind, "2026-01-01T00:00:00Z", data=data)
    assert caught.value.code == "invalid_argument"


def test_both_queries_are_the_seeds() -> None:
    assert f"// Query A: Agent context\n{AGENT_CONTEXT}\n\n// Query B: Known issues\n{KNOWN_ISSUES}\n" == SEED


def _failing(times: int, code: str = "memory_unreachable") -> Callable[[], str]:
    left = [InterlockError(code, "no") for _ in range(times)]

    def ask() -> str:
        if left:
            raise left.pop()
        return "answer"

    return ask


def test_a_memory_is_asked_once_more_after_three_seconds() -> None:
    waits: list[float] = []
    assert once_more(_failing(0), waits.append) == "answer"
    assert waits == []
    assert once_more(_failing(1), waits.append) == "answer"
    assert waits == [3.0]
    with pytest.raises(InterlockError) as caught:
        once_more(_failing(2), waits.append)
    assert (caught.value.code, waits) == ("memory_unreachable", [3.0, 3.0])
    with pytest.raises(InterlockError) as caught:
        once_more(_failing(1, "memory_refused"), waits.append)
    assert (caught.value.code, waits) == ("memory_refused", [3.0, 3.0])


def test_without_a_password_no_server_is_asked() -> None:
    with pytest.raises(InterlockError) as caught:
        connect("bolt://ada:secret@localhost:1", environment={})
    assert caught.value.code == "memory_refused"
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("uri", ["http://localhost", "nonsense", "bolt://[", ""])
def test_an_address_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(InterlockError) as caught:
        connect(uri, environment={"NEO4J_PASSWORD": "x"})
    assert caught.value.code == "invalid_argument"


def test_nobody_listens(unused_port: int) -> None:
    memory = connect(f"bolt://127.0.0.1:{unused_port}", environment={"NEO4J_PASSWORD": "x"}, seconds=5)
    with pytest.raises(InterlockError) as caught:
        memory.known_issues()
    memory.close()
    assert caught.value.code == "memory_unreachable"


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port that refuses connections: bound, and not listened at."""
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield one.getsockname()[1]


# With a server only


@pytest.mark.memory
def test_a_wrong_password_is_said_and_never_shown(server: BoltServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    memory = _connected(server, password="sesame-open")
    with pytest.raises(InterlockError) as caught:
        memory.agent_context()
    memory.close()
    assert caught.value.code == "memory_refused"
    assert "sesame" not in f"{caught.value!r} {caught.value.message} {memory!r} {vars(memory)} {caplog.text}"


@pytest.mark.memory
def test_a_database_that_is_not_there_is_refused(server: BoltServer) -> None:
    memory = connect(server.uri, "root", "nowhere", environment={"NEO4J_PASSWORD": server.password}, seconds=10)
    with pytest.raises(InterlockError) as caught:
        memory.agent_context()
    memory.close()
    assert caught.value.code in ("memory_refused", "memory_unreachable")


@pytest.mark.memory
def test_a_server_that_does_not_answer_is_given_up(server: BoltServer) -> None:
    memory = _connected(server, seconds=1)
    memory.agent_context()
    server.hold()
    try:
        with pytest.raises(InterlockError) as caught:
            memory.remember(event(1, EventType.TASK_BLOCKER))
        fresh = _connected(server, seconds=1)
        with pytest.raises(InterlockError) as other:
            fresh.agent_context()
        fresh.close()
    finally:
        server.let_go()
    assert (caught.value.code, other.value.code) == ("memory_unreachable", "memory_unreachable")
    assert "within 1 s" in caught.value.message
    memory.remember(event(1, EventType.TASK_BLOCKER))
    memory.remember(event(1, EventType.TASK_BLOCKER))
    assert memory.known_issues() == [node_of(event(1, EventType.TASK_BLOCKER))], "whether it had arrived or not"
    memory.close()


@pytest.mark.memory
def test_a_server_that_is_lost_gets_what_it_missed_once(tmp_path: Path) -> None:
    server = BoltServer(tmp_path)
    server.start()
    memory = _connected(server)
    events = [event(number, EventType.TASK_BLOCKER) for number in range(4)]
    try:
        memory.remember(events[0])
        server.stop()
        for one in events[1:]:
            with pytest.raises(InterlockError) as caught:
                memory.remember(one)
            assert caught.value.code == "memory_unreachable"
        server.start()
        for _ in range(2):
            for one in events:
                assert once_more(lambda one=one: memory.remember(one), lambda _: None) == one.id  # type: ignore[misc]
        assert memory.known_issues() == [node_of(one) for one in reversed(events)]
    finally:
        memory.close()
        server.stop()


@pytest.mark.memory
def test_what_others_wrote_is_answered_too(server: BoltServer) -> None:
    memory = _connected(server)
    memory._ask("CREATE (:AIAgent {name: 'Brooks (Developer Agent)', primary_role: 'Developer', since: date()})")
    memory._ask("CREATE (:Insight {name: 'old parser', memoryType: 'technical_debt', date: '2020-01-01'})")
    memory.remember(event(1, EventType.TASK_BLOCKER))
    roles = {node.labels: node.properties.get("primary_role") for node in memory.agent_context()}
    assert roles == {("AIAgent",): "Developer", ("Event",): None}
    assert [node.properties["name"] for node in memory.known_issues()][-1] == "old parser"
    memory.close()
