"""A thread on the ticket: a spec, a loop that lies twice, a receipt, a review, and a commit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.machine import Event
from interlock.work.demo.cast import AGENT
from interlock.work.demo.project import Project, Steps
from interlock.work.demo.scenes import Heading, Refused, Saw, Scene, moves_since
from interlock.work.demo.tickets import Ticket
from interlock.work.demo.workshops import drive_until, workshop_of
from interlock.work.gates import Presence, at_terminal
from interlock.work.sessions.verbs import Caller
from interlock.work.threads.loop import drive, read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.showing import shown_at
from interlock.work.threads.verbs import Person, act, new_thread, revise_spec

__all__ = ["play_thread"]

_SPEC = """\
# Greet people by name

## Goal

Whoever gives a name is greeted by it; whoever gives none is greeted as before.

## Completion Criteria

- [ ] the tests pass, those that were there among them
- [ ] greet("Ada") says "Hello, Ada!"
  - verify: `PYTHON -c "from greet import greet; assert greet('Ada') == 'Hello, Ada!'"`
- [ ] without a name it still greets

<promise>COMPLETE</promise>
"""
_HALF = "def greet(name"
_WRONG = 'def greet(name: str) -> str:\n    return f"Hi {name}"\n'
_RIGHT = '''"""Greets people, by name where they give one."""


def greet(name: str | None = None) -> str:
    return f"Hello, {name}!" if name else "Hello!"
'''
_LAZY = """import unittest

from greet import greet


class Greeting(unittest.TestCase):
    @unittest.skip("later")
    def test_it_greets(self) -> None:
        self.assertTrue(greet().startswith("Hello"))
