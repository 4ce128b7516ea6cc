"""A loop whose memory is a real server that goes away in the middle, and comes back: everything arrives, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.work.stories.progress_file import template
from interlock.work.stories.record import Loop
from interlock.world.memory import Neo4jMemory, connect
from work.stories.yards import Ground
from world.memory.bolt import DATABASE, BoltServer

pytestmark = pytest.mark.memory
TASKS = ("greet", "be polite", "wave", "leave")
ALL = (
    "MATCH (n:Event) RETURN n.event_id AS id, n.event_type AS type, n.task_id AS task, n.commit AS made ORDER BY n.date"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BoltServer]:
    place = tmp_path / "arcadedb"
    place.mkdir()
    server = BoltServer(place)
    server.start()
    yield server
    server.stop()


def _connected(server: BoltServer) -> Neo4jMemory:
    return connect(server.uri, "root", DATABASE, environment={"NEO4J_PASSWORD": server.password}, seconds=5)


def test_what_a_server_missed_is_sent_once_when_it_is_back(tmp_path: Path, server: BoltServer) -> None:
    ground = Ground(tmp_path, {"1-1": TASKS}).made()
    memory = _connected(server)
    pending: dict[str, int] = {}
    connected: dict[str, bool | None] = {}

    def meddle(loop: Loop) -> None:
        """It is lost while the second subtask is tested, and back before the fourth is chosen."""
        task = loop.task or ""
        if (loop.state, task) == ("TEST", "2"):
            server.stop()
        if (loop.state, task) == ("IMPLEMENT", "3"):
            connected["3"] = loop.progress.current_iteration.neo4j_connected
        if (loop.state, task) == ("VALIDATE", "3"):
            pending["3"] = loop.progress.current_iteration.pending_neo4j_logs
            server.start()

    ground.meddle = meddle
    driven = ground.drive(memory=memory, is_server=True)
    assert driven.ended
    assert ground.moves().count("memory_unavailable") == 1
    assert (connected, pending) == ({"3": False}, {"3": 2}), "the commit of the second, and the attempt at the third"
    assert driven.loop.unsent == {}
    records = memory._ask(ALL)
    memory.close()
    assert len({record["id"] for record in records}) == len(records) == 8
    found = [(record["type"], record["task"]) for record in records]
    made = [record["made"] for record in records if record["made"]]
    expected = [(f"BROOKS_TASK_{kind}", str(task)) for task in range(1, 5) for kind in ("ATTEMPT", "COMPLETE")]
    assert sorted(found) == sorted(expected)
    assert sorted(made) == sorted(ground.git("log", "--format=%H", "--grep=^story-1-1").split())
    assert ground.progress.current_iteration.neo4j_connected is True


def test_what_a_loop_left_when_it_ended_is_sent_once_by_the_next(tmp_path: Path, server: BoltServer) -> None:
    ground = Ground(tmp_path, {"1-1": TASKS[:1], "2-1": TASKS[1:2]}).made()
    memory = _connected(server)
    server.stop()
    for number in ("1-1", "2-1"):
        if number == "2-1":
            server.start()
        ground.progress_file.write_text(template("demo", [(f"story-{number}", None)], "2026-01-01"))
        ground.git("commit", "-qam", f"next: {number}")
        assert ground.drive(memory=memory, is_server=True).ended
    records = memory._ask(ALL)
    memory.close()
    found = [(record["type"], record["task"]) for record in records]
    assert found == [("BROOKS_TASK_ATTEMPT", "1"), ("BROOKS_TASK_COMPLETE", "1")] * 2
