"""PURE. The conversation about a spec: lines of JSON, first what it is about, then one message a line.

Lines are only ever added. One that cannot be read, such as half a line that a crash left, is passed over and named.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from interlock.decoding import decode

__all__ = ["Conversation", "ConversationHeader", "Message", "Speaker", "line", "parse_conversation", "title_of"]

_TITLE: Final = 50


class Speaker(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class ConversationHeader(msgspec.Struct, frozen=True):
    """What a conversation is about, as it was when it began."""

    id: str
    title: str
    created_at: str
    updated_at: str
    draft: str | None = None


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody said."""

    role: Speaker
    content: str
    timestamp: str
    model: str | None = None


class Conversation(msgspec.Struct, frozen=True):
    """What was said, as far as it can be read."""

    heading: ConversationHeader | None
    messages: tuple[Message, ...]
    unread: tuple[int, ...]
    """The numbers of the lines that cannot be read, from 1 on."""

    @property
    def updated_at(self) -> str | None:
        """When the last message was said."""
        if self.messages:
            return self.messages[-1].timestamp
        return self.heading.updated_at if self.heading else None


def line(said: ConversationHeader | Message) -> bytes:
    """A line of the file, with its end."""
    return msgspec.json.encode(said) + b"\n"


def title_of(messages: Iterable[Message]) -> str:
    """The beginning of what the person said first, on one line."""
    first = next((one.content for one in messages if one.role is Speaker.USER), "")
    return " ".join(first.split())[:_TITLE].rstrip()


def parse_conversation(content: bytes) -> Conversation:
    """What a file says. No file is an error."""
    heading: ConversationHeader | None = None
    messages: list[Message] = []
    unread: list[int] = []
    for number, raw in enumerate(content.split(b"\n"), 1):
        if not raw.strip():
            continue
        if number == 1:
            heading = _read(raw, ConversationHeader)
        said = _read(raw, Message) if number > 1 else heading
        if isinstance(said, Message):
            messages.append(said)
        elif said is None:
            unread.append(number)
    return Conversation(heading, tuple(messages), tuple(unread))


Said = TypeVar("Said", ConversationHeader, Message)


def _read(raw: bytes, shape: type[Said]) -> Said | None:
    try:
        return decode(raw, shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
