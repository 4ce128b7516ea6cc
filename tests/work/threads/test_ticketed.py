"""A thread and its ticket: each moves the other, in one transaction, as the table between them says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Instance, Transaction
from interlock.machine import Actor, ActorKind, Channel, load_shipped
from interlock.work.attention.waiting import waiting
from interlock.work.driver.lease_holders import process_holder
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.sessions.verbs import Caller
from interlock.work.sessions.verbs import create as begin
from interlock.work.settings.values import Settings
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.ticket_link import ticket_of
from interlock.work.threads.verbs import act, pause
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.locks import expire_lost
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.verbs import create
from interlock.work.views.ticket import ticket_view
from work.threads.benches import AGENT, DONE, FAIL, IDLE, PASS, Bench
from work.threads.places import drive_until

PERSON = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)
NUMBER = 1


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A repository with one ticket, which is In Progress and nobody's."""
    bench = Bench.made(tmp_path / "repository")
    do(bench, create(PERSON, "Greet people", estimate="S"))
    for state in ("Ready for Plan", "Plan in Progress", "Plan in Review", "In Progress"):
        move(bench, state)
    return bench


def do(bench: Bench, work: Callable[[Transaction], Any]) -> Any:
    with closing(bench.open()) as journal:
        return journal.transact(work)


def move(bench: Bench, to: str, actor: Actor = PERSON, **asked: Any) -> Any:
    return do(bench, handoff(Caller(actor), NUMBER, reason="it is time", to=to, **asked))


def ticket(bench: Bench) -> Instance:
    with closing(bench.open()) as journal:
        return known_ticket(journal, NUMBER)


def stands(bench: Bench) -> tuple[str, str | None]:
    found = ticket(bench)
    return found.state, found.snapshot.holder


def moves(bench: Bench) -> list[tuple[str, str]]:
    """Every move that the ticket made with its thread, and who was the cause."""
    with closing(bench.open()) as journal:
        return [(one.to_state, one.actor_kind) for one in journal.history(ticket(bench).id) if one.event == "follow"]


