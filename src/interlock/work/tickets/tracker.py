"""PURE. How a ticket looks on a tracker's board, and what somebody changed there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from interlock.journal import CONTROL, Entry
from interlock.machine import Machine
from interlock.work.tickets.audit import Trail, comment_of, disarmed, is_move, marker, trail_of
from interlock.work.tickets.fields import MAX_PROSE, MAX_TITLE, MAX_WORD
from interlock.work.tickets.record import COMMENTED, TicketRecord, Tracked
from interlock.world.github import BoardItem, Field, Option
from interlock.world.redaction import redacted

__all__ = [
    "ESTIMATE",
    "PRIORITY",
    "STATE",
    "BoardComment",
    "board_fields",
    "compared",
    "linked",
    "marked_ticket",
    "plain_there",
    "said_since",
    "ticket_marker",
    "written",
]

STATE = "Workflow State"
PRIORITY = "Priority"
ESTIMATE = "Estimate"
_MAX_TEXT = 60_000
"""GitHub takes 65,536 characters, hidden lines and all."""
_MAX_HIDDEN = 4_000
_REST = "… (the journal has all of it)"
_MARKER = re.compile(r"\s*<!-- ralph-ticket: ([0-9a-z]{26}) -->\s*$")
_PLAIN = ("title", "body", "estimate", "priority", "labels", "assignees")


class BoardComment(msgspec.Struct, frozen=True):
    """A comment that the board has to show, and the line of it that no other comment has."""

    body: str
    marker: str


def board_fields(machine: Machine) -> list[Field]:
    """The fields that a board needs, with their options and colours."""
    form = machine.form
    states = [Option(name, _color(one.color), one.description) for name, one in form.states.items()]
    priorities = [Option(name, _color(one.color), one.description) for name, one in form.priorities.items()]
    estimates = [Option(name, _color(one.color), one.description) for name, one in form.estimates.items()]
    return [
        Field(STATE, tuple(states)),
        Field(PRIORITY, tuple(priorities)),
        Field(ESTIMATE, tuple(estimates)),
    ]


def _color(name: str | None) -> str:
    return (name or "gray").upper()


def ticket_marker(ticket: str) -> str:
    """The hidden line by which an issue is known to be a ticket's."""
    return f"<!-- ralph-ticket: {ticket} -->"


def marked_ticket(item: BoardItem) -> str | None:
    """The ticket that an issue says that it was made for; anybody can write that."""
    found = _MARKER.search(item.body)
    return found[1] if found else None


def written(card: TicketRecord) -> dict[str, Any]:
    """The plain fields of a ticket as the board is to show them; no text of them can pass for a hidden line of ours."""
    body = disarmed(card.body.rstrip())
    return {name: getattr(card, name) for name in _PLAIN} | {
        "body": body if len(body) <= _MAX_TEXT else f"{body[:_MAX_TEXT]}{_REST}",
        "labels": sorted(set(card.labels)),
        "assignees": sorted(set(card.assignees)),
    }


def compared(plain: dict[str, Any]) -> dict[str, Any]:
    """Plain fields, to be remembered and compared later: a body as its digest, for it may be long."""
    return plain | {"body": sha256(plain["body"].encode()).hexdigest()[:32]}


def plain_there(item: BoardItem, machine: Machine) -> dict[str, Any]:
    """The plain fields as the board has them, made to fit; an option that is none of ours counts as none."""
    estimate, priority = item.fields.get(ESTIMATE), item.fields.get(PRIORITY)
    body = CONTROL.sub("", _MARKER.sub("", item.body.replace("\r\n", "\n")))
    return {
        "title": _line(redacted(item.title)) or f"issue {item.number}",
        "body": redacted(body[:MAX_PROSE])[:MAX_PROSE].rstrip(),
        "estimate": estimate if estimate in machine.form.estimates else None,
        "priority": priority if priority in machine.form.priorities else None,
        "labels": _words(item.labels),
        "assignees": _words(item.assignees),
    }


def _words(names: Iterable[str]) -> list[str]:
    return sorted({_line(name)[:MAX_WORD].strip() for name in names} - {""})


def _line(text: str) -> str:
    return "".join(one for one in text if one.isprintable())[:MAX_TITLE].strip()


def linked(item: BoardItem, fields: dict[str, Any]) -> Tracked:
    """A ticket on the board of which nothing but these plain fields was shown there yet."""
    return Tracked(item.id, item.issue, item.number, item.url, fields=compared(fields))


def said_since(history: Sequence[Entry], after: int) -> list[BoardComment]:
    """What was said and done since an entry, as comments for the board."""
    found = []
    for entry in history:
        if entry.seq <= after:
            continue
        if is_move(entry):
            found.append(_audit(trail_of(entry)))
        elif entry.event == "noted" and entry.channel != "tracker":
            data = entry.decoded_evidence().data
            if data.get("type") == COMMENTED:
                found.append(_comment(entry, str(data.get("body", ""))))
    return found


def _audit(trail: Trail) -> BoardComment:
    if len(comment_of(trail)) > _MAX_TEXT:
        trail = msgspec.structs.replace(trail, reason=f"{trail.reason[:_MAX_HIDDEN]}{_REST}")
    return BoardComment(comment_of(trail), marker(trail))


def _comment(entry: Entry, body: str) -> BoardComment:
    hidden = f"<!-- ralph-comment: {entry.hash} -->"
    text = body if len(body) <= _MAX_TEXT else f"{body[:_MAX_TEXT]}{_REST}"
    author = _line(f"{entry.actor_kind} {entry.actor_id}").replace("@", "@\u200b").replace("*", "")
    return BoardComment(f"**{author}**:\n\n{disarmed(text)}\n\n{hidden}", hidden)
