"""Somebody goes on with a ticket or its thread elsewhere, while `ralph work` waits for an agent or for an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from interlock.errors import Conflict, InterlockError
from interlock.journal import Holder
from interlock.work.driver.interrupts import Interrupts, PauseRequested
from interlock.work.driver.lease_holders import is_present
from interlock.work.gates.presence import Person
from interlock.work.gates.stage import staged
from interlock.work.sessions.verbs import Caller
from interlock.work.threads.verbs import act, revise_spec
from interlock.work.ticket_driver.loop import TicketResult, drive_ticket, is_told
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import edit
from interlock.world.agents.happenings import Said
from work.threads.benches import DONE, IDLE, SPEC, Steps, WaitingClock, shell
from work.ticket_driver.ways import NUMBER, PERSON, Way, commands, made
from work.tickets.boards import way_to

WAITS: Steps = [{"say": "I begin."}, shell("while :; do sleep 0.05; done"), {"finish": True}]
DRAFTS: Steps = [{"say": "I begin."}, {"say": f"```markdown\n{SPEC}```"}, {"finish": True}]


@pytest.fixture
def way(tmp_path: Path) -> Way:
    return made(tmp_path / "repository")


def _hand(way: Way, *states: str) -> None:
    with closing(way.open()) as journal:
        for state in states:
            journal.transact(handoff(Caller(PERSON), NUMBER, reason="go", to=state))


def _speak(way: Way, words: Callable[[str], None]) -> None:
    """Let somebody speak from elsewhere of the ticket's thread, when an agent has begun."""

    def hear(told: object) -> None:
        if isinstance(told, Said) and told.text == "I begin.":
            with closing(way.open()) as journal:
                [thread] = journal.instances("thread")
            words(thread.id)

    way.hear = hear


def _steered(way: Way) -> TicketResult:
    with closing(way.open()) as journal:
        interrupts = Interrupts(journal, partial(is_told, journal, NUMBER))
        steered = replace(
            way.context(journal), stop=interrupts, pausing=PauseRequested(interrupts), refresh=interrupts.listen_again
        )
        return drive_ticket(steered, NUMBER, way.person, Choices())


def test_a_spec_that_somebody_finalizes_while_an_agent_writes_one_is_built(way: Way) -> None:
    _hand(way, *way_to("In Progress"))
    way.play(DRAFTS, DONE)

    def finalize(thread: str) -> None:
        with closing(way.open()) as journal:
            revise_spec(way.context(journal), thread, way.person.actor, SPEC.replace("Greet", "Hail"))
            act(way.context(journal), thread, way.person, "finalize")

    _speak(way, finalize)
    walked = way.walk()
    assert walked.stop.why == "approve is yours"
    with closing(way.open()) as journal:
        [thread] = journal.instances("thread")
        events = [one.event for one in journal.history(thread.id)]
    assert events.count("finalize") == 1


def test_a_thread_that_is_abandoned_while_its_spec_is_written_ends_no_more_than_that(way: Way) -> None:
    _hand(way, *way_to("In Progress"))
    way.play(WAITS, *commands()[1:])

    def abandon(thread: str) -> None:
        way.act(thread, "abandon", drives=False)
        _hand(way, "Research Needed")

    _speak(way, abandon)
    walked = _steered(way)
    assert walked.ticket.state == "Plan in Review", walked.stop


class SpeaksOnce(msgspec.Struct):
    """Nobody presses anything; somebody speaks once, when as many sessions have ended as they wait for."""

    way: Way
    sessions: int
    speak: Callable[[], None]
    has_spoken: bool = False

    def is_set(self) -> bool:
        with closing(self.way.open()) as journal:
            ended = [one for one in journal.instances("session") if one.outcome is not None]
        if len(ended) == self.sessions and not self.has_spoken:
            self.has_spoken = True
            self.speak()
        return False