"""


def _claims(*steps: dict[str, Any]) -> Steps:
    return [*steps, {"say": "All criteria are met."}, {"promise": "COMPLETE"}, {"finish": True}]


def play_thread(journal: Journal, project: Project, ticket: Ticket, presence: Presence) -> Iterator[Scene]:
    """From the spec to the commit. Every move, file, test and commit in it is real; only the agent plays a script."""
    play = _Play(journal, project, presence)
    yield Heading("A thread opens on it: a spec, which only the person can finalize")
    yield from play.begin(ticket)
    yield play.forged("finalize")
    yield from play.person("finalize")
    yield from play.person("run")
    yield from play.killed()
    yield from play.claims()
    yield Heading("Proven, it waits for the person; changed under the reviewer's eyes, it is proven again")
    yield from play.person("ready")
    yield play.forged("approve")
    yield from play.person("approve")
    project.write("greet.py", _RIGHT.replace("people, by", "people by"))
    yield Saw("somebody", "edits greet.py after it was approved", is_good=False)
    yield from play.goes_on()
    yield play.denied("approve")
    yield from play.person("reverify")
    yield from play.person("ready")
    yield from play.person("approve")
    yield from play.person("commit")
    yield from play.merged(ticket)


class _Play:
    """The thread of the play, with the person and the agents that move it."""

    def __init__(self, journal: Journal, project: Project, presence: Presence) -> None:
        self._journal = journal
        self._project = project
        self._person = Person(presence.actor, lambda: presence, lambda: True)
        restored = {"run": ["git", "checkout", "-q", "--", "test_greet.py"]}
        self._agent = project.script(
            "agent",
            [
                [{"write": {"path": "greet.py", "text": _HALF}}, {"run": ["sleep", "600"]}],
                _claims({"write": {"path": "greet.py", "text": _WRONG}}),
                _claims(
                    {"write": {"path": "greet.py", "text": _RIGHT}}, {"write": {"path": "test_greet.py", "text": _LAZY}}
                ),
                _claims(restored),
            ],
        )
        self._judge = project.script("judge", [[{"say": f"CRITERION {n}: PASS"} for n in (1, 3)] + [{"finish": True}]])
        self._workshop = workshop_of(journal, project, self._agent, self._judge)
        self.id = ""

    def begin(self, ticket: Ticket) -> Iterator[Scene]:
        head = self._journal.head()
        self.id = new_thread(self._workshop, self._person.actor, "Greet people by name", "methodical", ticket.number).id
        revise_spec(self._workshop, self.id, self._person.actor, _SPEC.replace("PYTHON", sys.executable))
        yield from moves_since(self._journal, head)
        yield Saw("spec", "v1.md, with three criteria and a promise")

    def person(self, event: str) -> Iterator[Scene]:
        """A move of the person, and what the thread then does by itself."""
        head = self._journal.head()
        act(self._workshop, self.id, self._person, event, shown=lambda thread: self._shown(thread, event))
        yield from self._since(head)

    def goes_on(self) -> Iterator[Scene]:
        """What the thread does by itself."""
        yield from self._since(self._journal.head())

    def killed(self) -> Iterator[Scene]:
        """The loop begins in a process of its own, which is killed while its agent writes."""
        yield Heading("The loop runs, and its driver is killed in the middle of an iteration")
        head = self._journal.head()
        act(self._workshop, self.id, self._person, "start", shown=lambda thread: self._shown(thread, "start"))
        written = self._project.root / "greet.py"
        gone = drive_until(self._project, self.id, self._agent, self._judge, lambda: written.read_text() == _HALF)
        yield from moves_since(self._journal, head)
        yield Saw(
            "kill -9", f"the driver, process {gone}, is gone; its agent still runs, and greet.py is half written", False
        )

    def claims(self) -> Iterator[Scene]:
        """Driven again, the loop goes on where it was, until what is claimed is proven."""
        yield Heading("It goes on where it was. Twice the agent says that it is done, and is caught; then it is proven")
        yield from self.goes_on()

    def _since(self, head: int) -> Iterator[Scene]:
        drive(self._workshop, self.id)
        for move in moves_since(self._journal, head):
            entry, evidence = move.recorded.entry, move.recorded.entry.decoded_evidence()
            if move.machine == "session":
                if move.recorded.snapshot.outcome == "cancelled":
                    yield Saw("resume", "what the dead driver left running was ended, and its session closed", True)
                continue  # `ralph session list` shows them
            if entry.event == "claims_done":
                yield Saw("agent", "“All criteria are met. <promise>COMPLETE</promise>”")
            yield move
            if entry.event == "criteria_failed":
                yield Saw("verifier", (entry.reason or "").splitlines()[0], is_good=False)
            if entry.event == "criteria_passed":
                yield Saw("receipt", f"all criteria met, for the tree {evidence.subjects['tree'][:12]}", is_good=True)

    def _shown(self, thread: Thread, event: str) -> str:
        return shown_at(thread, event, self._project.root)

    def forged(self, event: str) -> Refused:
        """An agent tries to pass a gate; the play stops where it can."""
        return self._refused(event, Person(AGENT, self._under_an_agent, lambda: False))

    def _under_an_agent(self) -> Presence:
        """Who stands at a gate in an agent's process: the real check finds that it is nobody."""
        return at_terminal({**self._project.environment, "CLAUDECODE": "1"}, self._project.root)

    def denied(self, event: str) -> Refused:
        """Even the person cannot approve what was not proven."""
        return self._refused(event, self._person)

    def _refused(self, event: str, person: Person) -> Refused:
        try:
            act(self._workshop, self.id, person, event, shown=lambda thread: self._shown(thread, event))
        except InterlockError as error:
            return Refused("thread", Event(event, person.actor), error)
        raise AssertionError(f"{event} was not refused")

    def merged(self, ticket: Ticket) -> Iterator[Scene]:
        """The person merges, and the ticket is done."""
        thread = read_thread(self._journal, self.id)
        assert thread.commit is not None
        assert thread.branch is not None
        subject = self._project.git("log", "-1", "--format=%s", thread.commit)
        yield Saw("git", f"{thread.commit[:10]} {subject}", is_good=True)
        self._project.git("switch", "-q", "main")
        self._project.git("merge", "-q", "--ff-only", thread.branch)
        yield from ticket.hand(Caller(AGENT), "it is in main", command="merge", intent="complete", merged=thread.commit)
