"""Three tickets, of which the next one is found, and an agent that the hook holds to what it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from interlock.journal import Journal, Transaction
from interlock.machine import load_shipped
from interlock.work.demo.scenes import AGENT, PERSON, Hook, Hooked, Lookup, Scene, SceneHeading, SceneMove, moves_since
from interlock.work.sessions.verbs import Caller, complete, update
from interlock.work.sessions.verbs import create as begin
from interlock.work.tickets.numbers import number_of
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import create

__all__ = ["play_session", "play_tickets"]


def _done(journal: Journal, work: Callable[[Transaction], object]) -> Iterator[SceneMove]:
    """Do something; every entry that came of it is a move of the play."""
    head = journal.head()
    journal.transact(work)
    yield from moves_since(journal, head)


def play_tickets(journal: Journal) -> Iterator[Scene]:
    """Three tickets, of which one waits for another."""
    yield SceneHeading("Three tickets: the next one is found")
    yield from _done(journal, create(PERSON, "Greet people by name", estimate="S", priority="P1"))
    first = number_of(journal.entries(journal.head() - 1)[0].decoded_evidence().names)
    more = "Greet them in their language"
    yield from _done(journal, create(PERSON, more, estimate="S", priority="P0", blocked_by=[first]))
    yield from _done(journal, create(PERSON, "Rewrite everything", estimate="XL", priority="P3"))
    found = next_ticket(journal, load_shipped("ticket"), command="triage", largest="S").ticket
    assert found is not None
    yield Lookup("next_ticket for triage", f"{found.title}, for the more urgent one waits for it")


def play_session(journal: Journal, hook: Hook) -> Iterator[Scene]:
    """An agent reports what it does, and the hook holds it to that."""
    yield SceneHeading("An agent reports what it does, and is held to it by the hook before each of its tools")
    yield from _done(journal, begin(Caller(AGENT)))
    session = journal.recent("session", 1)[0].id
    for state in ("analyzing", "implementing", "testing", "reviewing"):
        yield from _done(journal, update(session, state, AGENT))
        for tool, about in _CALLS.get(state, ()):
            given = {"command": about} if tool == "Bash" else {"file_path": about}
            yield Hooked(tool, about, hook(session, tool, given))
    yield from _done(journal, complete(session, "success", AGENT))


_CALLS = {
    "analyzing": [("Read", "greet.py"), ("Write", "greet.py"), ("Bash", "echo done > greet.py")],
    "implementing": [("Write", "greet.py"), ("Bash", "rm -rf .ralf")],
    "testing": [("Bash", "python -m unittest")],
}
"""What the agent tries in a state."""
