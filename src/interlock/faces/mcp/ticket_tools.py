"""The tools for tickets. One of them moves a ticket, and there is no way around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.mcp.ticket_shapes import (
    AdvanceChildren,
    CheckConvergence,
    CommentTicket,
    CreateTicket,
    GetTicket,
    HandoffTicket,
    LinkTickets,
    ListTickets,
    NextTicket,
    OneTicket,
    PipelineDashboard,
    Shown,
    TicketList,
    UpdateTicket,
)
from interlock.faces.mcp.tool import Tool, key_of
from interlock.machine import Machine
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.advancing import Advanced, advance_children
from interlock.work.tickets.dashboard import Dashboard, as_markdown, as_text, dashboard
from interlock.work.tickets.groups import Group, group_lines, group_of
from interlock.work.tickets.handoff import Handed
from interlock.work.tickets.merged import handoff_here
from interlock.work.tickets.pipeline import Convergence, Position, convergence, position
from interlock.work.tickets.queries import Filters, listed
from interlock.work.tickets.upcoming import Next, next_ticket
from interlock.work.tickets.verbs import Made, TicketWrite, comment, create, edit, link
from interlock.work.views.ticket import TicketView, ticket_view

__all__ = ["TICKET_TOOLS"]

_ENDED = {"open": False, "closed": True, "all": None}


async def _create(context: ServerContext, caller: Caller, given: CreateTicket) -> Made:
    work = create(
        caller.actor,
        given.title,
        body=given.body,
        estimate=given.estimate,
        priority=given.priority,
        labels=given.labels,
        assignees=given.assignees,
        parent=given.parent,
        blocked_by=given.blocked_by,
        command=given.command,
        state=given.workflow_state,
        key=key_of(given.idempotency_key),
    )
    return await context.transact(work)


async def _get(context: ServerContext, caller: Caller, given: GetTicket) -> TicketView:
    most = max(0, min(given.comments, 200))
    return await context.read(
        lambda: ticket_view(context.journal, given.number, comments=most, with_group=given.include_group)
    )


async def _list(context: ServerContext, caller: Caller, given: ListTickets) -> TicketList:
    filters = Filters(
        state=given.workflow_state,
        estimate=given.estimate,
        priority=given.priority,
        label=given.label,
        assignee=given.assignee,
        text=given.query,
        parent=given.parent,
        ended=_ENDED[given.status],
        order_by=given.order_by,
        most=given.limit,
    )
    found = await context.read(lambda: listed(context.journal, filters))
    return TicketList(found, len(found))


async def _update(context: ServerContext, caller: Caller, given: UpdateTicket) -> TicketWrite:
    fields = {"title": given.title, "body": given.body, "estimate": given.estimate, "priority": given.priority}
    work = edit(
        caller.actor,
        given.number,
        set_={name: value for name, value in fields.items() if value is not None},
        add={
            "labels": given.add_labels,
            "assignees": given.add_assignees,
            "commits": given.commits,
            "pull_requests": given.pull_requests,
        },
        remove={"labels": given.remove_labels, "assignees": given.remove_assignees},
        artifacts=given.artifacts,
        key=key_of(given.idempotency_key),
    )
    return await context.transact(work)


async def _comment(context: ServerContext, caller: Caller, given: CommentTicket) -> TicketWrite:
    return await context.transact(comment(caller.actor, given.number, given.body, key=key_of(given.idempotency_key)))


async def _handoff(context: ServerContext, caller: Caller, given: HandoffTicket) -> Handed:
    work = await context.read(
        lambda: handoff_here(
            context.journal,
            context.settings,
            context.work_tree,
            _within(caller, given.session_id),
            given.number,
            command=given.command,
            intent=given.intent,
            to=given.to_state,
            reason=given.reason,
            key=key_of(given.idempotency_key),
        )
    )
    return await context.transact(work)


def _within(caller: Caller, session: str | None) -> Caller:
    return replace(caller, session=session) if session is not None else caller


async def _next(context: ServerContext, caller: Caller, given: NextTicket) -> Next:
    return await context.read(
        lambda: next_ticket(
            context.journal,
            _machine(context),
            state=given.workflow_state,
            command=given.command,
            largest=given.max_estimate,
            for_agent=True,
        )
    )


def _machine(context: ServerContext) -> Machine:
    return context.machines("ticket")


async def _link(context: ServerContext, caller: Caller, given: LinkTickets) -> TicketWrite:
    work = link(
        caller.actor,
        given.number,
        given.relation,
        given.other,
        remove=given.remove,
        replace=given.replace_parent,
        key=key_of(given.idempotency_key),
    )
    return await context.transact(work)


async def _group(context: ServerContext, caller: Caller, given: OneTicket) -> Group:
    return await context.read(lambda: group_of(context.journal, given.number))


async def _position(context: ServerContext, caller: Caller, given: OneTicket) -> Position:
    return await context.read(lambda: position(group_lines(context.journal, given.number)))


async def _convergence(context: ServerContext, caller: Caller, given: CheckConvergence) -> Convergence:
    return await context.read(
        lambda: convergence(_machine(context), group_lines(context.journal, given.number), given.target_state)
    )


async def _advance(context: ServerContext, caller: Caller, given: AdvanceChildren) -> Advanced:
    return await context.read(
        lambda: advance_children(
            context.journal,
            context.settings,
            _machine(context),
            _within(caller, given.session_id),
            given.number,
            command=given.command,
            to=given.target_state,
            reason=given.reason,
        )
    )


async def _dashboard(context: ServerContext, caller: Caller, given: PipelineDashboard) -> Shown:
    limit = context.settings.number("ticket.wip_limit")

    most = max(0, min(given.limit, 50))
    board = await context.read(lambda: dashboard(context.journal, _machine(context), most=most, wip_limit=limit))
    texts: dict[str, Callable[[Dashboard], str]] = {"markdown": as_markdown, "ascii": as_text}
    text = texts[given.format](board) if given.format in texts else ""
    return Shown(board, text)


def _words(machines: Callable[[str], Machine]) -> dict[str, dict[str, Any]]:
    form = machines("ticket").form
    commands = [name for name, one in form.commands.items() if not one.internal]
    choices = {"command": commands, "intent": list(form.intents), "to_state": list(form.states)}
    return {name: {"enum": values} for name, values in choices.items()}


TICKET_TOOLS = (
    Tool(
        "next_ticket",
        "Find the next ticket",
        "The next ticket that can be worked on: open, held by nobody, waiting for no other, the most urgent first. "
        "Name your command, or a state; without either the states nearest to the end come first. It claims nothing: "
        "claim it with handoff_ticket and the intent lock.",
        NextTicket,
        Next,
        _next,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "get_ticket",
        "Look at a ticket",
        "A ticket with everything on it: body, fields, links, artifacts, its newest comments with the trail of its "
        "moves, what is possible next, and its group.",
        GetTicket,
        TicketView,
        _get,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "list_tickets",
        "List tickets",
        "The tickets that fit, a short line each.",
        ListTickets,
        TicketList,
        _list,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "handoff_ticket",
        "Move a ticket",
        "The only way to move a ticket. Name your command, and either an intent (lock: claim it before you work on it; "
        "complete: your work on it is finished; release: give it back unfinished; escalate: a person has to decide; "
        "reject, close, cancel) or the state in to_state; and why. The reply says what comes next. A refusal changes "
        "nothing and names the calls that are possible.",
        HandoffTicket,
        Handed,
        _handoff,
        known=_words,
    ),
    Tool(
        "create_ticket",
        "Make a ticket",
        "Make a ticket. It begins in Backlog. For a part of another ticket give its parent.",
        CreateTicket,
        Made,
        _create,
    ),
    Tool(
        "update_ticket",
        "Change a ticket's fields",
        "Change plain fields of a ticket, attach documents, commits and pull requests. It never moves the ticket: "
        "that is handoff_ticket's.",
        UpdateTicket,
        TicketWrite,
        _update,
    ),
    Tool(
        "comment_ticket",
        "Comment on a ticket",
        "Say something on a ticket. It moves nothing.",
        CommentTicket,
        TicketWrite,
        _comment,
    ),
    Tool(
        "link_tickets",
        "Link two tickets",
        "Make one ticket a part of another, or let one wait for another; or take such a link out. What would make "
        "tickets wait for each other is refused.",
        LinkTickets,
        TicketWrite,
        _link,
    ),
    Tool(
        "ticket_group",
        "Find a ticket's group",
        "The tickets that belong together with this one, in the order in which they are to be done: what blocks comes "
        "first.",
        OneTicket,
        Group,
        _group,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "pipeline_position",
        "Find where a group stands",
        "The phase of the pipeline that a ticket's group is in, why, and which phases remain.",
        OneTicket,
        Position,
        _position,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "check_convergence",
        "Ask whether a group is ready",
        "Whether all tickets of a group have reached a state, which ones have not, and whether to proceed, wait or "
        "escalate.",
        CheckConvergence,
        Convergence,
        _convergence,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "advance_children",
        "Move a ticket's parts",
        "Hand each sub-ticket that is before a state on to it, with the same checks as handoff_ticket. What became of "
        "each is told; one that is refused holds up no other.",
        AdvanceChildren,
        Advanced,
        _advance,
    ),
    Tool(
        "pipeline_dashboard",
        "Look at the pipeline",
        "The pipeline at a glance: how many tickets stand where, for how long, who holds them, and what is wrong.",
        PipelineDashboard,
        Shown,
        _dashboard,
        read_only=True,
        idempotent=True,
    ),
)
"""In the order in which they are listed."""
