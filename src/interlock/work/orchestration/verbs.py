"""The verbs of people: begin a run, add to it, stop it, and resume it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from interlock.errors import Refusal, UsageError
from interlock.journal import Entry, Journal
from interlock.machine import Actor, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.context import DriverContext
from interlock.work.driver.readiness import driven_by, refuse_on_a_threads_branch
from interlock.work.driver.record import PAUSED, is_pause
from interlock.work.driver.target_branch import require_branch
from interlock.work.gates.presence import Person, must_be_person
from interlock.work.orchestration.beginning import (
    begin,
    found_on_disk,
    role_hashes,
    roles_now,
    roles_of,
    session_name,
    with_edits,
)
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.reading import successor
from interlock.work.orchestration.record import Run
from interlock.world.redaction import redacted

__all__ = [
    "add",
    "begin_goal",
    "interrupts",
    "resume",
    "resume_directory",
    "roles_of",
    "steerable",
    "stop",
    "worded",
]

_MAX_TEXT = 20_000


def begin_goal(context: DriverContext, goal: str, roles: Mapping[str, str]) -> str:
    """A run for a goal; one at a time in a work tree."""
    goal = worded(goal, "A goal", 'Such as `ralph orchestrate "Greet people in French"`.')
    refuse_on_a_threads_branch(context)
    require_branch(context)
    for name in set(roles.values()):
        context.agent(name)
    return begin(context, goal, session_name(context), roles)


def worded(text: str, what: str, example: str) -> str:
    """A person's text: not empty, not too long, and without characters that a terminal or a file would act on."""
    text = text.replace("\r\n", "\n").strip()
    if not text or len(text) > _MAX_TEXT:
        is_long = f", and this one has {len(text)}" if text else ", and this one is empty"
        raise UsageError("invalid_argument", f"{what} is a text of 1 to {_MAX_TEXT} characters{is_long}.", example)
    strange = next((place for place, one in enumerate(text) if not (one.isprintable() or one in "\n\t")), None)
    if strange is not None:
        message = f"{what} is plain text, and character {strange + 1} of this one is {text[strange]!a}."
        raise UsageError(
            "invalid_argument", message, "Leave it out; what needs it goes into a file, and its name here."
        )
    return redacted(text)


def steerable(run: Run) -> Run:
    """A run that its own verbs steer."""
    if run.parent is not None:
        raise driven_by(f"The run {run.id}", run.parent)
    return run


# Steering


def add(journal: Journal, person: Actor, run: Run, text: str) -> None:
    """New requirements of a person: the planner hears of them before anything else is begun."""
    journal.append(run.id, _added(person, run, text))


def _added(person: Actor, run: Run, text: str) -> Event:
    must_be_person(person, "adds requirements", "Name what you found among the discovered tasks of your answer.")
    steerable(run)
    text = worded(text, "What else is wanted", 'Such as `ralph orchestrate add "and in Welsh"`.')
    _must_go_on(run, '`ralph orchestrate resume --say "…"` says it and goes on')
    if run.state == "Initializing":
        hint = "`ralph orchestrate resume` lets it begin; then say it again."
        raise Refusal("not_allowed", "The run has not begun to plan yet.", hint)
    return Event("requirements_added", person, reason=text)


def stop(journal: Journal, person: Actor, run: Run, reason: str = "") -> None:
    """Pause a run where it is; the agent at work is ended."""
    must_be_person(person, "lets a run rest", "Say in your answer that you are blocked, and by what.")
    steerable(run)
    _must_go_on(run, "`ralph orchestrate resume` goes on where it failed")
    reason = worded(reason, "A reason", 'Such as `ralph orchestrate stop --reason "tomorrow"`.') if reason else ""
    data = {"type": PAUSED, "reason": reason, "cause": "person"}
    journal.append(run.id, Event(NOTED, person, evidence=Evidence(data=data)))


def _must_go_on(run: Run, otherwise: str) -> None:
    if run.outcome == "success":
        raise Refusal("terminal", "The run has met its goal.", 'Begin a new one: `ralph orchestrate "GOAL"`.')
    if run.outcome is not None:
        raise Refusal("terminal", "The run has failed.", f"{otherwise}.")


# Going on


def resume(context: DriverContext, person: Person, run: Run, wish: str = "") -> str:
    """Resume a run: where it is paused, or, if it has ended, as a new run on the same directory.

    What a person edited in the files since counts, and `wish`, what should change: the planner hears of it first. One
    that has met its goal is resumed only for that. Resuming after a failure needs a person at a terminal.
    """
    steerable(run)
    _must_decide(person, run)
    refuse_on_a_threads_branch(context)
    if wish:
        wish = worded(wish, "What should change", 'Such as `ralph orchestrate resume --say "leave out Welsh"`.')
    if run.outcome is None:
        said = [_added(person.actor, run, wish)] if wish else []
        said += [_resumed(context, person.actor, roles_now(context, run))] if run.paused is not None else []
        if said:
            context.journal.transact(lambda transaction: [transaction.append(run.id, one) for one in said])
        return run.id
    later = successor(context.journal, run)
    if later is not None:
        hint = f"`ralph orchestrate status {later[-8:]}` shows that one."
        raise Refusal("terminal", f"The run went on as {later}.", hint)
    edited, found = with_edits(context, run)
    for one in found.refused if found is not None else ():
        context.report(one.sentence)
    if run.outcome == "success" and not edited.open_tasks and not wish:
        if found is None:
            _finish(context, run)
        raise Refusal("terminal", "The run has met its goal.", 'Begin a new one: `ralph orchestrate "GOAL"`.')
    if wish:
        edited.wishes.append(wish)
    why = "a person says what should change" if wish else ""
    roles = roles_now(context, run)
    decided = _resumed(context, person.actor, roles, said=wish)
    return begin(context, run.goal, run.session, roles, carries=edited, why=why, decided=decided)


def _must_decide(person: Person, run: Run) -> None:
    """Going on is for a person; after a failure, for one who is at a terminal."""
    must_be_person(person.actor, "goes on with a run", "Leave it to the person.")
    if run.outcome == "failure":
        if not person.is_at_terminal():
            message = "Going on after a failure is a person's decision, and there is nobody at a terminal."
            raise Refusal("person_needed", message, "Type `ralph orchestrate resume` in a terminal yourself.")
        person.vouch(run.id, "resume")


def _finish(context: DriverContext, run: Run) -> None:
    """Write the end of a run to its files, silently: its driver may have died before."""
    drive(replace(context, report=lambda told: None), run.id)


def _resumed(context: DriverContext, person: Actor, roles: Mapping[str, str], **data: str) -> Event:
    """The note of who resumed the run and what they said, with the roles as their files are now."""
    told = {"type": "resumed", "files": role_hashes(context), "roles": dict(roles), **data}
    return Event(NOTED, person, evidence=Evidence(data=told))


def resume_directory(context: DriverContext, session: str, roles: Mapping[str, str]) -> str | None:
    """Begin a run on a directory without a known run; None if there is no such directory."""
    refuse_on_a_threads_branch(context)
    require_branch(context)
    found = found_on_disk(context, session)
    return begin(context, found.goal, session, roles, carries=found) if found is not None else None


def interrupts(entry: Entry) -> bool:
    """True if an entry of a run ends what its driver runs: somebody paused it, or gave it more to plan."""
    is_paused = entry.event == NOTED and is_pause(entry.decoded_evidence().data)
    return is_paused or entry.event == "requirements_added"
