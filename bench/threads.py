"""Threads: what an iteration costs beyond its agent and verifiers, whether that grows, and many threads."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.project import begun, environment
from bench.timing import Comparison, Effort, Side, alone, at_least, at_most, by_turns, compare, grown
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person
from interlock.work.gates.stage import stage, staged
from interlock.work.settings.journal_trust import truster
from interlock.work.settings.values import Settings
from interlock.work.threads.loop import drive
from interlock.work.threads.verbs import act, new_thread, revise_spec

__all__ = ["measure", "with_threads"]

_ITERATIONS = 5
_ROUNDS = 5
_LONG, _SHORT = 120, 40
"""Iterations of the loop that is watched for growth, in full and in a hurry."""
_WINDOW = 20
_THREADS = 1_000
_AIM_MILLISECONDS = at_most(150)
_FLAT = at_least(0.8)
_VERIFIER = "false"
_SPEC = "# Bench\n\n## Completion Criteria\n\n- [ ] it is there\n  - verify: `true`\n\n<promise>COMPLETE</promise>\n"
_STEPS = [{"write": {"path": "work.txt", "text": "one\n"}}, {"promise": "COMPLETE"}, {"finish": True}]
_AGENT = [sys.executable, "-m", "interlock.world.agents.scripted"]
_ADA = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)


class _Place(msgspec.Struct):
    """A repository on a stage, whose agent claims every time what the verifier denies every time."""

    root: Path = msgspec.field(default_factory=stage)
    began: list[float] = msgspec.field(default_factory=list)
    """When each iteration began."""

    def __post_init__(self) -> None:
        (self.root / "README").write_text("a project\n")
        begun(self.root)
        (self.root / ".ralf" / "agent.json").write_text(json.dumps({"iterations": [_STEPS]}))

    def context(self, journal: Journal, iterations: int) -> DriverContext:
        given: dict[str, Any] = {
            "agent.name": "scripted",
            "agent.sandbox": "none",
            "agent.script": ".ralf/agent.json",
            "verify.commands": (_VERIFIER,),
            "thread.iterations": iterations,
        }
        return DriverContext(
            journal=journal,
            root=self.root,
            state_directory=self.root / ".ralf",
            settings=Settings({**Settings().values, **given}),
            environment=environment(),
            report=self._hear,
            stop=threading.Event(),
            pausing=threading.Event(),
            wait=lambda seconds: None,
        )

    def _hear(self, what: object) -> None:
        if isinstance(what, str) and what.startswith("iteration "):
            self.began.append(time.perf_counter())

    def run(self, iterations: int) -> None:
        """A thread in quick mode, until it is stuck."""
        journal = open_journal(self.root / ".ralf" / "journal.db")
        context = self.context(journal, iterations)
        presence = staged(self.root, "test", is_signing=False)
        id_ = new_thread(context, _ADA, "Bench", "quick").id
        revise_spec(context, id_, _ADA, _SPEC)
        act(context, id_, Person(_ADA, lambda: presence, lambda: True), "finalize")
        thread = drive(context, id_)
        journal.close()
        assert (thread.state, len(self.began)) == ("Stuck", iterations), (thread.state, thread.reason)


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """An iteration against a bare loop; the last iterations of a long run against its first; one thread of many."""
    if shutil.which("git") is None:
        return
    rates = by_turns({"ours": _ours, "bare": _bare}, min(effort.rounds, _ROUNDS), 0)
    title = f"a thread of {_ITERATIONS} iterations"
    yield compare(title, "the same agent and verifier, bare", rates["ours"], rates["bare"], unit=" iterations/s")
    beyond = statistics.median(1000 / one - 1000 / bare for one, bare in zip(rates["ours"], rates["bare"], strict=True))
    yield alone("an iteration beyond its agent and verifier", beyond, " ms", aim=_AIM_MILLISECONDS)
    yield _lasting(_LONG if effort.rounds > _ROUNDS * 2 else _SHORT)
    yield from _many(effort, directory.resolve() / "threads")


def _ours() -> int:
    place = _Place()
    place.run(_ITERATIONS)
    shutil.rmtree(place.root)
    return _ITERATIONS


def _bare() -> int:
    place = _Place()
    for _ in range(_ITERATIONS):
        script = place.root / ".ralf" / "agent.json"
        for words in ([*_AGENT, str(script)], ["sh", "-c", _VERIFIER]):
            subprocess.run(words, cwd=place.root, input=b"", stdout=subprocess.DEVNULL, check=False)
    shutil.rmtree(place.root)
    return _ITERATIONS


def _lasting(iterations: int) -> Comparison:
    """Iterations per second at the end of a long run, against those at its beginning."""
    place = _Place()
    place.run(iterations)
    shutil.rmtree(place.root)
    seconds = [after - before for before, after in zip(place.began, place.began[1:], strict=False)]
    first, last = ([1 / one for one in part] for part in (seconds[:_WINDOW], seconds[-_WINDOW:]))
    title = f"the last {_WINDOW} of {iterations} iterations"
    return grown(title, f"the first {_WINDOW}", last, first, unit=" iterations/s", aim=_FLAT)


def _many(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """`ralph thread` and `ralph thread list` where there are many, against where there is one."""
    sides = {str(number): with_threads(directory / str(number), number) for number in (1, _THREADS)}
    for words, aim in ((("thread",), _FLAT), (("thread", "list"), None)):
        rates = by_turns({name: _launched(root, words) for name, root in sides.items()}, min(effort.rounds, 10), 0)
        title = f"`ralph {' '.join(words)}`, {_THREADS:,} threads"
        yield grown(title, "1 thread", rates[str(_THREADS)], rates["1"], aim=aim)


def with_threads(root: Path, number: int) -> Path:
    """Make a repository with so many threads, each with a spec."""
    root.mkdir(parents=True)
    place = _Place(root=root)
    journal = open_journal(root / ".ralf" / "journal.db", created=truster(root / ".ralf", os.environ))
    context = place.context(journal, 1)
    for one in range(number):
        revise_spec(context, new_thread(context, _ADA, f"Thread {one}", "methodical").id, _ADA, _SPEC)
    journal.close()
    return root


def _launched(root: Path, words: tuple[str, ...]) -> Side:
    program = Path(sys.executable).with_name("ralph")

    def side() -> int:
        subprocess.run([program, *words], cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return 1

    return side
