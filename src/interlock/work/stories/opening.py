"""The context of a story loop, made from the settings and options: the agents, the tests, the limits, the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Entry, Journal
from interlock.machine.model import NOTED
from interlock.work.driver.context import DriverContext
from interlock.work.driver.readiness import nameless, require_agent
from interlock.work.driver.record import is_pause
from interlock.work.settings.values import Settings
from interlock.work.stories.context import PROMISES, Limits, StoryContext
from interlock.work.stories.progress import FILE
from interlock.work.verification.request import Criterion
from interlock.work.verification.verifiers import require_tests, story_tests
from interlock.world.agents.agent import ChosenAgent
from interlock.world.memory import EmbeddedMemory, EventType, Memory, MemoryEvent, connect

__all__ = ["LoopOptions", "limits_of", "make_story_context", "pauses"]

_ALLOWING_ALL = {
    "claude": ("--dangerously-skip-permissions",),
    "codex": ("--dangerously-bypass-approvals-and-sandbox",),
    "gemini": ("--yolo",),
    "opencode": ("--auto",),
    "qwen": ("--yolo",),
}
"""How an agent is told that it may do everything; the others are asked nothing anyway."""


class LoopOptions(msgspec.Struct, frozen=True):
    """What whoever starts a loop asks for, instead of what the settings say."""

    prompt: str = ""
    agent: str | None = None
    rotation: tuple[str, ...] = ()
    """Agents that take turns, each with its model behind a colon if it has one."""
    model: str | None = None
    iterations: int | None = None
    template: str | None = None
    commits: bool = True
    allows_all: bool = False
    arguments: tuple[str, ...] = ()
    """Flags for the agents that work, and not for who judges."""
    promises: Mapping[str, str] = msgspec.field(default_factory=dict)


def pauses(entry: Entry) -> bool:
    """Whether an entry lets a loop rest: a person said so from elsewhere."""
    return entry.event == NOTED and is_pause(entry.decoded_evidence().data)


def make_story_context(context: DriverContext, asked: LoopOptions, criteria: Sequence[Criterion] = ()) -> StoryContext:
    """Everything that a loop needs, or an error that says what is missing: nothing of that is an agent's to fix.

    `criteria` are those of a thread's spec, whose commands prove the work where no others are configured.
    """
    settings, root, environment = context.settings, context.root, context.environment
    tests = story_tests(settings, criteria)
    agent = asked.agent or settings.text("agent.name")
    names = asked.rotation or settings.texts("agent.rotation") or (agent,)
    workers, judge = tuple(_worker(context, name, asked) for name in names), _judge(context, agent, asked)
    if (root / FILE).exists():  # without it, the loop says so itself, and starts no agent
        require_tests(tests, root, environment)
        require_agent(context, workers)
        require_agent(context, (judge,))
        unnamed = nameless(context) if asked.commits else None
        if unnamed is not None:
            raise InterlockError("setup_required", unnamed, "Then run the same command again.")
    memory, is_server = _memory(context.journal, settings, environment)
    return StoryContext(
        **{name: getattr(context, name) for name in DriverContext.__struct_fields__},
        agents=workers,
        judge=judge,
        tests=tests,
        test_files=settings.texts("verify.tests"),
        limits=limits_of(settings, asked.iterations),
        memory=memory,
        is_server=is_server,
        template=asked.template,
        prompt=asked.prompt,
        commits=asked.commits,
        promises={**PROMISES, **asked.promises},
    )


def limits_of(settings: Settings, iterations: int | None = None) -> Limits:
    """What a loop may use, as the settings say; as many iterations as were asked for."""
    return Limits(
        iterations=settings.number("story.max_iterations") if iterations is None else iterations,
        agent_seconds=settings.number("agent.minutes") * 60.0,
        idle_seconds=settings.number("agent.idle_minutes") * 60.0,
        test_seconds=settings.number("story.test_minutes") * 60.0,
        day_iterations=settings.number("story.day_iterations"),
        task_seconds=settings.number("story.task_minutes") * 60.0,
        loop_seconds=settings.number("story.budget_minutes") * 60.0,
        day_seconds=settings.number("story.day_minutes") * 60.0,
        task_tokens=settings.number("story.task_tokens"),
        loop_tokens=settings.number("story.budget_tokens"),
        day_tokens=settings.number("story.day_tokens"),
        task_usd=settings.number("story.task_usd"),
        loop_usd=settings.number("story.budget_usd"),
        day_usd=settings.number("story.day_usd"),
        stuck_after=settings.number("story.stuck_after"),
    )


def _worker(context: DriverContext, name: str, asked: LoopOptions) -> ChosenAgent:
    """An agent that works: `codex`, or `codex:gpt-5` with a model of its own."""
    bare, _, model = name.partition(":")
    allowed = _ALLOWING_ALL.get(bare, ()) if asked.allows_all else ()
    return context.agent(_with_model(bare, model or asked.model), more=(*allowed, *asked.arguments))


def _judge(context: DriverContext, agent: str, asked: LoopOptions) -> ChosenAgent:
    """Who judges; a model that was asked for is the worker's, so another agent does not get it."""
    other = context.settings.text("agent.judge")
    name, _, model = agent.partition(":")
    return context.agent(other or _with_model(name, model or asked.model), is_judge=True)


def _with_model(name: str, model: str | None) -> str:
    return f"{name}:{model}" if model else name


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
