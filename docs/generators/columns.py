"""The tables and views of the journal, from a database that the migrations have just made."""

from __future__ import annotations

from typing import Final

from docs.generators.markdown import code, table
from interlock.journal.schema import MIGRATIONS, make, migrate
from interlock.journal.sqlite import in_memory
from interlock.work.tickets.ticket_table import TICKETS

__all__ = ["COLUMNS", "columns", "migrations", "schema"]

COLUMNS: Final = {
    "entries.seq": "The place in the journal, from 1, without gaps.",
    "entries.instance": "The instance that moved.",
    "entries.version": "The instance's own count of its entries, from 1.",
    "entries.event": "What happened; `created` in a first entry.",
    "entries.from_state": "The state before; empty in a first entry.",
    "entries.to_state": "The state after.",
    "entries.actor_kind": "`human`, `agent` or `system`.",
    "entries.actor_id": "Who it was.",
    "entries.channel": "The way it came in: `cli`, `mcp`, `hook`, `web`, `file`, `tracker`, `driver`, `demo`, `test`.",
    "entries.command": "The command that made the move.",
    "entries.reason": "The reason given.",
    "entries.evidence": "JSON: facts, hashes of subjects, settings, the task, the holder, and any other data.",
    "entries.time": "UTC, RFC 3339, with milliseconds. Order is by `seq`, never by time.",
    "entries.off_path": "1 where a machine that observes recorded a move off its table.",
    "entries.epoch": "The epoch of the lease it was written under.",
    "entries.key": "The idempotency key. No two entries have the same.",
    "entries.previous": "The hash of the entry before; 64 zeros in the first.",
    "entries.hash": "SHA-256 of every other column, `previous` among them.",
    "instances.id": "26 characters, sortable by creation. The last 4 or more name it where that is unique.",
    "instances.machine": "The machine's name.",
    "instances.digest": "The definition it was made by, in `machines`.",
    "instances.parent": "The instance above.",
    "instances.state": "Where it stands.",
    "instances.version": "How many entries it has.",
    "instances.outcome": "How it ended; empty while it goes on.",
    "instances.data": "JSON: the whole snapshot that `step` works on.",
    "instances.created": "The time of its first entry.",
    "instances.updated": "The time of its last entry.",
    "machines.digest": "SHA-256 of the definition.",
    "machines.name": "The machine's name.",
    "machines.version": "The version it gives itself.",
    "machines.definition": "JSON: the whole definition, so that an old journal can be replayed by new code.",
    "leases.resource": "What is driven, as a rule an instance's id.",
    "leases.epoch": "Grows with every new holder, never shrinks.",
    "leases.holder": "JSON: host, machine, boot id, pid namespace, process id and start time; empty when given back.",
    "leases.expires": "Milliseconds since 1970; it counts only for holders on other hosts.",
    "identity.id": "The id of the journal, which no other has.",
    "outboxes.channel": "The channel on which people are told.",
    "outboxes.seq": "Everything up to this entry is told, or is not to be told.",
    "outboxes.upto": "The last entry of what is being told.",
    "outboxes.tries": "How often it failed since something was told.",
    "outboxes.due": "When it may be tried again, in milliseconds since 1970.",
    "outboxes.trouble": "Why it failed the last time.",
    "outboxes.sent": "How many notices went out.",
    "outboxes.dropped": "How many grew too old to be told.",
    "outboxes.told": "When something was told last.",
    "migrations.number": "Which migration.",
    "migrations.name": "What it made.",
    "migrations.applied": "When.",
    "ralph_sessions.id": "The session's instance.",
    "ralph_sessions.ticket_id": "`ticket_id` of the data it was created with, else its parent.",
    "ralph_sessions.outcome": "How it ended; empty while it goes on.",
    "ralph_sessions.current_state": "Where it stands.",
    "names.machine": "The machine that the instance is of.",
    "names.name": "What it can be found by: a ticket's number or alias, the process of a session's agent.",
    "names.instance": "The instance that took the name last.",
    "projections.name": "What the tables of the projection are called together.",
    "projections.version": "Which version of its tables there is; another one is made anew.",
    "projections.seq": "The last entry that is in them.",
    "tickets.id": "The ticket's instance.",
    "tickets.number": "Its number, from 1.",
    "tickets.title": "Its title.",
    "tickets.state": "Where it stands in the pipeline.",
    "tickets.outcome": "How it ended; empty while it goes on.",
    "tickets.estimate": "XS to XL, or empty.",
    "tickets.priority": "P0 to P3, or empty.",
    "tickets.size": "The estimate as a number, 1 to 5; 0 without one.",
    "tickets.rank": "The priority as a number, 0 to 3; 9 without one.",
    "tickets.labels": "JSON: its labels.",
    "tickets.assignees": "JSON: whose it is.",
    "tickets.parent": "The instance of the ticket that it is a part of.",
    "tickets.holder": "What holds its lock: a session, a process, a person.",
    "tickets.held_by": "What whoever holds it is called.",
    "tickets.blockers": "How many open tickets it waits for.",
    "tickets.parts": "How many open sub-tickets it has.",
    "tickets.since": "When it came to the state that it is in.",
    "tickets.created": "When it was made.",
    "tickets.updated": "When anything last happened to it.",
    "tickets.outside": "The state that a tracker's board shows and that waits for a person.",
    "tickets.to_show": "The last entry that the tracker's board does not show yet; 0 where it shows all.",
    "tickets.words": "Title and body without capitals, to be searched.",
    "tickets.card": "JSON: everything that is written on it.",
    "ticket_blocks.blocked": "The ticket that waits.",
    "ticket_blocks.blocker": "The ticket that it waits for.",
    "ralph_sessions.state_history": "JSON: a list of `state`, `timestamp` and `metadata`, oldest first.",
    "ralph_sessions.error_message": "`error` of the data that it ended with.",
    "ralph_sessions.started_at": "When it was created.",
    "ralph_sessions.completed_at": "When it ended.",
    "ralph_sessions.updated_at": "When it last moved.",
}
"""What each column holds; a column without a line here is an error."""


def schema() -> dict[str, list[tuple[str, str]]]:
    """The tables and views with their columns and types, in the order of the page."""
    with in_memory() as sql:
        migrate(sql, "now")
        for statements in TICKETS.tables.values():
            make(sql, statements)
        names = {row[0] for row in sql.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")}
        order = list(dict.fromkeys(name.partition(".")[0] for name in COLUMNS))
        return {
            name: [(row[1], row[2]) for row in sql.rows(f"PRAGMA table_info({name})")]
            for name in sorted(names, key=order.index)
        }


def columns() -> str:
    """A heading and a table for each table and view."""
    parts: list[str] = []
    for name, found in schema().items():
        rows = [
            {"column": code(column), "type": kind.lower(), "holds": COLUMNS[f"{name}.{column}"]}
            for column, kind in found
        ]
        parts += [f"### {name}", table(rows)]
    return "\n\n".join(parts)


def migrations() -> str:
    """Every migration there is."""
    return table([{"number": str(one.number), "makes": one.name} for one in MIGRATIONS])
