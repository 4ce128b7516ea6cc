"""What can be written on a ticket. Each verb gives the work of one transaction, and none of them moves the ticket.

journal.transact(edit(actor, 7, set_={"priority": "P1"}))

Only `handoff` moves one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from interlock.errors import Refusal, UsageError
from interlock.journal import Instance, Recorded, Sql, Transaction
from interlock.machine import Actor, Event, Evidence
from interlock.machine.commands import normalise_command
from interlock.machine.model import NOTED
from interlock.work.tickets.circles import way_out, way_to, worded
from interlock.work.tickets.fields import PLAIN, plain_fields, prose, words
from interlock.work.tickets.numbers import MACHINE, known_ticket, new_name, number_of
from interlock.work.tickets.record import COMMENTED, EDITED, TicketRecord
from interlock.work.tickets.ticket_table import TICKETS, by_ids, by_numbers, card_of

__all__ = ["Made", "TicketWrite", "Work", "comment", "create", "edit", "link"]

Result = TypeVar("Result")
Work = Callable[[Transaction], Result]

_RELATIONS = ("parent", "blocks", "blocked_by")
_LISTS = {"labels": "label", "assignees": "assignee", "commits": "commit", "pull_requests": "pull request"}
_MAX_PATH = 500


class Made(msgspec.Struct, frozen=True, rename="camel"):
    """A ticket that was made."""

    number: int
    title: str
    state: str = msgspec.field(name="workflowState")
    id: str
    created_at: str


class TicketWrite(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A ticket that something was written on."""

    number: int
    state: str = msgspec.field(name="workflowState")
    changed: list[str]
    entry: int
    at: str


def create(
    actor: Actor,
    title: str,
    *,
    parent: str | int | None = None,
    blocked_by: Sequence[str | int] = (),
    state: str | None = None,
    command: str | None = None,
    alias: str | None = None,
    key: str | None = None,
    **fields: Any,
) -> Work[Made]:
    """Make a ticket. It begins in Backlog; the command split may also begin one in Research Needed.

    By its alias, which no other ticket may have, it is known elsewhere.
    """

    def work(transaction: Transaction) -> Made:
        machine = transaction.current(MACHINE)
        given = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
        data = plain_fields(machine, {"title": title, **given})
        if parent is not None:
            data["parent"] = known_ticket(transaction, parent).id
        if blocked_by:
            data["blocked_by"] = list(dict.fromkeys(known_ticket(transaction, one).id for one in blocked_by))
        if parent is not None and blocked_by:
            _check_part(transaction.project(TICKETS), data["parent"], data["blocked_by"])
        names: tuple[str, ...] = (new_name(transaction),)
        if alias is not None:
            data["alias"] = alias
            names = (*names, f"alias:{alias}")
        evidence = Evidence(data=data, names=names)
        named = None if command is None else normalise_command(command)
        event = Event("created", actor, to=state, command=named, evidence=evidence)
        entry = transaction.create(MACHINE, event, key=key).entry
        number = number_of(entry.decoded_evidence().names)
        return Made(number, data["title"], entry.to_state, entry.instance, entry.time)

    return work


def edit(
    actor: Actor,
    called: str | int,
    *,
    set_: dict[str, Any] | None = None,
    add: dict[str, Sequence[str]] | None = None,
    remove: dict[str, Sequence[str]] | None = None,
    artifacts: dict[str, str] | None = None,
    key: str | None = None,
) -> Work[TicketWrite]:
    """Change plain fields: set them, or add to and remove from those that are lists; attach documents by kind."""

    def work(transaction: Transaction) -> TicketWrite:
        ticket = known_ticket(transaction, called)
        machine = transaction.machine_of(ticket)
        added: dict[str, Any] = _lists(add or {})
        if artifacts:
            added["artifacts"] = [_artifact(kind, path, machine.form.artifacts) for kind, path in artifacts.items()]
        changes = {
            "set": plain_fields(machine, set_ or {}),
            "add": added,
            "remove": _lists(remove or {}),
        }
        changes = {how: what for how, what in changes.items() if what}
        if not changes:
            raise UsageError("invalid_argument", f"Nothing of ticket {called} is to be changed.", PLAIN)
        return _noted(transaction, ticket, actor, EDITED, changes, key)

    return work


def _lists(given: dict[str, Sequence[str]]) -> dict[str, list[str]]:
    unknown = [name for name in given if name not in _LISTS]
    if unknown:
        raise UsageError("invalid_argument", f"{unknown[0][:80]!r} of a ticket is no list.", PLAIN)
    return {name: words(_LISTS[name], some) for name, some in given.items() if some}


def _artifact(kind: str, path: str, known: dict[str, Any]) -> dict[str, str]:
    kinds = {name: name for name in known} | {name.removesuffix("_document"): name for name in known}
    if kind not in kinds:
        raise UsageError("invalid_argument", f"{kind[:80]!r} is no kind of artifact.", f"One of: {', '.join(kinds)}.")
    if not (0 < len(path.strip()) <= _MAX_PATH and path.isprintable()):
        message = f"An artifact is a path or an address of 1 to {_MAX_PATH} printable characters."
        raise UsageError("invalid_argument", message, "Give its path in the repository, or its URL.")
    return {"kind": kinds[kind], "path": path.strip()}


def comment(actor: Actor, called: str | int, body: str, *, key: str | None = None) -> Work[TicketWrite]:
    """Say something on a ticket."""
    said = prose("comment", body, empty=False)

    def work(transaction: Transaction) -> TicketWrite:
        return _noted(transaction, known_ticket(transaction, called), actor, COMMENTED, {"body": said}, key)

    return work


