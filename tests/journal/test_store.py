"""The writer: work that arrives together shares a commit, and each of it stands or falls alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from interlock.errors import Conflict, InterlockError, JournalError
from interlock.journal import Journal, open_journal
from interlock.journal.postgres import PostgresStore
from interlock.journal.sqlite import SqliteStore
from interlock.journal.store import Connection, Sql, Writer
from interlock.machine import Event, Evidence
from patience import SECONDS

from .databases import Address, sql
from .histories import AGENT, HUMAN, Clock, created, reports


class Watched:
    """A real connection whose commits are counted, and held until a test lets them go."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.commits = 0
        self.rollbacks = 0
        self.reached = threading.Event()
        self.released = threading.Event()
        self.released.set()

    def begin(self) -> Sql:
        return self._connection.begin()

    def commit(self) -> None:
        self.reached.set()
        released = self.released
        assert released.wait(SECONDS)
        self._connection.commit()
        self.commits += 1

    def hold_the_next(self) -> None:
        """Let the commit go that is held, and hold the one after it."""
        self.reached.clear()
        released, self.released = self.released, threading.Event()
        released.set()

    def rollback(self) -> None:
        self.rollbacks += 1
        self._connection.rollback()


@pytest.fixture
def store(address: Address, clock: Clock) -> Iterator[SqliteStore | PostgresStore]:
    store = SqliteStore(address, clock) if isinstance(address, Path) else PostgresStore(address, clock)
    store.write(lambda sql: sql.rows("CREATE TABLE notes (number INTEGER)"))
    yield store
    store.close()


@pytest.fixture
def watched(store: SqliteStore | PostgresStore) -> Watched:
    return Watched(store._write)


@pytest.fixture
def writer(watched: Watched) -> Iterator[Writer]:
    writer = Writer(watched)
    yield writer
    watched.released.set()
    writer.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=128) as pool:
        yield pool


def note(number: int) -> Callable[[Sql], int]:
    """Work that writes a number down, and how many there are then."""

    def work(sql: Sql) -> int:
        sql.rows("INSERT INTO notes (number) VALUES (?)", (number,))
        [(count,)] = sql.rows("SELECT count(*) FROM notes")
        return int(count)

    return work


def notes(address: Address) -> list[int]:
    return [row[0] for row in sql(address, "SELECT number FROM notes ORDER BY number")]


