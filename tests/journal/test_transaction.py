"""Appending: what is written, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing

import msgspec
import pytest
from msgspec.structs import replace

from interlock.errors import Conflict, InterlockError, Refusal
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import SHIPPED, Accepted, Event, Evidence, Refused, Snapshot, load_shipped, start, step

from .databases import Address, dump
from .histories import AGENT, HUMAN, SYSTEM, Clock, created, every_event, paths, reports, tries


def test_a_created_instance_has_one_entry_that_begins_it(journal: Journal) -> None:
    made = journal.create("thread", created())
    assert made.written
    assert (made.entry.seq, made.entry.version, made.entry.event) == (1, 1, "created")
    assert (made.entry.from_state, made.entry.to_state) == (None, "Drafting")
    instance = journal.instance(made.entry.instance)
    assert (instance.machine, instance.digest) == ("thread", load_shipped("thread").digest)
    assert (instance.state, instance.version, instance.parent, instance.outcome) == ("Drafting", 1, None, None)
    assert instance.created == instance.updated == made.entry.time
    assert journal.history(instance.id) == journal.entries() == [made.entry]


def test_an_append_moves_the_instance_by_one_version_from_where_it_stood(journal: Journal) -> None:
    id_ = journal.create("thread", created()).entry.instance
    moved = journal.append(id_, Event("assess", HUMAN, reason="is it clear?\n\tyes"))
    assert (moved.entry.seq, moved.entry.version, moved.entry.event) == (2, 2, "assess")
    assert (moved.entry.from_state, moved.entry.to_state) == ("Drafting", "Assessing")
    assert moved.entry.previous == journal.history(id_)[0].hash
    assert moved.entry.reason == "is it clear?\n\tyes"
    instance = journal.instance(id_)
    assert (instance.state, instance.version, instance.updated) == ("Assessing", 2, moved.entry.time)
    assert instance.snapshot == moved.snapshot == Snapshot("Assessing")
    assert journal.history(id_)[1] == moved.entry


@pytest.mark.parametrize("step_of_the_clock", [0, -3_600_000])
def test_instances_are_named_in_the_order_they_begin_whatever_the_clock_says(
    address: Address, step_of_the_clock: int
) -> None:
    times = itertools.count(1_700_000_000_000_000_000, step_of_the_clock * 1_000_000)
    with closing(open_journal(address, now=lambda: next(times))) as journal:
        made = [journal.create("thread", created()).entry.instance for _ in range(8)]
        assert made == sorted(made)
        assert [one.id for one in journal.recent("thread", 8)] == made[::-1]


def test_the_latest_entries_begin_with_the_last_of_some_events(journal: Journal) -> None:
    id_, other = (journal.create("session", created()).entry.instance for _ in range(2))
    for number in range(30):
        journal.append(id_, Event("noted", AGENT, evidence=Evidence(data={"number": number})))
    journal.append(other, Event("update_session_state", AGENT, "analyzing"))

    def latest(*events: str) -> list[int]:
        return [one.version for one in journal.transact(lambda transaction: transaction.latest(id_, events))]

    assert latest("created", "noted") == [31]
    assert latest("created", "update_session_state") == latest("update_session_state") == [*range(1, 32)]


def test_a_history_is_read_on_from_a_version(journal: Journal) -> None:
    id_, other = (journal.create("thread", created()).entry.instance for _ in range(2))
    for number in range(5):
        for one in (id_, other):
            journal.append(one, Event("observed", SYSTEM, evidence=Evidence(data={"n": number})))
    whole = journal.history(id_)
    assert [one.version for one in whole] == [1, 2, 3, 4, 5, 6]
    for version in range(8):
        assert journal.history(id_, version) == whole[version:]


def test_the_open_children_of_a_machine_are_those_that_have_not_ended(journal: Journal) -> None:
    ticket = journal.create("ticket", created()).entry.instance
    journal.create("thread", created(), parent=ticket)
    sessions = [journal.create("session", created(), parent=ticket).entry.instance for _ in range(2)]
    finished = Event("complete_ralph_session", SYSTEM, evidence=Evidence(facts={"outcome": "success"}))
    journal.append(sessions[0], finished)
    found = journal.transact(lambda transaction: transaction.open_children(ticket, "session"))
    assert [one.id for one in found] == sessions[1:]


def test_every_part_of_the_evidence_and_the_actor_comes_back_as_it_was_given(journal: Journal) -> None:
    given = Evidence(
        subjects={"spec": "ünï ☃ 𝄞"},
        settings={"iteration.limit": 7, "mode": "quick"},
        task="task-1",
        holder="run-1",
        data={"text": "a\nb\t\"'\\ é ☃ 𝄞 \x7f", "list": [1, -2.5, True, None, {"deep": []}], "big": 2**200},
    )
    id_ = journal.create("thread", created(evidence=given)).entry.instance
    journal.append(id_, Event("observed", SYSTEM, evidence=replace(given, data={"n": 1e300})))
    first, second = (entry.decoded_evidence() for entry in journal.history(id_))
    assert replace(first, data={name: first.data[name] for name in given.data}) == given
    assert second == replace(given, data={"n": 1e300})
    entry = journal.history(id_)[1]
    assert (entry.actor_kind, entry.actor_id, entry.channel) == (SYSTEM.kind, SYSTEM.id, SYSTEM.channel)
    assert journal.snapshot(id_).settings == {"iteration.limit": 7, "mode": "quick"}


def test_an_event_off_the_path_of_an_observing_machine_is_written_and_marked(journal: Journal) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    moved = journal.append(id_, reports("testing"))
    assert moved.entry.off_path
    assert moved.warning
    assert journal.history(id_)[1].off_path == 1
    assert journal.append(id_, reports("implementing")).entry.off_path == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_every_event_in_every_state_moves_as_the_machine_says_or_writes_nothing(
    sqlite_address: Address, sqlite_journal: Journal, name: str
) -> None:
    journal, machine = sqlite_journal, load_shipped(name)
    assert paths(machine).keys() == machine.states.keys()
    for state, path in paths(machine).items():
        id_ = journal.create(name, created()).entry.instance
        for event in path:
            journal.append(id_, event)
        before = dump(sqlite_address)
        stands = journal.snapshot(id_)
        assert stands.state == state
        refused = sum(_tried(journal, id_, event) for event in [*every_event(machine), *tries(machine, stands)])
        assert refused > 0
        assert dump(sqlite_address) == before


def _tried(journal: Journal, id_: str, event: Event) -> bool:
    """Append an event as the machine says and take it back; whether it was refused."""
    before = journal.instance(id_)
    expected = step(journal.machine_of(before), before.snapshot, event)
    if isinstance(expected, Refused):
        with pytest.raises(Refusal) as refusal:
            journal.append(id_, event)
        said = (refusal.value.code, refusal.value.message, refusal.value.hint)
        assert said == (expected.code, expected.message, expected.hint)
        assert refusal.value.details["allowed"] == msgspec.to_builtins(expected.allowed)
        return True

    def moved_and_taken_back(transaction: Transaction) -> None:
        moved = transaction.append(id_, event)
        if expected.changed:
            assert (moved.entry.from_state, moved.entry.to_state) == (before.state, expected.snapshot.state)
            assert moved.entry.version == before.version + 1
        assert (moved.snapshot, moved.effects) == (expected.snapshot, expected.effects)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        journal.transact(moved_and_taken_back)
    return False


def test_an_append_with_the_wrong_version_is_a_conflict_and_writes_nothing(journal: Journal, address: Address) -> None:
    id_ = journal.create("thread", created()).entry.instance
    journal.append(id_, Event("assess", HUMAN), expected=1)
    before = dump(address)
    for expected in (0, 1, 3, -1):
        with pytest.raises(Conflict) as conflict:
            journal.append(id_, Event("revise", HUMAN), expected=expected)
        assert conflict.value.code == "conflict"
        assert conflict.value.hint
    assert dump(address) == before
    assert journal.append(id_, Event("revise", HUMAN), expected=2).entry.version == 3


# Idempotency keys


def test_the_same_key_gives_the_first_answer_again_and_writes_nothing(journal: Journal, address: Address) -> None:
    made = journal.create("thread", created(), key="make")
    id_ = made.entry.instance
    first = journal.append(id_, Event("assess", HUMAN), key="assess")
    journal.append(id_, Event("revise", HUMAN))
    before = dump(address)
    again = journal.append(id_, Event("assess", HUMAN), expected=1, key="assess")
    assert again == replace(first, written=False)
    assert journal.append(id_[-6:], Event("assess", HUMAN), key="assess") == again
    assert journal.create("thread", created(), key="make") == replace(made, written=False)
    assert dump(address) == before


def test_the_first_answer_comes_again_with_its_effects_and_its_warning(journal: Journal) -> None:
    machine = load_shipped("thread")
    id_ = journal.create("thread", created()).entry.instance
    for event in paths(machine)["ReadyToCommit"]:
        journal.append(id_, event)
    commit = next(one for one in tries(machine, journal.snapshot(id_)) if one.name == "commit")
    first = journal.append(id_, commit, key="commit")
    assert first.effects == ("git_commit",)
    assert journal.append(id_, commit, key="commit") == replace(first, written=False)
    session = journal.create("session", created(AGENT)).entry.instance
    warned = journal.append(session, reports("testing"), key="skip")
    assert warned.warning
    assert journal.append(session, reports("testing"), key="skip") == replace(warned, written=False)


def test_a_key_that_was_used_for_something_else_is_refused(journal: Journal, address: Address) -> None:
    thread = journal.create("thread", created(), key="make").entry.instance
    other = journal.create("thread", created()).entry.instance
    session = journal.create("session", created(AGENT)).entry.instance
    journal.append(thread, Event("assess", HUMAN), key="assess")
    journal.append(session, reports("analyzing"), key="report")
    before = dump(address)
    attempts: list[Callable[[], object]] = [
        lambda: journal.append(thread, Event("revise", HUMAN), key="assess"),
        lambda: journal.append(other, Event("assess", HUMAN), key="assess"),
        lambda: journal.append(thread, Event("assess", HUMAN), key="make"),
        lambda: journal.create("thread", created(), key="assess"),
    ]
    for attempt in attempts:
        with pytest.raises(InterlockError) as refusal:
            attempt()
        assert refusal.value.code == "key_reused"
        assert refusal.value.hint
    assert dump(address) == before


def test_a_key_that_made_an_instance_is_refused_for_another_machine(journal: Journal) -> None:
    journal.create("ticket", created(), key="make")
    with pytest.raises(InterlockError) as refusal:
        journal.create("thread", created(), key="make")
    assert refusal.value.code == "key_reused"


def test_a_key_that_reported_one_state_is_refused_for_another_state(journal: Journal) -> None:
    session = journal.create("session", created(AGENT)).entry.instance
    journal.append(session, reports("analyzing"), key="report")
    with pytest.raises(InterlockError) as refusal:
        journal.append(session, reports("implementing"), key="report")
    assert refusal.value.code == "key_reused"


def test_a_key_of_a_refused_append_is_still_free(journal: Journal) -> None:
    id_ = journal.create("thread", created()).entry.instance
    with pytest.raises(Refusal):
        journal.append(id_, Event("approve", HUMAN), key="k")
    assert journal.append(id_, Event("assess", HUMAN), key="k").written


def test_asking_for_what_is_already_so_writes_nothing_and_gives_the_last_entry(
    journal: Journal, address: Address
) -> None:
    machine = load_shipped("ticket")
    lock = next(row for row in machine.transitions if row.holds and row.stays)
    id_ = journal.create("ticket", created()).entry.instance
    for event in paths(machine)[lock.source]:
        journal.append(id_, event)
    claim = Event(lock.on, AGENT, command=lock.commands[0], evidence=Evidence(holder="run-1"))
    claimed = journal.append(id_, claim, key="claim")
    before = dump(address)
    again = journal.append(id_, claim)
    assert (again.entry, again.snapshot, again.written) == (claimed.entry, claimed.snapshot, False)
    assert dump(address) == before


# Several things as one


def test_what_is_done_in_one_transaction_is_there_together(journal: Journal) -> None:
    def work(transaction: Transaction) -> tuple[str, str]:
        ticket = transaction.create("ticket", created()).entry.instance
        thread = transaction.create("thread", created(), parent=ticket).entry.instance
        transaction.append(thread, Event("assess", HUMAN))
        assert transaction.instance(thread).state == "Assessing"
        assert [child.id for child in transaction.children(ticket)] == [thread]
        return ticket, thread

    ticket, thread = journal.transact(work)
    assert journal.instance(thread).parent == ticket
    assert [(entry.seq, entry.instance) for entry in journal.entries()] == [(1, ticket), (2, thread), (3, thread)]
    assert journal.verify() == []


@pytest.mark.parametrize("failure", [InterruptedError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing_of_any_instance(
    journal: Journal, address: Address, failure: type[BaseException]
) -> None:
    one, two = (journal.create("thread", created()).entry.instance for _ in range(2))
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(one, Event("assess", HUMAN), key="k")
        transaction.create("story", created())
        transaction.append(two, Event("assess", HUMAN))
        raise failure

    with pytest.raises(failure):
        journal.transact(work)
    assert dump(address) == before
    assert journal.append(one, Event("assess", HUMAN), key="k").written


def test_a_refusal_of_the_second_instance_undoes_the_move_of_the_first(journal: Journal, address: Address) -> None:
    one, two = (journal.create("thread", created()).entry.instance for _ in range(2))
    before = dump(address)

    def work(transaction: Transaction) -> None:
        transaction.append(one, Event("assess", HUMAN))
        transaction.append(two, Event("approve", HUMAN))

    with pytest.raises(Refusal) as refusal:
        journal.transact(work)
    assert refusal.value.code == "not_allowed"
    assert dump(address) == before


def test_a_refusal_that_the_work_itself_deals_with_undoes_nothing(journal: Journal) -> None:
    id_ = journal.create("thread", created()).entry.instance

    def work(transaction: Transaction) -> str:
        transaction.append(id_, Event("assess", HUMAN))
        with pytest.raises(Refusal):
            transaction.append(id_, Event("approve", HUMAN))
        return transaction.append(id_, Event("revise", HUMAN)).entry.to_state

    assert journal.transact(work) == "Drafting"
    assert [entry.event for entry in journal.history(id_)] == ["created", "assess", "revise"]


# Parents


def test_a_parent_is_kept_by_its_whole_id(journal: Journal) -> None:
    ticket = journal.create("ticket", created()).entry.instance
    thread = journal.create("thread", created(), parent=ticket[-8:]).entry.instance
    assert journal.instance(thread).parent == ticket
    assert [child.id for child in journal.transact(lambda transaction: transaction.children(ticket))] == [thread]


def test_a_parent_that_does_not_exist_is_refused_and_nothing_is_written(journal: Journal, address: Address) -> None:
    journal.create("ticket", created())
    before = dump(address)
    for parent in ("00000000000000000000000000", "zzzz", "../x", ""):
        with pytest.raises(InterlockError) as refusal:
            journal.create("thread", created(), parent=parent)
        assert refusal.value.code in ("unknown_instance", "invalid_argument")
    assert dump(address) == before


# Reading


def test_the_snapshot_at_a_version_is_what_the_entry_of_that_version_led_to(journal: Journal) -> None:
    machine = load_shipped("thread")
    id_ = journal.create("thread", created()).entry.instance
    first = start(machine, created())
    assert isinstance(first, Accepted)
    seen = [first.snapshot, *(journal.append(id_, event).snapshot for event in paths(machine)["Done"])]
    assert len(seen) > 8
    assert [journal.snapshot(id_, at=version) for version in range(1, len(seen) + 1)] == seen
    assert journal.snapshot(id_) == seen[-1]


def test_instances_come_oldest_first_and_by_machine(journal: Journal) -> None:
    made = [journal.create(name, created()).entry.instance for name in (*SHIPPED, *SHIPPED)]
    assert [instance.id for instance in journal.instances()] == made
    assert [instance.id for instance in journal.instances("story")] == [made[2], made[7]]
    assert journal.instances("no such machine") == []


def test_entries_are_read_in_pages(journal: Journal) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    other = journal.create("session", created(AGENT)).entry.instance
    for state in ("analyzing", "implementing", "testing"):
        journal.append(id_, reports(state))
    assert [entry.seq for entry in journal.entries(most=2)] == [1, 2]
    assert [entry.seq for entry in journal.entries(2, most=2)] == [3, 4]
    assert [entry.seq for entry in journal.entries(4)] == [5]
    assert journal.entries(5) == []
    assert [entry.seq for entry in journal.entries(instance=other)] == [2]
    assert [entry.seq for entry in journal.entries(1, instance=id_)] == [3, 4, 5]


def test_order_is_by_sequence_when_the_clock_goes_back(journal: Journal, clock: Clock) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    for seconds, state in ((-86_400, "analyzing"), (+315_360_000, "implementing"), (-1, "testing")):
        clock.forward(seconds)
        journal.append(id_, reports(state))
    assert [entry.to_state for entry in journal.history(id_)] == ["idle", "analyzing", "implementing", "testing"]
    assert [entry.seq for entry in journal.entries()] == [1, 2, 3, 4]
    assert journal.verify() == []
