"""A second agent asked to judge: one run of it, in its own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from interlock.work.verification.receipt import JudgeRun
from interlock.work.verification.request import JudgeAnswer
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.happenings import Happening, Said
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import StopSignal, run

__all__ = ["Asking", "heard_of"]

_HEARD = 64_000


class Asking(msgspec.Struct, frozen=True):
    """Asks an agent; it is a `Judge`."""

    agent: Agent
    log: Path
    environment: Mapping[str, str]
    marker: str
    tell: Callable[[object], None]
    stop: StopSignal
    time_outs: TimeOuts = msgspec.field(default_factory=TimeOuts)
    model: str | None = None
    arguments: tuple[str, ...] = ()

    def __call__(self, prompt: str, directory: Path) -> JudgeAnswer | None:
        said: list[str] = []

        def hear(happening: Happening) -> None:
            if isinstance(happening, Said):
                said.append(happening.text)
            self.tell(happening)

        assignment = Assignment(
            prompt=prompt,
            directory=directory,
            log=self.log,
            environment=self.environment,
            time_outs=self.time_outs,
            model=self.model,
            arguments=self.arguments,
            marker=self.marker,
        )
        result = run(self.agent, assignment, hear, self.stop)
        if result.ending is Ending.STOPPED:
            return None
        return JudgeAnswer("\n".join(said)[-_HEARD:], heard_of(self.agent, result, self.log))


def heard_of(agent: Agent, result: Result, log: Path) -> JudgeRun:
    """What a receipt says of the run of a judge."""
    last = " ".join(result.last_lines[-1:])[:200]
    return JudgeRun(
        agent=agent.name,
        ending=str(result.ending),
        seconds=round(result.seconds, 3),
        cost_usd=result.cost_usd,
        tokens=result.usage.input + result.usage.output,
        limited_until=result.failure.until if result.failure else None,
        log=log.name,
        log_sha256=result.log_sha256,
        why="" if result.ending is Ending.FINISHED else f"the judge did not finish: {result.ending} {last}".strip(),
    )
