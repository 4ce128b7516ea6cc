"""What a session can be asked to do: begin, report, tell, end. On both databases, by a clock that the test sets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel, load_shipped
from interlock.work.sessions.prompt import reported_states
from interlock.work.sessions.record import TYPES, record_of
from interlock.work.sessions.upkeep import end_lost
from interlock.work.sessions.verbs import Caller, complete, create, note, update
from interlock.world.ancestry import started
from interlock.world.machines import machine_finder
from interlock.world.processes import Process, process_here
from journal.databases import Address, dump, sql
from journal.histories import Clock
from patience import SECONDS

AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)
PERSON = Actor(ActorKind.HUMAN, "me@example.com", Channel.CLI)
SOMEBODY = Caller(AGENT, "claude")
DEBUGGING = """
SELECT
  id,
  current_state,
  json_extract(state_history, '$[#-1].state') as last_state,
  json_extract(state_history, '$[#-1].metadata.error') as error
FROM ralph_sessions
WHERE outcome = 'failure'
ORDER BY completed_at DESC
LIMIT 10;
"""
WAY = ("analyzing", "implementing", "testing", "committing", "reviewing")


def begun(journal: Journal, ticket: str | None = "7.11", role: str | None = None) -> str:
    return journal.transact(create(SOMEBODY, ticket=ticket, role=role)).session_id


def refused(journal: Journal, work: Callable[..., object], address: Address) -> InterlockError:
    """The error of some work that must change nothing."""
    before = dump(address)
    with pytest.raises(InterlockError) as caught:
        journal.transact(work)
    assert dump(address) == before
    return caught.value


@pytest.mark.requirement("session:lifecycle")
def test_the_whole_flow_of_the_seed_leads_from_idle_to_done(journal: Journal) -> None:
    session = begun(journal)
    states = [journal.instance(session).state]
    for state in WAY:
        moved = journal.transact(update(session, state, AGENT))
        assert (moved.success, moved.previous_state, moved.new_state) == (True, states[-1], state)
        assert moved.warning is None
        assert not moved.off_path
        states.append(state)
    ended = journal.transact(complete(session, "success", AGENT))
    assert (ended.previous_state, ended.new_state, ended.outcome) == ("reviewing", "done", "success")
    record = record_of(journal.history(session))
    assert [stay.state for stay in record.stays] == ["idle", *WAY, "done"]
    assert record.stays[0].metadata == {"action": "session_created"}
    assert journal.verify() == []


@pytest.mark.requirement("session:history:accumulates")
def test_the_history_holds_every_transition_with_its_time_and_metadata(journal: Journal, clock: Clock) -> None:
    session = begun(journal)
    journal.transact(update(session, "analyzing", AGENT, {"files": ["a.py"], "free": {"deep": [1]}}))
    clock.forward(90)
    journal.transact(update(session, "implementing", AGENT))
    clock.forward(10)
    record = record_of(journal.history(session))
    assert [stay.since for stay in record.stays] == sorted(stay.since for stay in record.stays)
    assert record.stays[1].metadata == {"files": ["a.py"], "free": {"deep": [1]}}
    spent = record.totals(journal.now())
    assert round(spent["analyzing"]) == 90
    assert round(spent["implementing"]) == 10


@pytest.mark.requirement("session:update:unknown-session")
@pytest.mark.parametrize("reference", ["nope", "01m7fhajrb1mtzp073r5yf47zk", "", "../etc", "x" * 500])
def test_an_unknown_session_is_an_error_that_changes_nothing(
    journal: Journal, address: Address, reference: str
) -> None:
    begun(journal)
    works = (
        update(reference, "analyzing", AGENT),
        complete(reference, "success", AGENT),
        note(reference, "progress", AGENT),
    )
    for work in works:
        error = refused(journal, work, address)
        assert error.code == "unknown_session"
        assert "not found" in error.message
        assert "`ralph session create`" in error.hint


def test_an_instance_that_is_no_session_is_not_taken_for_one(journal: Journal, address: Address) -> None:
    begun(journal, "7.11")
    [ticket] = journal.instances("ticket")
    assert refused(journal, update(ticket.id, "analyzing", AGENT), address).code == "unknown_session"


@pytest.mark.requirement("session:update:completed-rejected")
@pytest.mark.parametrize("outcome", ["success", "failure", "timeout", "cancelled"])
def test_a_completed_session_rejects_updates_and_stays_as_it_ended(
    journal: Journal, address: Address, outcome: str
) -> None:
    session = begun(journal)
    journal.transact(complete(session, outcome, AGENT, "it broke" if outcome == "failure" else None))
    for work in (update(session, "testing", AGENT), complete(session, "success", AGENT)):
        error = refused(journal, work, address)
        assert error.code == "session_completed"
        assert f"already completed with outcome: {outcome}" in error.message
    assert journal.instance(session).state == ("done" if outcome == "success" else "failed")


@pytest.mark.requirement("session:update:states")
@pytest.mark.parametrize("state", ["idle", "done", "failed", "coding", "", "Analyzing"])
def test_only_the_phases_of_work_can_be_reported(journal: Journal, address: Address, state: str) -> None:
    session = begun(journal)
    error = refused(journal, update(session, state, AGENT), address)
    assert error.code in ("target_not_allowed", "unknown_state", "invalid_argument")
    assert reported_states(load_shipped("session")) == list(WAY)


@pytest.mark.requirement("session:debugging-query")
def test_the_seeds_debugging_query_runs_as_written(journal: Journal, address: Address) -> None:
    first, second = begun(journal, "1"), begun(journal, "2")
    journal.transact(update(first, "analyzing", AGENT))
    journal.transact(complete(first, "failure", AGENT, "the spec makes no sense"))
    journal.transact(complete(second, "failure", AGENT, "no disk"))
    journal.transact(note(first, "progress", AGENT, {"message": "told after the end"}))
    assert [tuple(row) for row in sql(address, DEBUGGING)] == [
        (second, "failed", "failed", "no disk"),
        (first, "failed", "failed", "the spec makes no sense"),
    ]


@pytest.mark.requirement("session:off-path")
def test_a_report_off_the_path_is_recorded_and_marked(journal: Journal) -> None:
    session = begun(journal)
    moved = journal.transact(update(session, "committing", AGENT))
    assert moved.off_path
    assert "off the path" in (moved.warning or "")
    assert journal.history(session)[-1].off_path == 1
    assert record_of(journal.history(session)).stays[-1].off_path


@pytest.mark.requirement("session:strict")
def test_a_strict_machine_refuses_what_is_off_the_path_and_says_what_is_allowed(address: Address) -> None:
    journal = open_journal(address, machine_finder({}, lambda: "strict"))
    try:
        session = begun(journal)
        error = refused(journal, update(session, "committing", AGENT), address)
        assert error.code == "target_not_allowed"
        offered = [one["to"] for one in error.details["allowed"] if one["event"] == "update_session_state"]
        assert offered == ["analyzing"]
        assert journal.transact(update(session, "analyzing", AGENT)).new_state == "analyzing"
        assert journal.verify() == []
    finally:
        journal.close()


def test_in_a_strict_machine_the_same_state_again_is_told_and_what_is_no_report_stays_refused(address: Address) -> None:
    journal = open_journal(address, machine_finder({}, lambda: "strict"))
    try:
        session = begun(journal)
        assert refused(journal, update(session, "idle", AGENT), address).code == "target_not_allowed"
        journal.transact(update(session, "analyzing", AGENT))
        again = journal.transact(update(session, "analyzing", AGENT, {"message": "still"}, key="again"))
        assert (again.success, again.new_state, again.warning) == (True, "analyzing", "already in 'analyzing'")
        entries = dump(address)["entries"]
        journal.transact(update(session, "analyzing", AGENT, {"message": "still"}, key="again"))
        assert dump(address)["entries"] == entries
        journal.transact(complete(session, "failure", AGENT))
        assert refused(journal, update(session, "failed", AGENT), address).code == "session_completed"
    finally:
        journal.close()


@pytest.mark.requirement("session:same-state")
def test_the_same_state_again_succeeds_with_a_warning(journal: Journal) -> None:
    session = begun(journal)
    journal.transact(update(session, "analyzing", AGENT))
    again = journal.transact(update(session, "analyzing", AGENT, {"message": "still"}))
    assert again.success
    assert "already" in (again.warning or "")
    assert not again.off_path


@pytest.mark.requirement("session:tests-failed")
def test_to_commit_with_failed_tests_is_off_the_path(journal: Journal) -> None:
    session = begun(journal)
    for state in ("analyzing", "implementing", "testing"):
        journal.transact(update(session, state, AGENT))
    moved = journal.transact(update(session, "committing", AGENT, {"testResults": {"passed": 9, "failed": 1}}))
    assert moved.off_path


@pytest.mark.requirement("session:late-bug")
@pytest.mark.parametrize("late", ["committing", "reviewing"])
def test_a_bug_found_late_leads_back_to_implementing_on_the_path(journal: Journal, late: str) -> None:
    session = begun(journal)
    for state in WAY[: WAY.index(late) + 1]:
        journal.transact(update(session, state, AGENT))
    assert not journal.transact(update(session, "implementing", AGENT)).off_path


def test_what_is_allowed_next_is_what_the_table_says(journal: Journal) -> None:
    session = begun(journal)
    seen = {state: journal.transact(update(session, state, AGENT)).allowed_next for state in WAY}
    assert seen == {
        "analyzing": ["implementing"],
        "implementing": ["testing"],
        "testing": ["implementing", "committing"],
        "committing": ["reviewing", "implementing", "done"],
        "reviewing": ["implementing", "done"],
    }


def test_a_person_reports_nothing_for_an_agent_but_can_end_a_session(journal: Journal, address: Address) -> None:
    session = begun(journal)
    assert refused(journal, update(session, "analyzing", PERSON), address).code == "actor_not_allowed"
    assert refused(journal, complete(session, "success", PERSON), address).code == "refused_by_rule"
    assert journal.transact(complete(session, "cancelled", PERSON, "wrong ticket")).outcome == "cancelled"


# One open session a ticket


@pytest.mark.requirement("session:one-open")
def test_a_ticket_has_one_open_session_and_the_refusal_names_it(journal: Journal, address: Address) -> None:
    session = begun(journal, "42")
    error = refused(journal, create(SOMEBODY, ticket="42"), address)
    assert error.code == "session_open"
    assert session in error.message
    assert f"`ralph session update --session {session} " in error.hint
    journal.transact(complete(session, "success", AGENT))
    assert begun(journal, "42") != session


def test_several_roles_of_a_ticket_have_a_session_each(journal: Journal, address: Address) -> None:
    begun(journal, "42", role="coder")
    begun(journal, "42", role="reviewer")
    assert refused(journal, create(SOMEBODY, ticket="42", role="coder"), address).code == "session_open"


def test_sessions_without_a_ticket_are_as_many_as_you_like(journal: Journal) -> None:
    assert begun(journal, None) != begun(journal, None)
    assert journal.instances("ticket") == []


@contextmanager
def process() -> Iterator[tuple[Process, subprocess.Popen[bytes]]]:
    """A process that does nothing until it is ended."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield process_here(child.pid, started(child.pid) or ""), child
    finally:
        child.kill()
        child.communicate(timeout=SECONDS)


