"""One shell command: what came of it is our own account, and nothing of it is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.world.agents.happenings import Happening, Said
from interlock.world.agents.tree import members
from interlock.world.commands import CommandResult, How, ShellCommand, run_command
from world.agents.runs import Clock


def _run(tmp_path: Path, command: str, on: Callable[[Happening], None] | None = None, **more: object) -> CommandResult:
    clock, stop = more.pop("clock", Clock()), more.pop("stop", threading.Event())
    call = ShellCommand(
        command=command,
        directory=tmp_path,
        log=tmp_path / "log",
        environment={"PATH": os.environ["PATH"]},
        marker=str(tmp_path),
        **more,  # type: ignore[arg-type]
    )
    return run_command(call, on or (lambda happening: None), stop, clock=clock)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "how", "code", "why"),
    [
        ("true", How.PASSED, 0, ""),
        ("exit 3", How.FAILED, 3, "exit 3"),
        ("no-such-command-here", How.MISSING, 127, "not found (exit 127)"),
        ("./log", How.FAILED, 126, "may not be executed (exit 126)"),
        ("kill -KILL $$", How.KILLED, -9, "was killed by SIGKILL"),
        ("sh -c 'kill -SEGV $$'", How.KILLED, 139, "was killed by SIGSEGV"),
        ("exit 255", How.FAILED, 255, "exit 255"),
        ("echo '429 rate limit reached' >&2; exit 1", How.FAILED, 1, "exit 1"),
        ("set -e; false; true", How.FAILED, 1, "exit 1"),
        ("(", How.FAILED, 2, "exit 2"),
    ],
)
def test_a_command_is_named_for_how_it_ended(tmp_path: Path, command: str, how: How, code: int, why: str) -> None:
    done = _run(tmp_path, command)
    assert (done.how, done.exit, done.why) == (how, code, why)


def test_nothing_is_filled_in(tmp_path: Path) -> None:
    said: list[Happening] = []
    _run(tmp_path, "echo '{prompt} {model} {prompt_file}' \"$1\"", said.append)
    assert said == [Said("{prompt} {model} {prompt_file} echo '{prompt} {model} {prompt_file}' \"$1\"")]


def test_a_command_that_sends_all_of_its_output_elsewhere_is_not_lost(tmp_path: Path) -> None:
    assert _run(tmp_path, "sleep 1 > out 2>&1", clock=Clock(each=1.0)).how is How.PASSED
    assert _run(tmp_path, "exec > out 2>&1; sleep 1; echo done", clock=Clock(each=1.0)).how is How.PASSED
    assert (tmp_path / "out").read_text() == "done\n"


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    done = _run(tmp_path, "sleep 1000", seconds=5.0, clock=Clock(each=1.0))
    assert (done.how, done.why) == (How.TIMED_OUT, "took longer than 5 s")
    assert members(None, str(tmp_path)) == []


def test_a_command_is_stopped(tmp_path: Path) -> None:
    stop = threading.Event()
    done = _run(tmp_path, "echo here; sleep 1000", lambda one: stop.set(), stop=stop)
    assert done.how is How.STOPPED
    assert members(None, str(tmp_path)) == []
