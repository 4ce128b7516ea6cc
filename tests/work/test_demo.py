"""The play: every machine takes part, every move is durable when it is told, every refusal leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.journal import Journal, open_journal
from interlock.machine import SHIPPED, Channel
from interlock.work.demo import Found, Heading, Hooked, Move, Refused, play


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = open_journal(tmp_path / "journal.db")
    yield journal
    journal.close()


def test_every_machine_takes_part_and_ends_in_success(journal: Journal) -> None:
    scenes = list(play(journal))
    ended = {one.machine for one in journal.instances() if one.outcome == "success"}
    assert ended == set(SHIPPED)
    assert {one.outcome for one in journal.instances()} <= {"success", None}
    assert sum(isinstance(scene, Move) for scene in scenes) == journal.head()
    assert list(journal.verify()) == []


def test_every_move_is_in_the_journal_when_it_is_told(journal: Journal, tmp_path: Path) -> None:
    other = open_journal(tmp_path / "journal.db")
    try:
        for scene in play(journal):
            if isinstance(scene, Move):
                assert scene.recorded.written
                assert other.entries(scene.recorded.entry.seq - 1)[0] == scene.recorded.entry
    finally:
        other.close()


def test_every_refusal_says_what_is_allowed_and_leaves_nothing_behind(journal: Journal) -> None:
    refusals, head = [], 0
    for scene in play(journal):
        if isinstance(scene, Refused):
            refusals.append(scene.error)
            assert scene.error.details["allowed"]
            assert journal.head() == head
        head = journal.head()
    assert {error.code for error in refusals} == {
        "target_not_allowed",
        "lock_held",
        "refused_by_rule",
        "person_needed",
        "proof_required",
    }


def test_nobody_can_take_its_approvals_for_real_ones(journal: Journal) -> None:
    list(play(journal))
    approvals = [entry for entry in journal.all_entries() if entry.actor_kind != "system"]
    assert {entry.channel for entry in approvals} == {Channel.DEMO}


def test_the_instances_hang_together(journal: Journal) -> None:
    list(play(journal))
    named = {one.id: one.machine for one in journal.instances()}
    parents = {(one.machine, named.get(one.parent or "")) for one in journal.instances()}
    assert parents == {
        ("ticket", None),
        ("thread", "ticket"),
        ("story", "thread"),
        ("session", "ticket"),
        ("session", "story"),
        ("orchestrator", "thread"),
    }


def test_it_can_be_played_again_on_the_same_journal(journal: Journal) -> None:
    first, second = list(play(journal)), list(play(journal))
    assert [_told(scene) for scene in first if not isinstance(scene, Found)] == [
        _told(scene) for scene in second if not isinstance(scene, Found)
    ]
    assert len(journal.instances()) == 2 * 9
    assert list(journal.verify()) == []


def _told(scene: Heading | Move | Refused | Hooked) -> tuple[str, ...]:
    assert not isinstance(scene, Hooked), "there is no hook to ask"
    if isinstance(scene, Heading):
        return (scene.text,)
    if isinstance(scene, Move):
        return scene.machine, scene.recorded.entry.event, scene.recorded.entry.to_state
    return scene.machine, scene.event.name, scene.error.code
