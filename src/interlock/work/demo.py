"""A whole ticket through the five machines, on a journal of its own: who did what, and what was refused.

Nothing here runs an agent or touches git; it shows tickets, the machines, the journal and the hook at work. Whoever
acts says so through the channel `demo`, so that nobody takes these approvals for real ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Journal, Recorded, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, load_shipped
from interlock.work.sessions.verbs import Caller
from interlock.work.sessions.verbs import create as begin
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import known_ticket, number_of
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import create

__all__ = ["Found", "Heading", "Hook", "Hooked", "Move", "Refused", "Scene", "play"]

_PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.DEMO)
_AGENT = Actor(ActorKind.AGENT, "claude", Channel.DEMO)
_SYSTEM = Actor(ActorKind.SYSTEM, "interlock", Channel.DEMO)


@dataclass(frozen=True, slots=True)
class Heading:
    """What comes next."""

    text: str


@dataclass(frozen=True, slots=True)
class Move:
    """A move that was made and is in the journal."""

    machine: str
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class Refused:
    """A move that was refused, and is not in the journal."""

    machine: str
    event: Event
    error: Refusal


@dataclass(frozen=True, slots=True)
class Hooked:
    """A tool call of the agent, and what the hook said to it; nothing where it passed."""

    tool: str
    about: str
    said: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """What somebody asked for, and what was found."""

    asked: str
    found: str


Scene = Heading | Move | Refused | Hooked | Found
Hook = Callable[[str, str, dict[str, str]], str | None]
"""Ask the real hook about a session's tool call: why it is blocked, or None."""


def play(journal: Journal, hook: Hook | None = None) -> Iterator[Scene]:
    """Play it, a scene at a time; every move is durable when its scene is given out."""
    yield Heading("Three tickets: the next one is found, and no step of the pipeline can be skipped")
    number = len(journal.instances("ticket")) + 1
    yield from _tickets(journal)
    ticket = _Ticket(journal, number)
    yield from _plan(ticket)
    thread = _Cast(journal, "thread", ticket)
    yield Heading("A thread opens on it: the person finalizes the spec, and only the person can")
    yield from _specify(ticket, thread)
    yield Heading("The story loop works on it, with an agent that reports over its session")
    yield from _loop(journal, thread, hook)
    yield Heading("“Done” is a claim: our verifiers say no, and an orchestrator run goes on")
    yield from _again(journal, thread)
    yield Heading("Verified, reviewed, changed under the reviewer's eyes, verified and reviewed again, committed")
    yield from _finish(ticket, thread)


class _Cast:
    """One instance in the play."""

    def __init__(self, journal: Journal, machine: str, parent: _Cast | None = None) -> None:
        self._journal = journal
        self._machine = machine
        self._parent = parent
        self.id = ""

    def begin(self, by: Actor, evidence: Evidence | None = None) -> Move:
        parent = self._parent.id if self._parent else None
        recorded = self._journal.create(self._machine, Event("created", by, evidence=evidence), parent=parent)
        self.id = recorded.entry.instance
        return Move(self._machine, recorded)

    def move(self, event: Event) -> Move:
        return Move(self._machine, self._journal.append(self.id, event))

    def refused(self, event: Event) -> Refused:
        """A move that must be refused; the play stops where it is not."""
        try:
            self._journal.append(self.id, event)
        except Refusal as error:
            return Refused(self._machine, event, error)
        raise AssertionError(f"{event.name} was not refused")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _system(name: str, reason: str | None = None, evidence: Evidence | None = None) -> Event:
    return Event(name, _SYSTEM, reason=reason, evidence=evidence)


def _person(name: str, reason: str | None = None, evidence: Evidence | None = None) -> Event:
    return Event(name, _PERSON, reason=reason, evidence=evidence)


class _Ticket(_Cast):
    """The ticket of the play; agents and the person move it through the one door, `handoff`."""

    def __init__(self, journal: Journal, number: int) -> None:
        super().__init__(journal, "ticket")
        self._number = number
        self.id = known_ticket(journal, number).id

    def hand(self, by: Caller, reason: str, **asked: Any) -> Iterator[Move]:
        yield from _done(self._journal, handoff(by, self._number, reason=reason, **asked))

    def denied(self, by: Caller, reason: str, **asked: Any) -> Refused:
        """A handoff that must be refused; the play stops where it is not."""
        try:
            self._journal.transact(handoff(by, self._number, reason=reason, **asked))
        except Refusal as error:
            return Refused("ticket", Event("handoff", by.actor), error)
        raise AssertionError(f"{asked} was not refused")

    def employ(self, name: str) -> Iterator[Move]:
        """An agent begins a session, to work on the ticket."""
        yield from _done(self._journal, begin(Caller(_agent(name)), ticket=str(self._number), role=name))

    def caller(self, name: str) -> Caller:
        """The agent in its session."""
        session = next(one for one in self._journal.recent("session", 2, parent=self.id) if self._is_of(one.id, name))
        return Caller(_agent(name), session=session.id)

    def _is_of(self, session: str, name: str) -> bool:
        return self._journal.history(session)[0].actor_id == name


def _agent(name: str) -> Actor:
    return replace(_AGENT, id=name)


def _done(journal: Journal, work: Callable[[Transaction], object]) -> Iterator[Move]:
    """Do something; every entry that came of it is a move of the play."""
    head = journal.head()
    journal.transact(work)
    for entry in journal.entries(head):
        instance = journal.instance(entry.instance)
        yield Move(instance.machine, Recorded(entry, instance.snapshot))


