"""What a person approves, as bytes that can be signed, and what goes into the journal of it."""

from __future__ import annotations

import msgspec

from interlock.journal.entry import encode
from interlock.machine.hashing import sha256_hex

__all__ = ["VERSION", "Approval", "Head", "Statement", "digest_of"]

VERSION = 1


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The newest entry of the journal when somebody signed: what came before can be changed no more unseen."""

    seq: int
    hash: str


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that an approval says; it is for one event of one instance, and for one content by its hash."""

    version: int
    repository: str
    """The id of the repository's `trust` instance, so that no other repository can use it."""
    machine: str
    instance: str
    event: str
    gate: str
    subject: str
    hash: str
    choice: str
    shown: str
    """The SHA-256 of the text that the person was shown."""
    person: str
    channel: str
    time: str
    head: Head

    def canonical(self) -> bytes:
        """The bytes that are signed: JSON in UTF-8, names in order, no spaces."""
        return encode(msgspec.to_builtins(self)).encode()


class Approval(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an entry at a gate holds as `approval`: the statement, and who signed it with which key."""

    statement: Statement
    key: str | None = None
    signature: str | None = None


def digest_of(text: str) -> str:
    """The hash by which a text is approved."""
    return sha256_hex(text.encode("utf-8", "surrogatepass"))
