"""The demo: a ticket from Backlog to a merged commit, in a repository made for it. Only the agents play scripts.

    scenes          what it is made of, and who plays
    project         the repository, its tests, and what the agents play
    tickets         three tickets, and an agent that the hook holds to what it reports
    way             `ralph work`: the pipeline, a driver that dies, a loop that lies twice, a review, a commit
    scripts         what the agents play on that way
    stories         a loop over stories
    orchestrations  a goal for four roles
    driver_contexts where they work, and a walk that is killed

Whoever decides does so through the channel `demo` or at a terminal: no played approval can be taken for a real one.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.journal import Journal
from interlock.work.demo.orchestrations import play_orchestration
from interlock.work.demo.project import Project
from interlock.work.demo.scenes import Hook, Hooked, Lookup, Saw, Scene, SceneHeading, SceneMove, SceneRefusal, Showed
from interlock.work.demo.stories import play_stories
from interlock.work.demo.tickets import play_session, play_tickets
from interlock.work.demo.way import play_way
from interlock.work.gates.presence import Presence

__all__ = [
    "Hook",
    "Hooked",
    "Lookup",
    "Project",
    "Saw",
    "Scene",
    "SceneHeading",
    "SceneMove",
    "SceneRefusal",
    "Showed",
    "play",
]


def play(journal: Journal, project: Project, hook: Hook, presence: Presence) -> Iterator[Scene]:
    """Play it, a scene at a time; every move is durable when its scene is given out."""
    yield from play_tickets(journal)
    yield from play_session(journal, hook)
    yield from play_way(journal, project, 1, presence)
    yield from play_stories(journal, project)
    yield from play_orchestration(journal, project)
