"""`ralph session`: agents at work. List, show and watch them; report for one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, NotFound, UsageError
from interlock.faces.cli.command import CommandCall, Verb, positive
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import caller_of, opened, writable

if TYPE_CHECKING:
    from interlock.journal import Instance, Journal
    from interlock.work.sessions.verbs import Moved
    from interlock.work.views.session import SessionView

__all__ = ["VERBS", "bring_up_to_date"]

_MOST = 20


# Reading


def _list(call: CommandCall) -> None:
    from interlock.work.views.session import session_view

    with opened(call) as journal:
        bring_up_to_date(call, journal)
        views = [session_view(journal, one) for one in _chosen(call, journal)] if journal else []
        call.output.result(views, lambda: _show_list(call, journal, views))


def bring_up_to_date(call: CommandCall, journal: Journal | None) -> None:
    """What happened outside the journal is taken in first; where that cannot be, what is there is shown."""
    from interlock.work.sessions.refresh import refresh
    from interlock.world.repository import state_directory

    if journal is not None:
        try:
            refresh(journal, state_directory(call.directory))
        except InterlockError as error:
            call.output.message(f"ralph: what hooks saw could not be taken in: {error.message}")


def _chosen(call: CommandCall, journal: Journal) -> list[Instance]:
    from interlock.work.tickets.numbers import find_ticket

    ticket: str | None = call.arguments.ticket
    if ticket is not None:
        found = find_ticket(journal, ticket)
        if found is None:
            hint = "`ralph session list` shows all sessions with their tickets."
            raise NotFound("unknown_ticket", f"There is no ticket {ticket[:80]!r}.", hint)
        return journal.recent("session", call.arguments.number, parent=found.id)
    if call.arguments.open:
        return journal.open_instances("session")[::-1][: call.arguments.number]
    return journal.recent("session", call.arguments.number)


def _show_list(call: CommandCall, journal: Journal | None, views: list[SessionView]) -> None:
    if not views or journal is None:
        call.output.message("There are no sessions here yet. A session begins when an agent starts to work.")
        return
    from interlock.faces.cli.progress import line_of, looks, whose

    known = looks()
    for view in views:
        call.output.print(line_of(view, known, whose(journal, view.ticket_id)))


def _show(call: CommandCall) -> None:
    from interlock.faces.cli.progress import show_session, whose
    from interlock.work.sessions.verbs import find_session
    from interlock.work.views.session import session_view

    with opened(call) as journal:
        if journal is None:
            hint = "A session begins when an agent starts to work; `ralph session create` begins one by hand."
            raise NotFound("unknown_session", f"Session {call.arguments.session[:80]} not found.", hint)
        bring_up_to_date(call, journal)
        view = session_view(journal, find_session(journal, call.arguments.session))
        owner = whose(journal, view.ticket_id)
    call.output.result(view, lambda: show_session(call.output, view, owner))


def _watch(call: CommandCall) -> None:
    from interlock.faces.cli.progress import watch

    watch(call)


# Writing


def _create(call: CommandCall) -> None:
    from interlock.work.sessions.verbs import create

    given = call.arguments
    with writable(call) as place:
        work = create(caller_of(call, place), ticket=given.ticket, role=given.role, timeout=place.timeout)
        made = place.journal.transact(work)
    said = f"Session {made.session_id} begins in {made.state}. Its agent runs with RALPH_SESSION_ID={made.session_id}."
    call.output.result(made, lambda: call.output.text(said))


def _update(call: CommandCall) -> None:
    from interlock.work.sessions.upkeep import written_in_state
    from interlock.work.sessions.verbs import update

    reference, metadata = _reference(call), _metadata(call)
    with writable(call) as place:
        bring_up_to_date(call, place.journal)
        actor = caller_of(call, place).actor
        written = written_in_state(place.journal, reference, place.state_directory)
        work = update(reference, call.arguments.state, actor, metadata, written=written, timeout=place.timeout)
        moved = place.journal.transact(work)
    call.output.result(moved, lambda: _show_move(call, moved))


def _complete(call: CommandCall) -> None:
    from interlock.work.sessions.upkeep import written_since
    from interlock.work.sessions.verbs import complete

    reference = _reference(call)
    with writable(call) as place:
        bring_up_to_date(call, place.journal)
        actor = caller_of(call, place).actor
        written = written_since(place.journal, reference, place.state_directory)
        work = complete(reference, call.arguments.outcome, actor, call.arguments.error, written=written)
        moved = place.journal.transact(work)
    call.output.result(moved, lambda: _show_move(call, moved))


def _reference(call: CommandCall) -> str:
    """The session that is meant: the one named, or else the one that the agent runs in."""
    named: str | None = call.arguments.session or call.environment.get("RALPH_SESSION_ID")
    if not named:
        raise UsageError("usage", "No session is named.", "Give --session ID, or set RALPH_SESSION_ID.")
    return named


def _metadata(call: CommandCall) -> dict[str, Any] | None:
    import json

    if call.arguments.metadata is None:
        return None
    try:
        found = json.loads(call.arguments.metadata)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        hint = """For example '{"message": "half way"}'."""
        raise UsageError("invalid_argument", "--metadata is no JSON object.", hint)
    return found


def _show_move(call: CommandCall, moved: Moved) -> None:
    mark = "  ⚠ off the path" if moved.off_path else ""
    rows = [f"Session {moved.session_id}: {moved.previous_state} → {moved.new_state}{mark}"]
    rows += [f"  {moved.warning}"] if moved.warning else []
    rows += [f"  found: {one_line(finding)}" for finding in moved.findings]
    rows += [f"  next: {', '.join(moved.allowed_next)}"] if moved.allowed_next else []
    call.output.text("\n".join(rows))


# Arguments


def _suffix(text: str) -> str:
    return text.removeprefix("…").lower()


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--ticket", help="only those of a ticket: its number, or the text it is known by")
    parser.add_argument("--open", action="store_true", help="only those that have not ended")
    parser.add_argument("-n", "--number", metavar="N", type=positive, default=_MOST, help="how many at the most")


def _one(parser: ArgumentParser) -> None:
    parser.add_argument("session", type=_suffix, help="its id, or the last 4 or more characters of it")


def _watch_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", type=_suffix, help="only this one: its id, or the end of it")
    parser.add_argument("--once", action="store_true", help="show it once and do not go on")


def _create_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--ticket", help="the ticket's number, or any text it is known by")
    parser.add_argument("--role", help="which of several agents of the ticket this is")


def _update_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("state", help="the state that the agent is in: analyzing, implementing, testing, …")
    _session_option(parser)
    parser.add_argument("--metadata", metavar="JSON", help="what belongs to it: files, testResults, message")


def _complete_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("outcome", choices=("success", "failure", "timeout", "cancelled"), help="how it ended")
    _session_option(parser)
    parser.add_argument("--error", metavar="TEXT", help="what went wrong")


def _session_option(parser: ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", type=_suffix, help="the session; RALPH_SESSION_ID where not given")


VERBS = (
    Verb("list", "the newest sessions, a line each", _list, _list_arguments),
    Verb("show", "one session: its history with durations, what was seen", _show, _one),
    Verb("watch", "the open sessions, live, until Ctrl+C", _watch, _watch_arguments),
    Verb("create", "begin a session", _create, _create_arguments),
    Verb(
        "update",
        "report the state that an agent is in",
        _update,
        _update_arguments,
    ),
    Verb(
        "complete",
        "end a session, and say how",
        _complete,
        _complete_arguments,
    ),
)
