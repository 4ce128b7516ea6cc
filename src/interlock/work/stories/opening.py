"""A yard made ready from the settings and from what was asked for: the agents, the tests, the limits, the memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from interlock.journal import Journal
from interlock.work.settings import Settings
from interlock.work.stories.yard import Limits, Yard
from interlock.world.agents.agent import Agent
from interlock.world.agents.catalogue import find_agent
from interlock.world.memory import EmbeddedMemory, EventType, Memory, MemoryEvent, connect

__all__ = ["Asked", "Steering", "make_yard"]

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """What whoever starts a loop asks for, instead of what the settings say."""

    prompt: str = ""
    agent: str | None = None
    rotation: tuple[str, ...] = ()
    model: str | None = None
    iterations: int | None = None
    template: str | None = None
    commits: bool = True


@dataclass(slots=True)
class Steering:
    """Whether the loop is to stop: Ctrl+C, or a person who paused it from elsewhere."""

    journal: Journal
    clock: Callable[[], float]
    pressed: threading.Event = field(default_factory=threading.Event)
    head: int = 0
    looked: float = 0.0
    paused: bool = False

    def is_set(self) -> bool:
        if self.pressed.is_set() or self.paused:
            return True
        if self.clock() - self.looked >= _LOOK_SECONDS:
            self.looked = self.clock()
            head = self.journal.head()
            notes = self.journal.entries(self.head) if head != self.head and self.head else []
            self.head = head
            self.paused = any(
                one.event == "noted" and one.decoded_evidence().data.get("type") == "paused" for one in notes
            )
        return self.pressed.is_set() or self.paused

    def wait(self, seconds: float) -> None:
        """Wait so long, or until it is to stop."""
        until = self.clock() + seconds
        while not self.is_set() and self.clock() < until:
            self.pressed.wait(min(_LOOK_SECONDS, max(0.0, until - self.clock())))


def make_yard(
    journal: Journal,
    root: Path,
    state_directory: Path,
    settings: Settings,
    environment: Mapping[str, str],
    asked: Asked,
    steering: Steering,
    tell: Callable[[object], None],
) -> Yard:
    """Everything that a loop needs, or an error that says what is missing."""
    agent = asked.agent or settings.text("story.agent")
    names = asked.rotation or settings.texts("story.rotation") or (agent,)
    memory, is_server = _memory(journal, settings, environment)
    iterations = asked.iterations if asked.iterations is not None else settings.number("story.max_iterations")
    return Yard(
        journal=journal,
        root=root,
        state_directory=state_directory,
        agents=tuple(_agent(name, settings, root) for name in names),
        judge=_agent(settings.text("story.judge") or agent, settings, root, "judge"),
        tests=settings.texts("story.tests"),
        limits=Limits(
            iterations=iterations,
            agent_seconds=settings.number("story.agent_minutes") * 60.0,
            idle_seconds=settings.number("story.idle_minutes") * 60.0,
            test_seconds=settings.number("story.test_minutes") * 60.0,
            loop_seconds=settings.number("story.budget_minutes") * 60.0,
            task_usd=settings.number("story.task_usd"),
            loop_usd=settings.number("story.budget_usd"),
            loop_tokens=settings.number("story.budget_tokens"),
        ),
        memory=memory,
        is_server=is_server,
        environment=environment,
        tell=tell,
        stop=steering,
        wait=steering.wait,
        model=asked.model,
        arguments=settings.texts("story.arguments"),
        template=asked.template,
        prompt=asked.prompt,
        commits=asked.commits,
    )


def _agent(name: str, settings: Settings, root: Path, role: str = "") -> Agent:
    script = settings.text("story.judge_script" if role else "story.script") or settings.text("story.script")
    given = {"command": settings.text("story.command"), "script": str(root / script) if script else ""}
    return find_agent(name, {key: value for key, value in given.items() if value})


def _memory(journal: Journal, settings: Settings, environment: Mapping[str, str]) -> tuple[Memory, bool]:
    uri = settings.text("memory.uri")
    if uri:
        user, database = settings.text("memory.user"), settings.text("memory.database")
        return connect(uri, user, database, environment=environment), True
    events = [_event(told) for one in journal.instances("story") for told in _remembered(journal, one.id)]
    return EmbeddedMemory(events), False


def _remembered(journal: Journal, loop: str) -> list[dict[str, object]]:
    notes = [one.decoded_evidence().data for one in journal.history(loop) if one.event == "noted"]
    return [note["event"] for note in notes if note.get("type") == "remembered"]


def _event(told: dict[str, object]) -> MemoryEvent:
    data = told["data"]
    assert isinstance(data, dict)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    story, task = told["story"], told["task"]
    return MemoryEvent(
        str(told["id"]),
        EventType(str(told["type"])),
        str(told["at"]),
        None if story is None else str(story),
        None if task is None else str(task),
        values,
    )
