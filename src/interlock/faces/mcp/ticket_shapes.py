"""What the tools for tickets are given, and what only they give."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from interlock.faces.mcp.arguments import Arguments
from interlock.faces.mcp.session_shapes import Key
from interlock.work.tickets.dashboard import Dashboard
from interlock.work.tickets.queries import TicketSummary

__all__ = [
    "AdvanceChildren",
    "CheckConvergence",
    "CommentTicket",
    "CreateTicket",
    "GetTicket",
    "HandoffTicket",
    "LinkTickets",
    "ListTickets",
    "NextTicket",
    "OneTicket",
    "PipelineDashboard",
    "Shown",
    "TicketList",
    "UpdateTicket",
]

Number = Annotated[int | str, "The ticket's number, or the text it is known by"]
Estimate = Annotated[str | None, "XS, S, M, L or XL"]
Priority = Annotated[str | None, "P0 (critical), P1, P2 or P3 (low)"]
Command = Annotated[str, "The command you are running: triage, split, research, plan, review, impl, hero or merge"]
State = Annotated[str, "A workflow state, such as Research Needed"]
Reason = Annotated[str, "Why, and what was done: it stays on the ticket for everybody to read"]


class CreateTicket(Arguments, frozen=True):
    title: Annotated[str, "One line"]
    body: Annotated[str, "What is to be done and how it is known to be done, in Markdown"] = ""
    estimate: Estimate = None
    priority: Priority = None
    labels: Annotated[tuple[str, ...], "Labels"] = ()
    assignees: Annotated[tuple[str, ...], "Whose it is"] = ()
    parent: Annotated[int | str | None, "The ticket that this one is a part of"] = None
    blocked_by: Annotated[tuple[int | str, ...], "The tickets that must end before this one is taken up"] = ()
    command: Annotated[str | None, "The command you are running, if any"] = None
    workflow_state: Annotated[str | None, "Backlog; the command split may also say Research Needed"] = None
    idempotency_key: Key = None


class GetTicket(Arguments, frozen=True):
    number: Number
    include_group: Annotated[bool, "Whether to tell the group it belongs to"] = True
    comments: Annotated[int, "How many of its newest comments to tell"] = 20


class ListTickets(Arguments, frozen=True):
    workflow_state: Annotated[str | None, "Only those in this state"] = None
    estimate: Estimate = None
    priority: Priority = None
    label: Annotated[str | None, "Only those with this label"] = None
    assignee: Annotated[str | None, "Only theirs"] = None
    query: Annotated[str | None, "Only those with this text in their title or body"] = None
    parent: Annotated[int | str | None, "Only the parts of this ticket"] = None
    status: Annotated[Literal["open", "closed", "all"], "Whether they have ended"] = "open"
    order_by: Annotated[Literal["number", "created", "updated", "priority", "age"], "In which order"] = "number"
    limit: Annotated[int, "How many at the most"] = 50


class UpdateTicket(Arguments, frozen=True):
    number: Number
    title: Annotated[str | None, "A new title"] = None
    body: Annotated[str | None, "A new body"] = None
    estimate: Annotated[str | None, "XS, S, M, L, XL, or none"] = None
    priority: Annotated[str | None, "P0, P1, P2, P3, or none"] = None
    add_labels: Annotated[tuple[str, ...], "Labels to add"] = ()
    remove_labels: Annotated[tuple[str, ...], "Labels to take off"] = ()
    add_assignees: Annotated[tuple[str, ...], "Whose it is from now on, too"] = ()
    remove_assignees: Annotated[tuple[str, ...], "Whose it is no longer"] = ()
    artifacts: Annotated[
        dict[str, str] | None, "Documents by kind: research, plan or critique, with the path or URL of each"
    ] = None
    commits: Annotated[tuple[str, ...], "Hashes of commits that belong to it"] = ()
    pull_requests: Annotated[tuple[str, ...], "URLs of pull requests that belong to it"] = ()
    idempotency_key: Key = None


class CommentTicket(Arguments, frozen=True):
    number: Number
    body: Annotated[str, "What to say, in Markdown"]
    idempotency_key: Key = None


class HandoffTicket(Arguments, frozen=True):
    number: Number
    command: Command
    reason: Reason
    intent: Annotated[str | None, "What you want; or give to_state"] = None
    to_state: Annotated[str | None, "The state it should move to; or give intent"] = msgspec.field(
        default=None, name="to_state"
    )
    session_id: Annotated[str | None, "Your Ralph session ID, if you have one; a lock is then held by it"] = None
    idempotency_key: Key = None


class NextTicket(Arguments, frozen=True):
    command: Annotated[str | None, "The command you want to run: it decides the states and the sizes"] = None
    workflow_state: Annotated[str | None, "Only those in this state"] = None
    max_estimate: Annotated[str | None, "The largest estimate to take; S where a state is given"] = None


class LinkTickets(Arguments, frozen=True):
    number: Number
    relation: Annotated[
        Literal["parent", "blocks", "blocked_by"],
        "parent: `other` is the ticket that this one is a part of. blocks: `other` waits for this one. "
        "blocked_by: this one waits for `other`",
    ]
    other: Annotated[int | str, "The other ticket"]
    remove: Annotated[bool, "Take the link out instead"] = False
    replace_parent: Annotated[bool, "Whether a ticket that has a parent gets this one instead"] = False
    idempotency_key: Key = None


class OneTicket(Arguments, frozen=True):
    number: Number


class CheckConvergence(Arguments, frozen=True):
    number: Number
    target_state: Annotated[str, "The state that all of its group should have reached"]


class AdvanceChildren(Arguments, frozen=True):
    number: Annotated[int | str, "The ticket whose sub-tickets are to move"]
    target_state: State
    command: Command
    reason: Reason
    session_id: Annotated[str | None, "Your Ralph session ID, if you have one"] = None


class PipelineDashboard(Arguments, frozen=True):
    format: Annotated[Literal["json", "markdown", "ascii"], "With a text of it, or not"] = "json"
    limit: Annotated[int, "How many tickets to tell of each state"] = 5


# What only these tools give


class TicketList(msgspec.Struct, frozen=True, rename="camel"):
    tickets: list[TicketSummary]
    count: int


class Shown(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    dashboard: Dashboard
    text: str = ""
