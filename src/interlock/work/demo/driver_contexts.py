"""Where the agents of the play work, and a walk in a process of its own, which can be killed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from interlock.errors import Refusal
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.demo.project import Project
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person, Presence
from interlock.work.ticket_driver.loop import drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.world.repository import STATE_DIRECTORY

__all__ = ["context_of", "main", "walk_until"]

_PROGRAM = "from interlock.work.demo.driver_contexts import main; main()"
_PATIENCE_SECONDS = 60.0
_LOOKS_SECONDS = 0.01


def context_of(
    journal: Journal, project: Project, agent: str, judge: str, report: Callable[[object], None] = lambda what: None
) -> DriverContext:
    """The project with agents that play these scripts, and its tests as the verifier."""
    never = threading.Event()
    return DriverContext(
        journal=journal,
        root=project.root,
        state_directory=project.root / STATE_DIRECTORY,
        settings=project.settings(agent__script=agent, agent__judge_script=judge, verify__commands=(project.tests,)),
        environment=project.environment,
        report=report,
        stop=never,
        pausing=never,
        wait=lambda seconds: None,
    )


def walk_until(
    project: Project, number: int, actor: Actor, scripts: tuple[str, str], is_time: Callable[[], bool]
) -> int:
    """Work on a ticket in a process of its own, and kill it when it is time; the process that is gone."""
    words = [str(project.root), str(number), actor.id, str(actor.channel), *scripts]
    walker = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words], env=project.environment, stdin=subprocess.DEVNULL
    )
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_time() and walker.poll() is None and time.monotonic() < deadline:
        time.sleep(_LOOKS_SECONDS)
    walker.kill()
    walker.wait()
    return walker.pid


def main() -> None:
    """The walk that is to be killed. It opens no gate."""
    root, number, name, channel, agent, judge = sys.argv[1:]
    journal = open_journal(Path(root) / STATE_DIRECTORY / "journal.db")
    person = Person(Actor(ActorKind.HUMAN, name, Channel(channel)), _nobody, lambda: False)
    drive_ticket(context_of(journal, Project(Path(root)), agent, judge), int(number), person, Choices())


def _nobody() -> Presence:
    raise Refusal("person_needed", "Nobody stands at a gate in this process.", "Pass it in the demo itself.")
