"""`ralph thread`: one feature, from an idea to a reviewed commit. A verb for every move that is a person's."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING

from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.driver_session import open_driver_session
from interlock.faces.cli.place import caller_of, person_of, readable
from interlock.faces.cli.thread_place import drive_thread, listen, tell_thread, which_thread
from interlock.faces.cli.thread_spec import new, spec

if TYPE_CHECKING:
    pass

__all__ = ["VERBS"]


# Looking


def _show(call: CommandCall) -> None:
    with readable(call) as place:
        tell_thread(call, place, which_thread(call, place, looks=True), is_asked=True)


def _list(call: CommandCall) -> None:
    from interlock.faces.cli.thread_pages import show_list
    from interlock.machine import load_shipped
    from interlock.work.threads.reading import listed

    with readable(call) as place:
        rows = listed(place.journal, place.state_directory)
    if not rows:
        call.output.result(
            [], lambda: call.output.message('There are no threads. `ralph thread new "TITLE"` makes one.')
        )
        return
    call.output.result(rows, lambda: show_list(call.output, rows, load_shipped("thread")))


def _use(call: CommandCall) -> None:
    from interlock.work.threads.verbs import use_thread

    with open_driver_session(call) as here:
        id_ = which_thread(call, here.place)
        use_thread(here.context, id_, caller_of(call, here.place).actor)
        tell_thread(call, here.place, id_, is_asked=True)


def _diagnose(call: CommandCall) -> None:
    from interlock.faces.cli.thread_pages import diagnosis_text
    from interlock.work.threads.reading import read_thread

    with readable(call) as place:
        thread = read_thread(place.journal, which_thread(call, place, looks=True))
    call.output.result(thread.diagnosis, lambda: call.output.text(diagnosis_text(thread.diagnosis)))


# Moving


def _move(verb: str, *, drives: bool = True) -> Callable[[CommandCall], None]:
    """A verb that makes a person's move, and lets the thread go on by itself as far as it can."""

    def run(call: CommandCall) -> None:
        from interlock.work.threads.decisions import event_of, starts_agents
        from interlock.work.threads.reading import read_thread
        from interlock.work.threads.verbs import act

        with open_driver_session(call, starts_agents=starts_agents(verb)) as here:
            place, context = here.place, here.context
            id_ = which_thread(call, place)
            name = event_of(verb, read_thread(place.journal, id_))
            if name:
                reason = getattr(call.arguments, "reason", None)
                act(context, id_, person_of(call, place), name, reason=reason)
            if drives:
                drive_thread(here, id_)
            tell_thread(call, place, id_)

    return run


def _drive(call: CommandCall) -> None:
    """Let it go on by itself as far as it can; it decides nothing. The dashboard starts this one."""
    from interlock.work.threads.verbs import must_be_person

    with open_driver_session(call, starts_agents=True) as here:
        id_ = which_thread(call, here.place)
        must_be_person(here.context, id_, caller_of(call, here.place).actor, "drive")
        drive_thread(here, id_)
        tell_thread(call, here.place, id_)


def _configure(call: CommandCall) -> None:
    """Choose how the loop runs; from Stuck and Paused it goes back to Configuring first."""
    from interlock.work.threads.decisions import choose_configuration

    with open_driver_session(call, starts_agents=True) as here:
        place, given = here.place, vars(call.arguments)
        id_, person = which_thread(call, place), person_of(call, place)
        choose_configuration(here.context, id_, person, given, call.arguments.mode)
        drive_thread(here, id_)
        tell_thread(call, place, id_)


def _pause(call: CommandCall) -> None:
    from interlock.work.threads.verbs import pause

    with open_driver_session(call) as here:
        place, context = here.place, here.context
        id_ = which_thread(call, place)
        pause(context, id_, person_of(call, place))
        tell_thread(call, place, id_)


def _context(call: CommandCall) -> None:
    from interlock.work.threads.verbs import add_context

    with open_driver_session(call) as here:
        place, context = here.place, here.context
        id_ = which_thread(call, place)
        add_context(context, id_, person_of(call, place), call.arguments.text)
    call.output.result({"id": id_}, lambda: call.output.text("The next agent is told it."))


