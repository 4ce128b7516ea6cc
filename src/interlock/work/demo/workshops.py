"""Where the agents of the play work, and a driver in a process of its own, which can be killed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from interlock.journal import Journal, open_journal
from interlock.work.demo.project import Project
from interlock.work.threads.loop import drive
from interlock.work.workshop import Workshop
from interlock.world.repository import STATE_DIRECTORY

__all__ = ["drive_until", "main", "workshop_of"]

_PROGRAM = "from interlock.work.demo.workshops import main; main()"
_PATIENCE_SECONDS = 60.0
_LOOKS_SECONDS = 0.01


def workshop_of(
    journal: Journal, project: Project, agent: str, judge: str, tell: Callable[[object], None] = lambda what: None
) -> Workshop:
    """The project with agents that play these scripts, and its tests as the verifier."""
    never = threading.Event()
    return Workshop(
        journal=journal,
        root=project.root,
        state_directory=project.root / STATE_DIRECTORY,
        settings=project.settings(agent__script=agent, agent__judge_script=judge, verify__commands=(project.tests,)),
        environment=project.environment,
        tell=tell,
        stop=never,
        pausing=never,
        wait=lambda seconds: None,
    )


def drive_until(project: Project, thread: str, agent: str, judge: str, is_time: Callable[[], bool]) -> int:
    """Drive a thread in a process of its own, and kill it when it is time; the process that is gone."""
    command = [sys.executable, "-c", _PROGRAM, str(project.root), thread, agent, judge]
    driver = subprocess.Popen(command, env=project.environment, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_time() and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(_LOOKS_SECONDS)
    driver.kill()
    driver.wait()
    return driver.pid


def main() -> None:
    """The driver that is to be killed."""
    root, thread, agent, judge = sys.argv[1:]
    journal = open_journal(Path(root) / STATE_DIRECTORY / "journal.db")
    drive(workshop_of(journal, Project(Path(root)), agent, judge), thread)
