"""The demo: a ticket from Backlog to a merged commit, in a repository made for it. Only the agents play scripts.

    scenes          what it is made of
    cast            who plays
    project         the repository, its tests, and what the agents play
    tickets         the pipeline, and an agent that the hook holds to what it reports
    threads         a spec, a driver that dies, a loop that lies twice, a receipt, a review, a commit
    stories         a loop over stories
    orchestrations  a goal for four roles
    workshops       where they work, and a driver that is killed

Whoever acts does so through the channel `demo` or the driver, so that nobody takes these approvals for real ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.journal import Journal
from interlock.work.demo.orchestrations import play_orchestration
from interlock.work.demo.project import Project
from interlock.work.demo.scenes import Found, Heading, Hook, Hooked, Move, Refused, Saw, Scene
from interlock.work.demo.stories import play_stories
from interlock.work.demo.threads import play_thread
from interlock.work.demo.tickets import Ticket, play_pipeline, play_session, play_tickets
from interlock.work.gates import Presence

__all__ = ["Found", "Heading", "Hook", "Hooked", "Move", "Project", "Refused", "Saw", "Scene", "play"]


def play(journal: Journal, project: Project, hook: Hook, presence: Presence) -> Iterator[Scene]:
    """Play it, a scene at a time; every move is durable when its scene is given out."""
    yield from play_tickets(journal)
    ticket = Ticket(journal, 1)
    yield from play_pipeline(ticket)
    yield from play_session(journal, hook)
    yield from play_thread(journal, project, ticket, presence)
    yield from play_stories(journal, project)
    yield from play_orchestration(journal, project)