@pytest.mark.requirement("session:dead-closed")
def test_a_session_whose_agent_was_killed_is_closed_as_a_timeout_by_the_next_one(journal: Journal) -> None:
    with process() as (agent, child):
        first = journal.transact(create(Caller(AGENT, "claude", agent), ticket="42")).session_id
        assert end_lost(journal) == []
        child.send_signal(signal.SIGKILL)
        child.wait(SECONDS)
        opened = journal.transact(create(SOMEBODY, ticket="42"))
    assert opened.closed == [first]
    assert journal.instance(first).outcome == "timeout"
    assert record_of(journal.history(first)).state == "failed"


def test_a_stopped_agent_keeps_its_session_however_long_it_is_silent(
    journal: Journal, clock: Clock, address: Address
) -> None:
    with process() as (agent, child):
        journal.transact(create(Caller(AGENT, "claude", agent), ticket="42"))
        os.kill(child.pid, signal.SIGSTOP)
        clock.forward(100_000)
        assert end_lost(journal) == []
        assert refused(journal, create(SOMEBODY, ticket="42"), address).code == "session_open"


@pytest.mark.requirement("session:timeout")
def test_without_a_known_process_time_ends_a_session_and_every_report_prolongs_it(
    journal: Journal, clock: Clock
) -> None:
    session = begun(journal)
    for state in ("analyzing", "implementing"):
        clock.forward(3000)
        journal.transact(update(session, state, AGENT))
    clock.forward(3000)
    journal.transact(note(session, "progress", AGENT, {"message": "half way"}))
    clock.forward(3000)
    assert end_lost(journal) == []
    clock.forward(700)
    assert end_lost(journal) == [session]
    record = record_of(journal.history(session))
    assert (record.outcome, record.state) == ("timeout", "failed")
    assert "not completed" in (record.error or "")
    assert end_lost(journal) == []


