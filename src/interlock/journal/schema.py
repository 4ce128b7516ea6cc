"""The schema, as numbered migrations that are recorded; one text for both databases.

`{words}` differ between SQLite and PostgreSQL. Schema and views use only what SQLite 3.40 can read, so that
people's own tools open a journal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from interlock.errors import JournalError, Tampered
from interlock.journal.store import Sql

__all__ = ["MIGRATIONS", "NEWEST", "Created", "Migration", "identity", "is_newest", "make", "migrate"]

Created = Callable[[str], None]
"""Called with the id of a journal that is just being made, before anybody else can see it."""


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema: statements for every database, and those for one of them."""

    number: int
    name: str
    statements: tuple[str, ...]
    only: dict[str, tuple[str, ...]]


_WORDS = {
    "sqlite": {"integer": "INTEGER", "rowless": "WITHOUT ROWID", "bytewise": ""},
    "postgresql": {"integer": "BIGINT", "rowless": "", "bytewise": 'COLLATE "C"'},
}

_RECORD = """CREATE TABLE IF NOT EXISTS migrations (
  number {integer} PRIMARY KEY,
  name TEXT NOT NULL,
  applied TEXT NOT NULL
)"""

_TABLES = (
    """CREATE TABLE machines (
  digest TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  version {integer} NOT NULL,
  definition TEXT NOT NULL
) {rowless}""",
    """CREATE TABLE instances (
  id TEXT NOT NULL PRIMARY KEY,
  machine TEXT NOT NULL,
  digest TEXT NOT NULL,
  parent TEXT,
  state TEXT NOT NULL,
  version {integer} NOT NULL,
  outcome TEXT,
  data TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL
) {rowless}""",
    "CREATE INDEX instances_by_parent ON instances (parent) WHERE parent IS NOT NULL",
    """CREATE TABLE entries (
  seq {integer} PRIMARY KEY,
  instance TEXT NOT NULL,
  version {integer} NOT NULL,
  event TEXT NOT NULL,
  from_state TEXT,
  to_state TEXT NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  command TEXT,
  reason TEXT,
  evidence TEXT NOT NULL,
  time TEXT NOT NULL,
  off_path {integer} NOT NULL,
  epoch {integer},
  key TEXT,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (instance, version)
)""",
    "CREATE UNIQUE INDEX entries_by_key ON entries (key) WHERE key IS NOT NULL",
    """CREATE TABLE leases (
  resource TEXT NOT NULL PRIMARY KEY,
  epoch {integer} NOT NULL,
  holder TEXT,
  expires {integer} NOT NULL
) {rowless}""",
)

_SESSIONS_SQLITE = """CREATE VIEW ralph_sessions AS
SELECT
  i.id AS id,
  coalesce(json_extract(b.evidence, '$.data.ticket_id'), i.parent) AS ticket_id,
  i.outcome AS outcome,
  i.state AS current_state,
  (SELECT json_group_array(json_object('state', h.to_state, 'timestamp', h.time, 'metadata', json(h.metadata)))
     FROM (SELECT to_state, time,
                  CASE WHEN version = 1
                       THEN json_set(json_remove(coalesce(json_extract(evidence, '$.data'), '{{}}'), '$.created'),
                                     '$.action', 'session_created')
                       ELSE coalesce(json_extract(evidence, '$.data'), '{{}}') END AS metadata
             FROM entries
            WHERE instance = i.id
              AND event IN ('created', 'update_session_state', 'complete_ralph_session')
            ORDER BY version) AS h) AS state_history,
  CASE WHEN i.outcome IS NOT NULL THEN json_extract(e.evidence, '$.data.error') END AS error_message,
  i.created AS started_at,
  CASE WHEN i.outcome IS NOT NULL THEN i.updated END AS completed_at,
  i.updated AS updated_at
FROM instances AS i
JOIN entries AS b ON b.instance = i.id AND b.version = 1
JOIN entries AS e ON e.instance = i.id AND e.version = i.version
WHERE i.machine = 'session'"""

_SESSIONS_POSTGRESQL = (
    # The seed's debugging query speaks SQLite's JSON; this makes it run as written.
    """CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE AS
$$ SELECT jsonb_path_query_first(document::jsonb, replace(path, '[#-1]', '[last]')::jsonpath) #>> '{{}}' $$""",
    """CREATE VIEW ralph_sessions AS
SELECT
  i.id AS id,
  coalesce(json_extract(b.evidence, '$.data.ticket_id'), i.parent) AS ticket_id,
  i.outcome AS outcome,
  i.state AS current_state,
  (SELECT jsonb_agg(jsonb_build_object('state', h.to_state, 'timestamp', h.time, 'metadata', h.metadata)
                    ORDER BY h.version)::text
     FROM (SELECT to_state, time, version,
                  CASE WHEN version = 1
                       THEN (coalesce(evidence::jsonb -> 'data', '{{}}'::jsonb) - 'created')
                            || jsonb_build_object('action', 'session_created')
                       ELSE coalesce(evidence::jsonb -> 'data', '{{}}'::jsonb) END AS metadata
             FROM entries
            WHERE instance = i.id
              AND event IN ('created', 'update_session_state', 'complete_ralph_session')) AS h) AS state_history,
  CASE WHEN i.outcome IS NOT NULL THEN json_extract(e.evidence, '$.data.error') END AS error_message,
  i.created AS started_at,
  CASE WHEN i.outcome IS NOT NULL THEN i.updated END AS completed_at,
  i.updated AS updated_at
FROM instances AS i
JOIN entries AS b ON b.instance = i.id AND b.version = 1
JOIN entries AS e ON e.instance = i.id AND e.version = i.version
WHERE i.machine = 'session'""",
)

