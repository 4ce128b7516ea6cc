"""A journal on a PostgreSQL server, and all that can happen to the server and the connections to it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Event

from .children import SECONDS
from .databases import Address, PostgresServer, connected, dump, sql
from .histories import AGENT, HUMAN, created, reports
from .proxies import Proxy
from .refusals import code_of, failed, failed_to_open

LOCK = 0x494C434B


@pytest.fixture
def address(postgres_address: str) -> str:
    return postgres_address


@pytest.fixture
def journal(address: str, opened: Callable[[Address], Journal]) -> Journal:
    return opened(address)


# Addresses

NO_ADDRESSES = [
    "",
    "journal.db",
    "sqlite:///journal.db",
    "mysql://localhost/journal",
    "postgresql:/localhost/journal",
    "http://localhost:5432/",
    "postgresql://[::1/journal",
    "postgresql://localhost/journal?no_such_option=1",
    "postgresql://localhost/%zz",
]


@pytest.mark.parametrize("wrong", NO_ADDRESSES)
def test_what_is_no_address_of_a_database_is_refused(wrong: str) -> None:
    failed_to_open(lambda: open_journal(wrong), "database_url_invalid")


NOBODY_THERE = [
    "postgresql://somebody:sesame@localhost:1/journal",
    "postgresql://somebody:sesame@/journal?host=/no/such/directory",
    "postgres://somebody:sesame@localhost:1/journal?connect_timeout=2",
]


@pytest.mark.parametrize("wrong", NOBODY_THERE)
def test_a_server_that_is_not_there_is_unreachable_and_no_password_is_shown(wrong: str) -> None:
    error = failed_to_open(lambda: open_journal(wrong), "journal_unreachable")
    assert "sesame" not in error.message + error.hint + str(error)


def test_a_database_that_the_server_has_not_is_unreachable(postgres: PostgresServer) -> None:
    error = failed_to_open(lambda: open_journal(postgres.address("no_such_database")), "journal_unreachable")
    assert "no_such_database" in error.message


# What may not be written


def test_a_database_that_may_only_be_read_is_named(journal: Journal, address: str) -> None:
    journal.create("thread", created())
    before = dump(address)
    wrong = f"{address}&options=-c%20default_transaction_read_only%3Don"
    failed_to_open(lambda: open_journal(wrong), "journal_readonly")
    assert dump(address) == before


def test_a_role_that_may_not_write_is_named_and_works_again_when_it_may(address: str, postgres: PostgresServer) -> None:
    sql(address, "DROP ROLE IF EXISTS reader")
    sql(address, "CREATE ROLE reader LOGIN")
    reader = address.replace("postgres:@", "reader@")
    failed_to_open(lambda: open_journal(reader), "journal_readonly")
    name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    sql(address, f"GRANT CREATE ON DATABASE {name} TO reader")
    journal = open_journal(reader)
    assert journal.create("thread", created()).entry.seq == 1
    journal.close()


# Connections that are lost


def end_writers(address: str) -> int:
    """End every connection that is inside a transaction; how many there were."""
    query = """SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'"""
    return int(sql(address, query)[0][0])


def test_a_connection_that_is_ended_in_the_middle_of_an_append_leaves_nothing(journal: Journal, address: str) -> None:
    one, two = (journal.create("thread", created()).entry.instance for _ in range(2))
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(one, Event("assess", HUMAN), key="k")
        assert end_writers(address) == 1
        transaction.append(two, Event("assess", HUMAN))

    failed(lambda: journal.transact(work), "journal_unreachable")
    assert dump(address) == before
    assert journal.append(one, Event("assess", HUMAN), key="k").written
    assert journal.verify() == []


def test_a_connection_that_is_ended_before_the_commit_leaves_nothing(journal: Journal, address: str) -> None:
    id_ = journal.create("thread", created()).entry.instance
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(id_, Event("assess", HUMAN), key="k")
        assert end_writers(address) == 1

    failed(lambda: journal.transact(work), "journal_unreachable", "outcome_unknown")
    assert dump(address) == before
    assert journal.append(id_, Event("assess", HUMAN), key="k").written


def test_work_that_goes_on_after_its_connection_was_ended_is_not_acknowledged(journal: Journal, address: str) -> None:
    """What it wrote before is gone, so what it writes afterwards must not stand alone."""
    one, two = (journal.create("thread", created()).entry.instance for _ in range(2))
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(one, Event("assess", HUMAN))
        assert end_writers(address) == 1
        for _ in range(2):
            with suppress(InterlockError):
                transaction.append(two, Event("assess", HUMAN))

    failed(lambda: journal.transact(work), "journal_unreachable", "outcome_unknown")
    assert dump(address) == before


def test_work_that_hides_an_error_of_the_database_is_not_acknowledged_and_the_next_goes_on(
    journal: Journal, address: str
) -> None:
    """After an error PostgreSQL takes a COMMIT for a ROLLBACK, and says so only in a word."""
    id_ = journal.create("thread", created()).entry.instance
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(id_, Event("assess", HUMAN))
        with suppress(InterlockError):
            transaction._sql.rows("SELECT no_such_column")

    failed(lambda: journal.transact(work), "journal_io")
    assert dump(address) == before
    assert journal.append(id_, Event("assess", HUMAN)).entry.version == 2


