"""Which database a journal is in, from its address."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from interlock.errors import JournalError, UsageError
from interlock.journal.journal import Journal
from interlock.journal.schema import Created
from interlock.journal.store import Store
from interlock.machine import Machine, load_shipped

__all__ = ["open_journal"]


def open_journal(
    address: Path | str | None,
    machines: Callable[[str], Machine] = load_shipped,
    *,
    now: Callable[[], int] = time.time_ns,
    randomness: Callable[[int], bytes] = os.urandom,
    created: Created | None = None,
) -> Journal:
    """Open the journal in a file, or at a `postgresql://` address; make it where there is none.

    None is an empty one in memory, which is gone when it is closed.

    `created` is called with the id of a new journal before anybody else can see it; if it raises, none is made.
    """
    store = _open_url(address, now, created) if isinstance(address, str) else _open_file(address, now, created)
    return Journal(store, machines, now=now, randomness=randomness)


def _open_file(path: Path | None, now: Callable[[], int], created: Created | None) -> Store:
    from interlock.journal.sqlite import SqliteStore

    if path is None:
        return SqliteStore(None, now)
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = "Give yourself write permission, or choose another directory. Nothing was written."
        raise JournalError("journal_readonly", f"{path.parent} cannot be made: {error.strerror}.", hint) from None
    return SqliteStore(path, now, created=created)


def _open_url(url: str, now: Callable[[], int], created: Created | None) -> Store:
    if not url.startswith(("postgresql://", "postgres://")):
        message = "The address of a journal's database begins with postgresql://."
        raise UsageError("database_url_invalid", message, "Set RALPH_DATABASE_URL to such an address, or unset it.")
    try:
        import psycopg.conninfo

        from interlock.journal.postgres import PostgresStore
    except ImportError:
        from interlock.extras import how_to_install

        message = "The journal is to be in PostgreSQL, and psycopg is not installed."
        raise UsageError("database_url_invalid", message, f"Install it: `{how_to_install('postgres')}`") from None
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # What libpq says repeats parts of the address, and that may hold a password.
        message = "RALPH_DATABASE_URL is no address that PostgreSQL understands."
        raise UsageError("database_url_invalid", message, "It looks like postgresql://user@host/database.") from None
    return PostgresStore(url, now, created)
