"""The whole way of a ticket, as `ralph work` leads it: the pipeline, a loop that lies twice, a receipt, a commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Actor, Channel, Event
from interlock.work.demo.driver_contexts import context_of, walk_until
from interlock.work.demo.project import Project
from interlock.work.demo.scenes import (
    AGENT,
    Saw,
    Scene,
    SceneHeading,
    SceneMove,
    SceneRefusal,
    Showed,
    moves_since,
)
from interlock.work.demo.scripts import HALF, HAS_IT, OTHER_TRIED, RIGHT, builder, judge, pipeline
from interlock.work.gates.presence import Person, Presence, at_terminal
from interlock.work.sessions.verbs import Caller, complete, create
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.showing import whole_diff
from interlock.work.threads.verbs import act
from interlock.work.ticket_driver.loop import approve_plan, drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.work.tickets.handoff import handoff
from interlock.work.views.ticket import ticket_view
from interlock.world.agents.happenings import Said
from interlock.world.repository import OWN_TREES, own_tree

__all__ = ["play_way"]


def play_way(journal: Journal, project: Project, number: int, presence: Presence) -> Iterator[Scene]:
    """From Backlog to the commit. Every move, file, test and commit in it is real; only the agents play a script."""
    play = _Play(journal, project, number, presence)
    yield SceneHeading(
        f"ralph work {number}: agents triage, research and plan it, and no step of the pipeline can be skipped"
    )
    yield Saw("sandbox", "none here: these agents only play scripts; your own run in one")
    yield play.kept_from("it is easy enough", command="triage", to="In Progress")
    yield from play.walks()
    yield play.kept_from("looks good to me", command="review", intent="complete")
    yield from play.plan_approved()
    yield SceneHeading("A thread opens on it: its plan is the spec, which only the person can finalize")
    yield from play.walks()
    yield play.forged("finalize")
    yield from play.person("finalize")
    yield SceneHeading("The loop runs, and its driver is killed in the middle of an iteration")
    yield from play.killed()
    yield SceneHeading(
        "It goes on where it was. Twice the agent says that it is done, and is caught; then it is proven"
    )
    yield from play.walks()
    yield SceneHeading("Proven, it waits for the person; changed under the reviewer's eyes, it is proven again")
    yield from play.reviewed()
    yield play.forged("approve")
    yield from play.person("approve")
    (play.files / "greet.py").write_text(RIGHT.replace("people, by", "people by"), encoding="utf-8")
    yield Saw("somebody", "edits greet.py after it was approved", is_good=False)
    yield from play.walks()
    yield play.denied("approve")
    yield from play.person("reverify")
    yield from play.walks()
    yield from play.person("approve")
    yield from play.walks()
    yield from play.person("commit")
    yield from play.walks()
    yield from play.merged()


class _Play:
    """The ticket of the play, with the person and the agents that move it."""

    def __init__(self, journal: Journal, project: Project, number: int, presence: Presence) -> None:
        self._journal = journal
        self._project = project
        self._number = number
        self._person = Person(presence.actor, lambda: presence, lambda: True)
        scripts = (
            project.script("agent", [*pipeline(project.root, number), *builder()]),
            project.script("judge", judge()),
        )
        self._scripts = scripts
        self._context = context_of(journal, project, *scripts, report=self._hear)
        self._asides: list[tuple[int, SceneRefusal]] = []

    @property
    def _thread(self) -> str:
        return self._journal.recent("thread", 1)[0].id

    # What goes on by itself

    def walks(self) -> Iterator[Scene]:
        """`ralph work`: as far as it goes without the person."""
        head = self._journal.head()
        walked = drive_ticket(self._context, self._number, self._person, Choices())
        yield from self._since(head)
        yield Saw("ralph work", f"stops: {walked.stop.why}" if walked.stop.hint else walked.stop.why)

    def killed(self) -> Iterator[Scene]:
        """The loop begins in a process of its own, which is killed while its agent writes."""
        head, trees = self._journal.head(), self._context.state_directory / OWN_TREES
        actor, scripts = self._person.actor, self._scripts

        def is_half_written() -> bool:
            return any(one.read_text(encoding="utf-8") == HALF for one in trees.glob("*/files/greet.py"))

        gone = walk_until(self._project, self._number, actor, scripts, is_half_written)
        yield from self._since(head)
        what = f"ralph work, process {gone}, is gone; its agent still runs, and greet.py is half written"
        yield Saw("kill -9", what, is_good=False)

    def _hear(self, what: object) -> None:
        """While one agent has the ticket, another tries to take it."""
        if isinstance(what, Said) and what.text == HAS_IT:
            other = replace(AGENT, id="codex")
            session = self._journal.transact(
                create(Caller(other), ticket=str(self._number), role="onlooker")
            ).session_id
            refused = self.kept_from("me too", other, session, command="research", intent="lock")
            self._asides.append((self._journal.head(), refused))
            self._journal.transact(complete(session, "success", other, "it takes other work"))
            self._project.write(OTHER_TRIED, "")

    def _since(self, head: int) -> Iterator[Scene]:
        for move in moves_since(self._journal, head):
            while self._asides and self._asides[0][0] < move.recorded.entry.seq:
                yield self._asides.pop(0)[1]
            yield from _told(move)

    # The person

    def plan_approved(self) -> Iterator[Scene]:
        """The person reads the plan, and lets it be built."""
        head, ticket = self._journal.head(), ticket_view(self._journal, self._number, comments=0)
        if not approve_plan(self._context, ticket, self._person):
            raise Refusal("gate_declined", f"The plan of #{self._number} was not approved.", "Nothing was changed.")
        yield from self._since(head)

    def person(self, event: str) -> Iterator[Scene]:
        """A move of the person."""
        head = self._journal.head()
        act(self._context, self._thread, self._person, event)
        yield from self._since(head)

    def reviewed(self) -> Iterator[Scene]:
        """What the reviewer is shown; at a terminal the gate itself shows it."""
        if self._person.actor.channel is Channel.DEMO:
            thread = read_thread(self._journal, self._thread)
            yield Showed("review", whole_diff(thread, self._directory(thread)))

    def merged(self) -> Iterator[Scene]:
        """The person merges, and the ticket is done."""
        thread = read_thread(self._journal, self._thread)
        assert thread.commit is not None
        assert thread.branch is not None
        subject = self._project.git("log", "-1", "--format=%s", thread.commit)
        yield Saw("git", f"{thread.commit[:10]} {subject}", is_good=True)
        self._project.git("switch", "-q", "main")
        self._project.git("merge", "-q", "--ff-only", thread.branch)
        yield Saw("git merge", f"{thread.branch} into main", is_good=True)
        yield from self.walks()

    @property
    def files(self) -> Path:
        """The files in which the thread's agents work."""
        return own_tree(self._context.state_directory, self._thread)

    def _directory(self, thread: Thread) -> Path:
        return thread.directory(self._context.base, self._project.root)

    # What must not happen; the play stops where it does

    def kept_from(self, reason: str, by: Actor = AGENT, session: str | None = None, **asked: Any) -> SceneRefusal:
        """A handoff of the ticket that must be refused."""
        try:
            self._journal.transact(handoff(Caller(by, session=session), self._number, reason=reason, **asked))
        except Refusal as error:
            return SceneRefusal("ticket", Event("handoff", by), error)
        raise AssertionError(f"{asked} was not refused")

    def forged(self, event: str) -> SceneRefusal:
        """An agent tries to pass a gate."""
        return self._refused(event, Person(AGENT, self._under_an_agent, lambda: False))

    def denied(self, event: str) -> SceneRefusal:
        """Even the person cannot approve what was not proven."""
        return self._refused(event, self._person)

    def _under_an_agent(self) -> Presence:
        """Who stands at a gate in an agent's process: the real check finds that it is nobody."""
        return at_terminal({**self._project.environment, "CLAUDECODE": "1"}, self._project.root)

    def _refused(self, event: str, person: Person) -> SceneRefusal:
        try:
            act(self._context, self._thread, person, event)
        except InterlockError as error:
            return SceneRefusal("thread", Event(event, person.actor), error)
        raise AssertionError(f"{event} was not refused")


def _told(move: SceneMove) -> Iterator[Scene]:
    """A move, with what was said and found there; of the sessions only those that somebody else ended."""
    entry, evidence = move.recorded.entry, move.recorded.entry.decoded_evidence()
    if move.machine == "session":
        if entry.event == "created":
            who = evidence.data.get("agent", entry.actor_id)
            yield Saw("session", f"…{entry.instance[-6:]} {who}, {evidence.data['role']}")
        if move.recorded.snapshot.outcome == "cancelled":
            yield Saw("resume", "what the dead driver left running was ended, and its session closed", is_good=True)
        return  # `ralph session list` shows the rest of them
    if entry.event == "claims_done":
        yield Saw("agent", "“All criteria are met. <promise>COMPLETE</promise>”")
    yield move
    if entry.event == "key_enrolled" and entry.channel == Channel.DEMO:
        yield Saw("key", "made for this repository alone, to be thrown away: it signs, for nobody is at a terminal")
    if entry.event == "criteria_failed":
        yield Saw("verifier", (entry.reason or "").splitlines()[0], is_good=False)
    if entry.event == "criteria_passed":
        yield Saw("receipt", f"all criteria met, for the tree {evidence.subjects['tree'][:12]}", is_good=True)
