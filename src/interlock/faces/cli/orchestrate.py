"""`ralph orchestrate`: a goal, planned, worked on task by task and reviewed, until it is met."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, Refusal
from interlock.faces.cli.command import Call, Verb
from interlock.faces.cli.driving import Driving, opened_workshop
from interlock.faces.cli.output import clean, one_line
from interlock.faces.cli.place import caller_of, readable, writable

if TYPE_CHECKING:
    from interlock.journal import Entry
    from interlock.work.orchestration.record import Run

__all__ = ["VERBS"]

_ROLES = ("planner", "questioner", "executor", "reviewer")


def _begin(call: Call) -> None:
    """A new run for a goal, driven until it ends or is to rest."""
    from interlock.work.orchestration.verbs import begin_goal, roles_of

    given = call.arguments
    with opened_workshop(call) as here:
        asked = {name: getattr(given, name) for name in ("agent", *_ROLES)}
        _drive(
            call, here, begin_goal(here.workshop, given.goal, roles_of(here.place.settings, asked, here.workshop.root))
        )


def _resume(call: Call) -> None:
    """Go on with a run; one that failed goes on as a new one, which is a person's decision at a terminal."""
    from interlock.work.orchestration.verbs import known_run, resume
    from interlock.world.people import is_at_terminal

    with opened_workshop(call) as here:
        run, person = known_run(here.place.journal, call.arguments.run), caller_of(call, here.place).actor
        if person.kind != "human" or (run.outcome is not None and not is_at_terminal()):
            message = "Going on after a failure is a person's decision, and there is nobody at a terminal."
            raise Refusal("person_needed", message, "Type `ralph orchestrate resume` in a terminal yourself.")
        _drive(call, here, resume(here.workshop, person, run))


def _drive(call: Call, here: Driving, id_: str) -> None:
    from interlock.work.orchestration.loop import drive

    run = here.drive(lambda: drive(here.workshop, id_), lambda entry: entry.instance == id_ and _is_told(entry))
    data = data_of(run)
    if run.outcome == "failure":
        if not call.output.json:
            _show(call, run)
        hint = "Mend what it needs, then `ralph orchestrate resume`; `ralph orchestrate add` gives it more to go by."
        why = run.reason.strip().splitlines()[0] if run.reason.strip() else "It failed."
        raise Refusal("run_failed", one_line(why), hint, data)
    if run.outcome is None and here.steering.presses:
        hint = "`ralph orchestrate resume` goes on."
        raise InterlockError("interrupted", f"Rests in {run.state}; nothing is lost.", hint)
    call.output.result(data, lambda: _show(call, run))


def _is_told(entry: Entry) -> bool:
    """Whether somebody elsewhere lets the run rest, or gives it something new to plan."""
    if entry.event == "requirements_added":
        return True
    return entry.event == "noted" and entry.decoded_evidence().data.get("type") == "stopped"


def _status(call: Call) -> None:
    from interlock.work.orchestration.verbs import known_run

    with readable(call) as place:
        run = known_run(place.journal, call.arguments.run)
    call.output.result(data_of(run), lambda: _show(call, run))


def _add(call: Call) -> None:
    """New requirements: the planner hears of them before anything else is begun."""
    from interlock.work.orchestration.verbs import add, known_run

    with writable(call) as place:
        run = known_run(place.journal)
        add(place.journal, caller_of(call, place).actor, run, call.arguments.text)
    call.output.result({"id": run.id}, lambda: call.output.text("The planner hears of it next."))


def _stop(call: Call) -> None:
    from interlock.work.orchestration.verbs import known_run, stop

    with writable(call) as place:
        run = known_run(place.journal)
        stop(place.journal, caller_of(call, place).actor, run, call.arguments.reason or "")
    call.output.result({"id": run.id}, lambda: call.output.text("It rests; `ralph orchestrate resume` goes on."))


def data_of(run: Run) -> dict[str, Any]:
    """A run as programs read it."""
    seconds, dollars, tokens = run.spent
    return {
        "id": run.id,
        "session": run.session,
        "goal": run.goal,
        "state": run.state,
        "outcome": run.outcome,
        "reason": run.reason or None,
        "stopped": run.stopped,
        "roles": run.roles,
        "tasks": [
            {"id": one.id, "mark": str(one.mark), "attempt": one.attempt, "description": one.description}
            for one in run.plan.tasks
        ],
        "task": run.task,
        "cycles": len(run.cycles),
        "verdict": run.verdict or None,
        "invocations": len(run.invocations),
        "spent": {"seconds": round(seconds, 3), "usd": round(dollars, 4), "tokens": tokens},
    }


_STYLES = {"x": "green", "P": "cyan", "/": "yellow", "F": "bold red", "C": "dim", " ": ""}


def _show(call: Call, run: Run) -> None:
    """The plan, the tasks with their marks and attempts, the last verdict, and what comes next."""
    from rich.text import Text

    say = call.output.console().print
    say(Text(one_line(run.goal), "bold").append(f"   {run.id[-8:]}  {run.session}", "dim"), soft_wrap=True)
    rests = "  rests" if run.stopped is not None else ""
    say(Text(f"{run.state}{rests}", "bold green" if run.outcome == "success" else "bold"), soft_wrap=True)
    if run.reason:
        say(Text(clean(run.reason.strip())), soft_wrap=True)
    for one in run.plan.tasks:
        again = f"  attempt {one.attempt}" if one.attempt > 1 else ""
        here = "  ◀" if one.id == run.task else ""
        say(
            Text(f"  [{one.mark}] {one_line(one.id)}  {one_line(one.description)}{again}{here}", _STYLES[one.mark]),
            soft_wrap=True,
        )
    if run.verdict:
        say(Text(f"last verdict: {one_line(run.verdict)[:300]}", "dim"), soft_wrap=True)
    seconds, dollars, tokens = run.spent
    say(Text(f"{len(run.invocations)} invocations, {seconds:.0f} s of agents, ${dollars:.2f}, {tokens} tokens", "dim"))
    if run.outcome is None:
        say(Text("→ ralph orchestrate resume  go on;  ralph orchestrate add …  give it more to do"))


# Arguments


def _goal(parser: ArgumentParser) -> None:
    parser.add_argument("goal", help="what is to be achieved, in your words")
    parser.add_argument("--agent", help="which agent plays every role that is not named")
    for role in _ROLES:
        parser.add_argument(f"--{role}", metavar="NAME[:MODEL]", help=f"which agent is the {role}")


def _run(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", help="its id or the end of it; without one, the one under way or the last")


def _text(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="what else is wanted")


def _reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", help="why")


VERBS = (
    Verb("", "begin a run for a goal", _begin, _goal, ('ralph orchestrate "Greet people in French"',)),
    Verb("resume", "go on with a run; after a failure, as a new one on the same directory", _resume, _run),
    Verb("status", "the plan, the tasks, and where it stands", _status, _run),
    Verb("add", "new requirements: it is planned again", _add, _text),
    Verb("stop", "let it rest", _stop, _reason),
)
