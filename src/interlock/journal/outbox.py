"""Outboxes: how far each channel has told what happened. What is told follows from the entries, and is not kept here.

An outbox is no part of the truth: without it something is told twice, or not at all, and nothing else changes. Only
who holds the channel's lease writes to it, so that two senders do not tell the same.
"""

from __future__ import annotations

import msgspec

from interlock.journal.leases import Lease, check_lease
from interlock.journal.store import Sql

__all__ = ["Outbox", "begin_outbox", "find_outboxes", "keep_outbox"]


class Outbox(msgspec.Struct, frozen=True):
    """Where one channel stands."""

    channel: str
    seq: int
    """Everything up to this entry is told, or is not to be told."""
    upto: int
    """The last entry of what is being told; a sender that died is followed by one that tells the very same."""
    tries: int = 0
    """How often it failed since something was told."""
    due: int = 0
    """When it may be tried again, in milliseconds since 1970."""
    trouble: str = ""
    """Why it failed the last time; empty where it did not."""
    sent: int = 0
    dropped: int = 0
    """How many notices grew too old to be told."""
    told: str = ""
    """When something was told last."""


_COLUMNS = ", ".join(Outbox.__struct_fields__)
_INSERT = f"INSERT INTO outboxes ({_COLUMNS}) VALUES ({', '.join('?' * len(Outbox.__struct_fields__))})"
_UPDATE = f"UPDATE outboxes SET {', '.join(f'{one} = ?' for one in Outbox.__struct_fields__)} WHERE channel = ?"


def find_outboxes(sql: Sql) -> list[Outbox]:
    """Every outbox there is."""
    return [Outbox(*row) for row in sql.rows(f"SELECT {_COLUMNS} FROM outboxes ORDER BY channel")]


def begin_outbox(sql: Sql, channel: str) -> Outbox:
    """The outbox of a channel; a new one begins with what happens from now on."""
    for one in find_outboxes(sql):
        if one.channel == channel:
            return one
    [(head,)] = sql.rows("SELECT coalesce(max(seq), 0) FROM entries")
    made = Outbox(channel, head, head)
    sql.rows(_INSERT, msgspec.structs.astuple(made))
    return made


def keep_outbox(sql: Sql, outbox: Outbox, lease: Lease) -> None:
    """Write down where a channel stands now; refused where another sender took over."""
    check_lease(sql, lease)
    sql.rows(_UPDATE, (*msgspec.structs.astuple(outbox), outbox.channel))
