"""What people do with a run: begin it, add to it, stop it, and go on with it."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.errors import NotFound, Refusal, UsageError
from interlock.journal import Instance, Journal
from interlock.machine import Actor, ActorKind, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driven import driven_by, refuse_on_a_threads_branch
from interlock.work.orchestration.beginning import (
    MACHINE,
    begin,
    found_on_disk,
    role_hashes,
    roles_of,
    session_name,
    with_edits,
)
from interlock.work.orchestration.papers.names import is_session_id
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.workshop import Workshop
from interlock.world.redaction import redacted

__all__ = ["add", "begin_goal", "known_run", "resume", "resume_directory", "roles_of", "stop"]

_MAX_GOAL = 20_000
_MOST_RUNS = 1000
"""So many runs back a session is looked for."""


def begin_goal(workshop: Workshop, goal: str, roles: Mapping[str, str]) -> str:
    """A run for a goal; one at a time in a work tree."""
    goal = redacted(goal.strip())
    if not goal or len(goal) > _MAX_GOAL or "\0" in goal:
        message = f"A goal is a text of 1 to {_MAX_GOAL} characters."
        raise UsageError("invalid_argument", message, 'Such as `ralph orchestrate "Greet people in French"`.')
    refuse_on_a_threads_branch(workshop.root)
    for name in set(roles.values()):
        workshop.agent(name)
    return begin(workshop, goal, session_name(workshop), roles)


def _open(journal: Journal) -> Instance | None:
    found = [one for one in journal.open_instances(MACHINE) if one.parent is None]
    return found[-1] if found else None


def _known(journal: Journal) -> list[Instance]:
    """The newest runs: what a thread drives right now, what nobody drives, what a thread drove."""
    recent = journal.recent(MACHINE, 50)
    return sorted(recent, key=lambda one: 0 if one.parent and one.outcome is None else 1 if one.parent is None else 2)


def _steerable(run: Run) -> Run:
    """A run that its own verbs steer."""
    if run.parent is not None:
        raise driven_by(f"The run {run.id}", run.parent)
    return run


def known_run(journal: Journal, reference: str | None = None) -> Run:
    """The run that is named, by its id or by its session, the one that is under way, or the last one.

    Those that threads drive come after others, but for one that is driven right now.
    """
    if reference and is_session_id(reference):
        return _of_session(journal, reference)
    if reference:
        found = journal.instance(reference)
        if found.machine != MACHINE:
            hint = "`ralph orchestrate status` shows the run."
            raise NotFound("unknown_instance", f"{found.id} is a {found.machine}, not a run.", hint)
        return run_of(journal.history(found.id))
    known = _open(journal) or next(iter(_known(journal)), None)
    if known is None:
        raise NotFound("unknown_run", "There is no run here.", '`ralph orchestrate "GOAL"` begins one.')
    return run_of(journal.history(known.id))


def _of_session(journal: Journal, session: str) -> Run:
    """The last run on a directory."""
    for one in journal.recent(MACHINE, _MOST_RUNS):
        if run_of(journal.entries(instance=one.id, most=1)).session == session:
            return run_of(journal.history(one.id))
    hint = "`ralph orchestrate status` shows the last run."
    raise NotFound("unknown_run", f"No run is known of the session {session}.", hint)


def add(journal: Journal, person: Actor, run: Run, text: str) -> None:
    """New requirements of a person: the planner hears of them before anything else is begun."""
    if person.kind != ActorKind.HUMAN:
        message = "Only a person adds requirements, and this is an agent."
        raise Refusal("person_needed", message, "Name what you found among the discovered tasks of your answer.")
    journal.append(_steerable(run).id, Event("requirements_added", person, reason=redacted(text.strip())))


def stop(journal: Journal, person: Actor, run: Run, reason: str = "") -> None:
    """Let a run rest where it is; the agent that works is ended."""
    data = {"type": "stopped", "reason": reason}
    journal.append(_steerable(run).id, Event(NOTED, person, evidence=Evidence(data=data)))


def resume(workshop: Workshop, person: Actor, run: Run) -> str:
    """Go on with a run: where it rests, or, where it has ended, as a new run on the same directory.

    What a person edited in the files since counts. One that has met its goal goes on only for that.
    """
    _steerable(run)
    refuse_on_a_threads_branch(workshop.root)
    if run.outcome is None:
        if run.stopped is not None:
            data = {"type": "resumed", "files": role_hashes(workshop)}
            workshop.journal.append(run.id, Event(NOTED, person, evidence=Evidence(data=data)))
        return run.id
    edited, refused = with_edits(workshop, run)
    for one in refused:
        workshop.tell(one.sentence)
    if run.outcome == "success" and not edited.open_tasks:
        raise Refusal("terminal", "The run has met its goal.", 'Begin a new one: `ralph orchestrate "GOAL"`.')
    return begin(workshop, run.goal, run.session, run.roles, carries=edited)


def resume_directory(workshop: Workshop, session: str, roles: Mapping[str, str]) -> str | None:
    """A run on a directory that no run is known of; None where there is no such directory."""
    refuse_on_a_threads_branch(workshop.root)
    found = found_on_disk(workshop, session)
    return begin(workshop, found.goal, session, roles, carries=found) if found is not None else None
