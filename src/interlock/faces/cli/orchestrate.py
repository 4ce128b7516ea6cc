"""`ralph orchestrate`: a goal, planned, worked on task by task and reviewed, until it is met."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from interlock.errors import NotFound, Refusal
from interlock.faces.cli.command import CommandCall, Verb, positive
from interlock.faces.cli.driver_session import DriverSession, open_driver_session
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import Workspace, caller_of, person_of, readable, writable

if TYPE_CHECKING:
    from interlock.work.orchestration.needs import RunNeed
    from interlock.work.orchestration.record import Run

__all__ = ["VERBS"]

_ROLES = ("planner", "questioner", "executor", "reviewer")
_AGAIN = "again"


# Driving


def _begin(call: CommandCall) -> None:
    """A new run for a goal, driven until it ends or is to rest."""
    from interlock.work.orchestration.verbs import begin_goal, roles_of

    given = call.arguments
    with open_driver_session(call, starts_agents=True) as here:
        asked = {name: getattr(given, name) for name in ("agent", *_ROLES)}
        _drive(call, here, begin_goal(here.context, given.goal, roles_of(here.context, asked)))


def _resume(call: CommandCall) -> None:
    """Go on with a run; one that failed goes on as a new one, which is a person's decision at a terminal."""
    from interlock.work.orchestration.reading import known_run
    from interlock.work.orchestration.verbs import resume

    with open_driver_session(call, starts_agents=True) as here:
        person = person_of(call, here.place)
        try:
            run = known_run(here.place.journal, call.arguments.run)
        except NotFound:
            made = _on_directory(call, here) if person.actor.kind == "human" else None
            if made is None:
                raise
        else:
            made = resume(here.context, person, run, call.arguments.say or "")
        _drive(call, here, made)


def _drive_only(call: CommandCall) -> None:
    """Let a run go on by itself as far as it can; it decides nothing. The dashboard starts this one."""
    from interlock.work.gates.presence import must_be_person
    from interlock.work.orchestration.reading import known_run
    from interlock.work.orchestration.verbs import steerable

    with open_driver_session(call, starts_agents=True) as here:
        run = steerable(known_run(here.place.journal, call.arguments.run))
        must_be_person(caller_of(call, here.place).actor, "goes on with a run", "Leave it to the person.")
        if run.outcome is None:
            _drive(call, here, run.id)
        else:
            _tell(call, here.place, run)


def _on_directory(call: CommandCall, here: DriverSession) -> str | None:
    """A run on a directory that no run is known of, where that is what is named."""
    from interlock.work.orchestration.verbs import resume_directory, roles_of

    context, named = here.context, call.arguments.run
    return resume_directory(context, named, roles_of(context, {})) if named else None


def _is_person(call: CommandCall) -> bool:
    """True if the terminal proves that a person is there, who can be asked."""
    from interlock.work.gates.presence import at_terminal

    try:
        return not at_terminal(call.environment, call.directory).doubt
    except Refusal:
        return False


def _drive(call: CommandCall, here: DriverSession, id_: str) -> None:
    """Drive a run; where it fails and a person is there, ask, and go on with what they say."""
    from interlock.faces.cli.run_pages import show_run
    from interlock.work.orchestration.verbs import resume
    from interlock.work.views.failure import failure_of
    from interlock.work.views.run import run_view

    while True:
        run = _driven(call, here, id_)
        view = run_view(here.place.journal, run)
        failure = failure_of(view, is_interrupted=here.interrupts.presses > 0)
        if failure is None:
            break
        if view.needs is None:
            raise failure
        if not call.output.json:
            show_run(call.output, view, hints=False)
            call.output.stdout.flush()
        wish = None if call.output.json or not _is_person(call) else _asked(view.needs)
        if wish is None:
            raise failure
        id_ = resume(here.context, person_of(call, here.place), run, wish)
    call.output.result(view, lambda: show_run(call.output, view))


def _driven(call: CommandCall, here: DriverSession, id_: str) -> Run:
    """Drive it until it ends or rests; what a person adds from elsewhere ends what runs, and it goes on with that."""
    from interlock.faces.cli.run_view import RunDisplay
    from interlock.work.orchestration.loop import drive
    from interlock.work.orchestration.verbs import interrupts

    here.reporter.watch(RunDisplay(here.context.journal, id_, is_whole=call.output.json))
    return here.drive(lambda: drive(here.context, id_), lambda entry: entry.instance == id_ and interrupts(entry))


# Failed


def _asked(need: RunNeed) -> str | None:
    """What a person wants to change, to go on at once; None where it is left as it is."""
    try:
        return _answers(need.questions) if need.questions else _change(need)
    except KeyboardInterrupt:
        return None


