"""Memory events that a loop could not send: the next loop that reaches the server sends them, once and in order."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from faces.programs import run_here
from interlock.errors import InterlockError
from interlock.journal import Holder
from interlock.work.driver.lease_holders import lease_name, process_holder
from interlock.work.stories.progress_file import template
from interlock.work.stories.unsent import waiting
from interlock.world.memory import MemoryEvent
from work.stories.yards import Ground, UnsteadyMemory

MANY = 1_000_000
"""More calls than a loop makes."""
LOOPS: Mapping[str, tuple[str, ...]] = {"1-1": ("greet",), "2-1": ("wave",), "3-1": ("leave",)}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A place in which a first loop has ended, and its server was away all the time."""
    ground = _with(Ground(tmp_path_factory.mktemp("ended") / "place", LOOPS).made(), "1-1")
    ground.drive(memory=UnsteadyMemory(fails=MANY))
    assert len(_waiting(ground)) == 2
    shutil.copytree(ground.directory, ground.directory.with_name("kept"), symlinks=True)
    return ground


@pytest.fixture
def ground(ended: Ground) -> Ground:
    """That place as it was then, at the same path."""
    shutil.rmtree(ended.directory)
    shutil.copytree(ended.directory.with_name("kept"), ended.directory, symlinks=True)
    return replace(ended.again(), clock=copy(ended.clock))


def _with(ground: Ground, *numbers: str) -> Ground:
    """The place with a `progress.txt` of these stories."""
    ground.progress_file.write_text(template("demo", [(f"story-{one}", None) for one in numbers], "2026-01-01"))
    ground.git("commit", "-qam", f"next: {numbers}")
    return ground


def _waiting(ground: Ground) -> list[str]:
    with closing(ground.journal()) as journal:
        return [event["id"] for event in waiting(journal)]


def _remembered(ground: Ground) -> list[str]:
    """The ids of all events that loops noted, in their order."""
    with closing(ground.journal()) as journal:
        entries = sorted(
            (entry for one in journal.instances("story") for entry in journal.history(one.id)), key=lambda one: one.seq
        )
        notes = [entry.decoded_evidence().data for entry in entries if entry.event == "noted"]
        return [note["event"]["id"] for note in notes if note["type"] == "remembered"]


def test_the_next_loop_sends_what_an_ended_one_could_not_before_its_own(ground: Ground) -> None:
    memory = UnsteadyMemory()
    _with(ground, "2-1").drive(memory=memory)
    assert memory.received == _remembered(ground)
    assert len(memory.received) == 4
    assert _waiting(ground) == []


def test_what_two_loops_could_not_send_is_sent_in_order_and_once(ground: Ground) -> None:
    _with(ground, "2-1").drive(memory=UnsteadyMemory(fails=MANY))
    assert len(_waiting(ground)) == 4
    memory = UnsteadyMemory(fails=4)  # and it is back only after the third has its first own
    _with(ground, "3-1").drive(memory=memory)
    assert memory.received == _remembered(ground)
    again = UnsteadyMemory()
    _with(ground, "3-1").drive(memory=again)
    assert again.received == []


class _LostHalfway(UnsteadyMemory):
    """A server that goes away for good after so many events."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def remember(self, event: MemoryEvent) -> str:
        if len(self.received) == self.most:
            self.fails = MANY
        return super().remember(event)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("most", [1, 3])
def test_what_is_lost_halfway_goes_on_where_it_stopped(ground: Ground, most: int) -> None:
    first, second = _LostHalfway(most), UnsteadyMemory()
    _with(ground, "2-1").drive(memory=first)
    _with(ground, "3-1").drive(memory=second)
    assert [*first.received, *second.received] == _remembered(ground)


class _Killed(BaseException):
    """The end of a driver that nothing in it can catch."""


class _Deadly(UnsteadyMemory):
    """A server that has an event, and whose client dies before it hears so."""

    def remember(self, event: MemoryEvent) -> str:
        super().remember(event)
        if len(self.received) == 2:
            raise _Killed
        return event.id


def test_a_driver_that_is_killed_while_it_sends_loses_nothing(ground: Ground) -> None:
    memory = _Deadly()
    with pytest.raises(_Killed):
        _with(ground, "2-1").drive(memory=memory)
    ground.again().drive(memory=memory)
    assert [one.id for one in memory.inner.events] == _remembered(ground)
    assert _waiting(ground) == []


def test_a_loop_without_a_server_leaves_what_waits_for_one(ground: Ground) -> None:
    _with(ground, "2-1").drive()  # the journal's own memory
    assert len(_waiting(ground)) == 2
    memory = UnsteadyMemory()
    _with(ground, "3-1").drive(memory=memory)
    assert len(memory.received) == 4


def test_a_loop_that_somebody_else_drives_sends_its_own(tmp_path: Path) -> None:
    ground = _with(Ground(tmp_path, LOOPS).made(), "1-1")
    ground.meddle = lambda loop: ground.stop.set() if loop.state == "TEST" else None
    ground.drive(memory=UnsteadyMemory(fails=MANY))
    with closing(ground.journal()) as journal:
        loop = journal.instances("story")[-1].id
        assert len(waiting(journal)) == 1
        holder = process_holder()
        other = Holder(holder.host, holder.boot, holder.pid, holder.started, "another")
        journal.acquire(lease_name("story", loop), other, 60, lambda _: True)
        assert len(waiting(journal)) == 1
        assert waiting(journal, driven=False) == []


class _Picky(UnsteadyMemory):
    """A server that does not take one event, whoever sends it."""

    def __init__(self, not_this: str) -> None:
        super().__init__()
        self.not_this = not_this

    def remember(self, event: MemoryEvent) -> str:
        if event.id == self.not_this:
            raise InterlockError("memory_refused", "The server does not take it.", "Look at it.")
        return super().remember(event)


def test_an_event_that_the_server_refuses_holds_up_no_other(ground: Ground) -> None:
    refused = _remembered(ground)[1]
    memory = _Picky(refused)
    _with(ground, "2-1").drive(memory=memory)
    assert memory.received == [one for one in _remembered(ground) if one != refused]
    assert _waiting(ground) == [refused]
    assert "memory_unavailable" not in ground.moves()


def test_status_says_how_many_wait(ground: Ground) -> None:
    _with(ground, "2-1").drive(memory=UnsteadyMemory(fails=MANY))
    environment: dict[str, Any] = ground.environment
    assert run_here("story", "status", "--json", cwd=ground.root, env=environment).data["unsent"] == 4
    shown = run_here("story", "status", cwd=ground.root, env=environment).out
    assert "4 memory events wait for the server" in shown
