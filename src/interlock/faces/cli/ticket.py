"""`ralph ticket`: the pieces of work. Make, show and hand them on; the board, and the next one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import partial
from typing import TYPE_CHECKING

from interlock.errors import Refusal, UsageError
from interlock.faces.cli.command import CommandCall, Verb, positive
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import caller_of, readable, writable
from interlock.faces.cli.tracker import show_outside, sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.faces.cli.place import Workspace
    from interlock.machine import Machine
    from interlock.work.tickets.handoff import Handed
    from interlock.work.tickets.queries import TicketSummary
    from interlock.work.tickets.verbs import TicketWrite

__all__ = ["VERBS"]

_MOST = 50
_MAX_STDIN = 1024 * 1024


# Reading


def _list(call: CommandCall) -> None:
    from interlock.work.tickets.queries import Filters, listed

    given = call.arguments
    filters = Filters(
        state=given.state,
        estimate=given.estimate,
        priority=given.priority,
        label=given.label,
        assignee=given.assignee,
        text=given.text,
        parent=given.parent,
        ended=None if given.all else given.closed,
        order_by=given.order,
        most=given.number,
    )
    with readable(call) as place:
        found = listed(place.journal, filters)
    call.output.result(found, lambda: _show_list(call, found))


def _show_list(call: CommandCall, found: list[TicketSummary]) -> None:
    from interlock.faces.cli.board import show_lines

    if not found:
        call.output.message('There are no such tickets. `ralph ticket create "TITLE"` makes one.')
        return
    show_lines(call.output, found, _machine(call))


def _show(call: CommandCall) -> None:
    from interlock.faces.cli.board import show_ticket
    from interlock.work.views.ticket import ticket_view

    with readable(call) as place:
        found = ticket_view(place.journal, call.arguments.ticket, comments=call.arguments.comments)
    call.output.result(found, lambda: show_ticket(call.output, found, _machine(call)))


def _next(call: CommandCall) -> None:
    from interlock.faces.cli.board import show_next
    from interlock.work.tickets.upcoming import next_ticket

    given = call.arguments
    with readable(call) as place:
        machine = place.machines("ticket")
        found = next_ticket(
            place.journal, machine, state=given.state, command=given.command, largest=given.max_estimate
        )
    call.output.result(found, lambda: show_next(call.output, found, machine))


def _board(call: CommandCall) -> None:
    from interlock.faces.cli.board import show_board
    from interlock.work.tickets.dashboard import dashboard

    with readable(call) as place:
        machine = place.machines("ticket")
        limit = place.settings.number("ticket.wip_limit")
        board = dashboard(place.journal, machine, most=call.arguments.number, wip_limit=limit)
    call.output.result(board, lambda: show_board(call.output, board, machine))


def _group(call: CommandCall) -> None:
    from msgspec.structs import asdict

    from interlock.faces.cli.board import show_group
    from interlock.work.tickets.groups import group_lines, group_of
    from interlock.work.tickets.pipeline import position

    with readable(call) as place:
        group = group_of(place.journal, call.arguments.ticket)
        stands = position(group_lines(place.journal, call.arguments.ticket))
    data = {**asdict(group), "position": stands}
    call.output.result(data, lambda: show_group(call.output, group, stands, _machine(call)))


def _machine(call: CommandCall) -> Machine:
    from interlock.world.machines import machine_finder

    return machine_finder(call.environment)("ticket")


# Writing


def _create(call: CommandCall) -> None:
    from interlock.work.tickets.verbs import create

    given = call.arguments
    with writable(call) as place:
        work = create(
            caller_of(call, place).actor,
            given.title,
            body=_text(given.body),
            estimate=given.estimate,
            priority=given.priority,
            labels=given.label,
            assignees=given.assignee,
            parent=given.parent,
            blocked_by=given.blocked_by,
            state=given.state,
            command=given.command,
        )
        made = place.journal.transact(work)
        show_outside(call, place)
    said = f"#{made.number} {one_line(made.title)}: in {made.state}."
    call.output.result(made, lambda: call.output.text(said))


def _edit(call: CommandCall) -> None:
    from interlock.work.tickets.verbs import edit

    given = call.arguments
    fields = {"title": given.title, "estimate": given.estimate, "priority": given.priority}
    fields |= {"body": _text(given.body)} if given.body is not None else {}
    with writable(call) as place:
        work = edit(
            caller_of(call, place).actor,
            given.ticket,
            set_={name: value for name, value in fields.items() if value is not None},
            add={
                "labels": given.label,
                "assignees": given.assignee,
                "commits": given.commit,
                "pull_requests": given.pull_request,
            },
            remove={"labels": given.remove_label, "assignees": given.remove_assignee},
            artifacts=_artifacts(given.artifact),
        )
        written = place.journal.transact(work)
        show_outside(call, place)
    _told(call, written, f"#{written.number}: {', '.join(written.changed)} changed.")


def _artifacts(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    wrong = next((one for one, (kind, _, path) in zip(given, pairs, strict=True) if not (kind and path)), None)
    if wrong is not None:
        message = f"--artifact {wrong[:80]!r} is not KIND=PATH."
        raise UsageError("usage", message, "For example --artifact research=thoughts/shared/research/found.md.")
    return {kind: path for kind, _, path in pairs}


def _comment(call: CommandCall) -> None:
    from interlock.work.tickets.verbs import comment

    with writable(call) as place:
        work = comment(caller_of(call, place).actor, call.arguments.ticket, _text(call.arguments.text) or "")
        written = place.journal.transact(work)
        show_outside(call, place)
    _told(call, written, f"#{written.number}: commented.")


def _told(call: CommandCall, written: TicketWrite, said: str) -> None:
    call.output.result(written, lambda: call.output.text(said))


def _deps(call: CommandCall) -> None:
    from interlock.faces.cli.board import show_links
    from interlock.work.tickets.verbs import link
    from interlock.work.views.ticket import ticket_view

    given = call.arguments
    wanted = [("parent", given.parent), ("blocks", given.blocks), ("blocked_by", given.blocked_by)]
    with writable(call) as place:
        actor = caller_of(call, place).actor
        works = [
            link(actor, given.ticket, relation, other, remove=given.remove, replace=given.replace)
            for relation, others in wanted
            for other in others
        ]
        place.journal.transact(lambda transaction: [work(transaction) for work in works])
        found = ticket_view(place.journal, given.ticket, comments=0, with_group=False)
    data = {name: getattr(found, name) for name in ("number", "parent", "sub_tickets", "blocked_by", "blocking")}
    call.output.result(data, lambda: show_links(call.output, found, _machine(call)))


def _handoff(call: CommandCall) -> None:
    from interlock.faces.cli.board import show_handed
    from interlock.work.tickets.merged import handoff_here

    given = call.arguments
    with writable(call) as place:
        work = partial(
            handoff_here,
            place.journal,
            place.settings,
            place.work_tree,
            caller_of(call, place),
            given.ticket,
            command=given.command,
            intent=given.intent,
            to=given.to_state,
            reason=given.reason,
        )
        handed = _with_presence(call, place, lambda present: place.journal.transact(work(present=present)))
        show_outside(call, place)
    call.output.result(handed, lambda: show_handed(call.output, handed, _machine(call)))


def _with_presence(call: CommandCall, place: Workspace, move: Callable[[bool], Handed]) -> Handed:
    """Make a move; if it needs a person and the terminal does not prove one, a key signs first."""
    from interlock.work.gates.approval import vouch
    from interlock.work.gates.presence import at_terminal
    from interlock.work.tickets.numbers import known_ticket
    from interlock.world.lineage import Reach, lineage
    from interlock.world.people import is_at_terminal

    is_there, is_proven = is_at_terminal(), lineage().reach is Reach.TOP
    try:
        return move(is_there and is_proven)
    except Refusal as refusal:
        if refusal.code != "person_needed" or not is_there or is_proven:
            raise
    ticket = known_ticket(place.journal, call.arguments.ticket)
    vouch(place.journal, at_terminal(call.environment, call.directory), ticket.id, "handoff")
    return move(True)


def _text(given: str | None) -> str | None:
    """A text that was given, or that stdin has where `-` was given."""
    if given != "-":
        return given
    text = sys.stdin.read(_MAX_STDIN + 1)
    if len(text) > _MAX_STDIN:
        raise UsageError("invalid_argument", "What stdin has is too long.", "Put it into a file, and name that.")
    return text


# Arguments


def _ticket(parser: ArgumentParser) -> None:
    parser.add_argument("ticket", metavar="N", help="its number, or the text it is known by")


def _fields(parser: ArgumentParser) -> None:
    parser.add_argument("--estimate", help="XS, S, M, L or XL")
    parser.add_argument("--priority", help="P0 (critical) to P3 (low)")
    parser.add_argument("--label", action="append", default=[], help="a label; may be given again")
    parser.add_argument("--assignee", action="append", default=[], help="whose it is; may be given again")


def _create_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("title", help="one line")
    parser.add_argument("--body", metavar="TEXT", help="what is to be done, in Markdown; - reads stdin")
    _fields(parser)
    parser.add_argument("--parent", metavar="N", help="the ticket that it is a part of")
    parser.add_argument("--blocked-by", metavar="N", action="append", default=[], help="a ticket that it waits for")
    parser.add_argument("--command", help="the command that makes it, for agents")
    parser.add_argument("--state", help="Backlog, or Research Needed")


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--state", help="only those in this state")
    parser.add_argument("--estimate", help="only those of this size")
    parser.add_argument("--priority", help="only those of this priority")
    parser.add_argument("--label", help="only those with this label")
    parser.add_argument("--assignee", help="only theirs")
    parser.add_argument("--text", help="only those with this text in their title or body")
    parser.add_argument("--parent", metavar="N", help="only the parts of this ticket")
    parser.add_argument("--closed", action="store_true", help="those that have ended")
    parser.add_argument("--all", action="store_true", help="those that have ended, too")
    orders = ("number", "created", "updated", "priority", "age")
    parser.add_argument("--order", choices=orders, default="number", help="in which order")
    parser.add_argument("-n", "--number", metavar="N", type=positive, default=_MOST, help="how many at the most")


def _show_arguments(parser: ArgumentParser) -> None:
    _ticket(parser)
    parser.add_argument("--comments", metavar="N", type=positive, default=20, help="how many of its newest comments")


def _edit_arguments(parser: ArgumentParser) -> None:
    _ticket(parser)
    parser.add_argument("--title", help="a new title")
    parser.add_argument("--body", metavar="TEXT", help="a new body; - reads stdin")
    _fields(parser)
    parser.add_argument("--remove-label", metavar="LABEL", action="append", default=[], help="a label to take off")
    parser.add_argument(
        "--remove-assignee", metavar="ASSIGNEE", action="append", default=[], help="whose it is no longer"
    )
    parser.add_argument("--commit", action="append", default=[], help="the hash of a commit that belongs to it")
    parser.add_argument("--pull-request", metavar="URL", action="append", default=[], help="one that belongs to it")
    parser.add_argument(
        "--artifact", metavar="KIND=PATH", action="append", default=[], help="a document: research, plan or critique"
    )


def _comment_arguments(parser: ArgumentParser) -> None:
    _ticket(parser)
    parser.add_argument("text", help="what to say, in Markdown; - reads stdin")


def _handoff_arguments(parser: ArgumentParser) -> None:
    _ticket(parser)
    parser.add_argument("--command", help="the command that moves it; a person need not name one")
    parser.add_argument("--intent", help="lock, complete, release, escalate, reject, close or cancel")
    parser.add_argument("--to-state", metavar="STATE", help="the state it moves to, instead of an intent")
    parser.add_argument("--reason", required=True, help="why; it stays on the ticket for everybody to read")


def _next_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--command", help="for this command: it decides the states and the sizes")
    parser.add_argument("--state", help="in this state")
    parser.add_argument("--max-estimate", metavar="ESTIMATE", help="no larger than this")


def _board_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-n", "--number", metavar="N", type=positive, default=5, help="how many tickets of each state")


def _deps_arguments(parser: ArgumentParser) -> None:
    _ticket(parser)
    parser.add_argument("--blocked-by", metavar="M", action="append", default=[], help="let it wait for another one")
    parser.add_argument("--blocks", metavar="M", action="append", default=[], help="let another one wait for it")
    parser.add_argument("--parent", metavar="M", action="append", default=[], help="make it a part of another one")
    parser.add_argument("--replace", action="store_true", help="instead of the parent that it has")
    parser.add_argument("--remove", action="store_true", help="take these links out instead")


def _sync_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--setup", action="store_true", help="make the fields on the board that are missing")
    parser.add_argument(
        "--accept", metavar="N", action="append", default=[], help="make the move that was made there; on a terminal"
    )
    parser.add_argument(
        "--restore", metavar="N", action="append", default=[], help="put the board right instead; on a terminal"
    )


VERBS = (
    Verb(
        "create",
        "make a ticket; it begins in Backlog",
        _create,
        _create_arguments,
    ),
    Verb("list", "the tickets, a line each", _list, _list_arguments),
    Verb("show", "one ticket with everything on it", _show, _show_arguments),
    Verb(
        "edit",
        "change plain fields; it never moves the ticket",
        _edit,
        _edit_arguments,
    ),
    Verb("comment", "say something on a ticket", _comment, _comment_arguments),
    Verb(
        "handoff",
        "move a ticket: the one door, with every check",
        _handoff,
        _handoff_arguments,
    ),
    Verb("next", "the next ticket to work on", _next, _next_arguments),
    Verb("board", "the pipeline at a glance: counts, ages, locks, health", _board, _board_arguments),
    Verb("group", "the tickets that belong together, in order", _group, _ticket),
    Verb(
        "deps",
        "what a ticket waits for and is a part of; link and unlink",
        _deps,
        _deps_arguments,
    ),
    Verb(
        "sync",
        "bring the tickets and the board on GitHub in step",
        sync,
        _sync_arguments,
    ),
)
