"""Who holds a ticket, what ends it, and that two never do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from exhaustive import EXHAUSTIVE
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.lease_holders import process_holder
from interlock.work.sessions import verbs as sessions
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.locks import expire_lost, identities
from interlock.work.tickets.merged import merged_commit
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.queries import Filters, listed
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import edit
from interlock.work.views.ticket import ticket_view
from interlock.world import git as real_git
from interlock.world.processes import Process, this_process
from journal.children import Child, child
from journal.databases import Address, sql
from journal.histories import Clock

from .agents import asked, asking, caller_of, resume, stop
from .places import (
    AGENT,
    LOCKS,
    PERSON,
    TABLE,
    agent,
    begun,
    entries_of,
    held,
    moved,
    other_agent,
    person,
    place,
    refused,
    stranger,
)

BACK = {"Research in Progress": "Research Needed", "Plan in Progress": "Ready for Plan", "In Progress": "In Progress"}
"""Where a ticket goes from each lock state that is given back."""
LIMIT = TABLE.section("counters")["rework"]["limit"]


def holder(journal: Journal, number: int) -> str | None:
    return known_ticket(journal, number).snapshot.holder


def rework(journal: Journal, number: int) -> int:
    return ticket_view(journal, number, with_group=False).rework


@pytest.fixture
def helper(address: Address, journal: Journal) -> Iterator[Child]:
    """An agent in a process of its own."""
    with child(asking, address, "codex") as started:
        yield started


def known(helper: Child) -> tuple[Process, int]:
    found: tuple[Process, int] = helper.receive()
    return found


# Two at once


@pytest.mark.exhaustive
def test_of_two_processes_that_lock_at_once_one_wins_each_time_and_the_other_is_told_who(
    journal: Journal, address: Address
) -> None:
    rounds = 200 if EXHAUSTIVE else 12
    numbers = [place(journal, "Research Needed") for _ in range(10)]
    names = ("claude", "codex")
    wins = dict.fromkeys(names, 0)
    with child(asking, address, names[0]) as one, child(asking, address, names[1]) as two:
        agents = dict(zip(names, (one, two), strict=True))
        pids = {name: known(agent)[1] for name, agent in agents.items()}
        for round_ in range(rounds):
            number = numbers[round_ % len(numbers)]
            for agent_ in agents.values():
                agent_.send((number, {"command": "research", "intent": "lock"}))
            answers = {name: agent_.receive() for name, agent_ in agents.items()}
            [winner] = [name for name, answer in answers.items() if answer[0] == "Research in Progress"]
            loser = names[winner == names[0]]
            code, message, _ = answers[loser]
            assert code == "lock_held"
            assert f"held by {winner} (process {pids[winner]} on" in message
            wins[winner] += 1
            moved(journal, person(), number, to="Human Needed")
            moved(journal, person(), number, to="Research Needed")
    assert sum(wins.values()) == rounds
    locks = [entry for number in numbers for entry in entries_of(journal, number) if entry.event == "lock"]
    assert len(locks) == rounds


# A holder that is gone


@pytest.mark.parametrize("state", LOCKS)
def test_a_holder_that_is_killed_loses_its_lock_to_the_next_who_asks(
    journal: Journal, helper: Child, state: str
) -> None:
    process, pid = known(helper)
    number = place(journal, state)
    assert asked(helper, number, command=LOCKS[state], intent="lock")[0] == state
    assert refused(journal, agent(), number, command=LOCKS[state], intent="lock").code == "lock_held"
    helper.kill()
    told = moved(journal, agent(), number, command=LOCKS[state], intent="lock")
    assert told.new_state == state
    expired, locked = entries_of(journal, number)[-2:]
    assert (expired.event, expired.to_state, expired.actor_kind) == ("lock_expired", BACK[state], "system")
    assert f"({pid}) ended without giving the ticket back" in str(expired.reason)
    assert (locked.event, locked.actor_id) == ("lock", "claude")
    late = caller_of(process, "codex")
    error = refused(journal, late, number, command=LOCKS[state], intent="complete")
    assert error.code == "lock_held"
    assert "held by claude" in error.message
    assert rework(journal, number) == 1


def test_a_late_write_of_a_dead_holder_is_refused_although_nobody_took_its_lock(
    journal: Journal, helper: Child
) -> None:
    process, _ = known(helper)
    number = place(journal, "Ready for Plan")
    asked(helper, number, command="plan", intent="lock")
    helper.kill()
    before = journal.head()
    error = refused(journal, caller_of(process, "codex"), number, command="plan", intent="complete")
    assert error.code == "lock_unclaimed"
    assert journal.head() == before


def test_the_next_ticket_and_the_board_first_end_the_locks_of_those_who_are_gone(
    journal: Journal, helper: Child
) -> None:
    known(helper)
    number, mine = place(journal, "Ready for Plan"), held(journal, "Plan in Progress")
    asked(helper, number, command="plan", intent="lock")
    assert expire_lost(journal) == []
    machine = journal.machine_of(known_ticket(journal, number))
    assert not next_ticket(journal, machine, command="plan").found
    helper.kill()
    assert expire_lost(journal) == [known_ticket(journal, number).id]
    found = next_ticket(journal, machine, command="plan").ticket
    assert found is not None
    assert (found.number, found.is_locked) == (number, False)
    before = journal.head()
    assert expire_lost(journal) == []
    assert journal.head() == before
    assert holder(journal, mine) == agent().process.name  # type: ignore[union-attr]


def test_a_stopped_holder_is_never_robbed(journal: Journal, clock: Clock, helper: Child) -> None:
    _, pid = known(helper)
    number = place(journal, "Ready for Plan")
    asked(helper, number, command="plan", intent="lock")
    stop(pid)
    try:
        clock.forward(1_000_000)
        assert expire_lost(journal) == []
        assert refused(journal, agent(), number, command="plan", intent="lock").code == "lock_held"
    finally:
        resume(pid)
    assert asked(helper, number, command="plan", intent="complete")[0] == "Plan in Review"


def test_a_holder_on_another_host_loses_its_lock_by_time_only(journal: Journal, clock: Clock) -> None:
    far = Caller(AGENT, "claude", Process("far", "boot", 7, "1"))
    number = place(journal, "Ready for Plan")
    moved(journal, far, number, command="plan", intent="lock", timeout=600)
    clock.forward(500)
    assert expire_lost(journal) == []
    assert refused(journal, other_agent(), number, command="plan", intent="lock").code == "lock_held"
    clock.forward(200)
    assert len(expire_lost(journal)) == 1
    assert known_ticket(journal, number).state == "Ready for Plan"


def test_a_process_that_has_the_pid_of_a_dead_holder_is_not_taken_for_it(journal: Journal) -> None:
    me = this_process()
    earlier = Caller(AGENT, "claude", replace(me, started=str(int(me.started) - 1)))
    number = place(journal, "Ready for Plan")
    moved(journal, earlier, number, command="plan", intent="lock")
    assert refused(journal, agent(), number, command="plan", intent="complete").code == "lock_unclaimed"
    assert len(expire_lost(journal)) == 1


# What frees a ticket


@pytest.mark.sampled(9)
@pytest.mark.parametrize("state", LOCKS)
@pytest.mark.parametrize("intent", ["release", "complete", "escalate"])
def test_what_the_holder_leaves_is_free_for_others(journal: Journal, address: Address, state: str, intent: str) -> None:
    number = held(journal, state)
    moved(journal, agent(), number, command=LOCKS[state], intent=intent)
    assert holder(journal, number) is None
    assert sql(address, "SELECT count(*) FROM leases WHERE resource LIKE 'ticket:%' AND holder IS NOT NULL") == [(0,)]
    if intent == "release":
        assert moved(journal, other_agent(), number, command=LOCKS[state], intent="lock").new_state == state


def test_a_second_lock_by_the_holder_writes_nothing(journal: Journal) -> None:
    number = held(journal, "Plan in Progress")
    before = journal.head()
    told = moved(journal, agent(), number, command="plan", intent="lock")
    assert journal.head() == before
    assert (told.previous_state, told.new_state, told.guidance.note) == (
        "Plan in Progress",
        "Plan in Progress",
        "You hold it already.",
    )


@pytest.mark.parametrize("state", LOCKS)
def test_a_lock_state_that_nobody_holds_is_claimed_before_it_is_left(journal: Journal, state: str) -> None:
    number = place(journal, state)
    assert refused(journal, agent(), number, command=LOCKS[state], intent="complete").code == "lock_unclaimed"
    assert refused(journal, agent(), number, command=LOCKS[state], intent="release").code == "lock_unclaimed"
    moved(journal, agent(), number, command=LOCKS[state], intent="lock")
    moved(journal, agent(), number, command=LOCKS[state], intent="complete")


@pytest.mark.parametrize("state", LOCKS)
def test_a_person_may_leave_any_lock_state_whoever_holds_it(journal: Journal, state: str) -> None:
    ways = {row.to for row in TABLE.speaking(state, "handoff", "human")} - {None}
    assert "Human Needed" in ways
    for to in sorted(str(way) for way in ways):
        number = held(journal, state)
        assert moved(journal, person(), number, to=to).new_state == to
        assert holder(journal, number) is None
    number = held(journal, state)
    assert moved(journal, person(), number, intent="release").new_state == BACK[state]
    assert holder(journal, number) is None


def test_a_person_takes_a_lock_over_and_keeps_it_from_agents(journal: Journal) -> None:
    number = held(journal, "In Progress")
    moved(journal, person(), number, to="In Progress")
    assert holder(journal, number) == "person:ada"
    assert "held by ada" in refused(journal, agent(), number, command="impl", intent="complete").message
    assert expire_lost(journal) == []
    assert moved(journal, person("bob"), number, intent="complete").new_state == "In Review"


# Sessions


def test_a_sessions_lock_ends_with_the_session(journal: Journal) -> None:
    session = begun(journal, stranger())
    number = place(journal, "Ready for Plan")
    moved(journal, stranger(session), number, command="plan", intent="lock")
    assert holder(journal, number) == f"session:{session}"
    assert expire_lost(journal) == []
    error = refused(journal, agent(), number, command="plan", intent="lock")
    assert f"somebody (session …{session[-6:]})" in error.message
    journal.transact(sessions.complete(session, "success", AGENT))
    assert expire_lost(journal) == [known_ticket(journal, number).id]
    assert entries_of(journal, number)[-1].reason == f"session {session} ended (success) without giving the ticket back"
    assert moved(journal, agent(), number, command="plan", intent="lock").new_state == "Plan in Progress"


def test_the_lock_of_a_session_whose_process_was_killed_ends_both(journal: Journal, helper: Child) -> None:
    process, _ = known(helper)
    caller = caller_of(process, "codex")
    session = begun(journal, caller)
    number = place(journal, "Ready for Plan")
    asked(helper, number, command="plan", intent="lock")
    assert holder(journal, number) == f"session:{session}"
    helper.kill()
    assert moved(journal, agent(), number, command="plan", intent="lock").new_state == "Plan in Progress"
    assert journal.instance(session).outcome == "timeout"


def test_a_silent_session_loses_its_lock_by_time(journal: Journal, clock: Clock) -> None:
    session = journal.transact(sessions.create(stranger(), timeout=600)).session_id
    number = place(journal, "Ready for Plan")
    moved(journal, stranger(session), number, command="plan", intent="lock")
    clock.forward(500)
    assert expire_lost(journal) == []
    clock.forward(200)
    assert len(expire_lost(journal)) == 1
    assert journal.instance(session).outcome == "timeout"


def test_who_locked_as_a_process_is_known_again_when_it_has_a_session(journal: Journal) -> None:
    number = held(journal, "Plan in Progress")
    assert str(holder(journal, number)).startswith("process:")
    session = begun(journal)
    before = journal.head()
    moved(journal, agent(session), number, command="plan", intent="lock")
    assert journal.head() == before
    assert moved(journal, agent(), number, command="plan", intent="complete").new_state == "Plan in Review"


def test_who_locked_as_a_session_is_known_again_by_its_process(journal: Journal) -> None:
    session = begun(journal)
    number = held(journal, "Plan in Progress", agent(session))
    assert holder(journal, number) == f"session:{session}"
    before = journal.head()
    moved(journal, agent(), number, command="plan", intent="lock")
    assert journal.head() == before
    assert refused(journal, other_agent(), number, command="plan", intent="complete").code == "lock_held"
    assert moved(journal, agent(), number, command="plan", intent="complete").new_state == "Plan in Review"


def test_an_agent_of_whom_nothing_is_known_is_told_to_begin_a_session(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    error = refused(journal, stranger(), number, command="plan", intent="lock")
    assert error.code == "evidence_required"
    assert f'create_ralph_session({{"ticketId": "{number}"}})' in error.hint
    session = journal.transact(sessions.create(stranger(), ticket=str(number))).session_id
    assert moved(journal, stranger(session), number, command="plan", intent="lock").new_state == "Plan in Progress"


def test_a_session_that_has_ended_holds_nothing(journal: Journal) -> None:
    session = begun(journal, stranger())
    journal.transact(sessions.complete(session, "success", AGENT))
    number = place(journal, "Ready for Plan")
    before = journal.head()
    assert refused(journal, stranger(session), number, command="plan", intent="lock").code == "evidence_required"
    assert journal.head() == before
    moved(journal, agent(session), number, command="plan", intent="lock")
    assert holder(journal, number) == this_process().name


def test_a_session_that_does_not_exist_is_refused(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    before = journal.head()
    for called in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense", known_ticket(journal, number).id):
        assert refused(journal, stranger(called), number, command="plan", intent="lock").code == "unknown_session"
    assert journal.head() == before


def test_a_caller_is_its_session_before_its_process_and_a_person_is_only_that(journal: Journal) -> None:
    session = begun(journal)

    def known_as(caller: Caller) -> list[str]:
        return journal.transact(lambda transaction: identities(transaction, caller))

    assert known_as(agent()) == known_as(agent(session)) == [f"session:{session}", this_process().name]
    assert known_as(replace(agent(), actor=PERSON)) == ["person:ada"]
    assert known_as(stranger()) == []
    assert (process_holder().pid, process_holder().host) == (os.getpid(), this_process().host)


# Rework


def test_what_is_sent_back_is_counted_and_at_the_limit_a_person_is_needed(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    for count in range(1, LIMIT + 1):
        moved(journal, agent(), number, command="plan", intent="lock")
        moved(journal, agent(), number, command="plan", intent="complete")
        moved(journal, agent(), number, command="review", intent="reject")
        assert rework(journal, number) == count
    moved(journal, agent(), number, command="plan", intent="lock")
    moved(journal, agent(), number, command="plan", intent="complete")
    error = refused(journal, agent(), number, command="review", intent="reject")
    assert error.code == "refused_by_rule"
    assert '"intent": "escalate"' in error.hint
    moved(journal, person(), number, to="Ready for Plan")
    assert rework(journal, number) == 0


def test_a_ticket_is_not_split_into_backlog_without_end(journal: Journal) -> None:
    number = place(journal, "Backlog")
    for _ in range(LIMIT):
        moved(journal, agent(), number, command="split", intent="complete")
    assert refused(journal, agent(), number, command="split", intent="complete").code == "refused_by_rule"
    assert moved(journal, agent(), number, command="split", intent="escalate").new_state == "Human Needed"


@pytest.mark.parametrize("state", LOCKS)
def test_what_is_given_back_too_often_needs_a_person(journal: Journal, state: str) -> None:
    number, command = place(journal, state), LOCKS[state]
    for count in range(LIMIT):
        moved(journal, agent(), number, command=command, intent="lock")
        assert moved(journal, agent(), number, command=command, intent="release").new_state == BACK[state]
        assert rework(journal, number) == count + 1
    moved(journal, agent(), number, command=command, intent="lock")
    told = moved(journal, agent(), number, command=command, intent="release")
    assert told.new_state == "Human Needed"
    assert entries_of(journal, number)[-1].to_state == "Human Needed"


@pytest.mark.parametrize("state", LOCKS)
def test_what_too_many_holders_left_without_a_word_needs_a_person(journal: Journal, clock: Clock, state: str) -> None:
    number, command = place(journal, state), LOCKS[state]
    far = Caller(AGENT, "claude", Process("far", "boot", 7, "1"))
    for left in (*[BACK[state]] * LIMIT, "Human Needed"):
        moved(journal, far, number, command=command, intent="lock", timeout=60)
        clock.forward(100)
        assert len(expire_lost(journal)) == 1
        assert known_ticket(journal, number).state == left
    assert refused(journal, agent(), number, command=command, intent="lock").code in ("not_allowed", "person_needed")


# Plans


def test_a_plan_is_approved_by_a_person(journal: Journal) -> None:
    number = place(journal, "Plan in Review")
    error = refused(journal, agent(), number, command="review", intent="complete")
    assert error.code == "refused_by_rule"
    assert "person" in error.hint
    assert moved(journal, person(), number, command="review", intent="complete").new_state == "In Progress"
    assert holder(journal, number) is None


def test_a_plan_is_approved_by_an_agent_where_that_is_set_and_only_there(journal: Journal) -> None:
    number, other = place(journal, "Plan in Review"), place(journal, "Plan in Review")
    told = moved(journal, agent(), number, command="review", intent="complete", plan_review="auto")
    assert (told.new_state, told.guidance.holder) == ("In Progress", None)
    assert refused(journal, agent(), other, command="review", intent="complete").code == "refused_by_rule"
    for command in ("impl", "plan", "hero"):
        error = refused(journal, agent(), other, command=command, to="In Progress", plan_review="auto")
        assert error.code in ("command_not_allowed", "not_allowed", "person_needed"), error


def test_a_way_to_approve_plans_that_is_none_is_refused(journal: Journal) -> None:
    number = place(journal, "Plan in Review")
    error = refused(journal, agent(), number, command="review", intent="complete", plan_review="nobody")
    assert error.code == "setting_invalid"


# Merged


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def git(root: Path, *arguments: str, at: int = 1_700_000_000) -> str:
    date = f"{at} +0000"
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=root, env=environment, capture_output=True, check=True)
    return done.stdout.decode().strip()


def commit(root: Path, message: str, at: int) -> str:
    git(root, "commit", "-q", "--allow-empty", "-m", message, at=at)
    return git(root, "rev-parse", "HEAD")


LATER = 1_800_000_000


def reviewed(journal: Journal, *commits: str) -> int:
    number = place(journal, "In Review")
    journal.transact(edit(AGENT, number, add={"commits": list(commits)}))
    return number


def test_a_ticket_whose_commit_is_in_the_branch_is_closed_by_merge(journal: Journal, repository: Path) -> None:
    done = commit(repository, "the work", LATER)
    number = reviewed(journal, done)
    found = merged_commit(journal, real_git, number, repository, "main")
    assert found == done
    told = moved(journal, agent(), number, command="merge", intent="complete", merged=found)
    assert told.new_state == "Done"
    observed, closed = entries_of(journal, number)[-2:]
    assert (observed.event, observed.actor_kind) == ("merge_observed", "system")
    assert observed.decoded_evidence().subjects == {"commit": done}
    assert (closed.event, closed.command, closed.actor_id) == ("handoff", "merge", "claude")
    assert ticket_view(journal, number).outcome == "success"


def test_the_newest_commit_that_the_branch_has_counts(journal: Journal, repository: Path) -> None:
    first, second = commit(repository, "first", LATER), commit(repository, "second", LATER)
    git(repository, "checkout", "-q", "-b", "feature")
    third = commit(repository, "third", LATER)
    assert merged_commit(journal, real_git, reviewed(journal, first, second, third), repository, "main") == second
    assert merged_commit(journal, real_git, reviewed(journal, first, third), repository, "feature") == third


def test_a_commit_that_the_branch_has_not_got_closes_nothing(journal: Journal, repository: Path) -> None:
    commit(repository, "first", LATER)
    git(repository, "checkout", "-q", "-b", "feature")
    number = reviewed(journal, commit(repository, "the work", LATER))
    assert merged_commit(journal, real_git, number, repository, "main") is None
    before = journal.head()
    error = refused(journal, agent(), number, command="merge", intent="complete")
    assert error.code == "proof_required"
    assert "person" in error.hint
    assert journal.head() == before


def test_a_commit_that_is_older_than_the_ticket_proves_nothing(journal: Journal, repository: Path) -> None:
    number = reviewed(journal, commit(repository, "long ago", 1_600_000_000))
    assert merged_commit(journal, real_git, number, repository, "main") is None


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "commit_", ["HEAD", "main", "0" * 40, "deadbee", "--all", "-n1", "abc", "main~0", "0123456;ls"]
)
def test_what_is_no_commit_proves_nothing(journal: Journal, repository: Path, commit_: str) -> None:
    commit(repository, "the work", LATER)
    assert merged_commit(journal, real_git, reviewed(journal, commit_), repository, "main") is None


def test_without_a_repository_or_the_branch_nothing_is_merged(
    journal: Journal, repository: Path, tmp_path: Path
) -> None:
    number = reviewed(journal, commit(repository, "the work", LATER))
    assert merged_commit(journal, real_git, number, None, "main") is None
    assert merged_commit(journal, real_git, number, tmp_path, "main") is None
    assert merged_commit(journal, real_git, number, repository, "trunk") is None
    assert merged_commit(journal, real_git, number, repository, "--help") is None


def test_a_receipt_closes_only_from_review_and_only_by_merge(journal: Journal) -> None:
    number = place(journal, "In Review")
    before = journal.head()
    for command in ("hero", "impl", "review", "triage"):
        refused(journal, agent(), number, command=command, to="Done", merged="a" * 40)
    elsewhere = held(journal, "In Progress")
    refused(journal, agent(), elsewhere, command="merge", intent="complete", merged="a" * 40)
    assert [entry.event for entry in entries_of(journal, elsewhere)].count("merge_observed") == 0
    assert [entry.event for entry in entries_of(journal, number)].count("merge_observed") == 0
    assert journal.head() > before


def test_a_person_closes_a_ticket_without_a_receipt(journal: Journal) -> None:
    number = place(journal, "In Review")
    assert moved(journal, person(), number, command="merge", intent="complete").new_state == "Done"


# What people see


def test_who_holds_a_ticket_is_shown_and_forgotten_with_the_lock(journal: Journal) -> None:
    number = held(journal, "Plan in Progress")
    [shown] = listed(journal, Filters())
    assert shown.is_locked
    assert shown.held_by == f"claude (process {os.getpid()} on {this_process().host})"
    moved(journal, agent(), number, command="plan", intent="release")
    [shown] = listed(journal, Filters())
    assert (shown.is_locked, shown.held_by) == (False, None)


def test_a_lock_survives_the_journal_being_opened_again(address: Address, opened: Callable[[Address], Journal]) -> None:
    number = held(opened(address), "Plan in Progress")
    later = open_journal(address)
    try:
        assert refused(later, other_agent(), number, command="plan", intent="lock").code == "lock_held"
        assert moved(later, agent(), number, command="plan", intent="complete").new_state == "Plan in Review"
    finally:
        later.close()


def test_an_agent_with_the_name_of_a_person_is_no_person(journal: Journal) -> None:
    number = place(journal, "In Progress")
    moved(journal, person(), number, to="In Progress")
    impostor: Any = replace(agent(), actor=Actor(ActorKind.AGENT, "ada", Channel.MCP))
    assert refused(journal, impostor, number, command="impl", intent="complete").code == "lock_held"