def test_a_ticket_follows_its_thread_to_the_commit(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    held = f"thread:{id_}"
    assert stands(bench) == ("In Progress", held)
    bench.act(id_, "finalize", "run", "start")
    assert stands(bench) == ("In Progress", held)
    bench.act(id_, "ready")
    assert stands(bench) == ("In Review", None)
    thread = bench.act(id_, "approve", "commit")
    assert thread.state == "Done"
    assert stands(bench) == ("In Review", None)
    assert moves(bench) == [("In Progress", "human"), ("In Review", "human")]
    with closing(bench.open()) as journal:
        [wait], _ = waiting(journal, RecordCaches(), Settings(), None)
        assert journal.verify() == []
    assert (wait.state, wait.command) == ("In Review", f"git switch main && git merge {thread.branch}")
    assert f"`ralph work {NUMBER}` closes it" in wait.why
    assert move(bench, "Done").new_state == "Done"


def test_what_is_rejected_is_in_progress_again_and_held(bench: Bench) -> None:
    bench.play(DONE, DONE)
    id_ = bench.new(ticket=NUMBER, mode="quick")
    bench.act(id_, "finalize")
    assert stands(bench)[0] == "In Review"
    bench.act(id_, "reject", reason="it is rude", drives=False)
    assert stands(bench) == ("In Progress", f"thread:{id_}")
    bench.drive(id_)
    assert stands(bench)[0] == "In Review"


def test_a_stuck_thread_needs_a_person_and_says_what_for(bench: Bench) -> None:
    bench.play(IDLE)
    bench.settings["thread.iterations"] = 1
    id_ = bench.new(ticket=NUMBER, mode="quick")
    assert bench.act(id_, "finalize").state == "Stuck"
    assert stands(bench) == ("Human Needed", None)
    with closing(bench.open()) as journal:
        last = journal.history(ticket(bench).id)[-1]
    assert (last.actor_kind, last.command) == ("system", "thread")
    assert "iteration" in (last.reason or "")
    bench.play(DONE)
    bench.act(id_, "reconfigure", drives=False)
    assert stands(bench) == ("In Progress", f"thread:{id_}")


def test_an_abandoned_thread_leaves_its_ticket_to_a_person(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "abandon", reason="it was no good idea", drives=False)
    assert stands(bench) == ("Human Needed", None)
    move(bench, "In Progress")
    assert bench.new(ticket=NUMBER) != id_


def test_a_ticket_has_one_open_thread(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    with pytest.raises(Refusal, match=id_):
        bench.new(ticket=NUMBER)


@pytest.mark.parametrize("state", ["Backlog", "Ready for Plan"])
def test_a_thread_opens_only_on_what_is_in_progress(bench: Bench, state: str) -> None:
    move(bench, "Human Needed")
    move(bench, state)
    with pytest.raises(Refusal, match="In Progress") as refused:
        bench.new(ticket=NUMBER)
    assert refused.value.hint == f"`ralph work {NUMBER}` leads it there."


def test_what_an_agent_holds_is_not_taken_from_it(bench: Bench) -> None:
    with closing(bench.open()) as journal:
        session = journal.transact(begin(Caller(AGENT), role="impl")).session_id
        journal.transact(handoff(Caller(AGENT, session=session), NUMBER, reason="mine", command="impl", intent="lock"))
    with pytest.raises(Refusal) as refused:
        bench.new(ticket=NUMBER)
    assert refused.value.code == "lock_held"
    assert stands(bench) == ("In Progress", f"session:{session}")


def test_what_a_person_holds_goes_to_their_thread(bench: Bench) -> None:
    do(bench, handoff(Caller(bench.person.actor), NUMBER, reason="mine", command="impl", intent="lock"))
    assert stands(bench)[1] == f"person:{bench.person.actor.id}"
    id_ = bench.new(ticket=NUMBER)
    assert stands(bench) == ("In Progress", f"thread:{id_}")


def test_beside_its_thread_no_agent_moves_a_ticket(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    with pytest.raises(Refusal, match=id_) as refused:
        move(bench, "In Review", AGENT, command="impl")
    assert refused.value.code == "driven_by_thread"


def test_a_person_who_takes_the_ticket_away_lets_the_thread_rest(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run", drives=True)
    bench.act(id_, "start", drives=False)
    move(bench, "Human Needed")
    move(bench, "Backlog")
    thread = bench.thread(id_)
    assert (thread.state, thread.reason) == ("Paused", "its ticket was moved to Human Needed")
    with pytest.raises(Refusal) as refused:
        bench.act(id_, "resume")
    assert refused.value.code == "parent_refused"
    assert bench.thread(id_).state == "Paused"
    with closing(bench.open()) as journal:
        above, below = ticket_of(journal, read_thread(journal, id_)), ticket_view(journal, NUMBER).thread
    assert above is not None
    assert below is not None
    assert above.differs == below.differs == "The thread is in Paused, and its ticket in Backlog"


def verifying(bench: Bench) -> str:
    """A thread on the ticket whose driver is gone while it was verified."""
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    assert drive_until(bench, id_, "Verifying").state == "Verifying"
    return id_


def test_a_person_who_takes_the_ticket_away_stops_the_verification_and_keeps_it(bench: Bench) -> None:
    """The way to Paused leads through Running, and that is no decision to go on."""
    id_ = verifying(bench)
    move(bench, "Human Needed")
    assert stands(bench) == ("Human Needed", None)
    assert bench.thread(id_).state == "Paused"
    assert bench.drive(id_).state == "Paused"
    assert stands(bench) == ("Human Needed", None)
    move(bench, "In Progress")
    assert stands(bench) == ("In Progress", f"thread:{id_}")
    assert bench.act(id_, "resume").state == "Implemented"
    assert [one.role for one in bench.thread(id_).iterations].count("implementer") == 1


def strayed(bench: Bench) -> str:
    """A thread that a person verifies again though its ticket is elsewhere."""
    id_ = bench.new(ticket=NUMBER, mode="quick")
    assert bench.act(id_, "finalize").state == "PendingReview"
    move(bench, "Human Needed")
    assert bench.act(id_, "reverify", drives=False).state == "Verifying"
    return id_


def test_the_ticket_of_a_thread_that_is_verified_can_go_back_to_the_backlog(bench: Bench) -> None:
    id_ = strayed(bench)
    move(bench, "Backlog")
    assert stands(bench) == ("Backlog", None)
    assert bench.thread(id_).state == "Paused"


def test_a_driver_rests_where_the_ticket_of_what_it_verifies_is_elsewhere(bench: Bench) -> None:
    id_ = strayed(bench)
    assert bench.drive(id_).state == "Paused"
    assert stands(bench) == ("Human Needed", None)


def test_a_driver_rests_where_somebody_else_holds_the_ticket_of_what_it_verifies(bench: Bench) -> None:
    id_ = verifying(bench)
    do(bench, handoff(Caller(PERSON), NUMBER, reason="let go", command="impl", intent="release"))
    do(bench, handoff(Caller(PERSON), NUMBER, reason="mine", command="impl", intent="lock"))
    thread = bench.drive(id_)
    assert (thread.state, "held" in thread.reason) == ("Paused", True)
    assert stands(bench) == ("In Progress", f"person:{PERSON.id}")


def test_a_verification_that_is_stopped_leaves_a_reviewed_ticket_where_it_is(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER, mode="quick")
    bench.act(id_, "finalize")
    bench.pausing.set()
    assert bench.act(id_, "reverify").state == "Paused"
    assert stands(bench) == ("In Review", None)
    bench.pausing.clear()
    assert bench.act(id_, "resume").state == "PendingReview"
    assert stands(bench) == ("In Review", None)


def test_nothing_is_committed_for_a_ticket_that_was_taken_away(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER, mode="quick")
    bench.act(id_, "finalize", "approve")
    move(bench, "Human Needed")
    with pytest.raises(Refusal) as refused:
        bench.act(id_, "commit")
    assert refused.value.code == "parent_refused"
    move(bench, "In Progress")
    assert bench.act(id_, "commit").state == "Done"
    assert stands(bench)[0] == "In Review"


def test_the_thread_of_a_canceled_ticket_can_only_be_abandoned(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER, mode="quick")
    bench.act(id_, "finalize")
    move(bench, "Canceled")
    with pytest.raises(Refusal, match="has ended"):
        bench.act(id_, "approve")
    assert bench.act(id_, "abandon", drives=False).state == "Abandoned"
    assert ticket(bench).state == "Canceled"


def test_a_driver_claims_the_ticket_of_its_thread_first(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    do(bench, handoff(Caller(PERSON), NUMBER, reason="let go", command="impl", intent="release"))
    assert stands(bench) == ("In Progress", None)
    assert bench.drive(id_).state == "Implemented"
    assert stands(bench) == ("In Progress", f"thread:{id_}")


def test_a_driver_rests_where_somebody_else_holds_the_ticket(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    do(bench, handoff(Caller(PERSON), NUMBER, reason="let go", command="impl", intent="release"))
    do(bench, handoff(Caller(PERSON), NUMBER, reason="mine", command="impl", intent="lock"))
    thread = bench.drive(id_)
    assert thread.state == "Paused"
    assert "held" in thread.reason
    assert stands(bench) == ("In Progress", f"person:{PERSON.id}")


def test_a_thread_that_waits_keeps_its_ticket(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize")
    with closing(bench.open()) as journal:
        assert expire_lost(journal) == []
    assert stands(bench) == ("In Progress", f"thread:{id_}")


def test_the_ticket_of_a_thread_whose_driver_died_is_free_until_it_is_driven_again(bench: Bench) -> None:
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    with closing(bench.open()) as journal:
        gone = replace(process_holder(), boot="another boot", pid=1, started="0")
        journal.acquire(f"thread:{id_}", gone, 60, lambda holder: None)
        assert expire_lost(journal) == [ticket(bench).id]
    assert stands(bench) == ("In Progress", None)
    assert bench.drive(id_).state == "Implemented"
    assert stands(bench) == ("In Progress", f"thread:{id_}")


def test_paused_and_verified_threads_keep_their_ticket(bench: Bench) -> None:
    bench.judge(FAIL, PASS)
    id_ = bench.new(ticket=NUMBER)
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        pause(context, id_, bench.person)
        assert stands(bench) == ("In Progress", f"thread:{id_}")
        act(context, id_, bench.person, "resume")
        assert drive(context, id_).state == "Implemented"
    assert moves(bench) == [("In Progress", "human")]


def test_the_table_is_the_designs() -> None:
    rows = {
        (how, state): (row.to, row.binding)
        for row in load_shipped("thread").form.parents
        for how, states in (("enters", row.enters), ("leaves", row.leaves))
        for state in states
    }
    assert rows == {
        ("enters", "Running"): ("In Progress", True),
        ("enters", "Drafting"): ("In Progress", False),
        ("leaves", "Stuck"): ("In Progress", False),
        ("enters", "PendingReview"): ("In Review", False),
        ("enters", "Done"): ("In Review", False),
        ("enters", "Stuck"): ("Human Needed", False),
        ("enters", "Abandoned"): ("Human Needed", False),
    }
