"""One repository in which everything stands that the dashboard can show, made by real verbs and real drivers."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from faces.journals import AGENT, PERSON
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.orchestration.record import Run
from interlock.work.sessions.verbs import Caller, create, note, update
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import new_thread, revise_spec
from interlock.work.tickets import verbs as tickets
from interlock.work.tickets.handoff import handoff
from journal.histories import Clock
from patience import SECONDS
from work.orchestration.playing import begun, driven, qualified, rested
from work.stories.yards import IDLE, WORK, Ground
from work.stories.yards import MET as JUDGED
from work.threads.benches import Bench, Steps, shell
from work.tickets.boards import way_to

from . import furniture as had
from .sites import WAY, walk

__all__ = ["Furnished", "furnished"]

_HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


class Furnished(msgspec.Struct):
    """A repository with everything in it, and where to look at what."""

    root: Path
    clock: Clock
    threads: dict[str, str] = msgspec.field(default_factory=dict)
    """By the state that each is in."""
    tickets: dict[str, int] = msgspec.field(default_factory=dict)
    """By the state that each is in."""
    sessions: dict[str, str] = msgspec.field(default_factory=dict)
    """By the state that each is in."""
    story: str = ""
    runs: dict[str, str] = msgspec.field(default_factory=dict)
    """By the state that each is in."""

    def ago(self, seconds: float) -> None:
        """Let it be so long ago, or as late as it is already."""
        self.clock.nanoseconds = max(self.clock.nanoseconds, time.time_ns() - int(seconds * 1e9))


class _Yard(Ground):
    """Stories in a repository that is there already; the scripts of its agents lie beside it."""

    @property
    def root(self) -> Path:
        return self.directory / "dates"


@contextmanager
def furnished(directory: Path) -> Iterator[Furnished]:
    """The repository, with an agent at work in it as long as somebody looks."""
    clock = Clock(time.time_ns() - 6 * _DAY * 1_000_000_000)
    bench = Bench.made(directory, signs=True)
    bench.now = clock
    bench.settings |= {"verify.commands": ("python3 -m unittest -q",), "thread.isolation": "worktree"}
    for name, text in had.FILES.items():
        (bench.root / name).write_text(text)
    bench.git("add", "-A")
    bench.git("commit", "-qm", "Read ISO dates")
    made = Furnished(bench.root, clock)
    _board(made, bench)
    _stories(made)
    _threads(made, bench)
    _runs(made, bench)
    _sessions(made, bench)
    with _at_work(made, bench):
        yield made


# Tickets


def _board(made: Furnished, bench: Bench) -> None:
    journal = bench.open()
    for number, (title, state, fields) in enumerate(had.TICKETS, 1):
        made.ago(5 * _DAY - number * 8 * _HOUR)
        _ticket(made, journal, title, state, **fields)
    made.ago(20 * _HOUR)
    blocked, by = made.tickets["Ready for Plan"], made.tickets["Research Needed"]
    journal.transact(tickets.link(PERSON, blocked, "blocked_by", by))
    journal.transact(tickets.comment(PERSON, by, "Two customers ask for it.\nBoth write “Mon–Fri”, with an en dash."))
    journal.transact(tickets.edit(PERSON, by, artifacts={"research": "docs/research/ranges.md"}))
    journal.close()


def _ticket(made: Furnished, journal: Journal, title: str, state: str, **fields: Any) -> None:
    number = journal.transact(tickets.create(PERSON, title, **fields)).number
    for to in way_to(state):
        made.clock.forward(40 * _MINUTE)
        journal.transact(
            handoff(Caller(PERSON), number, to=to, reason=had.REASONS.get(to, "that is what it needs next"))
        )
    made.tickets[state] = number


# Stories, threads and runs


def _stories(made: Furnished) -> None:
    made.ago(30 * _HOUR)
    ground = _Yard(made.root.parent, had.STORIES, clock=made.clock).made()
    agent = replace(ground.agent(WORK, WORK, IDLE, IDLE, IDLE, WORK, WORK), name="scripted")
    ground.drive(agents=(agent,), judge=replace(ground.agent(JUDGED, name="judge"), name="scripted"))
    made.story = ground.loop().id


def _threads(made: Furnished, bench: Bench) -> None:
    made.ago(26 * _HOUR)
    _led(made, bench, "Weeks of the year", [had.NAMELESS], "finalize", "run", "start", "ready", "approve", "commit")
    made.ago(9 * _HOUR)
    bench.settings["thread.iterations"] = 2
    bench.judge(had.UNMET)
    _led(made, bench, "Day names in German", [had.TRIED], "finalize", "run", "start")
    bench.settings["thread.iterations"] = 5
    bench.judge(had.MET)
    made.ago(4 * _HOUR)
    bench.hear = lambda told: bench.pausing.set() if isinstance(told, Thread) and told.iterations else None
    _led(made, bench, "Zones by name", [had.HALF], "finalize", "run", "start")
    bench.hear = lambda told: None
    bench.pausing.clear()
    made.ago(150 * _MINUTE)
    _led(made, bench, "Yesterday, today, tomorrow", [had.PLAYED], "finalize", mode="quick")
    made.ago(120 * _MINUTE)
    _draft(made, bench)


def _new(bench: Bench, title: str, *specs: str, mode: str = "methodical") -> str:
    journal = bench.open()
    context = bench.context(journal)
    id_ = new_thread(context, bench.person.actor, title, mode).id
    for one in specs:
        revise_spec(context, id_, bench.person.actor, one)
    journal.close()
    return id_


def _led(
    made: Furnished, bench: Bench, title: str, played: list[Steps], *events: str, mode: str = "methodical"
) -> None:
    bench.play(*played)
    id_ = _new(bench, title, had.SPECS[title], mode=mode)
    for event in events:
        made.clock.forward(3 * _MINUTE)
        state = bench.act(id_, event).state
    made.threads[state] = id_


def _draft(made: Furnished, bench: Bench) -> None:
    made.threads["Drafting"] = _new(bench, "Parse durations", *had.DRAFTS)


def _runs(made: Furnished, bench: Bench) -> None:
    bench.settings["verify.commands"] = ("true",)
    made.ago(100 * _MINUTE)
    bench.play(*had.PLANNED)
    bench.judge(*had.VERDICTS)
    _kept(made, driven(bench, begun(bench, had.GOAL, "261115-090000")))
    made.ago(65 * _MINUTE)
    bench.play(*had.PRINTING)
    bench.judge(qualified(1))
    _kept(made, rested(bench, begun(bench, had.PRINTED, "261115-100000"), lambda run: run.task == "task-2"))


def _kept(made: Furnished, run: Run) -> None:
    made.runs[run.state] = run.id


# Sessions


def _sessions(made: Furnished, bench: Bench) -> None:
    """One in each state; the last report of each is news, and all but that of the first one are recent."""
    journal = bench.open()
    ways = {state: _way(state) for state in ("idle", *WAY, "done", "failed")}
    made.ago(14 * _MINUTE)
    for place, state in enumerate(ways):
        made.clock.forward(20)
        caller = Caller(AGENT, ("claude", "codex", "opencode")[place % 3])
        made.sessions[state] = journal.transact(create(caller)).session_id
    for state, way in ways.items():
        for one in way[:-1]:
            made.clock.forward(25)
            walk(journal, made.sessions[state], one)
    _held(made, journal)
    made.ago(40)
    for state, way in ways.items():
        made.clock.forward(2)
        walk(journal, made.sessions[state], *way[-1:])
    journal.close()


def _way(state: str) -> list[str]:
    way = [*WAY, "done"]
    return [] if state == "idle" else ["analyzing", "failed"] if state == "failed" else way[: way.index(state) + 1]


def _held(made: Furnished, journal: Journal) -> None:
    """A session that holds a ticket, skips what it should do, and says what was not seen."""
    number = made.tickets["In Progress"]
    session = journal.transact(create(Caller(AGENT, "claude"), ticket=str(number))).session_id
    holder = Caller(AGENT, "claude", session=session)
    journal.transact(handoff(holder, number, command="impl", intent="lock", reason="I take it"))
    journal.transact(update(session, "analyzing", AGENT, {"message": "where months are read"}))
    made.clock.forward(40)
    journal.transact(update(session, "testing", AGENT, {"message": "python3 -m unittest"}))
    seen = {"tool": "Bash", "tests": True, "known": True, "success": False}
    journal.transact(note(session, "tool_end", _HOOK, seen))
    made.clock.forward(20)
    results = {"testResults": {"passed": 12, "failed": 0}, "message": "all twelve months are read"}
    journal.transact(update(session, "committing", AGENT, results))
    made.sessions["odd"] = session


@contextmanager
def _at_work(made: Furnished, bench: Bench) -> Iterator[None]:
    """A thread whose agent is at work until somebody has looked."""
    made.ago(_MINUTE)
    bench.settings["verify.commands"] = ("python3 -m unittest -q",)
    begun, over = (bench.state_directory / name for name in ("begun", "over"))
    os.mkfifo(begun)
    bench.play([*had.LIVE, shell(f"test -e {over} || echo >{begun}"), {"wait": str(over)}, {"finish": True}])
    id_ = _new(bench, "Months in words", had.SPECS["Months in words"])
    bench.act(id_, "finalize", "run", drives=True)
    driver = threading.Thread(target=bench.act, args=(id_, "start"))
    driver.start()
    try:
        _hear(begun)
        made.threads[bench.thread(id_).state] = id_
        yield
    finally:
        bench.pausing.set()
        bench.stop.set()
        over.touch()
        driver.join(SECONDS)


def _hear(pipe: Path) -> None:
    """Wait until something is written into a pipe, but not forever."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([descriptor], [], [], SECONDS)[0], "the agent did not begin"
    finally:
        os.close(descriptor)
