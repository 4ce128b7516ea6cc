"""Where agents are sent to work, and what a driver has at hand for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.journal import Journal
from interlock.work.budget import limits_of
from interlock.work.driver.agent_run import KEEPS, AgentRequest, AgentRun, Begin, run_agent
from interlock.work.settings.values import Settings
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import TimeOuts
from interlock.world.agents.catalogue import find_agent
from interlock.world.agents.running import StopSignal
from interlock.world.git import Repository

__all__ = ["DriverContext"]


class DriverContext(msgspec.Struct, frozen=True):
    """One repository with a driver in it."""

    journal: Journal
    root: Path
    state_directory: Path
    settings: Settings
    environment: Mapping[str, str]
    tell: Callable[[object], None]
    stop: StopSignal
    """Whether whatever runs is to be ended now."""
    pausing: StopSignal
    """Whether the driver is to rest after what runs now."""
    wait: Callable[[float], None]
    """Wait so many seconds, or until it is to stop."""
    refresh: Callable[[], None] = lambda: None
    """To be called before the journal is read: what somebody told elsewhere until then is read there."""
    projected: set[str] = msgspec.field(default_factory=set)
    """The hashes of what was written into files from here: to know it again without the journal."""

    def agent(self, name: str, *, judge: bool = False) -> Agent:
        """An agent by its name, made from the settings."""
        settings, name = self.settings, name.partition(":")[0]
        script = (settings.text("agent.judge_script") if judge else "") or settings.text("agent.script")
        given = {"command": settings.text("agent.command"), "script": str(self.root / script) if script else ""}
        return find_agent(name, {key: value for key, value in given.items() if value})

    @property
    def time_outs(self) -> TimeOuts:
        wall, idle = self.settings.number("agent.minutes") * 60.0, self.settings.number("agent.idle_minutes") * 60.0
        return TimeOuts(wall=wall or None, idle=idle or None)

    def send(
        self,
        name: str,
        role: str,
        prompt: str,
        *,
        parent: str,
        log: Path,
        directory: Path | None = None,
        reports: bool = False,
        judge: bool = False,
        schema: Mapping[str, Any] | None = None,
        keeps: int = KEEPS,
        repository: Callable[[], Repository] | None = None,
        begin: Begin | None = None,
    ) -> AgentRun:
        """Send an agent, `name` or `name:model`, to work for an instance.

        `schema` is that of its answer, which the prompt asks for as well; `keeps` how much of what it says is heard;
        `repository` gives the work tree's open one afterwards, where somebody has one; `begin` as in `run_agent`.
        """
        request = AgentRequest(
            agent=self.agent(name, judge=judge),
            role=role,
            prompt=prompt,
            parent=parent,
            root=self.root,
            directory=directory or self.root,
            log=log,
            environment=self.environment,
            time_outs=self.time_outs,
            state_directory=self.state_directory,
            settings=self.settings,
            budget=limits_of(self.settings),
            model=name.partition(":")[2] or None,
            arguments=self.settings.arguments_of(name),
            reports=reports,
            schema=schema,
            keeps=keeps,
            wait_seconds=self.settings.number("agent.wait_minutes") * 60.0,
            keeps_words=self.settings.text("telemetry.content") == "on",
        )
        return run_agent(self.journal, request, self.tell, self.stop, repository, begin)
