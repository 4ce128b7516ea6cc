"""TEST: the configured commands, run by the loop itself. What an agent says of tests does not count."""

from __future__ import annotations

from pathlib import Path

from interlock.machine import Event
from interlock.work.driver.agent_sandbox import confined_command
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.stuck import failing_tests
from interlock.world.agents.happenings import Happening, Said
from interlock.world.commands import CommandResult, How, ShellCommand

__all__ = ["log_path", "tested"]

_SHOWN = 4000


def tested(step: StoryStep) -> StepResult:
    """Run every test command; all must pass. One that is not there needs a person, not another attempt."""
    if not step.context.tests:
        return _missing(step, "no test command is configured: set story.tests or verify.commands in ralph.toml")
    guard(step)  # what is tested is an agent's code
    try:
        return _tested(step)
    finally:
        put_back(step)


def _tested(step: StoryStep) -> StepResult:
    told: list[dict[str, object]] = []
    output = ""
    for place, command in enumerate(step.context.tests, 1):
        step.context.report(f"test: {command}")
        result = _ran(step, command, place)
        if result.how is How.STOPPED:
            return NoEvent.RETRY
        output = "\n".join(result.last_lines)
        told.append({"command": command, "exit": result.exit, "seconds": round(result.seconds, 3)})
        if result.how is How.MISSING:
            return _missing(step, f"the test runner is missing: {command}")
        if result.how is not How.PASSED:
            return _failed(step, command, result, output, told)
    return step.event("tests_passed", commands=told, output=output[-_SHOWN:], tree=step.tree())


def _missing(step: StoryStep, failure: str) -> Event:
    return step.failed("test_runner_missing", failure, step.facts(failure))


def _ran(step: StoryStep, command: str, place: int) -> CommandResult:
    context = step.context
    call = ShellCommand(
        command=command,
        directory=context.root,
        log=log_path(step, f"test-{place}"),
        environment=context.environment,
        seconds=context.limits.test_seconds,
        marker=step.loop.id,
        confinement=confined_command(context, context.root),
    )
    context.cache.shut()
    return context.ports.run_command(call, lambda one: _hear(step, one), context.stop)


def _hear(step: StoryStep, happening: Happening) -> None:
    if isinstance(happening, Said):
        step.context.report(happening)


def _failed(step: StoryStep, command: str, result: CommandResult, output: str, told: list[dict[str, object]]) -> Event:
    shown = output[-_SHOWN:]
    facts = step.facts(f"{command}: {result.why}\n{output}", failing=failing_tests(output))
    return step.failed("tests_failed", f"{command}: {result.why}\n{shown}", facts, output=shown, commands=told)


def log_path(step: StoryStep, name: str) -> Path:
    """Where the output of one step is kept."""
    directory = step.context.state_directory / "runs" / step.loop.id
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{step.since:06d}-{name}.log"
