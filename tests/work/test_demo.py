"""The demo: real tickets, a real thread, a real loop, and nothing that could be taken for somebody's approval."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import msgspec
import pytest

from faces.journals import journal_file, trusting
from interlock.journal import Journal, open_journal
from interlock.machine import Channel
from interlock.work.demo import Project, Saw, Scene, SceneMove, SceneRefusal, play
from interlock.work.gates.audit import audit
from interlock.work.gates.stage import stage, staged


class Played(msgspec.Struct, frozen=True):
    """A demo that was played once, for everything that is asked of it here."""

    project: Project
    journal: Journal
    scenes: list[Scene]
    was_durable: bool
    heads: list[tuple[Scene, int, int]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    root = stage(tmp_path_factory.mktemp("demo") / "repository")
    project = Project(root)
    project.make()
    (root / ".git" / "info" / "exclude").write_text(".ralf/\n")
    (root / ".ralf").mkdir()
    journal = open_journal(journal_file(root), created=trusting(root))
    other = open_journal(journal_file(root))
    scenes, heads, durable, head = [], [], True, 0
    for scene in play(journal, project, lambda session, tool, given: None, staged(root, "demo")):
        if isinstance(scene, SceneMove):
            entry = scene.recorded.entry
            durable &= other.entries(entry.seq - 1)[0] == entry
        scenes.append(scene)
        heads.append((scene, head, journal.head()))
        head = journal.head()
    yield Played(project, journal, scenes, durable, heads)
    journal.close()
    other.close()


def test_a_ticket_a_thread_a_loop_and_their_sessions_end_in_success(played: Played) -> None:
    ended = {one.machine for one in played.journal.instances() if one.outcome == "success"}
    assert ended == {"ticket", "thread", "story", "orchestrator", "session"}
    others = [(one.machine, one.outcome) for one in played.journal.instances() if one.outcome not in ("success", None)]
    assert others == [("session", "cancelled")], "that of the driver that was killed"
    assert list(played.journal.verify()) == []
    assert audit(played.journal) == []


def test_every_move_is_in_the_journal_when_it_is_told(played: Played) -> None:
    assert played.was_durable


def test_what_is_refused_moves_nothing(played: Played) -> None:
    codes = [scene.error.code for scene in played.scenes if isinstance(scene, SceneRefusal)]
    assert set(codes) == {"target_not_allowed", "lock_held", "refused_by_rule", "person_needed", "proof_required"}
    for scene, before, after in played.heads:
        if isinstance(scene, SceneRefusal):
            noted = played.journal.entries(before)[: after - before]
            assert all(one.event == "noted" for one in noted), "an attempt at a gate is kept, and moves nothing"


def test_nobody_can_take_its_approvals_for_real_ones(played: Played) -> None:
    named = [scene for scene in played.scenes if isinstance(scene, Saw) and scene.who == "key"]
    assert len(named) == (1 if shutil.which("ssh-keygen") else 0), "a key to be thrown away is named as such"
    people = [entry for entry in played.journal.all_entries() if entry.actor_kind == "human"]
    assert {entry.channel for entry in people} == {Channel.DEMO}


def test_two_lies_are_caught_and_what_is_committed_was_proven(played: Played) -> None:
    [thread] = played.journal.instances("thread")
    events = [one.event for one in played.journal.history(thread.id)]
    assert events.count("criteria_failed") == 2
    seen = [scene.text for scene in played.scenes if isinstance(scene, Saw) and scene.who == "verifier"]
    assert "exit 1" in seen[0]
    assert "skip" in seen[1]
    [passed, *_] = [one for one in reversed(played.journal.history(thread.id)) if one.event == "criteria_passed"]
    tree = passed.decoded_evidence().subjects["tree"]
    git = played.project.git
    assert git("rev-parse", f"ralf/{thread.id}^{{tree}}") == tree
    assert git("log", "--format=%s", "main").splitlines() == [
        "progress: the loop ends after 3 iterations",
        "story-1-1 task 2: Test it",
        "story-1-1 task 1: Greet in French",
        "A story",
        "Greet people by name",
        "The plan for greeting people by name",
        "A greeting",
    ]
    assert git("status", "--porcelain") == "M greet.py", "what the orchestrator built is left for the person to commit"


def test_the_thread_hangs_on_its_ticket_and_each_run_on_who_sent_it(played: Played) -> None:
    named = {one.id: one.machine for one in played.journal.instances()}
    parents = {(one.machine, named.get(one.parent or "")) for one in played.journal.instances()}
    assert parents == {
        ("trust", None),
        ("ticket", None),
        ("thread", "ticket"),
        ("story", None),
        ("orchestrator", None),
        ("session", None),
        ("session", "ticket"),
        ("session", "thread"),
        ("session", "story"),
        ("session", "orchestrator"),
    }
