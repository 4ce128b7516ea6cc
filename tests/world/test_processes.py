"""Processes: who is alive, and that nobody is taken for somebody else."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from interlock.world.processes import Process, is_alive, this_process
from patience import SECONDS

_TELL = """
import json, sys
import msgspec
from interlock.world.processes import this_process
{before}
print(json.dumps(msgspec.structs.asdict(this_process())), flush=True)
sys.stdin.read()
"""


@contextmanager
def _child(before: str = "") -> Iterator[tuple[subprocess.Popen[str], Process]]:
    """A child that has said who it is and lives until it is ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", _TELL.format(before=before)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert select.select([child.stdout], [], [], SECONDS)[0], "the child says nothing"
        yield child, Process(**json.loads(child.stdout.readline()))
    finally:
        child.kill()
        child.communicate(timeout=SECONDS)


def test_this_process_is_alive_and_always_the_same() -> None:
    assert this_process() == this_process()
    assert this_process().pid == os.getpid()
    assert all(msgspec.structs.astuple(this_process()))
    assert is_alive(this_process()) is True


def test_a_child_is_alive_until_it_ends() -> None:
    with _child() as (child, process):
        assert process.pid == child.pid
        assert process != this_process()
        assert is_alive(process) is True
        child.kill()
        child.wait(SECONDS)
        assert is_alive(process) is False


def test_a_stopped_child_is_alive() -> None:
    with _child() as (child, process):
        child.send_signal(signal.SIGSTOP)
        stopped = os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        assert stopped is not None
        assert stopped.si_status == signal.SIGSTOP
        assert is_alive(process) is True
        child.send_signal(signal.SIGCONT)
        assert is_alive(process) is True


def test_a_zombie_is_not_alive() -> None:
    with _child() as (child, process):
        handle = os.pidfd_open(child.pid)
        try:
            child.kill()
            assert select.select([handle], [], [], SECONDS)[0], "the child does not end"
        finally:
            os.close(handle)
        os.kill(child.pid, 0)  # nobody has waited for it: its pid is still taken
        assert is_alive(process) is False


def test_a_process_on_another_host_cannot_be_seen() -> None:
    assert is_alive(msgspec.structs.replace(this_process(), host="elsewhere")) is None


def test_another_process_with_the_same_pid_is_not_the_same() -> None:
    assert is_alive(msgspec.structs.replace(this_process(), started="1")) is False
    assert is_alive(msgspec.structs.replace(this_process(), started="")) is False


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**31, 2**70])
def test_a_pid_that_nobody_has_is_nobodys(pid: int) -> None:
    assert is_alive(msgspec.structs.replace(this_process(), pid=pid)) is False


@pytest.mark.parametrize("name", ["x) Z 1 2 3", "((", ") X 0", "a b c"])
def test_a_process_may_be_called_what_it_likes(name: str) -> None:
    before = f"open('/proc/self/comm', 'w').write({name!r})"
    with _child(before) as (child, process):
        assert is_alive(process) is True
        child.kill()
        child.wait(SECONDS)
        assert is_alive(process) is False
