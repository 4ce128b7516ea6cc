"""Approvals: asked for, bound to what was shown, signed where a key is enrolled; and every refusal is kept."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.gates.approval import approval, refused_attempt
from interlock.work.gates.audit import audit
from interlock.work.gates.display import visible
from interlock.work.gates.enrolling import revoke
from interlock.work.gates.overview import overview
from interlock.work.gates.presence import at_terminal, present
from interlock.work.gates.stage import stage, staged
from interlock.work.gates.statement import Approval, digest_of
from interlock.work.gates.trust import trust_of
from interlock.world.ssh import is_signed

from .scenes import SPEC, Person, enrolled, finalize, needs_ssh, new_thread, open_place

NOBODY = Person(Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST))


def failed(code: str, work: object, *arguments: object, **more: object) -> InterlockError:
    assert callable(work)
    with pytest.raises(InterlockError) as caught:
        work(*arguments, **more)
    assert caught.value.code == code
    return caught.value


# Without a key


def test_an_approval_says_who_what_where_and_at_which_head(place: Journal) -> None:
    thread = new_thread(place, NOBODY)
    given = msgspec.convert(
        approval(place, NOBODY, thread, "finalize", SPEC, event="finalize", shown="# Spec", choice="as it is"), Approval
    )
    said = given.statement
    assert (said.machine, said.instance, said.event, said.gate) == ("thread", thread, "finalize", "finalize")
    assert (said.subject, said.hash, said.choice) == ("spec", SPEC, "as it is")
    assert (said.person, said.channel) == ("ada@example.org", "test")
    assert said.shown == digest_of("# Spec")
    assert said.repository == trust_of(place).repository
    newest = place.entries()[-1]
    assert (said.head.seq, said.head.hash) == (newest.seq, newest.hash)
    assert (given.key, given.signature) == (None, None)


def test_a_gate_that_was_passed_without_a_key_holds(place: Journal) -> None:
    finalize(place, NOBODY, new_thread(place, NOBODY))
    assert place.verify() == []
    assert audit(place) == []


def test_a_no_passes_nothing_and_is_kept(place: Journal) -> None:
    thread = new_thread(place, NOBODY)
    failed("gate_declined", finalize, place, replace(NOBODY, answer=False), thread)
    assert place.instance(thread).state == "Drafting"
    [attempt] = overview(place).refused
    assert (attempt.instance, attempt.gate, attempt.who) == (thread, "finalize", "ada@example.org")
    assert "finalize" in attempt.why


def test_an_attempt_on_something_that_is_not_there_fails_silently(place: Journal) -> None:
    refused_attempt(place, "0" * 26, NOBODY.actor, "approve", "no")
    assert overview(place).refused == []


# With a key


@needs_ssh
def test_with_a_key_the_approval_is_signed_and_needs_only_the_public_half(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    recorded = finalize(place, ada, new_thread(place, ada))
    given = msgspec.convert(recorded.entry.decoded_evidence().data["approval"], Approval)
    assert given.key == ada.fingerprint
    assert ada.public is not None
    assert given.signature is not None
    assert is_signed(given.statement.canonical(), given.signature, ada.public)
    assert ada.file is not None
    ada.file.with_suffix("").unlink()
    assert audit(place) == []
    assert audit(place, ada.fingerprint) == []


@needs_ssh
def test_with_a_key_a_gate_does_not_open_without_a_signature(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    thread = new_thread(place, ada)
    failed("signature_required", finalize, place, NOBODY, thread)
    assert place.instance(thread).state == "Drafting"
    assert [one.why for one in overview(place).refused] == ["no enrolled key signed"]


@needs_ssh
def test_a_key_that_is_not_enrolled_does_not_open_it(place: Journal, ada: Person, bob: Person) -> None:
    enrolled(place, ada)
    failed("signature_required", finalize, place, bob, new_thread(place, ada))


@needs_ssh
def test_the_canonical_bytes_are_the_same_from_the_journal(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    recorded = finalize(place, ada, new_thread(place, ada))
    data = recorded.entry.decoded_evidence().data["approval"]
    text = json.dumps(data["statement"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert msgspec.convert(data, Approval).statement.canonical() == text.encode()


# Keys in and out


@needs_ssh
def test_the_first_key_signs_for_itself_and_what_guards_it_is_kept(place: Journal, ada: Person) -> None:
    key = enrolled(place, ada)
    assert (key.fingerprint, key.guard, key.person) == (ada.fingerprint, "none", "ada@example.org")
    assert [one.fingerprint for one in trust_of(place).enrolled] == [ada.fingerprint]
    assert audit(place, ada.fingerprint) == []


@needs_ssh
def test_a_second_key_needs_the_first_ones_signature_and_its_own(place: Journal, ada: Person, bob: Person) -> None:
    enrolled(place, ada)
    failed("signature_required", enrolled, place, bob)
    enrolled(place, bob, by=ada)
    assert [one.fingerprint for one in trust_of(place).enrolled] == [ada.fingerprint, bob.fingerprint]
    finalize(place, bob, new_thread(place, bob))
    assert audit(place) == []
    assert audit(place, ada.fingerprint) == [], "ada vouched for bob"
    [problem] = audit(place, "SHA256:another")
    assert problem.code == "key_unknown"


@needs_ssh
def test_a_key_is_enrolled_once(place: Journal, ada: Person) -> None:
    enrolled(place, ada)
    failed("key_enrolled", enrolled, place, ada)


@needs_ssh
def test_the_last_key_cannot_be_revoked_and_a_revoked_one_does_not_come_back(
    place: Journal, ada: Person, bob: Person
) -> None:
    enrolled(place, ada)
    failed("key_needed", revoke, place, ada, ada.fingerprint)
    enrolled(place, bob, by=ada)
    revoke(place, bob, ada.fingerprint)
    assert [one.fingerprint for one in trust_of(place).enrolled] == [bob.fingerprint]
    failed("unknown_key", revoke, place, bob, ada.fingerprint)
    failed("key_revoked", enrolled, place, ada, by=bob)
    thread = new_thread(place, ada)
    failed("signature_required", finalize, place, ada, thread)
    finalize(place, bob, thread)
    assert audit(place) == []
    assert audit(place, ada.fingerprint) == []
    assert audit(place, bob.fingerprint) == []


# Who is there


AGENTS = ["CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI", "RALPH_SESSION_ID", "RALPH_RUN"]


@pytest.mark.parametrize("marker", AGENTS)
def test_nobody_is_there_in_the_environment_of_an_agent(marker: str, tmp_path: Path) -> None:
    assert "runs under" in failed("person_needed", at_terminal, {marker: "1"}, tmp_path).message


def test_nobody_is_there_without_a_terminal_or_in_batch(tmp_path: Path) -> None:
    failed("person_needed", at_terminal, {}, tmp_path)
    failed("person_needed", at_terminal, {}, tmp_path, batch=True)


def test_an_attempt_by_nobody_is_kept_with_its_reason(place: Journal, tmp_path: Path) -> None:
    thread = new_thread(place, NOBODY)
    failed("person_needed", present, place, thread, "approve", {"CLAUDECODE": "1"}, tmp_path)
    [attempt] = overview(place).refused
    assert (attempt.kind, attempt.who, attempt.gate) == ("agent", "claude", "approve")
    assert "claude" in attempt.why


def test_what_cannot_be_seen_is_marked() -> None:
    assert visible("a\x1b[2Jb\u202ec\u200bd\r\n\te") == "a⟦U+001B⟧[2Jb⟦U+202E⟧c⟦U+200B⟧d⟦U+000D⟧\n\te"


# The stage


def test_somebody_is_staged_only_where_this_process_made_the_place(tmp_path: Path, root: Path, place: Journal) -> None:
    assert staged(root, "test").actor == Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)
    other = tmp_path / "other"
    other.mkdir()
    failed("person_needed", staged, other, "test")
    failed("person_needed", staged, tmp_path / "missing", "test")
    failed("person_needed", staged, root, "cli")


def test_a_repository_that_is_there_already_is_no_stage(tmp_path: Path) -> None:
    (tmp_path / "real" / ".git").mkdir(parents=True)
    failed("person_needed", stage, tmp_path / "real")


def test_a_directory_that_is_not_temporary_is_no_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    failed("person_needed", stage, tmp_path / "elsewhere")
    assert stage(tmp_path / "temporary" / "here").is_dir()
    (tmp_path / "temporary" / "link").symlink_to(tmp_path / "elsewhere")
    failed("person_needed", stage, tmp_path / "temporary" / "link")


def test_another_directory_in_the_place_of_a_stage_is_none(tmp_path: Path, root: Path, place: Journal) -> None:
    root.rename(tmp_path / "moved")
    root.mkdir()
    failed("person_needed", staged, root, "test")


def test_whoever_is_staged_has_no_say_in_another_journal(tmp_path: Path, root: Path, place: Journal) -> None:
    presence = staged(root, "test")
    other = open_place(tmp_path / "second")
    thread = new_thread(other, NOBODY)
    failed("person_needed", approval, other, presence, thread, "finalize", SPEC, event="finalize", shown="x")
    assert other.instances("trust") == []
    other.close()


@needs_ssh
def test_on_a_stage_a_key_to_be_thrown_away_signs_and_its_channel_shows(root: Path, place: Journal) -> None:
    presence = staged(root, "demo")
    thread = new_thread(place, NOBODY)
    given = approval(place, presence, thread, "finalize", SPEC, event="finalize", shown="x")
    assert given["signature"]
    assert given["statement"]["channel"] == "demo"
    assert [one.channel for one in overview(place).passed] == ["demo"]


def test_on_a_stage_without_keys_nothing_is_signed(root: Path, place: Journal) -> None:
    presence = staged(root, "test", is_signing=False)
    given = approval(place, presence, new_thread(place, NOBODY), "finalize", SPEC, event="finalize", shown="x")
    assert "signature" not in given
