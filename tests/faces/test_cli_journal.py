"""`ralph journal`: verify, export and rebuild, on a real journal in a real repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from faces.journals import STATES, SYSTEM, journal_file, opened, tampered, write_session
from faces.programs import Result, run, run_here
from interlock.machine import Event

Ralph = Callable[..., Result]
ENTRIES = 1 + len(STATES)


@pytest.fixture
def session(repository: Path) -> str:
    """A session in the repository's journal; its id."""
    with opened(repository) as journal:
        return write_session(journal)


@pytest.fixture
def ralph(repository: Path, environment: dict[str, str]) -> Ralph:
    """`ralph journal …` in the repository, in this process."""
    return lambda *words: run_here("journal", *words, cwd=repository, env=environment)


# A repository in which nothing has happened yet


def test_reading_a_journal_that_is_not_there_gives_nothing_and_makes_nothing(ralph: Ralph, repository: Path) -> None:
    before = sorted(repository.rglob("*"))
    assert ralph("verify", "--json").data == {"entries": 0, "instances": 0, "gates": 0, "signed": 0}
    assert ralph("rebuild", "--json").data == {"instances": 0}
    assert ralph("export") == Result(0, "", "")
    assert sorted(repository.rglob("*")) == before


# Verify


def test_verify_accepts_a_journal_as_it_was_written(
    session: str, repository: Path, environment: dict[str, str]
) -> None:
    result = run("journal", "verify", cwd=repository, env=environment)
    assert result.code == 0
    assert result.out.startswith(f"✓ {ENTRIES} entries of 1 instances")
    data = run("journal", "verify", "--json", cwd=repository, env=environment).data
    assert data == {"entries": ENTRIES, "instances": 1, "gates": 0, "signed": 0}


def test_verify_works_in_every_directory_of_the_repository(
    session: str, repository: Path, environment: dict[str, str]
) -> None:
    deep = repository / "some" / "directory"
    deep.mkdir(parents=True)
    assert run_here("journal", "verify", "--json", cwd=deep, env=environment).data["entries"] == ENTRIES


CHANGES = {
    "the reason": ("UPDATE entries SET reason = 'another' WHERE seq = 2", "changed"),
    "the actor": ("UPDATE entries SET actor_kind = 'human' WHERE seq = 2", "changed"),
    "the time": ("UPDATE entries SET time = '2020-01-01T00:00:00.000Z' WHERE seq = 2", "changed"),
    "the state": ("UPDATE entries SET to_state = 'committing' WHERE seq = 2", "changed"),
    "one byte of the evidence": ("UPDATE entries SET evidence = evidence || ' ' WHERE seq = 2", "changed"),
    "the hash": (f"UPDATE entries SET hash = '{'0' * 64}' WHERE seq = 2", "changed"),
}


@pytest.mark.parametrize(("statement", "code"), CHANGES.values(), ids=CHANGES)
def test_verify_names_the_entry_that_was_changed(
    statement: str, code: str, session: str, repository: Path, environment: dict[str, str]
) -> None:
    tampered(repository, statement)
    result = run("journal", "verify", cwd=repository, env=environment)
    assert result.code == 7
    assert f"✗ {code}: entry 2 ('update_session_state' of {session})" in result.out
    assert "[journal_tampered]" in result.err
    assert "entry 2" in result.err
    error = run_here("journal", "verify", "--json", cwd=repository, env=environment).error
    assert error["code"] == "journal_tampered"
    assert error["hint"]
    first = error["details"]["problems"][0]
    assert (first["code"], first["seq"], first["instance"]) == (code, 2, session)


@pytest.mark.parametrize("seq", range(1, ENTRIES + 1))
def test_verify_misses_no_entry_that_was_removed(seq: int, session: str, ralph: Ralph, repository: Path) -> None:
    tampered(repository, "DELETE FROM entries WHERE seq = ?", str(seq))
    error = ralph("verify", "--json").error
    assert error["code"] == "journal_tampered"
    assert error["details"]["problems"]


def test_verify_sees_an_instance_that_was_moved_by_hand(session: str, ralph: Ralph, repository: Path) -> None:
    tampered(repository, "UPDATE instances SET state = 'done'")
    [problem] = ralph("verify", "--json").error["details"]["problems"]
    assert (problem["code"], problem["instance"]) == ("projection_differs", session)


