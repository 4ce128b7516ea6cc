"""What tests share: real databases, and a clock and randomness that give the same again."""

from __future__ import annotations

import atexit
import gc
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from exhaustive import EXHAUSTIVE
from faces import forking
from importing import import_test_modules
from interlock.journal import Journal, open_journal
from journal.databases import Address, PostgresServer
from journal.histories import Clock
from sampling import left_out
from scratch import in_memory

# Before pytest makes its first directory: every journal of a test syncs at each write, which costs nothing in memory.
tempfile.tempdir = in_memory() or tempfile.tempdir

# What a user trusts is kept below this directory: never in the home of whoever runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="interlock-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# A runner in the background has its children ignore Ctrl+C, and some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is. Each run draws the same examples, so that what is red is red
# again; the exhaustive runs draw others each time, and many more.
settings.register_profile(
    "steady", deadline=None, derandomize=True, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "searching", deadline=None, max_examples=1_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("searching" if EXHAUSTIVE else "steady")


def pytest_sessionstart(session: pytest.Session) -> None:
    import_test_modules(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that only `make test-exhaustive` runs."""
    dropped = left_out(items)
    if dropped and not EXHAUSTIVE:
        config.hook.pytest_deselected(items=dropped)
        left = set(dropped)
        items[:] = [item for item in items if item not in left]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking over thousands of tests again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests of a worker."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def sqlite_address(tmp_path: Path) -> Path:
    """The path of a journal that does not exist yet."""
    return tmp_path / "journal.db"


@pytest.fixture
def postgres_address(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database."""
    address = postgres.database()
    yield address
    postgres.give_back(address)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> Address:
    """A place for a journal, in each kind of database."""
    found: Address = request.getfixturevalue("sqlite_address" if request.param == "sqlite" else "postgres_address")
    return found


@pytest.fixture(scope="module")
def real_starts() -> Iterator[None]:
    """Every `ralph` of a module is started, none is forked."""
    with forking.real_starts():
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def randomness() -> Callable[[int], bytes]:
    """Randomness that is the same in every run."""
    return random.Random(20_240_601).randbytes


@pytest.fixture
def opened(clock: Clock, randomness: Callable[[int], bytes]) -> Iterator[Callable[[Address], Journal]]:
    """Opens journals with the test's clock and randomness, and closes them in the end."""
    journals: list[Journal] = []

    def opened(address: Address) -> Journal:
        journals.append(open_journal(address, now=clock, randomness=randomness))
        return journals[-1]

    yield opened
    for journal in reversed(journals):
        journal.close()


@pytest.fixture
def journal(address: Address, opened: Callable[[Address], Journal]) -> Journal:
    """A new journal, in each kind of database."""
    return opened(address)


@pytest.fixture
def sqlite_journal(sqlite_address: Path, opened: Callable[[Address], Journal]) -> Journal:
    return opened(sqlite_address)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A place for a journal that all tests of a module share, in each kind of database."""
    if request.param == "sqlite":
        yield tmp_path_factory.mktemp("shared") / "journal.db"
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    address = postgres.database()
    yield address
    postgres.give_back(address)


@pytest.fixture(scope="module")
def shared_journal(shared_address: Address) -> Iterator[Journal]:
    """A journal that all tests of a module share, because they write nothing that another could see."""
    journal = open_journal(shared_address, now=Clock(), randomness=random.Random(7).randbytes)
    yield journal
    journal.close()
