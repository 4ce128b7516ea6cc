"""What is told of a journal, how often, and what becomes of it where a channel is away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import examples
from interlock.journal import Journal, open_journal
from interlock.machine import Event, Evidence, load_shipped
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.notifying.delivery import lease_of
from interlock.work.notifying.outbox import DAY, Post
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.verbs import create as create_ticket
from interlock.world.notices.notice import DeliveryFailure, Notice
from journal.histories import Clock
from patience import SECONDS
from work.attention.standings import AGENT, DRIVER, PERSON, loop_in, noted, run_in, thread_in
from work.tickets.boards import way_to

ALL = frozenset({"needed", "stuck", "budget", "done"})
THREAD = load_shipped("thread")


class Box(msgspec.Struct):
    """A channel that keeps what it is told, and fails while there is trouble."""

    name: str = "box"
    told: list[Notice] = msgspec.field(default_factory=list)
    trouble: DeliveryFailure | None = None
    tried: int = 0
    is_here: bool = True
    seen: list[str] = msgspec.field(default_factory=list)

    def send(self, notice: Notice) -> DeliveryFailure | None:
        self.tried += 1
        self.seen.append(notice.id)
        if self.trouble is None:
            self.told.append(notice)
        return self.trouble


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[Journal]:
    found = open_journal(tmp_path / "journal.db", now=clock)
    yield found
    found.close()


def _post(journal: Journal, box: Box | None = None) -> tuple[Post, Box]:
    known = box or Box()
    post = Post(journal, known, ALL, "http://127.0.0.1:7411")
    post.begin()
    return post, known


def _told(journal: Journal, post: Post, box: Box) -> list[tuple[str, str]]:
    while post.turn():
        pass
    return [(one.kind, one.state) for one in box.told]


def test_nothing_that_happened_before_a_channel_was_set_is_told(journal: Journal) -> None:
    thread_in(journal, "Stuck")
    post, box = _post(journal)
    assert post.turn() == 0
    assert box.tried == 0


def test_a_thread_that_is_stuck_is_told_with_what_to_type(journal: Journal) -> None:
    post, box = _post(journal)
    id_ = thread_in(journal, "Stuck", "Greet\u200b people", "no\u2028 way\nsk-ant-" + "a" * 30)
    assert _told(journal, post, box)[-1] == ("stuck", "Stuck")
    last = box.told[-1]
    assert last.command == f"ralph thread diagnose {id_[-6:]}"
    assert last.link == f"http://127.0.0.1:7411/thread/{id_}"
    assert last.instance == id_
    assert "sk-ant" not in last.body
    assert last.title.startswith("Stuck: Greet")
    assert all(one.isprintable() or one == "\n" for one in last.title + last.body)


@pytest.mark.parametrize("event", ["budget_exhausted", "driver_failed"])
def test_a_budget_that_is_used_up_is_told_as_one(journal: Journal, event: str) -> None:
    id_ = thread_in(journal, "Running")
    post, box = _post(journal)
    journal.append(id_, Event(event, DRIVER, reason="5 dollars are used up"))
    assert _told(journal, post, box) == [("budget" if event == "budget_exhausted" else "stuck", "Stuck")]


def test_a_person_is_not_told_what_they_did(journal: Journal) -> None:
    id_ = thread_in(journal, "Running")
    post, box = _post(journal)
    journal.append(id_, Event("pause", PERSON))
    assert _told(journal, post, box) == []
    journal.append(id_, Event("resume", PERSON))
    journal.append(id_, Event("pause", DRIVER, reason="its ticket is held"))
    assert _told(journal, post, box) == [("needed", "Paused")]


def test_methodical_mode_tells_that_it_is_a_persons_turn(journal: Journal) -> None:
    id_ = thread_in(journal, "Preflight")
    post, box = _post(journal)
    journal.append(id_, Event("checks_passed", DRIVER, evidence=Evidence(data={"checks": []})))
    assert _told(journal, post, box) == [("needed", "Configuring")]
    assert "methodical" in box.told[0].body


def test_loops_and_runs_tell_how_they_ended_or_why_they_rest(journal: Journal) -> None:
    post, box = _post(journal)
    noted(journal, loop_in(journal, "IMPLEMENT"), "paused", reason="100 iterations are used up", cause="budget")
    noted(journal, run_in(journal, "Executing"), "stopped", reason="its role was changed")
    assert _told(journal, post, box) == [("budget", "IMPLEMENT"), ("stuck", "Executing")]
    run_in(journal, "Failed")
    loop_in(journal, "STORY_SELECT", "only_blocked_left")
    run_in(journal, "Exit")
    told = _told(journal, post, box)[2:]
    assert told == [("stuck", "Failed"), ("stuck", "EXIT"), ("done", "Exit")]
    assert "a key for the service" in box.told[3].body


def test_a_ticket_that_follows_its_thread_tells_nothing_twice(journal: Journal) -> None:
    number = journal.transact(create_ticket(PERSON, "Parse dates")).number
    for to in way_to("In Progress"):
        journal.transact(handoff(Caller(PERSON), number, to=to, reason="go"))
    ticket = known_ticket(journal, number)
    release = Evidence(holder=ticket.snapshot.holder)
    journal.append(ticket.id, Event("release", PERSON, reason="a thread goes on with it", evidence=release))
    post, box = _post(journal)
    thread_in(journal, "Stuck", parent=ticket.id)
    assert journal.instance(ticket.id).state == "Human Needed"
    assert [one for one in _told(journal, post, box) if one[0] == "stuck"] == [("stuck", "Stuck")]
    assert {one.machine for one in box.told} == {"thread"}


def test_a_ticket_that_an_agent_hands_to_people_says_what_leads_on(journal: Journal) -> None:
    number = journal.transact(create_ticket(PERSON, "Parse dates")).number
    post, box = _post(journal)
    escalate = handoff(Caller(AGENT), number, command="triage", intent="escalate", reason="which format?")
    journal.transact(escalate)
    assert _told(journal, post, box) == [("needed", "Human Needed")]
    [told] = box.told
    assert told.title == f"Needs you: #{number} Parse dates"
    assert "which format?" in told.body
    assert told.command.startswith(f"ralph ticket handoff {number} ")
    assert told.link == f"http://127.0.0.1:7411/ticket/{number}"


def test_a_failure_is_tried_again_by_the_journals_clock_and_holds_up_no_other_channel(
    journal: Journal, clock: Clock
) -> None:
    post, box = _post(journal)
    other, second = _post(journal, Box("other"))
    run_in(journal, "Failed")
    box.trouble = DeliveryFailure("it answers 500")
    assert post.turn() == 0
    assert post.turn() == 0
    assert box.tried == 1
    assert other.turn() == 1
    assert len(second.told) == 1
    kept = next(one for one in journal.outboxes() if one.channel == "box")
    assert (kept.tries, kept.trouble) == (1, "it answers 500")
    clock.forward(6)
    box.trouble = DeliveryFailure("it answers 429", retry_after=600.0)
    assert post.turn() == 0
    assert box.tried == 2
    clock.forward(300)
    assert post.turn() == 0
    assert box.tried == 2
    clock.forward(301)
    box.trouble = None
    assert post.turn() == 1
    assert post.turn() == 0
    kept = next(one for one in journal.outboxes() if one.channel == "box")
    assert (kept.tries, kept.trouble, kept.sent) == (0, "", 1)


def test_what_is_older_than_a_day_is_dropped_and_that_is_written_down(journal: Journal, clock: Clock) -> None:
    post, box = _post(journal)
    run_in(journal, "Failed")
    clock.forward(DAY + 1)
    run_in(journal, "Exit")
    assert _told(journal, post, box) == [("done", "Exit")]
    [kept] = journal.outboxes()
    assert (kept.dropped, kept.sent) == (1, 1)


def test_a_burst_is_told_as_one_and_the_same_one_again(journal: Journal, clock: Clock) -> None:
    post, box = _post(journal)
    for _ in range(12):
        run_in(journal, "Failed")
    box.trouble = DeliveryFailure("away")
    post.turn()
    run_in(journal, "Exit")
    clock.forward(10)
    box.trouble = None
    assert post.turn() == 13
    assert [one.count for one in box.told] == [12, 1]
    assert box.told[0].title == "12 things to know: 12 stuck"
    assert "… and 2 more" in box.told[0].body
    assert box.seen[0] == box.seen[1] == box.told[0].id


def test_only_one_process_sends(journal: Journal) -> None:
    post, box = _post(journal)
    run_in(journal, "Failed")
    other = replace(process_holder(), pid=os.getppid(), started="", host="elsewhere")
    lease = journal.acquire(lease_of("box"), other, 60.0, is_present)
    assert post.turn() == 0
    assert box.tried == 0
    journal.release(lease)
    assert post.turn() == 1


_DYING = """
import os, signal, sys
from pathlib import Path
from interlock.journal import open_journal
from interlock.work.notifying.outbox import Post

