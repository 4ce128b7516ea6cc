"""Three tickets: the next one is found, agents lead it through the pipeline, and no step can be skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from interlock.errors import Refusal
from interlock.journal import Journal, Transaction
from interlock.machine import Event, load_shipped
from interlock.work.demo.cast import AGENT, PERSON, agent
from interlock.work.demo.scenes import Found, Heading, Hook, Hooked, Move, Refused, Scene, moves_since
from interlock.work.sessions.verbs import Caller, complete, update
from interlock.work.sessions.verbs import create as begin
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import known_ticket, number_of
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import create

__all__ = ["Ticket", "play_pipeline", "play_session", "play_tickets"]


class Ticket:
    """The ticket of the play; agents and the person move it through the one door, `handoff`."""

    def __init__(self, journal: Journal, number: int) -> None:
        self._journal = journal
        self.number = number
        self.id = known_ticket(journal, number).id

    def hand(self, by: Caller, reason: str, **asked: Any) -> Iterator[Move]:
        yield from done(self._journal, handoff(by, self.number, reason=reason, **asked))

    def denied(self, by: Caller, reason: str, **asked: Any) -> Refused:
        """A handoff that must be refused; the play stops where it is not."""
        try:
            self._journal.transact(handoff(by, self.number, reason=reason, **asked))
        except Refusal as error:
            return Refused("ticket", Event("handoff", by.actor), error)
        raise AssertionError(f"{asked} was not refused")

    def employ(self, name: str) -> Iterator[Move]:
        """An agent begins a session, to work on the ticket."""
        yield from done(self._journal, begin(Caller(agent(name)), ticket=str(self.number), role=name))

    def caller(self, name: str) -> Caller:
        """The agent in its session."""
        session = next(one for one in self._journal.recent("session", 2, parent=self.id) if self._is_of(one.id, name))
        return Caller(agent(name), session=session.id)

    def _is_of(self, session: str, name: str) -> bool:
        return self._journal.history(session)[0].actor_id == name


def done(journal: Journal, work: Callable[[Transaction], object]) -> Iterator[Move]:
    """Do something; every entry that came of it is a move of the play."""
    head = journal.head()
    journal.transact(work)
    yield from moves_since(journal, head)


def play_tickets(journal: Journal) -> Iterator[Scene]:
    """Three tickets, of which one waits for another."""
    yield Heading("Three tickets: the next one is found, and no step of the pipeline can be skipped")
    yield from done(journal, create(PERSON, "Greet people by name", estimate="S", priority="P1"))
    first = number_of(journal.entries(journal.head() - 1)[0].decoded_evidence().names)
    more = "Greet them in their language"
    yield from done(journal, create(PERSON, more, estimate="S", priority="P0", blocked_by=[first]))
    yield from done(journal, create(PERSON, "Rewrite everything", estimate="XL", priority="P3"))
    found = next_ticket(journal, load_shipped("ticket"), command="triage", largest="S").ticket
    assert found is not None
    yield Found("next_ticket for triage", f"{found.title}, for the more urgent one waits for it")


def play_pipeline(ticket: Ticket) -> Iterator[Scene]:
    """Two agents lead a ticket through research and plan; a person lets it be built."""
    yield from ticket.employ("claude")
    yield from ticket.employ("codex")
    claude, codex = ticket.caller("claude"), ticket.caller("codex")
    yield ticket.denied(claude, "it is easy enough", command="triage", to="In Progress")
    yield from ticket.hand(claude, "unclear how names reach the greeter", command="triage", to="Research Needed")
    yield from ticket.hand(claude, "looking into it", command="research", intent="lock")
    yield ticket.denied(codex, "me too", command="research", intent="lock")
    yield from ticket.hand(claude, "findings attached", command="research", intent="complete")
    yield from ticket.hand(codex, "writing the plan", command="plan", intent="lock")
    yield from ticket.hand(codex, "plan attached", command="plan", intent="complete")
    yield ticket.denied(claude, "looks good to me", command="review", intent="complete")
    yield from ticket.hand(Caller(PERSON), "go ahead", to="In Progress")


def play_session(journal: Journal, hook: Hook) -> Iterator[Scene]:
    """An agent reports what it does, and the hook holds it to that."""
    yield Heading("An agent reports what it does, and is held to it by the hook before each of its tools")
    yield from done(journal, begin(Caller(AGENT)))
    session = journal.recent("session", 1)[0].id
    for state in ("analyzing", "implementing", "testing", "reviewing"):
        yield from done(journal, update(session, state, AGENT))
        for tool, about in _CALLS.get(state, ()):
            given = {"command": about} if tool == "Bash" else {"file_path": about}
            yield Hooked(tool, about, hook(session, tool, given))
    yield from done(journal, complete(session, "success", AGENT))


_CALLS = {
    "analyzing": [("Read", "greet.py"), ("Write", "greet.py"), ("Bash", "echo done > greet.py")],
    "implementing": [("Write", "greet.py"), ("Bash", "rm -rf .ralf")],
    "testing": [("Bash", "python -m unittest")],
}
"""What the agent tries in a state."""
