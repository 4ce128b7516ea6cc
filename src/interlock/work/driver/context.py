"""Where agents are sent to work, and what a driver has at hand for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.journal import Journal
from interlock.work.driver.ports import Git, Ports, real_ports
from interlock.work.settings.values import Settings
from interlock.world.agents.agent import Agent, ChosenAgent
from interlock.world.agents.assignment import TimeOuts
from interlock.world.agents.catalogue import find_agent
from interlock.world.agents.running import StopSignal

__all__ = ["DriverContext"]


class DriverContext(msgspec.Struct, frozen=True):
    """One repository with a driver in it."""

    journal: Journal
    root: Path
    state_directory: Path
    settings: Settings
    environment: Mapping[str, str]
    report: Callable[[object], None]
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
    is_child: bool = False
    """True if another driver drives this one: then that one records a pause."""
    ports: Ports = msgspec.field(default_factory=real_ports)
    """The world, as the driver reaches it."""
    find: Callable[[str, Mapping[str, str]], Agent] = find_agent
    """Finds an agent by its name and options."""

    def __post_init__(self) -> None:
        """Let git run the filters that a person accepted with the settings."""
        self.git.accept_filters(self.root, self.settings.texts("git.filters"))

    def child(self, root: Path, pausing: StopSignal, report: Callable[[object], None]) -> DriverContext:
        """The context of what this driver drives itself: it decides alone what was told, and records the pause."""
        return replace(self, root=root, pausing=pausing, report=report, refresh=lambda: None, is_child=True)

    def agent(self, name: str, *, is_judge: bool = False, more: tuple[str, ...] = ()) -> ChosenAgent:
        """An agent, `name` or `name:model`, made from the settings, with more flags if the caller gives any."""
        settings, (bare, _, model) = self.settings, name.partition(":")
        script = (settings.text("agent.judge_script") if is_judge else "") or settings.text("agent.script")
        given = {"command": settings.text("agent.command"), "script": str(self.base / script) if script else ""}
        found = self.find(bare, {key: value for key, value in given.items() if value})
        return ChosenAgent(found, model or None, (*settings.arguments_of(name), *more))

    @property
    def is_interrupted(self) -> bool:
        """True if the driver is to pause after what runs now, or what runs is to be ended."""
        return self.pausing.is_set() or self.stop.is_set()

    @property
    def git(self) -> Git:
        return self.ports.git

    @property
    def base(self) -> Path:
        """The directory that places are relative to."""
        return self.state_directory.parent

    @property
    def time_outs(self) -> TimeOuts:
        wall, idle = self.settings.number("agent.minutes") * 60.0, self.settings.number("agent.idle_minutes") * 60.0
        return TimeOuts(wall=wall or None, idle=idle or None)
