"""The chain: whatever is changed past the journal is found and named, and projections can be made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from exhaustive import examples
from interlock.errors import Tampered
from interlock.journal import Entry, Journal, Problem, open_journal
from interlock.journal.sqlite import SqliteStore
from interlock.journal.store import Row, Sql
from interlock.machine import Event, Evidence, load_shipped

from .databases import Address, connected, dump, sql
from .histories import AGENT, HUMAN, SYSTEM, Clock, created, paths, reports
from .refusals import failed

Result = TypeVar("Result")

COLUMNS = Entry.__struct_fields__
NUMBERS = ("seq", "version", "off_path", "epoch")


def write_history(journal: Journal) -> None:
    """Some twenty entries of four instances, with every column used."""
    story = journal.create("story", created(SYSTEM, Evidence(data={"stories": ["a", "b"]}))).entry.instance
    thread = journal.create("thread", created(reason="because"), parent=story).entry.instance
    session = journal.create("session", created(AGENT), parent=thread, key="session").entry.instance
    journal.create("ticket", created(), key="ticket")
    for event in paths(load_shipped("thread"))["Done"]:
        journal.append(thread, event)
    journal.append(session, reports("testing"), key="off the path")
    journal.append(session, reports("implementing", Evidence(data={"n": 1})))
    journal.append(session, Event("complete_ralph_session", AGENT, evidence=Evidence(facts={"outcome": "failure"})))


@pytest.fixture
def honest(journal: Journal) -> Journal:
    write_history(journal)
    return journal


def problems(address: Address) -> list[Problem]:
    """What somebody finds who opens the journal anew."""
    journal = open_journal(address)
    found = journal.verify()
    journal.close()
    return found


def named(found: list[Problem]) -> set[int | None]:
    return {problem.seq for problem in found}


def test_an_honest_journal_has_no_problems(honest: Journal, address: Address) -> None:
    assert len(honest.entries()) > 15
    assert honest.verify() == []
    assert problems(address) == []


def test_an_empty_journal_has_no_problems(journal: Journal) -> None:
    assert journal.verify() == []
    assert journal.rebuild() == 0


def test_each_entry_is_chained_to_the_one_before_from_the_first_on(honest: Journal) -> None:
    previous = "0" * 64
    for number, entry in enumerate(honest.entries(), start=1):
        assert (entry.seq, entry.previous) == (number, previous)
        assert entry.hash == entry.computed_hash()
        previous = entry.hash


def test_the_hash_covers_every_field_of_an_entry(honest: Journal) -> None:
    for entry in honest.entries():
        for name in COLUMNS:
            if name != "hash":
                assert replace(entry, **{name: "another"}).computed_hash() != entry.hash


@pytest.fixture(scope="module")
def head(shared_journal: Journal) -> int:
    """How many entries there are in the shared journal, which is altered and put back."""
    write_history(shared_journal)
    return shared_journal.head()


@given(data=st.data())
@settings(max_examples=examples(150))
def test_a_change_of_any_column_of_any_entry_is_named(
    shared_address: Address, shared_journal: Journal, head: int, data: st.DataObject
) -> None:
    seq = data.draw(st.integers(1, head), label="entry")
    column = data.draw(st.sampled_from(COLUMNS), label="column")
    with connected(shared_address) as run:
        [(before,)] = run(f"SELECT {column} FROM entries WHERE seq = ?", seq)
        after = data.draw(_another(column, before), label="value")
        where = after if column == "seq" else seq
        run(f"UPDATE entries SET {column} = ? WHERE seq = ?", after, seq)
        try:
            found = shared_journal.verify()
        finally:
            run(f"UPDATE entries SET {column} = ? WHERE seq = ?", before, where)
    assert seq in named(found)
    assert shared_journal.verify() == []


def _another(column: str, before: object) -> st.SearchStrategy[object]:
    """Any other value that the column can have."""
    if column == "seq":  # beyond the last, so that it is not the number of another entry
        return st.integers(1000, 2**62)
    if column == "off_path":
        return st.integers(0, 3).filter(lambda value: value != before)
    if column in NUMBERS:
        return st.integers(1000, 2**62) | st.integers(-(2**62), -1)
    texts: st.SearchStrategy[object] = st.text(st.characters(min_codepoint=1, codec="utf-8"), max_size=30).filter(
        lambda text: text != before
    )
    if isinstance(before, str) and before:
        texts |= st.integers(0, len(before) - 1).map(lambda at: before[:at] + "~" + before[at + 1 :])
    if column in ("key", "hash", "instance"):  # others have the same; these have an index that would refuse it
        return texts.filter(bool)
    return texts


CHANGES = {
    "one byte of a stored entry": ("UPDATE entries SET reason = 'becauSe' WHERE seq = 2", {2}),
    "the time of an entry": ("UPDATE entries SET time = '2020-01-01T00:00:00.000Z' WHERE seq = 2", {2}),
    "who did it": ("UPDATE entries SET actor_id = 'somebody else' WHERE seq = 6", {6}),
    "a deleted entry in the middle": ("DELETE FROM entries WHERE seq = 7", {7}),
    "two deleted entries in the middle": ("DELETE FROM entries WHERE seq IN (7, 8)", {7}),
    "the first entry deleted": ("DELETE FROM entries WHERE seq = 1", {1}),
    "an entry that was emptied": ("UPDATE entries SET evidence = '{}' WHERE seq = 1", {1}),
    "an entry that is no longer JSON": ("UPDATE entries SET evidence = 'x' WHERE seq = 6", {6}),
}


@pytest.mark.parametrize(("statement", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_entry_is_named(honest: Journal, address: Address, statement: str, expected: set[int]) -> None:
    sql(address, statement)
    assert named(problems(address)) >= expected
    assert named(honest.verify()) >= expected


def test_the_last_entries_deleted_are_missed(honest: Journal, address: Address) -> None:
    last = honest.entries()[-1]
    sql(address, "DELETE FROM entries WHERE seq = ?", last.seq)
    [problem] = problems(address)
    assert (problem.code, problem.instance) == ("missing", last.instance)
    _is_not_rebuilt(honest, address)


def test_all_entries_of_an_instance_deleted_at_the_end_are_missed(journal: Journal, address: Address) -> None:
    journal.create("thread", created())
    last = journal.create("thread", created()).entry
    sql(address, "DELETE FROM entries WHERE seq = ?", last.seq)
    [problem] = problems(address)
    assert (problem.code, problem.instance) == ("missing", last.instance)
    _is_not_rebuilt(journal, address)


def _is_not_rebuilt(journal: Journal, address: Address) -> None:
    """What was made by entries that are gone is not thrown away."""
    before = dump(address)
    failed(journal.rebuild, "journal_tampered")
    assert dump(address) == before


def test_a_swapped_pair_is_named(honest: Journal, address: Address) -> None:
    for was, becomes in ((8, 1000), (9, 8), (1000, 9)):
        sql(address, "UPDATE entries SET seq = ? WHERE seq = ?", becomes, was)
    assert named(problems(address)) >= {8, 9}


@pytest.mark.parametrize("seq", [1, 2, 9])
def test_an_entry_that_was_rewritten_with_a_right_hash_is_given_away_by_the_next_one(
    honest: Journal, address: Address, seq: int
) -> None:
    entry = honest.entries()[seq - 1]
    rewritten = replace(entry, actor_id="somebody else")
    values = (rewritten.actor_id, rewritten.computed_hash(), seq)
    sql(address, "UPDATE entries SET actor_id = ?, hash = ? WHERE seq = ?", *values)
    assert [(problem.code, problem.seq) for problem in problems(address)] == [("chain_broken", seq + 1)]
    _is_not_rebuilt(honest, address)


def test_a_forged_entry_with_a_right_hash_is_named_when_the_table_has_no_such_move(
    honest: Journal, address: Address
) -> None:
    last = honest.entries()[-1]
    story = honest.instances("story")[0]
    forged = replace(
        last,
        seq=last.seq + 1,
        instance=story.id,
        version=2,
        event="tests_passed",
        from_state=story.state,
        to_state="EXIT",
        off_path=0,
        key=None,
        evidence="{}",
        previous=last.hash,
    )
    _put(address, replace(forged, hash=forged.computed_hash()))
    found = problems(address)
    assert [(problem.code, problem.seq, problem.instance) for problem in found] == [
        ("rule_broken", forged.seq, story.id)
    ]


def test_a_forged_entry_that_the_table_allows_differs_from_the_instances(honest: Journal, address: Address) -> None:
    last, ticket = honest.entries()[-1], honest.instances("ticket")[0]
    forged = replace(
        last,
        seq=last.seq + 1,
        instance=ticket.id,
        version=2,
        event="superseded",
        actor_kind="system",
        from_state=ticket.state,
        to_state=ticket.state,
        key=None,
        evidence="{}",
        off_path=0,
        previous=last.hash,
    )
    _put(address, replace(forged, hash=forged.computed_hash()))
    assert [(problem.code, problem.instance) for problem in problems(address)] == [("projection_differs", ticket.id)]


def test_an_entry_forged_into_the_middle_is_named(honest: Journal, address: Address) -> None:
    """Everything after it is moved up and keeps its own hash."""
    entries = honest.entries()
    at = entries[9]
    for entry in reversed(entries[9:]):
        sql(address, "UPDATE entries SET seq = seq + 1 WHERE seq = ?", entry.seq)
    forged = replace(at, instance=entries[3].instance, version=2, event="observed", key=None, from_state=at.to_state)
    _put(address, replace(forged, hash=forged.computed_hash()))
    assert named(problems(address)) >= {10, 11}


def _put(address: Address, entry: Entry) -> None:
    marks = ", ".join("?" * len(COLUMNS))
    sql(address, f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({marks})", *astuple(entry))


# Projections

ROWS = {
    "its state": "state = 'Approved'",
    "an older version": "version = version - 1",
    "its outcome": "outcome = 'abandoned'",
    "its data": 'data = \'{"state":"Done"}\'',
    "its parent": "parent = NULL",
    "its machine": "machine = 'ticket'",
    "its digest": "digest = '00'",
    "when it was made": "created = '2020-01-01T00:00:00.000Z'",
    "when it moved": "updated = '2020-01-01T00:00:00.000Z'",
}


@pytest.mark.parametrize("change", ROWS.values(), ids=ROWS.keys())
def test_a_changed_instance_is_named_and_made_right_again(honest: Journal, address: Address, change: str) -> None:
    thread, before = honest.instances("thread")[0].id, dump(address)
    sql(address, f"UPDATE instances SET {change} WHERE id = ?", thread)
    assert [(problem.code, problem.instance) for problem in problems(address)] == [("projection_differs", thread)]
    assert honest.rebuild() == 4
    assert dump(address) == before
    assert problems(address) == []


@pytest.mark.parametrize("loss", ["DELETE FROM instances", "DELETE FROM instances WHERE machine = 'story'"])
def test_lost_instances_are_named_and_made_anew_byte_for_byte(honest: Journal, address: Address, loss: str) -> None:
    before = dump(address)
    sql(address, loss)
    assert {problem.code for problem in problems(address)} == {"projection_differs"}
    assert honest.rebuild() == 4
    assert dump(address) == before


def test_an_instance_at_a_version_that_it_has_no_entry_for_is_named(honest: Journal, address: Address) -> None:
    thread = honest.instances("thread")[0].id
    sql(address, "UPDATE instances SET version = version + 1 WHERE id = ?", thread)
    assert [(problem.code, problem.instance) for problem in problems(address)] == [("missing", thread)]
    _is_not_rebuilt(honest, address)


def test_an_instance_put_there_by_hand_is_named(honest: Journal, address: Address) -> None:
    id_ = "0" * 26
    sql(
        address,
        "INSERT INTO instances SELECT ?, machine, digest, parent, state, version, outcome, data, created, updated"
        " FROM instances WHERE machine = 'story'",
        id_,
    )
    assert [(problem.code, problem.instance) for problem in problems(address)] == [("missing", id_)]
    _is_not_rebuilt(honest, address)


@pytest.mark.parametrize(("statement", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_tampered_chain_is_not_rebuilt_and_nothing_is_changed(
    honest: Journal, address: Address, statement: str, expected: set[int]
) -> None:
    sql(address, statement)
    sql(address, "UPDATE instances SET state = 'Approved' WHERE machine = 'ticket'")
    before = dump(address)
    with pytest.raises(Tampered) as refusal:
        honest.rebuild()
    assert refusal.value.code == "journal_tampered"
    assert refusal.value.hint
    assert str(min(expected)) in refusal.value.message
    assert dump(address) == before


# Machines

DEFINITIONS = {
    "its definition": "UPDATE machines SET definition = replace(definition, 'Abandoned', 'Successful')",
    "nothing left": "DELETE FROM machines",
    "its name": "UPDATE machines SET name = 'another' WHERE name = 'thread'",
    "its version": "UPDATE machines SET version = 99 WHERE name = 'thread'",
}


@pytest.mark.parametrize("anew", [True, False], ids=["opened anew", "still open"])
@pytest.mark.parametrize("statement", DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_a_changed_machine_definition_is_named(honest: Journal, address: Address, statement: str, anew: bool) -> None:
    sql(address, statement)
    found = problems(address) if anew else honest.verify()
    assert found
    assert all(problem.message for problem in found)


# A journal that lives


class Interleaved(SqliteStore):
    """A store on which something happens in the middle of a reading, once."""

    def __init__(self, path: Path, clock: Clock, meanwhile: Callable[[], object]) -> None:
        super().__init__(path, clock)
        self._meanwhile: Callable[[], object] | None = meanwhile

    @contextmanager
    def read(self) -> Iterator[Sql]:
        with super().read() as sql:
            yield _Watched(sql, self._happen)

    def _happen(self, statement: str) -> None:
        if self._meanwhile is not None and "FROM instances" in statement:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()


class _Watched:
    def __init__(self, sql: Sql, before: Callable[[str], None]) -> None:
        self._sql = sql
        self._before = before
        self.dialect, self.memory = sql.dialect, sql.memory

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        self._before(statement)
        return self._sql.rows(statement, parameters)


def test_what_is_written_while_a_journal_is_verified_is_no_problem(sqlite_address: Path, clock: Clock) -> None:
    writer = open_journal(sqlite_address, now=clock)
    id_ = writer.create("thread", created()).entry.instance
    reader = Journal(Interleaved(sqlite_address, clock, lambda: writer.append(id_, Event("assess", HUMAN))), now=clock)
    assert reader.verify() == []
    assert writer.instance(id_).version == 2
    reader.close()
    writer.close()


def test_text_that_is_no_utf_8_in_a_stored_entry_is_a_problem_like_any_other(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    write_history(sqlite_journal)
    sql(sqlite_address, "UPDATE entries SET reason = CAST(x'ff' AS TEXT) WHERE seq = 2")
    assert 2 in named(problems(sqlite_address))