def test_one_that_was_completed_is_never_ended_again(journal: Journal, clock: Clock) -> None:
    session = begun(journal)
    journal.transact(complete(session, "success", AGENT))
    clock.forward(100_000)
    assert end_lost(journal) == []
    assert journal.instance(session).outcome == "success"


# Keys, notes, secrets, names


def test_a_repeated_key_writes_nothing_and_gives_the_first_answer(journal: Journal, address: Address) -> None:
    first = journal.transact(create(SOMEBODY, ticket="42", key="make"))
    moved = journal.transact(update(first.session_id, "analyzing", AGENT, key="go"))
    before = dump(address)["entries"]
    assert journal.transact(create(SOMEBODY, ticket="42", key="make")).session_id == first.session_id
    again = journal.transact(update(first.session_id, "analyzing", AGENT, key="go"))
    assert (again.new_state, again.transitioned_at) == (moved.new_state, moved.transitioned_at)
    assert dump(address)["entries"] == before


@pytest.mark.parametrize("type_", TYPES)
def test_every_kind_of_event_can_be_told_and_moves_nothing(sqlite_journal: Journal, type_: str) -> None:
    session = begun(sqlite_journal)
    sqlite_journal.transact(note(session, type_, AGENT, {"message": "hello", "tool": "Bash"}))
    record = record_of(sqlite_journal.history(session))
    assert record.state == "idle"
    assert record.counts[type_] == (2 if type_ == "state_change" else 1)
    assert record.last is not None
    assert record.last.message == "hello"