class Dying:
    name, is_here = "box", True
    def send(self, notice):
        Path(sys.argv[2]).write_text(notice.id)
        os.kill(os.getpid(), signal.SIGKILL)

journal = open_journal(Path(sys.argv[1]))
Post(journal, Dying(), frozenset({"stuck"})).turn()
"""


def test_a_kill_between_sending_and_noting_tells_the_same_again(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    try:
        post, box = _post(journal)
        run_in(journal, "Failed")
        told = tmp_path / "told"
        words = [sys.executable, "-c", _DYING, str(tmp_path / "journal.db"), str(told)]
        assert subprocess.run(words, timeout=SECONDS, check=False).returncode == -signal.SIGKILL
        assert post.turn() == 1
        assert post.turn() == 0
        assert [one.id for one in box.told] == [told.read_text()]
    finally:
        journal.close()


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["Stuck", "Done", "Paused", "Failed", "Exit", "EXIT"]), max_size=5), st.data())
def test_notices_are_the_same_however_often_and_in_which_parts_they_are_made(
    tmp_path_factory: pytest.TempPathFactory, made: list[str], data: st.DataObject
) -> None:
    journal = open_journal(tmp_path_factory.mktemp("journal") / "journal.db", now=Clock())
    try:
        post, box = _post(journal)
        for state in made:
            place = thread_in if state in THREAD.states else run_in if state in ("Failed", "Exit") else loop_in
            place(journal, state)
            if data.draw(st.booleans()):
                post.turn()
        while post.turn():
            pass
        whole = Post(journal, Box("anew"), ALL, "http://127.0.0.1:7411")
        journal.begin_outbox("anew")
        again = [one for entry in journal.all_entries() if (one := whole._notice(entry)) is not None]
        singles = [one for one in box.told if one.count == 1]
        assert sum(one.count for one in box.told) == len(again)
        assert all(one in again for one in singles)
        assert len({one.id for one in again}) == len(again)
    finally:
        journal.close()