_NAMES = (
    """CREATE TABLE names (
  machine TEXT NOT NULL,
  name TEXT {bytewise} NOT NULL,
  instance TEXT NOT NULL,
  PRIMARY KEY (machine, name)
) {rowless}""",
    "CREATE INDEX instances_open ON instances (machine, id) WHERE outcome IS NULL",
    "DROP VIEW ralph_sessions",
)

_PROJECTIONS = """CREATE TABLE projections (
  name TEXT NOT NULL PRIMARY KEY,
  version {integer} NOT NULL,
  seq {integer} NOT NULL
) {rowless}"""

_STANDING = (
    "CREATE INDEX instances_by_machine ON instances (machine, id)",
    "CREATE INDEX instances_standing ON instances (machine, state, id, outcome) WHERE outcome IS NULL",
)
"""So that a list of the newest, and what stands in a state, cost the same however many instances there are."""

_OUTBOXES = """CREATE TABLE outboxes (
  channel TEXT NOT NULL PRIMARY KEY,
  seq {integer} NOT NULL,
  upto {integer} NOT NULL,
  tries {integer} NOT NULL,
  due {integer} NOT NULL,
  trouble TEXT NOT NULL,
  sent {integer} NOT NULL,
  dropped {integer} NOT NULL,
  told TEXT NOT NULL
) {rowless}"""

_IDENTITY = "CREATE TABLE identity (id TEXT NOT NULL)"
"""The id that no other journal has: users say by it which journals they trust."""

# What is noted after the end changes neither when a session ended nor what its error was.
_END = "LEFT JOIN entries AS e ON e.instance = i.id AND e.event = 'complete_ralph_session'"


def _with_end(view: str) -> str:
    return view.replace("JOIN entries AS e ON e.instance = i.id AND e.version = i.version", _END).replace(
        "THEN i.updated END AS completed_at", "THEN coalesce(e.time, i.updated) END AS completed_at"
    )


MIGRATIONS = (
    Migration(1, "machines, instances, entries and leases", _TABLES, {}),
    Migration(2, "the view ralph_sessions", (), {"sqlite": (_SESSIONS_SQLITE,), "postgresql": _SESSIONS_POSTGRESQL}),
    Migration(
        3,
        "names of instances; ralph_sessions with notes after the end",
        _NAMES,
        {"sqlite": (_with_end(_SESSIONS_SQLITE),), "postgresql": (_with_end(_SESSIONS_POSTGRESQL[1]),)},
    ),
    Migration(4, "how far each projection is", (_PROJECTIONS,), {}),
    Migration(5, "instances by machine, and by where they stand", _STANDING, {}),
    Migration(6, "how far each channel has told people what happened", (_OUTBOXES,), {}),
    Migration(
        7,
        "the journal's own id",
        (_IDENTITY,),
        {
            "sqlite": ("INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))))",),
            "postgresql": ("INSERT INTO identity (id) VALUES (replace(gen_random_uuid()::text, '-', ''))",),
        },
    ),
)
"""Every migration, in order. One that was released is never changed."""

NEWEST = MIGRATIONS[-1].number


def is_newest(sql: Sql) -> bool:
    """Whether a database that is a journal has the newest schema; one of a newer version is refused."""
    [(newest,)] = sql.rows("SELECT coalesce(max(number), 0) FROM migrations")
    if newest > NEWEST:
        message = f"The journal has schema {newest}, and this version knows schemas up to {NEWEST}."
        raise JournalError("journal_newer", message, "Use the version of Interlock that wrote it, or a newer one.")
    return bool(newest == NEWEST)


def make(sql: Sql, statements: Sequence[str]) -> None:
    """Run statements that are written for both databases."""
    for statement in statements:
        sql.rows(statement.format(**_WORDS[sql.dialect]))


def identity(sql: Sql) -> str:
    """Return the journal's id."""
    found = [str(id_) for (id_,) in sql.rows("SELECT id FROM identity")]
    if len(found) != 1 or re.fullmatch("[0-9a-f]{32}", found[0]) is None:
        message = "The journal does not have one valid id."
        raise Tampered("journal_tampered", message, "It was changed from outside. Restore a copy that you trust.")
    return found[0]


def migrate(sql: Sql, applied_at: str, created: Created | None = None) -> None:
    """Bring a database up to the newest schema, or refuse one that a newer version wrote.

    `created` is called with the id of a new journal, in the transaction that makes it.
    """
    make(sql, (_RECORD,))
    if is_newest(sql):
        return
    applied = {int(row[0]) for row in sql.rows("SELECT number FROM migrations")}
    for migration in MIGRATIONS:
        if migration.number not in applied:
            make(sql, (*migration.statements, *migration.only.get(sql.dialect, ())))
            row = (migration.number, migration.name, applied_at)
            sql.rows("INSERT INTO migrations (number, name, applied) VALUES (?, ?, ?)", row)
    if created is not None and not applied:
        created(identity(sql))