def test_secrets_are_not_kept(journal: Journal, address: Address) -> None:
    session = begun(journal)
    token = "ghp_" + "a1B2" * 10
    journal.transact(note(session, "progress", AGENT, {"message": f"using {token}", "deep": [{"x": token}]}))
    journal.transact(update(session, "analyzing", AGENT, {"message": f"export GITHUB_TOKEN={token}"}))
    journal.transact(complete(session, "failure", AGENT, f"401 with {token}"))
    assert token not in str(dump(address))
    assert "[redacted:github]" in str(dump(address))


def test_rebuilding_gives_the_same_names_and_instances(journal: Journal, address: Address) -> None:
    with process() as (agent, _):
        journal.transact(create(Caller(AGENT, "claude", agent), ticket="42"))
    begun(journal, "43")
    before = dump(address)
    assert before["names"]
    journal.rebuild()
    assert dump(address) == before


def test_a_name_that_was_changed_by_hand_is_named_by_verify_and_mended_by_rebuild(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    begun(sqlite_journal, "42")
    first = dump(sqlite_address)["names"]
    sql(sqlite_address, "UPDATE names SET instance = 'nobody' WHERE name LIKE 'alias:%'")
    assert [problem.code for problem in sqlite_journal.verify()] == ["projection_differs"]
    sqlite_journal.rebuild()
    assert sqlite_journal.verify() == []
    assert dump(sqlite_address)["names"] == first
