"""The seam between the journal and a database: transactions of plain SQL, and one writer that shares commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

__all__ = ["Connection", "Row", "Sql", "Store", "Writer", "closed"]

from interlock.errors import InterlockError, JournalError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from pathlib import Path

Result = TypeVar("Result")
Row = tuple[Any, ...]


class Sql(Protocol):
    """Plain SQL inside a transaction. Parameters are written as `?` in every dialect."""

    dialect: str
    memory: dict[str, Any]
    """What is known of the database as it stands; empty after anybody else wrote or anything was undone."""

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...


class Store(Protocol):
    """A database that keeps a journal."""

    @property
    def path(self) -> Path | None:
        """The file that it is; None where it is a server's."""
        ...

    @property
    def url(self) -> str | None:
        """The address of the server; None where it is a file."""
        ...

    def write(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        """Do `work` in a transaction and return when it is durable. Work that arrives together shares a commit.

        Work that `decides_first` raises its refusals before it writes anything, so it needs no savepoint.
        """
        ...

    async def write_async(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        """The same for a task of an event loop, which goes on meanwhile. Cancelling it does not undo the work."""
        ...

    def read(self) -> AbstractContextManager[Sql]:
        """Plain reads of what is committed."""
        ...

    def wait(self, seconds: float) -> None:
        """Return when something new may have been committed, or after some time."""
        ...

    def close(self) -> None: ...


def closed() -> JournalError:
    """What to raise where a journal is used after it was closed."""
    return JournalError("journal_closed", "The journal was closed.", "Open it again.")


class Connection(Protocol):
    """What the writer needs of a database connection. Each call raises only errors of the catalogue."""

    def begin(self) -> Sql: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class _Job(Generic[Result]):
    """Work on its way to the writer, and what came of it."""

    __slots__ = ("_finished", "decides_first", "error", "result", "work")

    def __init__(self, work: Callable[[Sql], Result], decides_first: bool) -> None:
        self.work = work
        self.decides_first = decides_first
        self.result: Result | None = None
        self.error: BaseException | None = None
        self._finished = threading.Lock()
        self._finished.acquire()

    def finish(self) -> None:
        self._finished.release()

    def wait(self) -> Result:
        self._finished.acquire()
        if self.error is not None:
            raise self.error
        return cast("Result", self.result)


class _Awaited(_Job[Result]):
    """Work that a task waits for; all that a loop waits for is told it in one go."""

    __slots__ = ("future", "loop")

    def __init__(self, work: Callable[[Sql], Result], decides_first: bool, loop: AbstractEventLoop) -> None:
        super().__init__(work, decides_first)
        self.loop = loop
        self.future: Future[Result] = loop.create_future()

    def resolve(self) -> None:
        if self.future.done():
            return  # the task was cancelled
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast("Result", self.result))


def _acknowledge(jobs: list[_Job[Any]]) -> None:
    """Wake whoever waits: each thread, and each event loop once for all its tasks."""
    awaited: dict[AbstractEventLoop, list[_Awaited[Any]]] = {}
    for job in jobs:
        if isinstance(job, _Awaited):
            awaited.setdefault(job.loop, []).append(job)
        else:
            job.finish()
    for loop, done in awaited.items():
        with suppress(RuntimeError):  # the loop was closed, and nobody waits any more
            loop.call_soon_threadsafe(_resolve, done)


def _is_database_error(error: BaseException | None) -> bool:
    """Whether it is the database that failed, and not we who refused: its own error is then the cause of ours."""
    return isinstance(error, JournalError) and error.__cause__ is not None


def _resolve(jobs: list[_Awaited[Any]]) -> None:
    for job in jobs:
        job.resolve()


class Writer:
    """The one writer of a store in this process.

    Work that finds nobody writing is done at once in its own thread. Work that arrives while another commit
    is under way is queued, and a thread does all that is queued in one transaction, each in a savepoint of
    its own: one durable commit for all of them, and each is acknowledged after it.
    """

    def __init__(self, connection: Connection, most: int = 128) -> None:
        self._connection = connection
        self._most = most
        self._turn = threading.Lock()
        self._queue: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._door = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._working: int | None = None
        """The thread that is doing work now."""

    def do(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        if self._working == threading.get_ident():
            raise RuntimeError("Work inside a transaction goes through that transaction, not through the journal.")
        if self._queue.empty() and self._turn.acquire(blocking=False):
            try:
                if self._closed:
                    raise closed()
                return self._alone(work)
            finally:
                self._turn.release()
        job = _Job(work, decides_first)
        self._enqueue(job)
        return job.wait()

    async def do_async(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        """The same for a task; its loop goes on while the work is done."""
        from asyncio import get_running_loop

        job = _Awaited(work, decides_first, get_running_loop())
        self._enqueue(job)
        return await job.future

    def _enqueue(self, job: _Job[Any]) -> None:
        with self._door:
            if self._closed:
                raise closed()
            self._queue.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Let nobody in any more, finish what is under way and what is queued, and stop."""
        with self._door:
            self._closed = True
            if self._thread is not None:
                self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
        with self._turn:
            self._thread = None

    def _alone(self, work: Callable[[Sql], Result]) -> Result:
        self._working = threading.get_ident()
        try:
            result = work(self._connection.begin())
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            self._working = None
        return result

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            with self._turn:
                jobs, closing = self._gather(first)
                if len(jobs) == 1:
                    self._single(jobs[0])
                else:
                    self._together(jobs)
            _acknowledge(jobs)
            if closing:
                return

    def _gather(self, first: _Job[Any]) -> tuple[list[_Job[Any]], bool]:
        """All that is queued behind the first, and whether the writer is to stop after it."""
        jobs = [first]
        with suppress(Empty):
            while len(jobs) < self._most:
                job = self._queue.get_nowait()
                if job is None:
                    return jobs, True
                jobs.append(job)
        return jobs, False

    def _single(self, job: _Job[Any]) -> None:
        """Do work that shares its transaction with no other, and so needs no savepoint."""
        try:
            job.result = self._alone(job.work)
        except BaseException as error:
            job.error = error

    def _together(self, jobs: list[_Job[Any]]) -> None:
        self._working = threading.get_ident()
        try:
            sql = self._connection.begin()
            for job in jobs:
                if job.decides_first:
                    self._deciding(sql, job)
                else:
                    self._in_savepoint(sql, job)
            self._connection.commit()
        except BaseException as error:
            self._connection.rollback()
            first = next((job.error for job in jobs if _is_database_error(job.error)), error)
            for job in jobs:
                job.error = job.error or first
        finally:
            self._working = None

    @staticmethod
    def _deciding(sql: Sql, job: _Job[Any]) -> None:
        """A refusal of ours leaves nothing to undo; whatever else goes wrong undoes the whole group."""
        try:
            job.result = job.work(sql)
        except BaseException as error:
            job.error = error
            if not isinstance(error, InterlockError) or _is_database_error(error):
                raise

    @staticmethod
    def _in_savepoint(sql: Sql, job: _Job[Any]) -> None:
        sql.rows("SAVEPOINT job")
        try:
            job.result = job.work(sql)
        except BaseException as error:
            job.error = error
            sql.memory.clear()
            sql.rows("ROLLBACK TO SAVEPOINT job")
        sql.rows("RELEASE SAVEPOINT job")