def test_a_file_that_is_no_journal_is_not_touched(ralph: Ralph, repository: Path) -> None:
    file = journal_file(repository)
    file.parent.mkdir()
    file.write_text("These are my notes, and not a database at all.\n" * 40, encoding="utf-8")
    before = file.read_bytes()
    for verb in ("verify", "export", "rebuild"):
        assert ralph(verb, "--json").error["code"] == "not_a_journal"
    assert file.read_bytes() == before


# Export


def test_export_writes_every_entry_as_a_line_of_json(
    session: str, repository: Path, environment: dict[str, str]
) -> None:
    result = run("journal", "export", cwd=repository, env=environment)
    assert (result.code, result.err) == (0, "")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, ENTRIES + 1))
    assert [line["to_state"] for line in lines[1:]] == list(STATES)
    assert all(line["instance"] == session for line in lines)
    assert lines[0]["evidence"]["data"]["ticket_id"] == "7"
    for before, after in pairwise(lines):
        assert after["previous"] == before["hash"]


def test_export_is_complete(repository: Path, ralph: Ralph) -> None:
    """More entries than are read at a time, and every field of every one of them."""
    with opened(repository) as journal:
        journal.transact(lambda many: [many.create("session", Event("created", SYSTEM)) for _ in range(1100)])
        entries = list(journal.all_entries())
    lines = [json.loads(line) for line in ralph("export").out.splitlines()]
    assert len(lines) == len(entries) == 1100
    for line, entry in zip(lines, entries, strict=True):
        fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
        assert line == {**fields, "evidence": json.loads(entry.evidence)}


def test_export_with_json_is_the_same_stream_of_lines(session: str, ralph: Ralph) -> None:
    assert ralph("export", "--json").out == ralph("export").out


def test_export_to_a_file_says_how_much_it_wrote(session: str, ralph: Ralph, outside: Path) -> None:
    target = outside / "all.jsonl"
    assert ralph("export", "--output", target, "--json").data == {"entries": ENTRIES, "file": str(target)}
    assert target.read_text(encoding="utf-8") == ralph("export").out
    other = outside / "more.jsonl"
    result = ralph("export", "--output", other)
    assert result.out == f"✓ {ENTRIES} entries in {other}\n"


def test_export_never_writes_over_a_file(session: str, repository: Path, environment: dict[str, str]) -> None:
    target = repository / "precious.txt"
    target.write_text("mine", encoding="utf-8")
    result = run("journal", "export", "--output", target, cwd=repository, env=environment)
    assert result.code == 1
    assert "[file_exists]" in result.err
    assert str(target) in result.err
    assert target.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("target", ["none/all.jsonl", "."])
def test_export_to_where_nothing_can_be_written_says_so(target: str, session: str, ralph: Ralph) -> None:
    error = ralph("export", "--output", target, "--json").error
    assert error["code"] in ("invalid_argument", "file_exists")
    assert target in error["message"]


def test_an_entry_that_cannot_be_read_is_named_and_not_exported_as_something_else(
    session: str, ralph: Ralph, repository: Path, outside: Path
) -> None:
    tampered(repository, "UPDATE entries SET evidence = 'no JSON' WHERE seq = 3")
    error = ralph("export", "--output", outside / "all.jsonl", "--json").error
    assert error["code"] == "journal_tampered"
    assert "3" in error["message"]


# Rebuild


def test_rebuild_makes_the_instances_anew_from_the_entries(
    session: str, ralph: Ralph, repository: Path, environment: dict[str, str]
) -> None:
    with opened(repository) as journal:
        before = journal.instances()
    tampered(repository, "UPDATE instances SET state = 'done', data = '{}'")
    result = run("journal", "rebuild", cwd=repository, env=environment)
    assert (result.code, result.out) == (0, "✓ 1 instances made anew from their entries.\n")
    with opened(repository) as journal:
        assert journal.instances() == before
    tampered(repository, "DELETE FROM instances")
    assert ralph("rebuild", "--json").data == {"instances": 1}
    assert ralph("verify", "--json").data["instances"] == 1


def test_rebuild_changes_nothing_where_the_entries_do_not_hold(session: str, ralph: Ralph, repository: Path) -> None:
    tampered(repository, "UPDATE entries SET to_state = 'done' WHERE seq = 3")
    with opened(repository) as journal:
        before = journal.instances()
    assert ralph("rebuild", "--json").error["code"] == "journal_tampered"
    with opened(repository) as journal:
        assert journal.instances() == before