def _noted(
    transaction: Transaction, ticket: Instance, actor: Actor, type_: str, data: dict[str, Any], key: str | None
) -> TicketWrite:
    event = Event(NOTED, actor, evidence=Evidence(data={"type": type_, **data}))
    recorded = transaction.append(ticket.id, event, key=key)
    return _told(transaction, ticket, recorded, data)


def _told(transaction: Transaction, ticket: Instance, recorded: Recorded, data: dict[str, Any]) -> TicketWrite:
    card = card_of(transaction.project(TICKETS), ticket.id)
    changed = [name for part in data.values() if isinstance(part, dict) for name in part]
    entry = recorded.entry
    return TicketWrite(card.number, entry.to_state, list(dict.fromkeys(changed)), entry.seq, entry.time)


# Relations


def link(
    actor: Actor,
    called: str | int,
    relation: str,
    other: str | int,
    *,
    remove: bool = False,
    replace: bool = False,
    key: str | None = None,
) -> Work[TicketWrite]:
    """Relate two tickets: `other` is the parent of this one, or this one blocks it, or is blocked by it."""
    if relation not in _RELATIONS:
        raise UsageError("invalid_argument", f"{relation[:80]!r} is no relation.", f"One of: {', '.join(_RELATIONS)}.")

    def work(transaction: Transaction) -> TicketWrite:
        ticket, related = known_ticket(transaction, called), known_ticket(transaction, other)
        if relation == "blocks":
            ticket, related = related, ticket
        sql = transaction.project(TICKETS)
        card = card_of(sql, ticket.id)
        if key is None or all(entry.key != key for entry in transaction.history(ticket.id)):
            if relation == "parent":
                _check_parent(sql, ticket, card, related, remove, replace)
            else:
                _check_blocker(sql, ticket, card, related, remove)
        return _noted(transaction, ticket, actor, EDITED, _change(relation, related.id, remove), key)

    return work


def _change(relation: str, related: str, remove: bool) -> dict[str, dict[str, Any]]:
    if relation == "parent":
        return {"set": {"parent": None if remove else related}}
    return {"remove" if remove else "add": {"blocked_by": [related]}}


def _check_parent(
    sql: Sql, ticket: Instance, card: TicketRecord, parent: Instance, remove: bool, replace: bool
) -> None:
    if remove:
        if card.parent != parent.id:
            raise _unrelated(sql, f"ticket {card.number} is no part of", parent)
        return
    if card.parent not in (None, parent.id) and not replace:
        has = card_of(sql, card.parent or "").number
        message = f"Ticket {card.number} is a part of ticket {has} already."
        raise Refusal("relation_refused", message, "Say replaceParent (`--replace`) if it is to be moved.")
    above = _wholes(sql, parent.id)
    if ticket.id in above:
        way = [ticket.id, *above[: above.index(ticket.id) + 1]]
        raise _cycle(sql, way, "would be a part of itself", " is a part of ".join(_numbers(sql, way)))
    waiting = way_to(sql, ticket.id, parent.id)
    if waiting is not None:
        way = [parent.id, *waiting]
        said = f"#{card_of(sql, parent.id).number} would wait for its part {worded(sql, waiting)}"
        raise _cycle(sql, way, "cannot be a part of what it waits for", said, way_out(sql, waiting), ticket.id)


def _check_part(sql: Sql, parent: str, blockers: Sequence[str]) -> None:
    """Refuse a new part of a ticket that would wait for that ticket, by way of others or not."""
    for blocker in blockers:
        way = way_to(sql, blocker, parent)
        if way is not None:
            said = f"{worded(sql, way)}, which waits for its parts"
            raise _cycle(sql, way, "has parts, and none of them can wait for it", said, goal=parent)


def _check_blocker(sql: Sql, ticket: Instance, card: TicketRecord, blocker: Instance, remove: bool) -> None:
    if remove:
        if blocker.id not in card.blocked_by:
            raise _unrelated(sql, f"ticket {card.number} is not blocked by", blocker)
        return
    way = way_to(sql, blocker.id, ticket.id)
    if way is not None:
        said = f"#{card.number} waits for {worded(sql, way)}"
        raise _cycle(sql, [ticket.id, *way], "would wait for itself", said, way_out(sql, way) if len(way) > 1 else "")


def _wholes(sql: Sql, ticket: str) -> list[str]:
    """A ticket, what it is a part of, what that is a part of, and so on."""
    found = [ticket]
    while rows := sql.rows("SELECT parent FROM tickets WHERE id = ? AND parent IS NOT NULL", (found[-1],)):
        if rows[0][0] in found:
            break
        found.append(rows[0][0])
    return found


def _numbers(sql: Sql, way: Sequence[str]) -> list[str]:
    known = by_ids(sql, way)
    return [f"#{known[one].number}" for one in way]


def _cycle(sql: Sql, way: list[str], what: str, said: str, instead: str = "", goal: str | None = None) -> Refusal:
    known = by_ids(sql, way)
    hint = "Leave this link out; a ticket waits for its parts as it is."
    if instead:
        hint = f"{hint} Or take out another one first: `{instead}`."
    numbers = [line.number for line in by_numbers(known.values())]
    message = f"Ticket {known[goal or way[0]].number} {what}: {said}."
    return Refusal("dependency_cycle", message, hint, {"tickets": numbers})


def _unrelated(sql: Sql, what: str, other: Instance) -> Refusal:
    message = f"There is no such link: {what} ticket {card_of(sql, other.id).number}."
    return Refusal("relation_refused", message, "`ralph ticket show` lists the links of a ticket.")
