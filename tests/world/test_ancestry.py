"""The processes above one: real trees of processes, with names that make reading them hard."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.world.ancestry import LAUNCHERS, ancestors, boot, host, name_of, names_above, started
from interlock.world.processes import process_here, this_process
from patience import SECONDS

_TELL = (
    "import json, os; from interlock.world.ancestry import ancestors, names_above; "
    "print(json.dumps([os.getpid(), ancestors(os.getpid()), names_above()]))"
)
Told = tuple[int, list[tuple[int, str, str]], list[str]]


def _tells(*before: str | Path) -> Told:
    """What a process says of those above it, started by the words before it."""
    done = subprocess.run(
        [*before, sys.executable, "-c", _TELL], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    pid, above, names = json.loads(done.stdout)
    return pid, [(one[0], one[1], one[2]) for one in above], names


def test_the_parent_comes_first_and_the_first_process_is_left_out() -> None:
    _, above, _ = _tells()
    assert above[0][0] == os.getpid()
    assert above[0][1] == started(os.getpid())
    assert above[1:] == ancestors(os.getpid())
    assert all(pid > 1 for pid, _, _ in above)


def test_every_process_between_is_found() -> None:
    _, above, _ = _tells("/bin/sh", "-c", '"$0" "$@"; exit $?')
    assert above[0][2] == Path(os.path.realpath("/bin/sh")).name or above[0][2] == "sh"
    assert above[1][0] == os.getpid()


def test_the_names_are_those_that_a_session_is_found_by() -> None:
    _, above, names = _tells()
    assert names == [name_of(pid, began) for pid, began, _ in above]
    assert names[0] == this_process().name
    assert names[0] == process_here(os.getpid(), started(os.getpid()) or "").name


def test_a_name_tells_a_process_from_every_other() -> None:
    assert name_of(5, "7") != name_of(57, "")
    assert name_of(5, "7") != name_of(5, "8")
    assert host() in name_of(5, "7")
    assert boot() in name_of(5, "7")
    assert len(set(names_above())) == len(names_above())


@pytest.mark.skipif(sys.platform != "linux", reason="the names of commands are those of Linux")
@pytest.mark.parametrize("name", ["a) R 1 (b", "with space", "((", "))", "x\ny", "ünï"])
def test_no_name_of_a_command_is_taken_for_something_else(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    shutil.copy("/bin/sh", program)
    _, above, _ = _tells(program, "-c", '"$0" "$@"; exit $?')
    assert above[0][2] == name.encode()[:15].decode("utf-8", "replace")
    assert above[1][0] == os.getpid()


def test_a_process_that_is_not_there_has_neither_a_beginning_nor_ancestors() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait(SECONDS)
    assert started(gone.pid) is None
    assert ancestors(gone.pid) == []
    assert started(2**22 + 5) is None


def test_a_beginning_never_changes_and_no_two_processes_share_pid_and_beginning() -> None:
    assert started(os.getpid()) == started(os.getpid())
    children = [subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) for _ in range(3)]
    try:
        found = {(child.pid, started(child.pid)) for child in children}
        assert len(found) == 3
        assert None not in {began for _, began in found}
    finally:
        for child in children:
            child.kill()
            child.communicate(timeout=SECONDS)


def test_an_orphan_has_no_ancestors_of_ours() -> None:
    program = (
        "import os, subprocess, sys\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.close(write); os.setsid(); os.read(read, 1)\n"
        f"    subprocess.run([sys.executable, '-c', {_TELL!r}])\n"
        "    os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True)
    _, above, _ = json.loads(done.stdout)
    assert os.getpid() not in [one[0] for one in above]


def test_launchers_are_told_from_agents() -> None:
    assert {"sh", "bash", "uvx", "npx", "env"} <= LAUNCHERS
    assert {"claude", "codex", "opencode", "node", "python"} & LAUNCHERS == set()
