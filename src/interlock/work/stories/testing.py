"""TEST: the configured commands, run by the loop itself. What an agent says of tests does not count."""

from __future__ import annotations

from pathlib import Path

from interlock.machine import Event
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.stuck import failing_tests
from interlock.work.stories.visit import Visit
from interlock.world.agents.happenings import Happening, Said
from interlock.world.commands import Call, Done, How, run_command

__all__ = ["log_path", "tested"]

_SHOWN = 4000


def tested(visit: Visit) -> Event | None:
    """Run every test command; all must pass. One that is not there needs a person, not another attempt."""
    if not visit.yard.tests:
        return _missing(visit, "no test command is configured: set story.tests or verify.commands in ralph.toml")
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
        if result.how is How.STOPPED:
            return None
        output = "\n".join(result.last_lines)
        told.append({"command": command, "exit": result.exit, "seconds": round(result.seconds, 3)})
        if result.how is How.MISSING:
            return _missing(visit, f"the test runner is missing: {command}")
        if result.how is not How.PASSED:
            return _failed(visit, command, result, output, told)
    return visit.event("tests_passed", commands=told, output=output[-_SHOWN:], tree=visit.tree())


def _missing(visit: Visit, failure: str) -> Event:
    return visit.failed("test_runner_missing", failure, visit.facts(failure))


def _ran(visit: Visit, command: str, place: int) -> Done:
    yard = visit.yard
    call = Call(
        command=command,
        directory=yard.root,
        log=log_path(visit, f"test-{place}"),
        environment=yard.environment,
        seconds=yard.limits.test_seconds,
        marker=visit.loop.id,
    )
    yard.desk.shut()
    return run_command(call, lambda one: _hear(visit, one), yard.stop)


def _hear(visit: Visit, happening: Happening) -> None:
    if isinstance(happening, Said):
        visit.yard.tell(happening)


def _failed(visit: Visit, command: str, result: Done, output: str, told: list[dict[str, object]]) -> Event:
    shown = output[-_SHOWN:]
    facts = visit.facts(f"{command}: {result.why}\n{output}", failing=failing_tests(output))
    return visit.failed("tests_failed", f"{command}: {result.why}\n{shown}", facts, output=shown, commands=told)


def log_path(visit: Visit, name: str) -> Path:
    """Where the output of one step is kept."""
    directory = visit.yard.state_directory / "runs" / visit.loop.id
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{visit.loop.version:06d}-{name}.log"