def test_of_appends_that_share_a_lost_connection_none_is_acknowledged_and_lost(journal: Journal, address: str) -> None:
    ids = [journal.create("session", created(AGENT)).entry.instance for _ in range(30)]

    def work(id_: str) -> Callable[[Transaction], None]:
        def append(transaction: Transaction) -> None:
            transaction.append(id_, reports("testing"))
            if id_ == ids[15]:
                end_writers(address)

        return append

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda id_: code_of(lambda: journal.transact(work(id_))), ids, timeout=SECONDS))
    assert answers[15] is not None
    assert set(answers) <= {None, "journal_unreachable", "outcome_unknown"}
    assert [journal.instance(id_).version for id_ in ids] == [1 if answer else 2 for answer in answers]
    assert journal.append(ids[15], reports("testing")).entry.version == 2
    assert journal.verify() == []


def test_a_reader_whose_connection_was_ended_reads_again(journal: Journal, address: str) -> None:
    journal.create("thread", created())
    assert len(journal.instances()) == 1
    query = """SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()"""
    assert sql(address, query)[0][0] >= 2
    with suppress(InterlockError):
        journal.instances()
    assert len(journal.instances()) == 1
    with suppress(InterlockError):
        journal.create("thread", created(), key="k")
    journal.create("thread", created(), key="k")
    assert len(journal.instances()) == 2


@pytest.fixture
def proxy(address: str) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="interlock-proxy-") as directory:
        proxy = Proxy(Path(directory), address)
        yield proxy
        proxy.close()


@pytest.mark.parametrize(("cut", "written"), [("before", False), ("after", True)])
def test_a_connection_that_is_lost_at_the_commit_leaves_it_open_what_came_of_it_and_the_key_is_safe(
    proxy: Proxy, address: str, opened: Callable[[Address], Journal], cut: str, written: bool
) -> None:
    journal = opened(proxy.address)
    id_ = journal.create("thread", created()).entry.instance
    proxy.cut = "before" if cut == "before" else "after"
    error = failed(lambda: journal.append(id_, Event("assess", HUMAN), key="k"), "outcome_unknown")
    assert "key" in error.hint
    assert proxy.cuts == 1
    assert len(sql(address, "SELECT seq FROM entries")) == (2 if written else 1)
    again = journal.append(id_, Event("assess", HUMAN), key="k")
    assert again.written is not written
    assert again.entry.version == 2
    assert journal.append(id_, Event("revise", HUMAN)).entry.version == 3
    assert journal.verify() == []


# A server that goes away and comes back


def test_a_server_that_was_stopped_and_started_again_is_used_again() -> None:
    server = PostgresServer()
    try:
        journal = open_journal(server.database())
        id_ = journal.create("session", created(AGENT)).entry.instance
        assert journal.instance(id_).version == 1
        server.stop()
        failed(lambda: journal.append(id_, reports("testing"), key="k"), "journal_unreachable")
        failed(lambda: journal.instance(id_), "journal_unreachable")
        failed(lambda: journal.append(id_, reports("testing"), key="k"), "journal_unreachable")
        server.start()
        assert journal.append(id_, reports("testing"), key="k").written
        assert journal.instance(id_).version == 2
        assert journal.verify() == []
        journal.close()
    finally:
        server.close()


# Waiting for others


def test_a_journal_that_others_lock_for_longer_than_the_server_waits_is_busy(
    journal: Journal, address: str, opened: Callable[[Address], Journal]
) -> None:
    journal.create("thread", created())
    impatient = opened(f"{address}&options=-c%20lock_timeout%3D50ms")
    with connected(address) as run:
        run("SELECT pg_advisory_lock(?)", LOCK)
        failed(lambda: impatient.create("thread", created()), "busy")
    assert impatient.create("thread", created()).entry.seq == 2


def test_a_new_journal_that_another_is_just_making_is_waited_for(address: str) -> None:
    with closing(psycopg.connect(address)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("CREATE SCHEMA interlock")
        opening = pool.submit(open_journal, address)
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        with connected(address) as run:
            for _ in range(100_000):
                if run(waiting)[0][0] or opening.done():
                    break
        other.commit()
        journal = opening.result(SECONDS)
        assert journal.create("thread", created()).entry.seq == 1
        journal.close()


def test_other_tables_of_the_database_are_left_alone(address: str) -> None:
    with closing(psycopg.connect(address, autocommit=True)) as other:
        other.execute("CREATE TABLE entries (name TEXT)")
        other.execute("INSERT INTO entries VALUES ('mine')")
        journal = open_journal(address)
        journal.create("thread", created())
        assert journal.head() == 1
        journal.close()
        assert other.execute("SELECT * FROM public.entries").fetchall() == [("mine",)]