def _polish(call: CommandCall) -> None:
    """Add docs and tests by hand or by an agent, and prove it again."""
    from interlock.work.threads.decisions import begin_polishing
    from interlock.work.threads.dialogue import polish
    from interlock.work.threads.verbs import act
    from interlock.world.agents.adopting import adopting

    given = call.arguments
    with open_driver_session(call, starts_agents=True) as here:
        place, context = here.place, here.context
        id_, person = which_thread(call, place), person_of(call, place)
        begin_polishing(context, id_, person)
        if given.ask:
            listen(here, id_)
            with adopting():
                polish(context, id_, given.ask)
        if given.done:
            act(context, id_, person, "polished")
            drive_thread(here, id_)
        tell_thread(call, place, id_)


def _review(call: CommandCall) -> None:
    """The changes, what was proven of them, and whether they can be recommended."""
    from msgspec.structs import asdict

    from interlock.faces.cli.thread_pages import show_review
    from interlock.work.threads.decisions import begin_review
    from interlock.work.threads.reading import read_thread
    from interlock.work.threads.showing import is_recommended, receipt_text, whole_diff
    from interlock.work.views.thread import thread_view

    with open_driver_session(call) as here:
        place, context = here.place, here.context
        id_ = which_thread(call, place)
        begin_review(context, id_, person_of(call, place))
        drive_thread(here, id_)
        thread, instance = read_thread(place.journal, id_), place.journal.instance(id_)
        diff = whole_diff(thread, thread.directory(context.base, context.root))
        recommend = is_recommended(thread, instance.snapshot)
        view = thread_view(place.journal, id_, context.base)
        data = {**asdict(view), "diff": diff, "recommend_approve": recommend}

        def show() -> None:
            show_review(call.output, thread, receipt_text(thread), diff, recommend=recommend)
            tell_thread(call, place, id_)

        call.output.result(data, show)


def _undo(call: CommandCall) -> None:
    """Bring back what a reset put away: files, index and branch. The thread's state stays."""
    from interlock.work.threads.effects import undo_reset
    from interlock.work.threads.reading import read_thread
    from interlock.work.threads.verbs import must_be_person

    with open_driver_session(call) as here:
        place, context = here.place, here.context
        id_ = which_thread(call, place)
        must_be_person(context, id_, caller_of(call, place).actor, "undo")
        name = undo_reset(context, read_thread(place.journal, id_), call.arguments.kept)
    call.output.result(
        {"id": id_, "restored": name}, lambda: call.output.text(f"What was kept as refs/ralf/{name} is back.")
    )


def _edit(call: CommandCall) -> None:
    """Open a checkout with the work so far, for the person to edit in."""
    from interlock.work.threads.verbs import open_checkout

    with open_driver_session(call) as here:
        place, context = here.place, here.context
        id_ = which_thread(call, place)
        checkout = open_checkout(context, id_, person_of(call, place))
    text = f"{checkout}\nWhat you edit there goes into the work before it is next worked on or proven."
    call.output.result({"id": id_, "checkout": str(checkout)}, lambda: call.output.text(text))


# Arguments