class Arrivals(SimpleQueue[Any]):
    """A queue that tells a test when something was put into it."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = threading.Semaphore(0)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        super().put(item, block, timeout)
        self.arrived.release()


def queue_behind(
    writer: Writer, watched: Watched, pool: ThreadPoolExecutor, jobs: list[Callable[[Sql], int]]
) -> tuple[Future[int], list[Future[int]]]:
    """Hold the commit of a first job, and let others arrive meanwhile, one after the other."""
    writer._queue = arrivals = Arrivals()
    watched.released.clear()
    watched.reached.clear()
    first = pool.submit(writer.do, note(-1))
    assert watched.reached.wait(SECONDS)
    futures = []
    for job in jobs:
        futures.append(pool.submit(writer.do, job))
        assert arrivals.arrived.acquire(timeout=SECONDS)
    return first, futures


def test_work_that_finds_nobody_writing_is_done_at_once(writer: Writer, watched: Watched, address: Address) -> None:
    assert writer.do(note(1)) == 1
    assert writer.do(note(2)) == 2
    assert watched.commits == 2
    assert notes(address) == [1, 2]


def test_work_that_arrives_together_shares_a_commit(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor, address: Address
) -> None:
    first, others = queue_behind(writer, watched, threads, [note(number) for number in range(100)])
    assert not any(future.done() for future in (first, *others))
    watched.released.set()
    assert first.result(SECONDS) == 1
    assert [future.result(SECONDS) for future in others] == list(range(2, 102))
    assert watched.commits == 2
    assert notes(address) == list(range(-1, 100))


def test_nothing_is_acknowledged_before_the_commit_that_it_shares(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor, address: Address
) -> None:
    first, others = queue_behind(writer, watched, threads, [note(1), note(2)])
    assert notes(address) == []
    watched.hold_the_next()
    assert first.result(SECONDS) == 1
    assert watched.reached.wait(SECONDS)
    too_early, _ = wait(others, timeout=0.2)
    assert not too_early
    assert notes(address) == [-1]
    watched.released.set()
    assert [future.result(SECONDS) for future in others] == [2, 3]
    assert notes(address) == [-1, 1, 2]


def test_a_group_is_not_larger_than_it_may_be(
    store: SqliteStore | PostgresStore, watched: Watched, threads: ThreadPoolExecutor, address: Address
) -> None:
    writer = Writer(watched, most=10)
    first, others = queue_behind(writer, watched, threads, [note(number) for number in range(25)])
    watched.released.set()
    first.result(SECONDS)
    assert [future.result(SECONDS) for future in others] == list(range(2, 27))
    assert watched.commits == 1 + 3
    writer.close()


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_work_that_fails_in_a_group_undoes_only_itself(
    writer: Writer,
    watched: Watched,
    threads: ThreadPoolExecutor,
    address: Address,
    failure: type[BaseException],
) -> None:
    def failing(sql: Sql) -> int:
        note(1000)(sql)
        raise failure("mine")

    def refused(sql: Sql) -> int:
        note(1001)(sql)
        sql.rows("INSERT INTO no_such_table VALUES (1)")
        return 0

    jobs = [note(1), failing, note(2), refused, note(3)]
    first, (one, two, three, four, five) = queue_behind(writer, watched, threads, jobs)
    watched.released.set()
    assert first.result(SECONDS) == 1
    assert [future.result(SECONDS) for future in (one, three, five)] == [2, 3, 4]
    with pytest.raises(failure, match="mine"):
        two.result(SECONDS)
    with pytest.raises(InterlockError):
        four.result(SECONDS)
    assert notes(address) == [-1, 1, 2, 3]
    assert watched.commits == 2


def test_work_that_fails_alone_undoes_itself_and_the_next_goes_on(
    writer: Writer, watched: Watched, address: Address
) -> None:
    def failing(sql: Sql) -> int:
        note(1000)(sql)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.do(failing)
    assert writer.do(note(1)) == 1
    assert notes(address) == [1]


def test_an_interrupt_just_before_the_commit_undoes_the_work_and_the_next_goes_on(
    store: SqliteStore | PostgresStore, address: Address
) -> None:
    """Ctrl+C can come between any two lines, and what comes next is the entry that says so."""

    class Interrupted(Watched):
        def commit(self) -> None:
            if not self.reached.is_set():
                self.reached.set()
                raise KeyboardInterrupt
            super().commit()

    writer = Writer(Interrupted(store._write))
    with pytest.raises(KeyboardInterrupt):
        writer.do(note(1))
    assert writer.do(note(2)) == 1
    assert notes(address) == [2]
    writer.close()


def test_closing_finishes_what_is_queued(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor, address: Address
) -> None:
    first, others = queue_behind(writer, watched, threads, [note(number) for number in range(20)])
    closing = threads.submit(writer.close)
    watched.released.set()
    closing.result(SECONDS)
    assert notes(address) == list(range(-1, 20))
    assert first.result(SECONDS) == 1
    assert [future.result(SECONDS) for future in others] == list(range(2, 22))


def test_closing_waits_for_the_work_that_is_under_way(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor
) -> None:
    watched.released.clear()
    first = threads.submit(writer.do, note(1))
    assert watched.reached.wait(SECONDS)
    closing = threads.submit(writer.close)
    closed_early, _ = wait([closing], timeout=0.2)
    watched.released.set()
    closing.result(SECONDS)
    assert not closed_early
    assert first.result(SECONDS) == 1


def test_work_after_closing_is_done_or_refused_and_never_left_waiting(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor
) -> None:
    first, others = queue_behind(writer, watched, threads, [note(1)])
    watched.released.set()
    assert (first.result(SECONDS), others[0].result(SECONDS)) == (1, 2)
    writer.close()
    writer._queue = arrivals = Arrivals()
    watched.released.clear()
    watched.reached.clear()
    late = _in_thread(writer, note(2), watched.reached.set)
    assert watched.reached.wait(SECONDS)
    later = _in_thread(writer, note(3), arrivals.arrived.release)
    assert arrivals.arrived.acquire(timeout=SECONDS)
    watched.released.set()
    late.join(SECONDS)
    later.join(SECONDS)
    assert not late.is_alive()
    assert not later.is_alive()


def test_work_that_arrives_while_the_writer_closes_is_done_or_refused_and_never_left_waiting(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor
) -> None:
    first, others = queue_behind(writer, watched, threads, [note(1)])
    arrivals = writer._queue
    assert isinstance(arrivals, Arrivals)
    closing = threads.submit(writer.close)
    arrivals.arrived.acquire(timeout=0.5)
    late = _in_thread(writer, note(2), arrivals.arrived.release)
    assert arrivals.arrived.acquire(timeout=SECONDS)
    watched.released.set()
    closing.result(SECONDS)
    assert (first.result(SECONDS), others[0].result(SECONDS)) == (1, 2)
    late.join(SECONDS)
    assert not late.is_alive()


def _in_thread(writer: Writer, work: Callable[[Sql], int], then: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        with suppress(InterlockError):
            writer.do(work)
        then()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


# Through the journal


def test_a_hundred_threads_append_and_nothing_is_lost_doubled_or_out_of_order(
    journal: Journal, threads: ThreadPoolExecutor
) -> None:
    own = [journal.create("session", created(AGENT)).entry.instance for _ in range(100)]
    shared = journal.create("session", created(AGENT)).entry.instance
    together = threading.Barrier(100)
    states = ("analyzing", "implementing", "testing", "implementing")

    def work(number: int) -> list[tuple[str, int, str]]:
        together.wait(SECONDS)
        acknowledged = []
        for round_, state in enumerate(states):
            target = shared if number % 5 == 0 and round_ % 2 else own[number]
            entry = journal.append(target, reports(state), key=f"{number}-{round_}").entry
            acknowledged.append((entry.instance, entry.seq, entry.hash))
        return acknowledged

    acknowledged = [one for future in [threads.submit(work, n) for n in range(100)] for one in future.result(SECONDS)]
    written = journal.entries(101, most=10_000)
    assert sorted(acknowledged, key=lambda one: one[1]) == [(one.instance, one.seq, one.hash) for one in written]
    assert [entry.seq for entry in written] == list(range(102, 102 + 400))
    for number in range(100):
        mine = [entry.seq for entry in written if (entry.key or "").startswith(f"{number}-")]
        assert mine == sorted(mine)
        assert len(mine) == len(states)
    assert journal.instance(shared).version == 1 + 20 * 2
    assert journal.verify() == []


def test_refusals_and_successes_of_many_threads_do_not_disturb_each_other(
    journal: Journal, threads: ThreadPoolExecutor
) -> None:
    ids = [journal.create("thread", created()).entry.instance for _ in range(40)]
    together = threading.Barrier(40)

    def work(number: int) -> str:
        together.wait(SECONDS)
        try:
            event = Event("assess" if number % 2 else "approve", HUMAN, evidence=Evidence(data={"n": number}))
            return journal.append(ids[number], event).entry.to_state
        except InterlockError as error:
            return error.code

    answers = [future.result(SECONDS) for future in [threads.submit(work, number) for number in range(40)]]
    assert answers == ["not_allowed", "Assessing"] * 20
    assert [instance.version for instance in journal.instances()] == [1, 2] * 20
    assert journal.verify() == []


def test_a_journal_that_was_closed_refuses_to_write_and_to_read(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    id_ = journal.create("thread", created()).entry.instance
    journal.close()
    with pytest.raises(InterlockError):
        journal.append(id_, Event("assess", HUMAN))
    with pytest.raises(InterlockError):
        journal.instance(id_)
    later = open_journal(address, now=clock)
    assert later.instance(id_).version == 1
    later.close()
    journal.close()


def test_work_inside_a_transaction_goes_through_it(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    with pytest.raises(RuntimeError):
        journal.transact(lambda transaction: journal.create("thread", created()))
    assert journal.create("thread", created()).entry.seq == 1
    journal.close()


def test_a_transaction_that_is_over_writes_nothing_more(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    kept = journal.transact(lambda transaction: transaction)
    with pytest.raises(RuntimeError):
        kept.create("thread", created())
    assert journal.head() == 0
    journal.close()


def test_a_commit_that_fails_is_not_blamed_on_a_refusal_in_its_group(
    writer: Writer, watched: Watched, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflicting(sql: Sql) -> int:
        raise Conflict("conflict", "somebody was first", "read again")

    first, (refused, other) = queue_behind(writer, watched, threads, [conflicting, note(1)])
    monkeypatch.setattr(watched, "commit", _no_room)
    watched.released.set()
    assert first.result(SECONDS) == 1
    assert isinstance(refused.exception(SECONDS), Conflict)
    failure = other.exception(SECONDS)
    assert isinstance(failure, JournalError)
    assert failure.code == "disk_full"


def _no_room() -> None:
    raise JournalError("disk_full", "There is no room.", "Make room.")
