"""What people do with a run: begin it, add to it, stop it, and go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from interlock.errors import NotFound, Refusal, UsageError
from interlock.journal import Instance, Journal
from interlock.machine import Actor, ActorKind, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.orchestration.loop import MACHINE, begin
from interlock.work.orchestration.papers.names import session_id
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.settings import Settings
from interlock.work.workshop import Workshop
from interlock.world.redaction import redacted

__all__ = ["add", "begin_goal", "known_run", "resume", "roles_of", "session_name", "stop"]

_MAX_GOAL = 20_000


def roles_of(settings: Settings, given: Mapping[str, str | None]) -> dict[str, str]:
    """Which agent plays which role: what was asked for, or what the settings say."""
    worker = given.get("agent") or settings.text("agent.name")
    judge = given.get("agent") or settings.text("agent.judge") or worker
    fallbacks = {"planner": worker, "questioner": worker, "executor": worker, "reviewer": judge}
    return {
        role: given.get(role) or settings.text(f"orchestrate.{role}") or fallback
        for role, fallback in fallbacks.items()
    }


def session_name(journal: Journal) -> str:
    """The name of a new session's directory, which no run before had."""
    taken = {run_of(journal.history(one.id)[:1]).session for one in journal.recent(MACHINE, 50)}
    return session_id(datetime.fromtimestamp(journal.now(), UTC), taken)


def begin_goal(workshop: Workshop, goal: str, roles: Mapping[str, str]) -> str:
    """A run for a goal; one at a time in a work tree."""
    goal = redacted(goal.strip())
    if not goal or len(goal) > _MAX_GOAL or "\0" in goal:
        message = f"A goal is a text of 1 to {_MAX_GOAL} characters."
        raise UsageError("invalid_argument", message, 'Such as `ralph orchestrate "Greet people in French"`.')
    under_way = _open(workshop.journal)
    if under_way is not None:
        message = f"A run is under way: {under_way.id}."
        raise Refusal("run_open", message, "`ralph orchestrate resume` goes on with it, `add` gives it more to do.")
    for name in set(roles.values()):
        workshop.agent(name)
    return begin(workshop, goal, session_name(workshop.journal), roles)


def _open(journal: Journal) -> Instance | None:
    found = [one for one in journal.open_instances(MACHINE) if one.parent is None]
    return found[-1] if found else None


def known_run(journal: Journal, reference: str | None = None) -> Run:
    """The run that is named, the one that is under way, or the last one."""
    if reference:
        found = journal.instance(reference)
        if found.machine != MACHINE:
            hint = "`ralph orchestrate status` shows the run."
            raise NotFound("unknown_instance", f"{found.id} is a {found.machine}, not a run.", hint)
        return run_of(journal.history(found.id))
    known = _open(journal) or next(iter(journal.recent(MACHINE, 1)), None)
    if known is None:
        raise NotFound("unknown_run", "There is no run here.", '`ralph orchestrate "GOAL"` begins one.')
    return run_of(journal.history(known.id))


def add(journal: Journal, person: Actor, run: Run, text: str) -> None:
    """New requirements of a person: the planner hears of them before anything else is begun."""
    if person.kind != ActorKind.HUMAN:
        message = "Only a person adds requirements, and this is an agent."
        raise Refusal("person_needed", message, "Name what you found among the discovered tasks of your answer.")
    journal.append(run.id, Event("requirements_added", person, reason=redacted(text.strip())))


def stop(journal: Journal, person: Actor, run: Run, reason: str = "") -> None:
    """Let a run rest where it is; the agent that works is ended."""
    data = {"type": "stopped", "reason": reason}
    journal.append(run.id, Event(NOTED, person, evidence=Evidence(data=data)))


def resume(workshop: Workshop, person: Actor, run: Run) -> str:
    """Go on with a run: where it rests, or, where it failed, as a new run on the same directory."""
    if run.outcome is None:
        if run.stopped is not None:
            note = Event(NOTED, person, evidence=Evidence(data={"type": "resumed"}))
            workshop.journal.append(run.id, note)
        return run.id
    if run.outcome == "success":
        raise Refusal("terminal", "The run has met its goal.", 'Begin a new one: `ralph orchestrate "GOAL"`.')
    return begin(workshop, run.goal, run.session, run.roles, carries=run)
