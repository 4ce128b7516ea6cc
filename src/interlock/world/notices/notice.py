"""PURE. What is told to people, and what a channel is."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

__all__ = ["DeliveryFailure", "Kind", "Notice", "NoticeChannel", "text_of"]


class Kind(StrEnum):
    """Why somebody is told."""

    NEEDED = "needed"
    STUCK = "stuck"
    BUDGET = "budget"
    DONE = "done"
    TEST = "test"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to know. Its texts are without control characters, and have an end."""

    id: str
    """The same whenever the same is told: whoever got it once can leave out the second."""
    kind: Kind
    title: str
    body: str
    machine: str = ""
    instance: str = ""
    state: str = ""
    command: str = ""
    """What to type."""
    link: str = ""
    at: str = ""
    """When it happened."""
    seq: int = 0
    """The entry of the journal; the last one where several are told as one."""
    count: int = 1
    """How many are told as one."""


class DeliveryFailure(msgspec.Struct, frozen=True):
    """Why a notice did not go out. No address and no secret stands in it."""

    why: str
    retry_after: float | None = None
    """For how many seconds the other side wants to be left alone, where it says so."""
    status: int = 0
    """What it answered; 0 where it did not, or not over HTTP."""


class NoticeChannel(Protocol):
    """One way to tell people something."""

    @property
    def name(self) -> str: ...

    @property
    def is_here(self) -> bool:
        """Whether this process can use it at all."""

    def send(self, notice: Notice) -> DeliveryFailure | None:
        """Tell it once; None where it was told. It takes a bounded time."""


def text_of(notice: Notice) -> str:
    """What is told below the title: the body, then what to type and where to look."""
    typed = f"→ {notice.command}" if notice.command else ""
    return "\n".join(one for one in (notice.body, typed, notice.link) if one)
