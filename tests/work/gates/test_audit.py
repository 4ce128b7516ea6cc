"""The audit: whatever somebody writes into the journal behind our back, no gate counts as passed that was not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import examples
from interlock.errors import Tampered
from interlock.journal import Entry, Journal, Problem, open_journal
from interlock.journal.entry import encode
from interlock.machine import Event, Evidence
from interlock.work.gates.approval import approval
from interlock.work.gates.audit import audit
from interlock.work.gates.enrolling import revoke
from interlock.work.gates.statement import digest_of
from interlock.work.gates.trust import trust_of
from interlock.world.ssh import sign

from .scenes import (
    SPEC,
    Person,
    enrolled,
    finalize,
    needs_ssh,
    new_thread,
    open_place,
    passed,
    rewritten,
    signs,
    with_data,
)

pytestmark = needs_ssh


def codes(problems: list[Problem]) -> set[str]:
    return {problem.code for problem in problems}


def accept_settings(journal: Journal, person: Person, text: str) -> None:
    """What `ralph config accept` does."""
    trust = trust_of(journal).repository
    assert trust is not None
    given = approval(
        journal,
        person,
        trust,
        "settings",
        digest_of(text),
        event="settings_accepted",
        shown=text,
        subject="settings",
        word="accept",
    )
    data = {"text": text, "approval": given}
    journal.append(trust, Event("settings_accepted", person.actor, evidence=Evidence(data=data)))


def play(journal: Journal, ada: Person, bob: Person) -> str:
    """Two keys and three gates; one thread of them."""
    first = new_thread(journal, ada)
    finalize(journal, Person(ada.actor), first)  # before there was any key
    enrolled(journal, ada)
    enrolled(journal, bob, by=ada)
    second, third = new_thread(journal, ada), new_thread(journal, bob)
    finalize(journal, ada, second)
    accept_settings(journal, bob, "[thread]\n")
    finalize(journal, bob, third, "6" * 40)
    revoke(journal, ada, bob.fingerprint)
    journal.append(second, Event("reopen", ada.actor))
    finalize(journal, ada, second, "7" * 40)
    return second


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A journal in which much was approved, the fingerprint of the first key, and a thread; nobody changes it."""
    directory = tmp_path_factory.mktemp("played")
    ada, bob = signs(directory / "keys", "ada"), signs(directory / "keys", "bob")
    journal = open_place(directory / "repository")
    thread = play(journal, ada, bob)
    assert journal.verify() == []
    assert audit(journal) == audit(journal, ada.fingerprint) == []
    path = journal.file
    journal.close()
    assert path is not None
    return path, ada.fingerprint, thread


@contextmanager
def copied(path: Path, directory: Path) -> Iterator[Path]:
    """A copy of a journal that may be changed."""
    copy = directory / "copy.db"
    shutil.copy(path, copy)
    yield copy
    for one in directory.glob("copy.db*"):
        one.unlink()


def found(path: Path, fingerprint: str | None = None) -> tuple[list[Problem], list[Problem]]:
    """What the journal itself finds, and what the audit finds."""
    journal = open_journal(path)
    try:
        return journal.verify(), audit(journal, fingerprint)
    finally:
        journal.close()


def approvals(path: Path) -> list[Entry]:
    journal = open_journal(path)
    try:
        return [entry for entry in journal.all_entries() if "approval" in entry.decoded_evidence().data]
    finally:
        journal.close()


def test_it_is_the_same_in_each_kind_of_database(journal: Journal, ada: Person, bob: Person) -> None:
    play(journal, ada, bob)
    assert journal.verify() == audit(journal) == audit(journal, ada.fingerprint) == []
    seq = passed(journal, ada, new_thread(journal, ada), None).entry.seq
    assert [(one.code, one.seq) for one in audit(journal)] == [("approval_missing", seq)]


# Any change


FIELDS = [
    *("version", "repository", "machine", "instance", "event", "gate", "subject", "hash", "choice", "shown"),
    *("person", "channel", "time", "head.seq", "head.hash"),
]