def _change(need: RunNeed) -> str | None:
    from interlock.work.gates.presence import answered

    again = "try it again as it is" if need.may_pass else "go on, you mended it yourself"
    said = (answered("", f"What should change? (empty: leave it; `{_AGAIN}`: {again})\n> ") or "").strip()
    return "" if said.casefold() == _AGAIN else said or None


def _answers(questions: tuple[str, ...]) -> str | None:
    """The answers to what the planner asks, each with its question."""
    from interlock.work.gates.presence import answered

    found = []
    for place, question in enumerate(questions, 1):
        said = answered("", f"{place} of {len(questions)}: {one_line(question)} (empty: leave it open)\n> ")
        if said is None:
            break
        if said.strip():
            found.append(f"Question: {question}\nAnswer: {said.strip()}")
    return "\n\n".join(found) or None


# Looking


def _status(call: CommandCall) -> None:
    from interlock.work.orchestration.reading import known_run

    with readable(call) as place:
        _tell(call, place, known_run(place.journal, call.arguments.run), all_tasks=call.arguments.tasks)


def _tell(call: CommandCall, place: Workspace, run: Run, *, all_tasks: bool = False) -> None:
    from interlock.faces.cli.run_pages import show_run
    from interlock.work.views.run import run_view

    view = run_view(place.journal, run)
    call.output.result(view, lambda: show_run(call.output, view, all_tasks=all_tasks))


def _list(call: CommandCall) -> None:
    from interlock.faces.cli.run_pages import show_runs
    from interlock.work.orchestration.reading import recent_runs

    with readable(call) as place:
        rows = recent_runs(place.journal, call.arguments.limit)
    if not rows:
        said = 'There are no runs. `ralph orchestrate "GOAL"` begins one.'
        call.output.result([], lambda: call.output.message(said))
        return
    call.output.result(rows, lambda: show_runs(call.output, rows))


# Steering


def _add(call: CommandCall) -> None:
    """New requirements: the planner hears of them before anything else is begun."""
    from interlock.work.driver.lease_holders import is_driven
    from interlock.work.orchestration.reading import MACHINE, known_run
    from interlock.work.orchestration.verbs import add

    with writable(call) as place:
        run = known_run(place.journal, call.arguments.run)
        add(place.journal, caller_of(call, place).actor, run, call.arguments.text)
        driven = is_driven(place.journal, MACHINE, run.id)
    said = "What runs is ended, and the planner hears of it next."
    said = said if driven else "The planner hears of it first; `ralph orchestrate resume` goes on."
    call.output.result({"id": run.id, "driven": driven}, lambda: call.output.text(said))


def _stop(call: CommandCall) -> None:
    from interlock.work.orchestration.reading import known_run
    from interlock.work.orchestration.verbs import stop

    with writable(call) as place:
        run = known_run(place.journal, call.arguments.run)
        stop(place.journal, caller_of(call, place).actor, run, call.arguments.reason or "")
    call.output.result({"id": run.id}, lambda: call.output.text("It rests; `ralph orchestrate resume` goes on."))


# Arguments


def _goal(parser: ArgumentParser) -> None:
    parser.add_argument("goal", help="what is to be achieved, in your words")
    parser.add_argument("--agent", help="which agent plays every role that is not named")
    for role in _ROLES:
        parser.add_argument(f"--{role}", metavar="NAME[:MODEL]", help=f"which agent is the {role}")


def _run(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", help="its id or the end of it; without one, the one under way or the last")


def _resume_arguments(parser: ArgumentParser) -> None:
    _run(parser)
    parser.add_argument("--say", metavar="TEXT", help="what should change: the planner hears it first")


def _status_arguments(parser: ArgumentParser) -> None:
    _run(parser)
    parser.add_argument("--tasks", action="store_true", help="all tasks, however many there are")


def _limit(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="how many at the most")


def _named(parser: ArgumentParser) -> None:
    parser.add_argument("--run", metavar="ID", help="of which run; without one, the one under way or the last")


def _text(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="what else is wanted")
    _named(parser)


def _reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", help="why")
    _named(parser)


VERBS = (
    Verb(
        "",
        "begin a run for a goal, and drive it until it is met",
        _begin,
        _goal,
    ),
    Verb(
        "resume",
        "go on with a run that rests or failed",
        _resume,
        _resume_arguments,
    ),
    Verb("drive", "let a run go on as far as it can, and decide nothing", _drive_only, _run),
    Verb("status", "the plan, its tasks, and what it needs", _status, _status_arguments),
    Verb("list", "the runs, the newest first", _list, _limit),
    Verb(
        "add",
        "new requirements; it is planned again",
        _add,
        _text,
    ),
    Verb("stop", "let it rest; the agent that works is ended", _stop, _reason),
)