def _tickets(journal: Journal) -> Iterator[Scene]:
    yield from _done(journal, create(_PERSON, "Greet people by name", estimate="S", priority="P1"))
    first = _last_number(journal)
    more = "Greet them in their language"
    yield from _done(journal, create(_PERSON, more, estimate="S", priority="P0", blocked_by=[first]))
    yield from _done(journal, create(_PERSON, "Rewrite everything", estimate="XL", priority="P3"))
    found = next_ticket(journal, load_shipped("ticket"), command="triage", largest="S").ticket
    assert found is not None
    yield Found("next_ticket for triage", f"{found.title}, for the more urgent one waits for it")


def _last_number(journal: Journal) -> int:
    return number_of(journal.entries(journal.head() - 1)[0].decoded_evidence().names)


def _plan(ticket: _Ticket) -> Iterator[Scene]:
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
    yield from ticket.hand(Caller(_PERSON), "go ahead", to="In Progress")


def _specify(ticket: _Ticket, thread: _Cast) -> Iterator[Scene]:
    yield thread.begin(_PERSON)
    yield ticket.move(Event("follow", _PERSON, "In Progress", "thread", evidence=Evidence(holder=thread.id)))
    spec = Evidence(subjects={"spec": _hash("v1.md")})
    yield thread.refused(Event("finalize", _AGENT, evidence=spec))
    yield thread.move(_person("finalize", evidence=spec))
    yield thread.move(_person("run"))
    yield thread.move(_system("checks_passed"))
    yield thread.move(_person("start"))


def _loop(journal: Journal, thread: _Cast, hook: Hook | None) -> Iterator[Scene]:
    story = _Cast(journal, "story", thread)
    yield story.begin(_SYSTEM)
    for name in ("progress_found", "memory_unavailable", "files_loaded"):
        yield story.move(_system(name))
    yield story.move(_system("task_selected", evidence=Evidence(task="1.1")))
    session = _Cast(journal, "session", story)
    yield session.begin(_SYSTEM)
    for state in ("analyzing", "implementing", "testing"):
        yield session.move(Event("update_session_state", _AGENT, state))
        if hook is not None:
            yield from _tool_calls(hook, session.id, state)
    yield session.move(Event("update_session_state", _AGENT, "reviewing"))
    outcome = Evidence(facts={"outcome": "success"}, data={"outcome": "success"})
    yield session.move(Event("complete_ralph_session", _AGENT, evidence=outcome))
    for name in ("code_written", "tests_failed", "code_written", "tests_passed", "criteria_met", "committed"):
        yield story.move(_system(name))
    for name in ("memory_loaded", "story_completed", "all_complete"):
        yield story.move(_system(name))


def _tool_calls(hook: Hook, session: str, state: str) -> Iterator[Hooked]:
    """What the agent tries in a state: the hook holds it to what the state allows."""
    calls = {
        "analyzing": [("Read", "src/greet.py"), ("Write", "src/greet.py"), ("Bash", "echo done > src/greet.py")],
        "implementing": [("Write", "src/greet.py"), ("Bash", "rm -rf .ralf")],
        "testing": [("Bash", "pytest -q")],
    }
    for tool, about in calls[state]:
        given = {"command": about} if tool == "Bash" else {"file_path": about}
        yield Hooked(tool, about, hook(session, tool, given))


def _again(journal: Journal, thread: _Cast) -> Iterator[Scene]:
    yield thread.move(_system("claims_done"))
    yield thread.move(_system("criteria_failed", "CRITERION 2: FAIL - no name, no greeting"))
    run = _Cast(journal, "orchestrator", thread)
    yield run.begin(_SYSTEM)
    yield run.move(_system("session_resolved", evidence=Evidence(facts={"session": "new"})))
    yield run.move(_system("planner_completed", evidence=Evidence(facts={"planner": "completed"})))
    yield run.move(_system("task_selected", evidence=Evidence(task="task-1")))
    yield run.move(_system("executor_completed", evidence=Evidence(facts={"executor": "completed"})))
    yield run.move(_system("reviewer_completed", evidence=Evidence(facts={"verdict": "Qualified"})))
    yield run.move(_system("no_tasks_remaining"))
    yield run.move(_system("holistic_check_passed"))
    yield thread.move(_system("claims_done"))


def _finish(ticket: _Ticket, thread: _Cast) -> Iterator[Scene]:
    first, second = Evidence(subjects={"tree": _hash("first")}), Evidence(subjects={"tree": _hash("second")})
    yield thread.move(_system("criteria_passed", evidence=first))
    yield thread.move(_person("ready"))
    yield ticket.move(Event("follow", _PERSON, "In Review", "thread", evidence=Evidence(holder=thread.id)))
    yield thread.move(_person("approve", evidence=first))
    yield thread.move(_system("tree_changed", evidence=second))
    yield thread.refused(_person("approve", evidence=second))
    yield thread.move(_system("reverify"))
    yield thread.move(_system("criteria_passed", evidence=second))
    yield thread.move(_person("ready"))
    yield thread.move(_person("approve", evidence=second))
    yield thread.move(_system("prepare"))
    yield thread.move(_person("commit", evidence=second))
    settled = {"key": "git_commit", "result": "done"}
    yield thread.move(_system("effect_settled", evidence=Evidence(data=settled)))
    yield from ticket.hand(Caller(_AGENT), "it is in main", command="merge", intent="complete", merged=_hash("commit"))