@given(data=st.data())
@settings(max_examples=examples(120))
def test_any_change_of_a_signed_approval_is_found_even_when_the_chain_was_made_anew(
    played: tuple[Path, str, str], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path, fingerprint, _ = played
    signed = [one for one in approvals(path) if one.decoded_evidence().data["approval"].get("signature")]
    entry = data.draw(st.sampled_from(signed), label="entry")
    name = data.draw(st.sampled_from([*FIELDS, "key", "signature"]), label="field")
    value = data.draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40), label="value")
    number = data.draw(st.integers(0, 1000), label="number")

    def change(found: dict[str, Any]) -> None:
        at, *rest = f"statement.{name}".split(".") if name in FIELDS else [name]
        inside = found["approval"]
        for step in rest:
            inside, at = inside[at], step
        new = number if isinstance(inside[at], int) else value
        inside[at] = new if new != inside[at] else f"{new}0"

    with copied(path, tmp_path_factory.mktemp("copy")) as copy:
        rewritten(copy, lambda one: with_data(one, change) if one.seq == entry.seq else one)
        sound, problems = found(copy, data.draw(st.sampled_from([None, fingerprint]), label="with the key"))
        assert sound == [], "whoever made the chain anew leaves no trace in it"
        assert entry.seq in {problem.seq for problem in problems}


