"""What anything waits for, and the command that comes next: for every state of every machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faces.parsing import parsed
from interlock.journal import Instance, Journal, open_journal
from interlock.journal.entry import encode
from interlock.machine import Event, Evidence, Snapshot, load_shipped
from interlock.machine.model import OBSERVED
from interlock.work.attention.next_step import command_in, waits_for
from interlock.work.attention.values import WaitingFor, WaitKind
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.sessions.verbs import Caller, complete, create, update
from interlock.work.settings.values import Settings
from interlock.work.threads.spec import template
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create as create_ticket
from interlock.work.tickets.verbs import link
from journal.histories import Clock
from work.threads.benches import SPEC
from work.tickets.boards import way_to

from .standings import AGENT, DRIVER, PERSON, loop_in, noted, run_in, thread_in

THREAD, TICKET = load_shipped("thread"), load_shipped("ticket")
SAYS = {
    "Drafting": (WaitKind.PERSON, "the spec is yours to write", "spec {id} --edit"),
    "Assessing": (WaitKind.DRIVER, "nobody drives it", "resume {id}"),
    "Finalized": (WaitKind.PERSON, "in methodical mode a person starts the implementation", "start {id}"),
    "Preflight": (WaitKind.DRIVER, "nobody drives it", "resume {id}"),
    "PreflightFailed": (WaitKind.PERSON, "because", "start {id}"),
    "Configuring": (WaitKind.PERSON, "in methodical mode a person selects the models", "run {id}"),
    "Running": (WaitKind.DRIVER, "nobody drives it", "resume {id}"),
    "Paused": (WaitKind.PERSON, "because", "resume {id}"),
    "Verifying": (WaitKind.DRIVER, "nobody drives it", "resume {id}"),
    "Stuck": (WaitKind.PERSON, "because", "diagnose {id}"),
    "Implemented": (WaitKind.PERSON, "in methodical mode a person is asked about polish first", "review {id}"),
    "Polishing": (WaitKind.PERSON, "because", "polish {id} --done"),
    "PendingReview": (WaitKind.PERSON, "approve is yours", "approve {id}"),
    "Approved": (WaitKind.DRIVER, "nobody drives it", "resume {id}"),
    "ReadyToCommit": (WaitKind.PERSON, "commit is yours", "commit {id}"),
    "Done": (WaitKind.NOTHING, "nothing: it has ended", ""),
    "Abandoned": (WaitKind.NOTHING, "nothing: it has ended", ""),
}
"""For each state of a thread that nobody drives: what it waits for, how the sentence begins, and the verb."""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = open_journal(tmp_path / "journal.db", now=Clock())
    yield found
    found.close()


def _waits(journal: Journal, id_: str) -> WaitingFor:
    return waits_for(journal, RecordCaches(), Settings(), journal.instance(id_))


def _works(found: WaitingFor) -> None:
    """Every command is one that `ralph` parses, and whoever is waited for is told one."""
    if found.command:
        parsed(found.command)
    assert found.why
    if found.kind in (WaitKind.PERSON, WaitKind.DRIVER):
        assert found.command


def _driven(journal: Journal, machine: str, id_: str) -> None:
    journal.acquire(f"{machine}:{id_}", process_holder(), 60, is_present)


def _spec(journal: Journal, id_: str, text: str) -> None:
    noted(journal, id_, "revised", revision=1, text=text)


# Threads


def test_every_state_of_a_thread_is_told() -> None:
    assert SAYS.keys() == THREAD.states.keys()


@pytest.mark.parametrize("state", SAYS)
def test_a_thread_that_nobody_drives(journal: Journal, state: str) -> None:
    id_ = thread_in(journal, state)
    kind, why, verb = SAYS[state]
    found = _waits(journal, id_)
    assert (found.kind, found.command) == (kind, verb and f"ralph thread {verb.format(id=id_[-6:])}")
    assert found.why.startswith(why)
    _works(found)


@pytest.mark.parametrize("state", [name for name, one in THREAD.states.items() if not one.terminal])
def test_a_thread_that_is_driven_waits_for_its_driver_unless_it_is_a_persons(journal: Journal, state: str) -> None:
    id_ = thread_in(journal, state)
    _driven(journal, "thread", id_)
    known = THREAD.states[state]
    found = _waits(journal, id_)
    assert (found.kind is WaitKind.WORK) is (known.driven or not known.human)
    assert ("drives it" in found.why) is (found.kind is WaitKind.WORK)


@pytest.mark.parametrize("state", ["Finalized", "Configuring", "Implemented"])
def test_in_quick_mode_a_driver_goes_through_what_is_between_the_gates(journal: Journal, state: str) -> None:
    id_ = thread_in(journal, state)
    journal.append(id_, Event(OBSERVED, DRIVER, evidence=Evidence(settings={"mode": "quick"})))
    found = _waits(journal, id_)
    assert found.kind is WaitKind.DRIVER
    _works(found)


def test_a_spec_that_can_be_built_from_is_to_be_finalized(journal: Journal) -> None:
    id_ = thread_in(journal, "Drafting")
    _spec(journal, id_, template("Greet"))
    assert _waits(journal, id_).command == f"ralph thread spec {id_[-6:]} --edit"
    _spec(journal, id_, SPEC)
    found = _waits(journal, id_)
    assert (found.command, found.why[:16]) == (f"ralph thread finalize {id_[-6:]}", "finalize is your")


def test_an_assessment_is_a_persons_to_read(journal: Journal) -> None:
    id_ = thread_in(journal, "Assessing")
    noted(journal, id_, "assessed", said="It is fine.", verdict="READY")
    _spec(journal, id_, SPEC)
    assert _waits(journal, id_).kind is WaitKind.PERSON


def test_what_was_changed_after_it_was_proven_is_proven_again_before_it_is_approved(journal: Journal) -> None:
    id_ = thread_in(journal, "PendingReview")
    journal.append(id_, Event(OBSERVED, DRIVER, evidence=Evidence(subjects={"tree": "f" * 40})))
    found = _waits(journal, id_)
    assert found.command == f"ralph thread reverify {id_[-6:]}"
    _works(found)


def test_a_thread_whose_ticket_has_ended_can_only_be_abandoned(journal: Journal) -> None:
    ticket = _ticket(journal, "Canceled")
    id_ = thread_in(journal, "Paused", parent=ticket.id)
    found = _waits(journal, id_)
    assert (found.kind, found.command) == (WaitKind.PERSON, f"ralph thread abandon {id_[-6:]}")


def test_nothing_is_committed_while_the_ticket_is_elsewhere(journal: Journal) -> None:
    ticket = _ticket(journal, "In Progress")
    id_ = thread_in(journal, "ReadyToCommit", parent=ticket.id)
    journal.transact(handoff(Caller(PERSON), 1, to="Human Needed", reason="wait"))
    found = _waits(journal, id_)
    assert "Human Needed" in found.why
    assert parsed(found.command)[2].to_state == "In Progress"


# Tickets


def _ticket(journal: Journal, state: str) -> Instance:
    made = journal.transact(create_ticket(PERSON, f"Is in {state}"))
    for to in way_to(state):
        journal.transact(handoff(Caller(PERSON), made.number, to=to, reason="a key is missing"))
    return journal.recent("ticket", 1)[0]


@pytest.mark.parametrize("state", TICKET.states)
def test_a_ticket_in_each_state(journal: Journal, state: str) -> None:
    ticket, known = _ticket(journal, state), TICKET.states[state]
    found = _waits(journal, ticket.id)
    expected = WaitKind.NOTHING if known.terminal else WaitKind.PERSON if known.human else WaitKind.DRIVER
    assert found.kind is expected
    assert known.terminal or not known.human or found.why.endswith("a key is missing")
    _works(found)


def test_a_ticket_waits_for_those_before_it_and_for_who_holds_it(journal: Journal) -> None:
    ticket, other = _ticket(journal, "Backlog"), _ticket(journal, "Backlog")
    journal.transact(link(PERSON, 1, "blocked_by", 2))
    found = _waits(journal, ticket.id)
    assert (found.kind, found.why, found.command) == (WaitKind.OTHERS, "it waits for #2", "ralph work 2")
    session = journal.transact(create(Caller(AGENT, "claude"))).session_id
    journal.transact(handoff(Caller(PERSON), 2, to="Research Needed", reason="so"))
    journal.transact(handoff(Caller(AGENT, session=session), 2, command="research", intent="lock", reason="so"))
    held = _waits(journal, other.id)
    assert (held.kind, held.command) == (WaitKind.WORK, "")
    assert held.why.endswith("holds it")


def test_a_ticket_that_is_too_large_is_to_be_divided(journal: Journal) -> None:
    number = journal.transact(create_ticket(PERSON, "Large", estimate="L")).number
    journal.transact(handoff(Caller(PERSON), number, to="Research Needed", reason="so"))
    [ticket] = journal.recent("ticket", 1)
    assert _waits(journal, ticket.id).command == f"ralph work {number} --split"


def test_a_ticket_waits_for_what_its_thread_waits_for(journal: Journal) -> None:
    ticket = _ticket(journal, "In Progress")
    thread = thread_in(journal, "Paused", parent=ticket.id)
    assert _waits(journal, ticket.id) == _waits(journal, thread)


# Loops, runs and sessions


@pytest.mark.parametrize("state", [name for name, one in load_shipped("story").states.items() if not one.terminal])
def test_a_loop_that_nobody_drives_is_continued(journal: Journal, state: str) -> None:
    found = _waits(journal, loop_in(journal, state))
    assert (found.kind, found.command) == (WaitKind.DRIVER, "ralph story run")
    _works(found)


@pytest.mark.parametrize("state", load_shipped("orchestrator").states)
def test_a_run_in_each_state(journal: Journal, state: str) -> None:
    id_ = run_in(journal, state)
    expected = {"Exit": WaitKind.NOTHING, "Failed": WaitKind.PERSON}.get(state, WaitKind.DRIVER)
    found = _waits(journal, id_)
    assert found.kind is expected
    assert found.command.startswith(f"ralph orchestrate resume {id_[-6:]}") is (expected is not WaitKind.NOTHING)
    _works(found)


def test_a_session_is_its_agents_until_it_ends(journal: Journal) -> None:
    session = journal.transact(create(Caller(AGENT, "claude"))).session_id
    for state in ("analyzing", "implementing", "testing", "committing"):
        journal.transact(update(session, state, AGENT))
        assert _waits(journal, session).kind is WaitKind.WORK
    journal.transact(complete(session, "success", AGENT))
    assert _waits(journal, session).kind is WaitKind.NOTHING


# The command of a state alone


@pytest.mark.parametrize("name", ["thread", "ticket", "story", "orchestrator", "session"])
def test_a_state_alone_has_a_command_that_parses(name: str) -> None:
    machine = load_shipped(name)
    for state in machine.states:
        outcome = machine.states[state].outcome
        data = encode(Snapshot(state=state, outcome=outcome))
        instance = Instance("01ABCDEF", name, machine.digest, None, state, 1, outcome, data, "", "")
        parsed(command_in(machine, instance, 7 if name == "ticket" else None, "Backlog"))
