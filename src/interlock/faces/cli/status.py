"""`ralph status`: what waits for a person, who is at work, what is stuck, and what today cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.place import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.faces.cli.place import Workspace
    from interlock.work.attention.tree import Tree, WorkNode
    from interlock.work.attention.values import Attention, StuckItem, WaitingItem

__all__ = ["VERBS"]


def _status(call: CommandCall) -> None:
    from interlock.faces.cli.session import bring_up_to_date
    from interlock.faces.cli.status_page import StatusPage
    from interlock.work.attention.overview import overview
    from interlock.work.inspection.record_caches import RecordCaches

    watch = RecordCaches()
    with readable(call, warns=False) as place:
        bring_up_to_date(call, place.journal)
        seen, under_way = overview(place.journal, watch, place.settings, place.work_tree)
        advice = _advice(place, seen, under_way)
        now, is_new = place.journal.now(), not place.journal.head()
    data = _data(seen, under_way, advice)
    page = StatusPage(place.machines, now, call.output.width, is_new=is_new)
    call.output.result(data, lambda: page.show(call.output, seen, under_way, advice))


def _advice(place: Workspace, seen: Attention, under_way: Tree) -> tuple[tuple[str, str], ...]:
    """What to type where nothing waits and nobody is at work: commands, each with what it does."""
    if seen.waiting or under_way.roots:
        return ()
    from interlock.work.tickets.upcoming import next_ticket

    found = next_ticket(place.journal, place.machines("ticket"))
    if found.ticket is not None:
        return ((f"ralph work {found.ticket.number}", f"leads it as far as it goes: {found.ticket.title}"),)
    if place.journal.head():
        return (('ralph ticket create "…"', "says what is to be done next"),)
    return (
        ('ralph ticket create "…"', "says what is to be done; `ralph work 1` then does it"),
        ("ralph init", "sets up this repository and its agents"),
        ("ralph demo", "shows the whole way first, in a temporary repository"),
    )


def _data(seen: Attention, under_way: Tree, advice: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {
        "waiting": [_told(one) | {"state": one.state, "is_gate": one.is_gate} for one in seen.waiting],
        "more_waiting": seen.more,
        "working": [_node(one) for one in under_way.roots],
        "stuck": [_told(one) for one in seen.stuck],
        "spending": [asdict(one) | {"share": one.share} for one in seen.spending],
        "rest": {machine: dict(counts) for machine, counts in under_way.rest.items()},
        "next": [command for command, _ in advice],
    }


def _told(one: WaitingItem | StuckItem) -> dict[str, Any]:
    of = asdict(one.of) if one.of is not None else None
    return {"of": of, "why": one.why, "since": one.since, "command": one.command}


def _node(one: WorkNode) -> dict[str, Any]:
    return {
        "of": asdict(one.of),
        "state": one.state,
        "since": one.since,
        "by": one.by or None,
        "is_waiting": one.is_waiting,
        "is_silent": one.session is not None and one.session.is_silent,
        "role": (one.session.role or None) if one.session is not None else None,
        "doing": (one.session.doing or None) if one.session is not None else None,
        "differs": one.differs,
        "waits": one.waits or None,
        "below": [_node(each) for each in one.below],
    }


VERBS = (
    Verb(
        "",
        "what waits for you, who is at work, what is stuck, what it cost",
        _status,
    ),
)
