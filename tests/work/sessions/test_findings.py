"""Where what was reported and what was observed do not agree: each is an entry, none is silently believed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, load_shipped
from interlock.work.sessions.findings import WrittenFile, after_end, of_others, of_session
from interlock.work.sessions.record import record_of
from interlock.work.sessions.upkeep import written_beside, written_in_state, written_since
from interlock.work.sessions.verbs import Caller, complete, create, note, update
from interlock.world.place import Place
from journal.histories import Clock

AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)
HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)


def begun(journal: Journal, work_tree: str | None = None, ticket: str = "42") -> str:
    return journal.transact(
        create(Caller(AGENT, "claude", place=Place(work_tree) if work_tree is not None else None), ticket=ticket)
    ).session_id


def codes(journal: Journal, session: str) -> list[str]:
    return [str(finding.data["code"]) for finding in record_of(journal.history(session)).findings]


def ran_tests(journal: Journal, session: str, *, success: bool) -> None:
    data = {"tool": "Bash", "about": "pytest", "tests": True, "success": success, "known": True}
    journal.transact(note(session, "tool_end", HOOK, data))


@pytest.mark.requirement("session:finding:write-outside-state")
def test_a_file_that_a_hook_saw_written_while_analyzing_is_found_when_the_state_is_left(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "analyzing", AGENT))
    journal.transact(note(session, "file_change", HOOK, {"file": "src/app.py", "tool": "Write"}))
    moved = journal.transact(update(session, "implementing", AGENT))
    assert moved.findings == ["src/app.py was written in 'analyzing'"]
    assert codes(journal, session) == ["write_outside_state"]
    finding = journal.history(session)[-1]
    assert (finding.event, finding.actor_kind) == ("noted", "system")


def test_a_file_written_while_implementing_is_no_finding(journal: Journal) -> None:
    session = begun(journal)
    for state in ("analyzing", "implementing"):
        journal.transact(update(session, state, AGENT))
    journal.transact(note(session, "file_change", HOOK, {"file": "src/app.py"}))
    assert journal.transact(update(session, "testing", AGENT)).findings == []


@pytest.mark.requirement("session:finding:tests-unreported")
def test_tests_that_ran_and_were_never_reported_are_found_at_the_end(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "testing", AGENT))
    ran_tests(journal, session, success=True)
    assert "no results were reported" in journal.transact(complete(session, "success", AGENT)).findings[0]
    assert codes(journal, session) == ["tests_unreported"]


def test_tests_that_were_reported_at_any_time_are_no_finding(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "testing", AGENT))
    ran_tests(journal, session, success=True)
    journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 3, "failed": 0}}))
    assert journal.transact(complete(session, "success", AGENT)).findings == []


def test_tests_reported_as_passed_that_a_hook_saw_fail_are_found(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "testing", AGENT))
    ran_tests(journal, session, success=True)
    ran_tests(journal, session, success=False)
    moved = journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 3, "failed": 0}}))
    assert codes(journal, session) == ["tests_contradicted"]
    assert "had failed" in moved.findings[0]


def test_the_last_run_counts_and_one_whose_end_is_not_known_counts_for_nothing(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "testing", AGENT))
    ran_tests(journal, session, success=False)
    journal.transact(note(session, "tool_end", HOOK, {"tool": "Bash", "tests": True, "success": True, "known": False}))
    assert journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 3}})).findings == []


@pytest.mark.requirement("session:finding:silent")
@pytest.mark.parametrize("state", ["idle", "analyzing", "implementing", "testing", "committing", "reviewing"])
def test_silence_longer_than_the_states_typical_duration_is_found(journal: Journal, clock: Clock, state: str) -> None:
    most = (load_shipped("session").states[state].typical_seconds or [0])[-1]
    session = begun(journal)
    if state != "idle":
        journal.transact(update(session, state, AGENT))
    following = "implementing" if state != "implementing" else "testing"
    clock.forward(most - 1)
    journal.transact(note(session, "progress", AGENT, {"message": "still here"}))
    clock.forward(most - 1)
    assert journal.transact(update(session, following, AGENT)).findings == []
    journal.transact(update(session, state if state != "idle" else "analyzing", AGENT))
    clock.forward(most + 61)
    [found] = journal.transact(update(session, following, AGENT)).findings
    assert "nothing was heard" in found


def test_a_tool_that_runs_is_no_silence(journal: Journal, clock: Clock) -> None:
    session = begun(journal)
    journal.transact(update(session, "testing", AGENT))
    journal.transact(note(session, "tool_start", HOOK, {"tool": "Bash", "about": "make test", "call": "1"}))
    clock.forward(5000)
    assert record_of(journal.history(session)).quiet(journal.now()) == 0
    journal.transact(note(session, "tool_end", HOOK, {"tool": "Bash", "call": "1", "success": True}))
    assert journal.transact(update(session, "implementing", AGENT)).findings == []


def test_a_tool_whose_end_no_hook_saw_is_over_when_the_agent_reports(journal: Journal, clock: Clock) -> None:
    session = begun(journal)
    journal.transact(update(session, "analyzing", AGENT))
    journal.transact(note(session, "tool_start", HOOK, {"tool": "Bash", "call": "1"}))
    journal.transact(update(session, "implementing", AGENT))
    clock.forward(5000)
    [found] = journal.transact(update(session, "testing", AGENT)).findings
    assert "nothing was heard" in found


def test_what_a_hook_saw_counts_from_when_it_saw_it_not_from_when_it_was_written_down(
    journal: Journal, clock: Clock
) -> None:
    session = begun(journal)
    journal.transact(update(session, "analyzing", AGENT))
    moments = []
    for _ in range(5):
        clock.forward(60)
        moments.append(f"{_iso(clock)}")
    for seen in moments:
        journal.transact(note(session, "progress", HOOK, {"at": seen}))
    assert journal.transact(update(session, "implementing", AGENT)).findings == []


def _iso(clock: Clock) -> str:
    from interlock.journal.ids import time_text

    return time_text(clock())


# What no hook saw


def _write(root: Path, name: str, at: float) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("x\n")
    os.utime(root / name, (at, at))


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", root], check=True, timeout=60)
    (root / ".gitignore").write_text("ignored/\n")
    os.utime(root / ".gitignore", (1, 1))
    return root


@pytest.mark.requirement("session:finding:unseen-write")
def test_a_file_written_while_analyzing_that_no_hook_saw_is_found_by_the_check_at_the_end(
    sqlite_journal: Journal, clock: Clock, work_tree: Path
) -> None:
    session = begun(sqlite_journal, str(work_tree))
    sqlite_journal.transact(update(session, "analyzing", AGENT))
    clock.forward(30)
    _write(work_tree, "src/sneaky.py", sqlite_journal.now())
    _write(work_tree, "ignored/cache.bin", sqlite_journal.now())
    clock.forward(30)
    sqlite_journal.transact(update(session, "implementing", AGENT))
    clock.forward(30)
    _write(work_tree, "src/honest.py", sqlite_journal.now())
    clock.forward(30)
    written = written_since(sqlite_journal, session, None)
    assert [one.path for one in written] == ["src/sneaky.py", "src/honest.py"]
    [found] = sqlite_journal.transact(complete(session, "success", AGENT, written=written)).findings
    assert "src/sneaky.py was written" in found
    assert "'analyzing'" in found
    assert codes(sqlite_journal, session) == ["unseen_write"]


def test_what_no_hook_saw_is_found_as_soon_as_the_state_is_left_and_not_again_at_the_end(
    sqlite_journal: Journal, clock: Clock, work_tree: Path
) -> None:
    def report(state: str) -> list[str]:
        clock.forward(30)
        written = written_in_state(sqlite_journal, session, None)
        return sqlite_journal.transact(update(session, state, AGENT, written=written)).findings

    def write(name: str) -> None:
        clock.forward(10)
        _write(work_tree, name, sqlite_journal.now())

    session = begun(sqlite_journal, str(work_tree))
    assert report("analyzing") == []
    write("early.py")
    [found] = report("implementing")
    assert found.startswith("early.py was written at ")
    assert found.endswith("in 'analyzing'; no hook saw it")
    write("honest.py")
    assert report("testing") == []
    assert report("committing") == []
    assert report("reviewing") == []
    write("late.py")
    [found] = report("reviewing")
    assert found.startswith("late.py was written at "), "also where the same state is reported again"
    write("later.py")
    clock.forward(30)
    written = written_since(sqlite_journal, session, None)
    [found] = sqlite_journal.transact(complete(session, "success", AGENT, written=written)).findings
    assert found.startswith("later.py was written at ")
    assert codes(sqlite_journal, session) == ["unseen_write"] * 3


def test_what_is_written_after_the_agent_has_completed_its_session_is_found(
    sqlite_journal: Journal, clock: Clock
) -> None:
    session = begun(sqlite_journal)
    machine = load_shipped("session")
    late = [WrittenFile("late.py", sqlite_journal.now() + 60)]
    assert after_end(record_of(sqlite_journal.history(session)), machine, late) == []
    clock.forward(30)
    sqlite_journal.transact(complete(session, "success", AGENT))
    record = record_of(sqlite_journal.history(session))
    assert [(one.code, one.state) for one in after_end(record, machine, late)] == [("unseen_write", "done")]
    early = [WrittenFile("early.py", sqlite_journal.now() - 10)]
    assert after_end(record, machine, early) == []


def test_what_is_written_in_the_main_work_tree_beside_a_session_is_found_unless_another_worked_there(
    sqlite_journal: Journal, clock: Clock, work_tree: Path, tmp_path: Path
) -> None:
    earlier = begun(sqlite_journal, str(work_tree))
    sqlite_journal.transact(complete(earlier, "success", AGENT))
    clock.forward(30)
    session = begun(sqlite_journal, str(tmp_path / "own"))
    clock.forward(30)
    _write(work_tree, "src/sneaky.py", sqlite_journal.now())
    beside = written_beside(sqlite_journal, session, work_tree)
    assert [one.path for one in beside] == ["src/sneaky.py"]
    [found] = of_others("idle", beside)
    assert found.message.startswith("src/sneaky.py was written in the repository's own work tree")
    assert of_others("idle", []) == []
    clock.forward(30)
    here = begun(sqlite_journal, str(work_tree), "43")
    assert written_beside(sqlite_journal, session, work_tree) == [], "it may be the work of that one"
    assert written_beside(sqlite_journal, here, work_tree) == [], "it is where it should be"


def test_a_file_that_a_hook_did_see_is_not_found_twice(sqlite_journal: Journal, clock: Clock) -> None:
    session = begun(sqlite_journal)
    sqlite_journal.transact(update(session, "analyzing", AGENT))
    clock.forward(30)
    sqlite_journal.transact(note(session, "file_change", HOOK, {"file": "/repo/src/app.py"}))
    record = record_of(sqlite_journal.history(session))
    seen = [WrittenFile("src/app.py", sqlite_journal.now() - 10)]
    other = [WrittenFile("pp.py", sqlite_journal.now() - 10)]
    clock.forward(30)
    machine, now = load_shipped("session"), sqlite_journal.now()
    assert of_session(record, machine, now, seen, False) == []
    assert [one.code for one in of_session(record, machine, now, other, False)] == ["unseen_write"]


def test_the_check_asks_git_so_that_nothing_of_a_hostile_repository_runs(
    sqlite_journal: Journal, work_tree: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    script = work_tree / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    script.chmod(0o755)
    config = work_tree / ".git" / "config"
    config.write_text(
        config.read_text()
        + f"[core]\n\tfsmonitor = {script}\n\thooksPath = {work_tree}\n"
        + f'[filter "evil"]\n\tclean = {script}\n\tsmudge = {script}\n'
    )
    (work_tree / ".gitattributes").write_text("* filter=evil\n")
    session = begun(sqlite_journal, str(work_tree))
    assert {one.path for one in written_since(sqlite_journal, session, None)} >= {"evil.sh"}
    assert not canary.exists()


@pytest.mark.parametrize("place", ["gone", "file", "plain"])
def test_a_work_tree_that_cannot_be_asked_gives_nothing_and_stops_nothing(
    sqlite_journal: Journal, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "plain").mkdir()
    session = begun(sqlite_journal, str(tmp_path / place))
    assert written_since(sqlite_journal, session, None) == []
    assert sqlite_journal.transact(complete(session, "success", AGENT)).outcome == "success"
