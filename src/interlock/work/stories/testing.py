"""TEST: the configured commands, run by the loop itself. What an agent says of tests does not count."""

from __future__ import annotations

import hashlib
from pathlib import Path

from interlock.machine import Event
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.visit import Visit
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.command import Command
from interlock.world.agents.happenings import Happening, Said
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import run

__all__ = ["facts_of", "log_path", "tested"]

_MISSING = 127
"""What a shell exits with where there is no such command."""
_SHOWN = 4000


def tested(visit: Visit) -> Event | None:
    """Run every test command; all must pass. One that is not there needs a person, not another attempt."""
    if not visit.yard.tests:
        return _missing(visit, "no test command is configured: set story.tests in ralph.toml")
    guard(visit.yard, visit.loop, visit.lease)  # what is tested is an agent's code
    try:
        return _tested(visit)
    finally:
        put_back(visit.yard, visit.loop, visit.lease)


def _tested(visit: Visit) -> Event | None:
    told: list[dict[str, object]] = []
    output = ""
    for place, command in enumerate(visit.yard.tests, 1):
        visit.yard.tell(f"test: {command}")
        result = _ran(visit, command, place)
        if result.ending is Ending.STOPPED:
            return None
        output = "\n".join(result.last_lines)
        told.append({"command": command, "exit": result.exit_code, "seconds": round(result.seconds, 3)})
        if result.exit_code == _MISSING or result.ending is Ending.NOT_INSTALLED:
            return _missing(visit, f"the test runner is missing: {command}")
        if result.ending is not Ending.FINISHED:
            return _failed(visit, command, result, output, told)
    return visit.event("tests_passed", commands=told, output=output[-_SHOWN:], tree=visit.tree())


def _missing(visit: Visit, failure: str) -> Event:
    return visit.failed("test_runner_missing", failure, failure)


def _ran(visit: Visit, command: str, place: int) -> Result:
    yard = visit.yard
    assignment = Assignment(
        prompt="",
        directory=yard.root,
        log=log_path(visit, f"test-{place}"),
        environment=yard.environment,
        time_outs=TimeOuts(wall=yard.limits.test_seconds or None),
        marker=visit.loop.id,
    )
    return run(Command(("/bin/sh", "-c", command), "test"), assignment, lambda one: _hear(visit, one), yard.stop)


def _hear(visit: Visit, happening: Happening) -> None:
    if isinstance(happening, Said):
        visit.yard.tell(happening)


def _failed(visit: Visit, command: str, result: Result, output: str, told: list[dict[str, object]]) -> Event:
    why = "took too long" if result.ending is Ending.TIMED_OUT_WALL else f"exit {result.exit_code}"
    shown = output[-_SHOWN:]
    facts = facts_of(visit, output)
    return visit.failed("tests_failed", f"{command}: {why}\n{shown}", facts, output=shown, commands=told)


def facts_of(visit: Visit, output: str) -> str:
    """What an attempt came to, by hash: the same tree and the same failure twice is no progress."""
    seen = hashlib.sha256(output.encode("utf-8", "replace")).hexdigest()
    return f"tree {visit.tree()[:12]}, output {seen[:12]}"


def log_path(visit: Visit, name: str) -> Path:
    """Where the output of one step is kept."""
    directory = visit.yard.state_directory / "runs" / visit.loop.id
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{visit.loop.version:06d}-{name}.log"