def test_what_somebody_moves_as_its_agent_gives_up_stays_moved(way: Way) -> None:
    way.play(IDLE, IDLE, *commands()[1:])
    speaks = SpeaksOnce(way, 2, lambda: _hand(way, "Research Needed"))
    with closing(way.open()) as journal:
        walked = drive_ticket(replace(way.context(journal), stop=speaks), NUMBER, way.person, Choices())
    assert walked.ticket.state == "Plan in Review", walked.stop
    assert "Human Needed" not in [state for state, _, _ in way.moves]


def test_a_plan_that_was_replaced_while_it_was_asked_for_is_not_approved(way: Way) -> None:
    _hand(way, *way_to("Plan in Review"))
    presence = staged(way.root, "test")

    class Reads(msgspec.Struct):
        """Somebody who says yes to a plan that was replaced while they read it."""

        actor = presence.actor
        enter = staticmethod(presence.enter)
        sign = staticmethod(presence.sign)

        def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
            with closing(way.open()) as journal:
                journal.transact(edit(PERSON, NUMBER, artifacts={"plan": "thoughts/other.md"}))
            return True

    person = Person(presence.actor, Reads, lambda: True)
    with closing(way.open()) as journal, pytest.raises(Conflict) as caught:
        drive_ticket(way.context(journal), NUMBER, person, Choices(asks=True))
    assert caught.value.code == "conflict"
    assert way.moves[-1][0] == "Plan in Review"


def test_a_ticket_is_driven_by_one_process_at_a_time(way: Way) -> None:
    other = Holder("elsewhere", "boot", 1, "1", "ralph", "", "another machine")
    with closing(way.open()) as journal:
        [ticket] = journal.instances("ticket")
        lease = journal.acquire(f"work:{ticket.id}", other, 3600, is_present)
        head = journal.head()
        with pytest.raises(InterlockError) as caught:
            way.walk_in(journal)
        assert (caught.value.code, journal.head()) == ("lease_held", head)
        journal.release(lease)
        assert way.walk_in(journal).ticket.state == "Plan in Review"


def _press(way: Way) -> None:
    """Press Ctrl+C once, when an agent has begun."""
    way.hear = lambda told: way.pausing.set() if isinstance(told, Said) else None


def test_after_one_press_no_other_agent_of_the_pipeline_is_started(way: Way) -> None:
    first, *others = commands()
    way.play([{"say": "I begin."}, *first], *others)
    _press(way)
    walked = way.walk()
    assert (walked.ticket.state, walked.stop.failed) == ("Research Needed", False)
    assert (walked.stop.why, walked.stop.hint) == ("it is paused", "`ralph work 1` continues.")
    way.pausing.clear()
    way.hear = lambda told: None
    assert way.walk().ticket.state == "Plan in Review"


def test_after_one_press_no_agent_is_asked_for_a_spec_again(way: Way) -> None:
    _hand(way, *way_to("In Progress"))
    way.play(IDLE)
    _press(way)
    assert way.walk(asks=True).stop.why == "it is paused"
    with closing(way.open()) as journal:
        assert len(journal.instances("session")) == 1


def test_a_press_ends_the_wait_for_a_limit_and_starts_no_agent(way: Way) -> None:
    way.now = way.waited = clock = WaitingClock(time.time())  # the pipeline's agents use the real one
    way.play([{"limit": {"kind": "session", "until": clock.seconds + 600, "said": "enough"}}, {"exit": 1}], *commands())
    way.hear = lambda told: way.pausing.set() if "waits until" in str(told) else None
    assert way.walk().stop.why == "it is paused"
    with closing(way.open()) as journal:
        assert len(journal.instances("session")) == 1


def test_a_press_ends_the_wait_for_another_ticket_and_starts_no_agent(way: Way) -> None:
    other = Holder("elsewhere", "boot", 1, "1", "ralph", "", "another machine")
    with closing(way.open()) as journal:
        lease = journal.acquire("way:prepare", other, 3600, is_present)

        def wait(seconds: float) -> None:
            if way.pausing.is_set():
                journal.release(lease)
            way.pausing.set()

        with pytest.raises(InterlockError) as caught:
            drive_ticket(replace(way.context(journal), wait=wait), NUMBER, way.person, Choices())
        assert (caught.value.code, journal.instances("session")) == ("lease_held", [])
