"""One look at one session, or one ticket: its state and what its machine says of it, without loading either.

The hook asks this before every tool call. It reads the tables that every journal has, and imports nothing
but the database.
"""

from __future__ import annotations

import os

__all__ = ["JournalUnreadable", "SessionPeek", "peek", "peek_id", "peek_ticket"]

_BUSY_MILLISECONDS = 1000
_CONNECT_SECONDS = 2
_LARGEST_VALUE = 16 * 1024 * 1024
"""No value of ours is nearly as large; in a damaged file one may claim to be, and take all memory."""
_LOOK = """SELECT i.id, i.state, i.outcome, m.definition FROM {schema}instances AS i
JOIN {schema}machines AS m ON m.digest = i.digest WHERE """
_BY_ID = f"{_LOOK} i.machine = 'session' AND i.id = ?"
_NAMED = "(SELECT instance FROM {{schema}}names WHERE machine = '{machine}' AND name = ?)"
_BY_NAME = f"{_LOOK} i.machine = 'session' AND i.id = {_NAMED.format(machine='session')}"
_TICKET = f"{_LOOK} i.machine = 'ticket' AND i.id = {_NAMED.format(machine='ticket')}"
_NEWEST = "(SELECT MAX(id) FROM {schema}instances WHERE machine = 'ticket')"
_ANY_TICKET = f"{_LOOK} i.machine = 'ticket' AND i.id = COALESCE({_NAMED.format(machine='ticket')}, {_NEWEST})"


class JournalUnreadable(Exception):
    """The journal is there, or should be, and cannot be read."""


class SessionPeek:
    """What the hook must know of a session, and the name that it was found by, if it was by one."""

    __slots__ = ("definition", "name", "outcome", "session", "state")

    def __init__(self, session: str, state: str, outcome: str | None, definition: str, name: str | None) -> None:
        self.session = session
        self.state = state
        self.outcome = outcome
        self.definition = definition
        self.name = name


def peek(address: str, session: str | None, names: list[str]) -> SessionPeek | None:
    """The session with an id, or else the one that took the first of these names; None where there is none."""
    statement, asked = (_BY_ID, [session]) if session is not None else (_BY_NAME, names)
    find = _from_server if address.startswith(("postgresql://", "postgres://")) else _from_file
    found = find(address, statement, asked)
    if found is None:
        return None
    (made, state, outcome, definition), value = found
    if not (isinstance(made, str) and isinstance(state, str) and isinstance(definition, str)):
        raise JournalUnreadable("it is damaged")
    return SessionPeek(made, state, None if outcome is None else str(outcome), definition, None if session else value)


def peek_id(address: str) -> str | None:
    """The id of a journal; None where it has none, because an older version wrote it."""
    find = _from_server if address.startswith(("postgresql://", "postgres://")) else _from_file
    try:
        found = find(address, "SELECT id FROM {schema}identity WHERE id <> ?", [""])
    except JournalUnreadable:
        return None
    return str(found[0][0]) if found else None


def peek_ticket(address: str, name: str, *, or_newest: bool = False) -> tuple[str, str] | None:
    """The state of the ticket with a name and its machine's definition; or those of the newest where none has it."""
    find = _from_server if address.startswith(("postgresql://", "postgres://")) else _from_file
    found = find(address, _ANY_TICKET if or_newest else _TICKET, [name])
    if found is None:
        return None
    _, state, _, definition = found[0]
    if not (isinstance(state, str) and isinstance(definition, str)):
        raise JournalUnreadable("it is damaged")
    return state, definition


def _from_file(path: str, statement: str, asked: list[str]) -> tuple[tuple[object, ...], str] | None:
    import apsw

    if os.path.exists(path) and not os.path.isfile(path):
        raise JournalUnreadable("it is no file")
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_BUSY_MILLISECONDS)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
            for value in asked:
                for row in connection.execute(statement.format(schema=""), (value,)):
                    return tuple(row), value
        finally:
            connection.close()
    except (apsw.Error, ValueError) as error:
        raise JournalUnreadable(str(error).strip()[:200] or type(error).__name__) from None
    return None


def _from_server(url: str, statement: str, asked: list[str]) -> tuple[tuple[object, ...], str] | None:
    try:
        import psycopg
    except ImportError:
        raise JournalUnreadable("psycopg is not installed") from None
    text = statement.format(schema="interlock.").replace("?", "%s").encode()
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS) as connection:
            connection.execute(f"SET statement_timeout = {_BUSY_MILLISECONDS}".encode())
            for value in asked:
                row = connection.execute(text, (value,)).fetchone()
                if row is not None:
                    return tuple(row), value
    except (psycopg.Error, ValueError) as error:
        # What it says may hold a part of the address, and so of a password.
        raise JournalUnreadable(f"PostgreSQL: {type(error).__name__}") from None
    return None