@given(data=st.data())
@settings(max_examples=examples(60))
def test_any_change_before_a_signature_is_found_even_when_the_chain_was_made_anew(
    played: tuple[Path, str, str], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path, fingerprint, _ = played
    last = approvals(path)[-1].decoded_evidence().data["approval"]["statement"]["head"]["seq"]
    seq = data.draw(st.integers(1, last), label="entry")
    column = data.draw(st.sampled_from(["reason", "actor_id", "time", "key"]), label="column")
    with copied(path, tmp_path_factory.mktemp("copy")) as copy:
        rewritten(copy, lambda one: replace(one, **{column: "another"}) if one.seq == seq else one)
        assert found(copy, data.draw(st.sampled_from([None, fingerprint]), label="with the key"))[1] != []


def test_an_entry_that_was_cut_out_before_a_signature_is_found(played: tuple[Path, str, str], tmp_path: Path) -> None:
    path, fingerprint, _ = played
    notes = [one.seq for one in approvals(path)]
    for seq in notes[:-1]:
        with copied(path, tmp_path) as copy:
            rewritten(copy, lambda one, seq=seq: None if one.seq == seq else one)  # type: ignore[misc]
            assert found(copy, fingerprint)[1] != []


# One attack each


def test_the_same_approval_twice_is_found(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    thread = new_thread(place, ada)
    given = finalize(place, ada, thread).entry.decoded_evidence().data["approval"]
    place.append(thread, Event("reopen", ada.actor))
    again = passed(place, ada, thread, given)
    assert [(one.code, one.seq) for one in audit(place)] == [("approval_replayed", again.entry.seq)]


def test_an_approval_of_another_hash_is_found(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    thread = new_thread(place, ada)
    given = approval(place, ada, thread, "finalize", "6" * 40, event="finalize", shown="x")
    passed(place, ada, thread, given, SPEC)
    [problem] = audit(place)
    assert problem.code == "approval_differs"
    assert problem.message.endswith("something else: hash")


def test_an_approval_of_another_instance_is_found(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    one, other = new_thread(place, ada), new_thread(place, ada)
    passed(place, ada, other, approval(place, ada, one, "finalize", SPEC, event="finalize", shown="x"))
    assert [problem.message.rsplit(": ")[-1] for problem in audit(place)] == ["instance"]


def test_an_approval_from_another_repository_is_found(place: Journal, ada: Person, tmp_path: Path) -> None:
    other = open_place(tmp_path / "other")
    for journal in (other, place):
        enrolled(journal, ada)
    given = approval(other, ada, new_thread(other, ada), "finalize", SPEC, event="finalize", shown="x")
    other.close()
    passed(place, ada, new_thread(place, ada), given)
    [problem] = audit(place)
    assert "repository" in problem.message
    assert "head" in problem.message


def test_a_gate_without_an_approval_is_found_with_and_without_a_key(place: Journal, ada: Person) -> None:
    before = passed(place, ada, new_thread(place, ada), None)
    enrolled(place, ada)
    after = passed(place, ada, new_thread(place, ada), None)
    problems = audit(place)
    assert [(one.code, one.seq) for one in problems] == [
        ("approval_missing", before.entry.seq),
        ("approval_missing", after.entry.seq),
    ]


@pytest.mark.parametrize("given", ["yes", 1, [], {"statement": {}}, {"statement": "x"}, {"signed": True}])
def test_something_else_in_the_place_of_an_approval_is_found(place: Journal, ada: Person, given: object) -> None:
    enrolled(place, ada)
    entry = passed(place, ada, new_thread(place, ada), given).entry
    assert [(one.code, one.seq) for one in audit(place)] == [("approval_unreadable", entry.seq)]


def test_an_unsigned_approval_is_found_once_there_is_a_key(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    thread = new_thread(place, ada)
    given = approval(place, ada, thread, "finalize", SPEC, event="finalize", shown="x")
    entry = passed(place, ada, thread, {"statement": given["statement"]}).entry
    assert [(one.code, one.seq) for one in audit(place)] == [("approval_unsigned", entry.seq)]


def test_a_signature_by_a_key_that_is_not_enrolled_is_found(place: Journal, ada: Person, bob: Person) -> None:
    enrolled(place, ada)
    thread = new_thread(place, ada)
    given = approval(place, ada, thread, "finalize", SPEC, event="finalize", shown="x")
    statement = encode(given["statement"]).encode()
    assert bob.public is not None
    mallorys = sign(statement, bob.public, bob.file)
    for key, code in ((bob.fingerprint, "key_unknown"), (ada.fingerprint, "signature_invalid")):
        passed(place, ada, thread, {**given, "key": key, "signature": mallorys.text})
        assert code in codes(audit(place))
        place.append(thread, Event("reopen", ada.actor))


def test_what_a_revoked_key_signs_afterwards_is_found(place: Journal, ada: Person, bob: Person) -> None:
    enrolled(place, ada)
    enrolled(place, bob, by=ada)
    thread = new_thread(place, ada)
    given = approval(place, bob, thread, "finalize", SPEC, event="finalize", shown="x")
    revoke(place, ada, bob.fingerprint)
    entry = passed(place, bob, thread, given).entry
    assert [(one.code, one.seq) for one in audit(place)] == [("key_unknown", entry.seq)]


def vouching(journal: Journal, signer: Person, new: Person) -> dict[str, Any]:
    """The approval of a new key by somebody whose key is enrolled."""
    trust = trust_of(journal).repository
    assert trust is not None
    assert new.public is not None
    digest = digest_of(new.public.line)
    return approval(
        journal, signer, trust, "key", digest, event="key_enrolled", shown="x", subject="key", choice="none"
    )


def _write_enrollment(journal: Journal, by: Person, given: object, possession: str = "") -> int:
    """Enroll by hand, past everything that `enroll` checks."""
    trust = trust_of(journal).repository
    assert trust is not None
    assert by.public is not None
    data = {"key": by.public.line, "presence": "none", "possession": possession, "approval": given}
    return journal.append(trust, Event("key_enrolled", by.actor, evidence=Evidence(data=data))).entry.seq


def test_a_key_that_nobody_vouched_for_is_found_and_so_is_all_that_it_signs(
    place: Journal, ada: Person, bob: Person
) -> None:
    enrolled(place, ada)
    assert bob.public is not None
    given = vouching(place, ada, bob)
    statement = encode(given["statement"]).encode()
    forged = {**given, "key": bob.fingerprint, "signature": sign(statement, bob.public, bob.file).text}
    seq = _write_enrollment(place, replace_actor(bob, ada), forged, forged["signature"])
    passing = finalize(place, bob, new_thread(place, bob)).entry.seq
    problems = audit(place, ada.fingerprint)
    assert {seq, passing} <= {one.seq for one in problems}
    assert {"key_unknown"} <= codes(problems)


def replace_actor(person: Person, other: Person) -> Person:
    return Person(other.actor, person.file, person.public)


def test_a_second_record_of_keys_is_found_and_opens_no_gate(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    place.create("trust", Event("created", ada.actor, evidence=Evidence(names=("trust",))))
    assert "trust_forked" in codes(audit(place))
    with pytest.raises(Tampered):
        finalize(place, Person(ada.actor), new_thread(place, ada))


@pytest.mark.parametrize("data", [{"key": "x"}, {"key": 1}, {"key": "ssh-ed25519 AAAA", "presence": "none"}])
def test_a_key_that_is_none_is_found_and_opens_no_gate(place: Journal, ada: Person, data: dict[str, Any]) -> None:
    enrolled(place, ada)
    trust = trust_of(place).repository
    assert trust is not None
    evidence = Evidence(data={**data, "approval": "yes"})
    seq = place.append(trust, Event("key_enrolled", ada.actor, evidence=evidence)).entry.seq
    assert [(one.code, one.seq) for one in audit(place)] == [("approval_unreadable", seq)]
    with pytest.raises(Tampered):
        finalize(place, ada, new_thread(place, ada))


def test_other_settings_than_those_that_were_accepted_are_found(place: Journal, ada: Person, root: Path) -> None:
    enrolled(place, ada)
    accept_settings(place, ada, "safe = true\n")
    assert audit(place) == []
    assert place.file is not None
    place.close()
    last = approvals(place.file)[-1].seq
    evil: Callable[[dict[str, Any]], object] = lambda data: data.update(text="evil = true\n")  # noqa: E731
    rewritten(place.file, lambda one: with_data(one, evil) if one.seq == last else one)
    assert "approval_differs" in codes(found(place.file)[1])


def test_a_machine_without_gates_under_the_name_of_ours_is_found(root: Path, ada: Person) -> None:
    """Whoever can write into the file can have threads begin by a table of his own."""
    from interlock.machine import load_shipped
    from interlock.machine.load import compile_machine, definition_path, parse

    honest = definition_path("thread").read_text(encoding="utf-8")
    table = honest.replace('gate = "finalize"\n', "")
    weak = compile_machine(parse(table))
    open_place(root).close()
    machines = lambda name: weak if name == "thread" else load_shipped(name)  # noqa: E731
    journal = open_journal(root / ".ralf" / "journal.db", machines)
    enrolled(journal, ada)
    thread = new_thread(journal, ada)
    journal.append(thread, Event("finalize", ada.actor))
    assert journal.verify() == []
    assert codes(audit(journal)) == {"machine_weakened"}
    journal.close()


# With one's own key


def test_a_journal_that_somebody_made_without_my_key_is_found(place: Journal, ada: Person, bob: Person) -> None:
    """A whole journal put in the place of mine: its keys are all in order, and mine is not among them."""
    enrolled(place, bob)
    finalize(place, bob, new_thread(place, bob))
    assert audit(place) == []
    assert [one.code for one in audit(place, ada.fingerprint)] == ["key_unknown"]


def test_nobody_can_enroll_my_key_without_having_it(place: Journal, ada: Person, bob: Person) -> None:
    """Mallory's own key is enrolled and signs; mine is put beside it, so that `--key` finds it."""
    enrolled(place, bob)
    given = vouching(place, bob, ada)
    seq = _write_enrollment(place, replace_actor(ada, bob), given, given["signature"])
    problems = audit(place, ada.fingerprint)
    assert ("signature_invalid", seq) in [(one.code, one.seq) for one in problems]
    assert "key_unknown" in codes(problems)


def test_an_older_key_that_mine_did_not_vouch_for_does_not_count_afterwards(
    place: Journal, ada: Person, bob: Person
) -> None:
    enrolled(place, bob)
    finalize(place, bob, new_thread(place, bob))
    enrolled(place, ada, by=bob)
    finalize(place, ada, new_thread(place, ada))
    assert audit(place, ada.fingerprint) == []
    entry = finalize(place, bob, new_thread(place, bob)).entry
    assert audit(place) == []
    assert [(one.code, one.seq) for one in audit(place, ada.fingerprint)] == [("key_not_vouched", entry.seq)]


def test_a_journal_that_was_cut_at_its_end_shows_only_to_whoever_kept_a_signed_head(
    played: tuple[Path, str, str], tmp_path: Path
) -> None:
    """This is what is not promised: nothing in a shorter journal says that it was longer."""
    path, fingerprint, _ = played
    kept = json.loads(encode(approvals(path)[-1].decoded_evidence().data["approval"]["statement"]["head"]))
    with copied(path, tmp_path) as copy:
        cut = approvals(path)[3].seq
        rewritten(copy, lambda one: one if one.seq <= cut else None)
        journal = open_journal(copy)
        assert audit(journal, fingerprint) == []
        assert [one.hash for one in journal.entries(kept["seq"] - 1, most=1)] != [kept["hash"]]
        journal.close()
