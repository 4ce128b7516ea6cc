"""What waits for a person, who is at work, what does not move, and what today cost."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.journal import Journal, open_journal
from interlock.machine import load_shipped
from interlock.work.attention.overview import attention
from interlock.work.attention.values import Attention, WaitingItem
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.sessions.verbs import Caller, create, update
from interlock.work.settings.values import Settings
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create as create_ticket
from journal.histories import Clock
from work.tickets.boards import way_to

from .standings import AGENT, DRIVER, PERSON, loop_in, noted, run_in, thread_in

HOUR = 3600
THREAD, TICKET = load_shipped("thread"), load_shipped("ticket")
HUMAN = [name for name, state in THREAD.states.items() if state.human]
OPEN = [name for name, state in THREAD.states.items() if not state.terminal]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[Journal]:
    found = open_journal(tmp_path / "journal.db", now=clock)
    yield found
    found.close()


def _looked(journal: Journal, root: Path | None = None, settings: Settings | None = None) -> Attention:
    return attention(journal, RecordCaches(), settings or Settings(), root)


def _only(found: Attention) -> WaitingItem:
    [one] = found.waiting
    return one


def _ticket(journal: Journal, state: str) -> int:
    number = journal.transact(create_ticket(PERSON, f"Stands in {state}")).number
    for to in way_to(state):
        journal.transact(handoff(Caller(PERSON), number, to=to, reason="a key is missing"))
    return number


def _driven(journal: Journal, machine: str, id_: str) -> None:
    journal.acquire(f"{machine}:{id_}", process_holder(), 60, is_present)


# Waiting


@pytest.mark.parametrize("state", OPEN)
def test_a_thread_waits_for_a_person_or_for_a_driver(journal: Journal, state: str) -> None:
    id_ = thread_in(journal, state)
    one = _only(_looked(journal))
    is_driven = THREAD.states[state].driven
    assert (one.of is not None and one.of.id, one.state, one.is_gate) == (id_, state, not is_driven)
    assert one.of is not None
    assert one.of.title == "Greet people"
    assert one.command.startswith("ralph thread ")
    assert id_[-6:] in one.command
    _driven(journal, "thread", id_)
    again = _looked(journal)
    assert bool(again.waiting) is (state in HUMAN and not is_driven)
    assert [work.of.id for work in again.working if work.of] == [id_]


def test_a_thread_says_why_it_waits(journal: Journal) -> None:
    thread_in(journal, "PreflightFailed", reason="the work tree has changes")
    assert _only(_looked(journal)).why == "the work tree has changes"


@pytest.mark.parametrize("state", [name for name, one in TICKET.states.items() if one.human])
def test_a_ticket_waits_where_its_machine_does_with_the_command_that_leads_on(journal: Journal, state: str) -> None:
    number = _ticket(journal, state)
    one = _only(_looked(journal))
    assert (one.of is not None and one.of.number, one.state) == (number, state)
    assert one.why.endswith("a key is missing")
    on = {"Plan in Review": "In Progress", "In Review": "Done"}.get(state, "Backlog")  # back to where it came from
    intent, to = _words(one.command)
    handed = handoff(Caller(PERSON), number, reason="so", intent=intent, to=to)
    assert journal.transact(handed).new_state == on


def _words(command: str) -> tuple[str | None, str | None]:
    """The intent and the state that a command names."""
    _, how, what, *_ = shlex.split(command.partition("handoff ")[2])
    return (what, None) if how == "--intent" else (None, what)


def test_other_tickets_wait_for_nobody(journal: Journal) -> None:
    for state, one in TICKET.states.items():
        if not one.human:
            _ticket(journal, state)
    assert _looked(journal).count == 0


def test_a_ticket_whose_thread_waits_is_told_once(journal: Journal) -> None:
    _ticket(journal, "Human Needed")
    [ticket] = journal.recent("ticket", 1)
    thread = thread_in(journal, "Stuck", parent=ticket.id)
    one = _only(_looked(journal))
    assert one.of is not None
    assert one.of.id == thread


def test_a_loop_waits_where_it_rests_or_is_blocked(journal: Journal) -> None:
    loop = loop_in(journal, "STORY_SELECT")
    assert (_only(_looked(journal)).why, _only(_looked(journal)).is_gate) == ("nobody drives it", False)
    _driven(journal, "story", loop)
    assert _only(_looked(journal)).command == "ralph story unblock story-1-2"
    noted(journal, loop, "paused", reason="the money is used up", halted=True)
    one = _only(_looked(journal))
    assert (one.why, one.command, one.is_gate) == ("it is paused: the money is used up", "ralph story run", True)


@pytest.mark.parametrize(
    ("state", "event", "said", "command"),
    [
        ("STORY_SELECT", "only_blocked_left", "a key for the service", "ralph story unblock story-1-2"),
        ("INIT", "progress_missing", "progress.txt not found", "ralph story init"),
    ],
)
def test_a_loop_that_ended_for_want_of_a_person_waits_until_there_is_a_newer_one(
    journal: Journal, state: str, event: str, said: str, command: str
) -> None:
    loop_in(journal, state, event)
    one = _only(_looked(journal))
    assert said in one.why
    assert one.command == command
    newer = loop_in(journal, "STORY_SELECT", "all_complete")
    assert journal.instance(newer).outcome is not None
    assert not _looked(journal).waiting


def test_a_run_waits_where_it_rests_or_failed_last(journal: Journal) -> None:
    run = run_in(journal, "Planning")
    assert _only(_looked(journal)).command == f"ralph orchestrate resume {run[-6:]}"
    noted(journal, run, "stopped", reason="lunch")
    assert _only(_looked(journal)).why == "it is paused: lunch"


def test_a_run_that_failed_says_what_it_needs(journal: Journal) -> None:
    run = run_in(journal, "Failed")
    one = _only(_looked(journal))
    assert one.of is not None
    assert (one.of.title, one.state) == ("Greet in French", "Failed")
    assert one.command == f'ralph orchestrate resume {run[-6:]} --say "…"'
    assert one.why.endswith(".")


def test_settings_that_nobody_accepted_wait(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "ralph.toml").write_text("[story]\nday_usd = 3\n")
    one = _only(_looked(journal, tmp_path))
    assert (one.of, one.command) == (None, "ralph config accept")


def test_what_has_waited_longest_is_first_and_gates_before_what_rests(journal: Journal) -> None:
    resting = thread_in(journal, "Running")
    first, second = thread_in(journal, "Paused"), thread_in(journal, "PendingReview")
    assert [one.of.id for one in _looked(journal).waiting if one.of] == [first, second, resting]


def test_of_very_many_some_are_listed_and_the_rest_is_counted(journal: Journal) -> None:
    for _ in range(30):
        thread_in(journal, "Paused")
    found = _looked(journal)
    assert (len(found.waiting), found.more, found.count) == (20, 10, 30)


# At work, and stuck


def test_an_agent_at_work_is_told_with_its_role_and_what_it_works_on(journal: Journal) -> None:
    thread = thread_in(journal, "Running")
    _driven(journal, "thread", thread)
    caller = Caller(DRIVER, "codex")
    session = journal.transact(create(caller, parent=thread, role="implementer")).session_id
    [one] = _looked(journal).working
    assert one.of is not None
    assert one.session is not None
    assert (one.of.id, one.session.id, one.session.agent, one.session.role) == (thread, session, "codex", "implementer")
    assert one.driver.startswith("ralph ")


def test_an_agent_that_is_silent_for_longer_than_usual_is_stuck(journal: Journal, clock: Clock) -> None:
    session = journal.transact(create(Caller(AGENT, "claude"))).session_id
    journal.transact(update(session, "testing", AGENT))
    assert not _looked(journal).stuck
    clock.forward(301)
    [one] = _looked(journal).stuck
    assert one.of is not None
    assert (one.of.machine, one.of.id) == ("session", session)
    assert "silent in testing" in one.why


def test_a_ticket_that_lies_is_stuck_and_one_that_waits_for_a_person_is_not(journal: Journal, clock: Clock) -> None:
    lying, _ = _ticket(journal, "Ready for Plan"), _ticket(journal, "Human Needed")
    assert not _looked(journal).stuck
    clock.forward(49 * HOUR)
    assert [one.of.number for one in _looked(journal).stuck if one.of] == [lying]


# Today


def test_what_today_cost_is_told_by_day_with_its_limits(journal: Journal, clock: Clock) -> None:
    loop = loop_in(journal, "STORY_SELECT")
    told = {"iteration": 1, "role": "implementer", "agent": "claude", "task": "1"}
    reserved = {"seconds": 0.0, "tokens": 0, "usd": 0.0}
    noted(journal, loop, "begun", **told, at="", reserved=reserved)
    ended = {"ending": "finished", "seconds": 60.0, "cost_usd": 1.5, "tokens": 700, "exit": 0, "said": "", "told": 0}
    noted(journal, loop, "iteration", **told, **ended, context_percent=None)
    settings = Settings.of("[story]\nday_usd = 3\n")
    [spent] = _looked(journal, settings=settings).spending
    assert (spent.what, spent.usd, spent.tokens, spent.seconds, spent.runs) == ("story loops", 1.5, 700, 60.0, 1)
    assert spent.share == 0.5
    clock.forward(24 * HOUR)
    [tomorrow] = _looked(journal, settings=settings).spending
    assert (tomorrow.usd, tomorrow.share) == (0.0, 0.0)


# Looking again


def test_looking_again_with_what_is_at_hand_says_the_same_as_looking_anew(journal: Journal, clock: Clock) -> None:
    watch = RecordCaches()
    thread, run = thread_in(journal, "Running"), run_in(journal, "Planning")
    journal.transact(create(Caller(DRIVER, "codex"), parent=thread, role="implementer"))
    for moves in range(4):
        fixed = attention(journal, watch, Settings(), None)
        assert _told(fixed) == _told(_looked(journal))
        noted(journal, run, "stopped" if moves % 2 else "resumed", reason=f"time {moves}")


def _told(found: Attention) -> object:
    return found.waiting, found.more, [(one.of, one.since) for one in found.working], found.spending
