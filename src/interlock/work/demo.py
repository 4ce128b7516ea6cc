"""A whole ticket through the five machines, on a journal of its own: who did what, and what was refused.

Nothing here runs an agent or touches git; it shows the machines, the journal and the hook at work. Whoever acts
says so through the channel `demo`, so that nobody takes these approvals for real ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from interlock.errors import Refusal
from interlock.journal import Journal, Recorded
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence

__all__ = ["Heading", "Hook", "Hooked", "Move", "Refused", "play"]

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


Scene = Heading | Move | Refused | Hooked
Hook = Callable[[str, str, dict[str, str]], str | None]
"""Ask the real hook about a session's tool call: why it is blocked, or None."""


def play(journal: Journal, hook: Hook | None = None) -> Iterator[Scene]:
    """Play it, a scene at a time; every move is durable when its scene is given out."""
    ticket = _Cast(journal, "ticket")
    yield Heading("A ticket is planned by agents, and a person approves the plan")
    yield ticket.begin(_PERSON, Evidence(data={"title": "Greet people by name"}))
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


def _handoff(command: str, to: str, reason: str, name: str = "handoff") -> Event:
    return Event(name, _AGENT, to, command, reason, Evidence(holder=f"{command}-1"))


def _plan(ticket: _Cast) -> Iterator[Scene]:
    yield ticket.move(_handoff("triage", "Research Needed", "unclear how names reach the greeter"))
    yield ticket.move(_handoff("research", "Research in Progress", "taking it", "lock"))
    yield ticket.move(_handoff("research", "Ready for Plan", "findings attached"))
    yield ticket.move(_handoff("plan", "Plan in Progress", "taking it", "lock"))
    yield ticket.move(_handoff("plan", "Plan in Review", "plan attached"))
    yield ticket.refused(_handoff("review", "In Progress", "looks good to me"))
    yield ticket.move(Event("handoff", _PERSON, "In Progress", reason="go ahead"))


def _specify(ticket: _Cast, thread: _Cast) -> Iterator[Scene]:
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


def _finish(ticket: _Cast, thread: _Cast) -> Iterator[Scene]:
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
    merged = Evidence(subjects={"commit": _hash("commit")})
    yield ticket.move(_system("merge_observed", evidence=merged))
    yield ticket.move(Event("handoff", _AGENT, "Done", "merge", "the commit is in main"))
