"""Durable transitions: the journal against a bare program that does the least a journal has to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import apsw
import msgspec

from bench.timing import Comparison, Effort, Side, at_least, by_turns, compare
from bench.workload import LOOP, appender, begin
from interlock.journal import Journal, open_journal

__all__ = ["bare_body", "measure"]

_APPENDERS = 100
_EACH = 10
"""Appends of each thread in one call of the crowd's side."""
_BARE = "bare apsw: one INSERT, one UPDATE, one commit"


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """One thread, and a hundred, against one thread of the bare program."""
    with (
        closing(open_journal(directory / "alone.db")) as alone,
        closing(open_journal(directory / "crowd.db")) as crowd,
        _bare(directory / "bare.db", bare_body(alone)) as bare,
        closing(open_journal(directory / "tasks.db")) as tasks,
        ThreadPoolExecutor(_APPENDERS) as threads,
        asyncio.Runner() as runner,
    ):
        sides = {
            "bare": bare,
            "alone": appender(alone),
            "crowd": _crowd(crowd, threads),
            "tasks": _tasks(tasks, runner),
        }
        rates = by_turns(sides, effort.rounds, effort.seconds)
    yield compare("append, 1 thread", _BARE, rates["alone"], rates["bare"], aim=at_least(0.7))
    yield compare(
        f"append, {_APPENDERS} tasks of an event loop",
        _BARE,
        rates["tasks"],
        rates["bare"],
        aim=at_least(3),
        note="the bare program has 1 thread",
    )
    yield compare(
        f"append, {_APPENDERS} threads",
        _BARE,
        rates["crowd"],
        rates["bare"],
        aim=at_least(3),
        note="the bare program has 1 thread",
    )


def _tasks(journal: Journal, runner: asyncio.Runner) -> Side:
    instances = [journal.transact(begin) for _ in range(_APPENDERS)]

    async def append_some(instance: str) -> None:
        for event in LOOP * (_EACH // len(LOOP)):
            await journal.append_async(instance, event)

    async def all_of_them() -> int:
        await asyncio.gather(*(append_some(instance) for instance in instances))
        return _APPENDERS * _EACH

    return lambda: runner.run(all_of_them())


def bare_body(journal: Journal) -> str:
    """As much text as an entry of the journal has."""
    appender(journal)()
    return "x" * len(msgspec.json.encode(journal.entries()[-1]))


def _crowd(journal: Journal, threads: ThreadPoolExecutor) -> Side:
    appenders = [appender(journal) for _ in range(_APPENDERS)]

    def append_some(append: Side) -> int:
        return sum(append() for _ in range(_EACH))

    return lambda: sum(threads.map(append_some, appenders))


@contextmanager
def _bare(path: Path, body: str) -> Iterator[Side]:
    with closing(apsw.Connection(str(path))) as database:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, instance TEXT, version INTEGER, body TEXT)")
        database.execute("CREATE TABLE instances (id TEXT PRIMARY KEY, version INTEGER, state TEXT) WITHOUT ROWID")
        database.execute("INSERT INTO instances VALUES ('one', 0, 'begun')")
        versions = count(1)

        def append() -> int:
            version = next(versions)
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO entries (instance, version, body) VALUES ('one', ?, ?)", (version, body))
            database.execute(
                "UPDATE instances SET version = ?, state = 'moved' WHERE id = 'one' AND version = ?",
                (version, version - 1),
            )
            database.execute("COMMIT")
            return 1

        yield append
