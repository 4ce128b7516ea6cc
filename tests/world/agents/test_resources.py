"""Runs that use too much of the machine: each is ended, and says which limit it was and which setting raises it."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from interlock.world.agents.confinement import Confinement
from interlock.world.agents.tree import members
from interlock.world.commands import CommandResult, How, ShellCommand, run_command
from interlock.world.sandbox.policy import Limits
from world.sandbox.places import Place, made_place, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: processes are found in /proc")

MIB = 1 << 20
LIMITS = Limits(temporary=96 * MIB, shared_memory=96 * MIB, processes=60, memory=64 * MIB, disk=8 * MIB)
_PYTHON = "/usr/bin/python3 -c '%s'; sleep 1000"
_FORKS = """/usr/bin/python3 -c '
import os, time
while True:
    try:
        if os.fork() == 0:
            %s
            time.sleep(99)
    except OSError:
        time.sleep(0.01)
'
"""
BOMBS = {
    "processes": (_FORKS % "pass", "agent.max_processes"),
    "processes in sessions of their own": (_FORKS % "os.setsid()", "agent.max_processes"),
    "threads": (
        _PYTHON % "import threading, time; [threading.Thread(target=time.sleep, args=[99]).start() for _ in range(80)]",
        "agent.max_processes",
    ),
    "memory": (_PYTHON % 'x = bytearray(b"x" * (80 << 20)); import time; time.sleep(99)', "agent.max_memory_mib"),
    "memory of several": (
        "for one in 1 2 3 4 5 6; do ("
        + _PYTHON % 'x = b"x" * (16 << 20); import time; time.sleep(99)'
        + ") & done; wait",
        "agent.max_memory_mib",
    ),
    "shared memory": (
        _PYTHON % 'import mmap, time; x = mmap.mmap(-1, 80 << 20); x.write(b"x" * (80 << 20)); time.sleep(99)',
        "agent.max_memory_mib",
    ),
    "files in memory": (
        "for one in /tmp /dev/shm; do for n in 1 2 3 4 5 6; do head -c 7M /dev/zero > $one/$n; done; done; sleep 1000",
        "agent.max_memory_mib",
    ),
    "empty files in memory": (
        _PYTHON % '[open(f"/tmp/{one}", "w").close() for one in range(80_000)]',
        "agent.max_memory_mib",
    ),
    "disk": ("for one in 1 2 3 4 5 6; do head -c 2M /dev/zero > $one; done; sleep 1000", "agent.max_disk_mib"),
    "disk, just before its end": ("head -c 6M /dev/zero > one; cp one two", "agent.max_disk_mib"),
    "disk, wherever it is copied": ("for one in 1 2 3 4 5 6; do truncate -s 2M $one; done", "agent.max_disk_mib"),
    "files": (_PYTHON % '[open(f"{one}", "w").close() for one in range(9000)]', "agent.max_disk_mib"),
}
"""Commands that would go on for ever, and the setting that each is about."""


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


def _as_user(user: int, work: Callable[[], CommandResult]) -> CommandResult:
    """Do something in another process as a user."""
    if user == os.geteuid():
        return work()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            with os.fdopen(writer, "wb") as file:
                file.write(pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        content = file.read()
    os.waitpid(pid, 0)
    done: CommandResult = pickle.loads(content)
    return done


def _ended(place: Place, command: str, limits: Limits = LIMITS) -> CommandResult:
    """Run a command until it is ended, as the user of a place."""
    policy = replace(place.policy, limits=limits)
    log = place.directory / "log"
    call = ShellCommand(
        command=command,
        directory=place.tree,
        log=log,
        environment=place.environment,
        seconds=20.0,
        marker=place.directory.name,
        confinement=Confinement(place.sandbox, policy),
    )
    return _as_user(place.user, lambda: run_command(call, lambda happening: None, threading.Event()))


@pytest.mark.parametrize("name", BOMBS)
def test_a_run_that_uses_too_much_is_ended_and_names_the_setting(place: Place, name: str) -> None:
    command, setting = BOMBS[name]
    done = _ended(place, command)
    assert (done.how, setting in done.why) == (How.KILLED, True), done
    assert done.last_lines[-1] in done.why
    assert done.why.removeprefix("was ended. ") in (place.directory / "log").read_text()
    assert members(None, place.directory.name) == []
    assert _ended(place, "true").how is How.PASSED, "the next run starts"