def _thread(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", help="its id or the end of it; without one, the active thread")


def _with_reason(help_: str, *, required: bool = False) -> Callable[[ArgumentParser], None]:
    def arguments(parser: ArgumentParser) -> None:
        _thread(parser)
        parser.add_argument("--reason", required=required, help=help_)

    return arguments


def _new_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("title", nargs="?", help="what it is about, in one line; the ticket's title if left out")
    parser.add_argument("--ticket", metavar="NUMBER", help="the ticket that it is for, which must be In Progress")
    parser.add_argument("--quick", action="store_true", help="go on by itself between the gates")
    parser.add_argument("--file", metavar="FILE", help="the first revision of the spec; - is stdin")


def _spec_arguments(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument("--edit", action="store_true", help="write it in your editor")
    parser.add_argument("--file", metavar="FILE", help="take it from a file; - is stdin")
    parser.add_argument("--say", metavar="TEXT", help="say something to an agent, which answers with a spec")
    parser.add_argument("--agent", help="which agent answers")
    parser.add_argument("--revision", type=int, metavar="N", help="show an earlier one")
    parser.add_argument("--template", metavar="TITLE", help="show an empty spec")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 13):
        raise ArgumentTypeError(f"{text[:20]!r} is no number from 0 on")
    return int(text)


def _configure_arguments(parser: ArgumentParser) -> None:
    from interlock.work.settings.values import isolation_of

    _thread(parser)
    parser.add_argument("--agents", metavar="A,B:MODEL", help="who works, in turns")
    parser.add_argument("--iterations", type=_number, metavar="N", help="how many at the most; 0 is no limit")
    parser.add_argument("--driver", choices=("plain", "story", "orchestrator"), help="what runs the loop")
    parser.add_argument("--selection", choices=("round_robin", "priority"), help="who is next")
    parser.add_argument(
        "--isolation",
        type=isolation_of,
        choices=("own", "checkout"),
        help="checkout also brings yours along",
    )
    parser.add_argument("--judge", metavar="AGENT", help="who judges the criteria")
    parser.add_argument("--budget-minutes", type=_number, metavar="N", help="minutes of agents; 0 is no limit")
    parser.add_argument("--budget-usd", type=_number, metavar="N", help="dollars; 0 is no limit")
    parser.add_argument("--budget-tokens", type=_number, metavar="N", help="tokens; 0 is no limit")
    parser.add_argument("--mode", choices=("methodical", "quick"), help="whether it goes on by itself between gates")


def _polish_arguments(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument("--ask", metavar="TEXT", help="let an agent do it")
    parser.add_argument("--done", action="store_true", help="it is done: prove it again if anything changed")


def _undo_arguments(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument("--kept", metavar="NAME", help="which; without a name, what was put away last")


def _context_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="what to tell the next agent, once")
    parser.add_argument("--thread", help="its id or the end of it")


VERBS = (
    Verb("", "the active thread, and what to do next", _show),
    Verb("new", "begin a thread", new, _new_arguments),
    Verb("list", "the threads, the newest first", _list),
    Verb("show", "one thread, and what to do next", _show, _thread),
    Verb("use", "make a thread the active one", _use, _thread),
    Verb("spec", "show, write or talk about the spec", spec, _spec_arguments),
    Verb("assess", "let an agent review the spec", _move("assess"), _thread),
    Verb("finalize", "gate: approve the spec", _move("finalize"), _thread),
    Verb("reopen", "open a finalized spec again", _move("reopen"), _thread),
    Verb("start", "check the prerequisites and begin the implementation", _move("start"), _thread),
    Verb("configure", "choose agents, iterations, driver and budget", _configure, _configure_arguments),
    Verb("run", "start the loop", _move("run"), _thread),
    Verb("pause", "let the loop rest", _pause, _thread),
    Verb("resume", "go on from Paused, or where the driver died", _move("resume"), _thread),
    Verb("drive", "let it go on by itself as far as it can, and decide nothing", _drive, _thread),
    Verb("context", "tell the next agent something, once", _context, _context_arguments),
    Verb("edit", "open a checkout of the work, to edit it yourself", _edit, _thread),
    Verb("assist", "gate: go on after you edited files", _move("assist"), _with_reason("what you did")),
    Verb(
        "revise",
        "back to the spec; what was built is put away",
        _move("revise"),
        _with_reason("why"),
    ),
    Verb("diagnose", "why it is stuck", _diagnose, _thread),
    Verb("polish", "add docs and tests before the review", _polish, _polish_arguments),
    Verb("review", "the changes, and what was proven of them", _review, _thread),
    Verb("reverify", "prove it again, after a change", _move("reverify"), _thread),
    Verb("approve", "gate: the changes are right", _move("approve"), _thread),
    Verb("reject", "send it back to be mended", _move("reject"), _with_reason("what is wrong", required=True)),
    Verb("withdraw", "take an approval back", _move("withdraw"), _thread),
    Verb("commit", "gate: make the commit", _move("commit"), _thread),
    Verb("abandon", "end it; no file is touched", _move("abandon", drives=False), _with_reason("why")),
    Verb("undo", "bring back what a reset put away", _undo, _undo_arguments),
)
