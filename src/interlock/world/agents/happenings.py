"""What happens while an agent works, in the same words for all agents."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from interlock.world.redaction import redacted

__all__ = [
    "ContextUsed",
    "Cost",
    "Cure",
    "Failure",
    "FailureKind",
    "Finished",
    "Happening",
    "Said",
    "Usage",
    "UsedTool",
    "Warned",
    "without_secrets",
]


class Cure(StrEnum):
    """The remedy for a failure."""

    WAIT = "wait"
    """It is temporary."""
    PERSON = "person"
    """Only a person can fix it."""
    NONE = "none"
    """Another attempt may help."""


class FailureKind(StrEnum):
    """Known reasons for which an agent's run fails; `failures.toml` says of each what ends it."""

    SESSION = "session"
    """A window of hours, or a day, of the account's plan."""
    WEEKLY = "weekly"
    RATE = "rate"
    """Too many requests at once; soon over."""
    OVERLOADED = "overloaded"
    """The provider's servers, not this account."""
    NETWORK = "network"
    """The provider cannot be reached."""
    LOGIN = "login"
    """The key or the login is missing, expired or not accepted."""
    ACCOUNT = "account"
    """The account or its organisation may not do this."""
    CREDIT = "credit"
    """The money is spent."""
    MODEL = "model"
    """The model does not exist, or the account has no access to it."""
    SETUP = "setup"
    """The agent does not take its flags, its configuration or the request."""
    IDLE = "idle"
    """It exited at once: it said nothing, used no tool and wrote nothing."""
    PROMPT = "prompt"
    """The prompt or the conversation is longer than the model takes."""
    PROCESSES = "processes"
    """It had more processes than its limit allows."""
    MEMORY = "memory"
    """It used more memory than its limit allows, or nearly all that the machine had left."""
    DISK = "disk"
    """It wrote more than its limit allows, or the disk was nearly full."""


class Said(msgspec.Struct, frozen=True):
    """The agent's own words: a whole message, or a line where it prints plain text."""

    text: str


class UsedTool(msgspec.Struct, frozen=True):
    """The agent called a tool, on what."""

    name: str
    about: str = ""


class Usage(msgspec.Struct, frozen=True):
    """Tokens that were used since the last time it was told."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output, self.cached + other.cached)


class Cost(msgspec.Struct, frozen=True):
    """What was spent since the last time it was told, in dollars."""

    usd: float


class ContextUsed(msgspec.Struct, frozen=True):
    """How full the model's context is."""

    percent: float


class Failure(msgspec.Struct, frozen=True):
    """Why the work stopped, and until when (seconds since 1970) where that is known."""

    kind: FailureKind
    until: float | None
    said: str


class Warned(msgspec.Struct, frozen=True):
    """Something that a person should know, and that stops nothing."""

    text: str


class Finished(msgspec.Struct, frozen=True):
    """The agent said that it has ended, and how; what it said last, or what went wrong."""

    ok: bool
    said: str = ""


Happening = Said | UsedTool | Usage | Cost | ContextUsed | Failure | Warned | Finished


def without_secrets(happening: Happening) -> Happening:
    """The same happening with every text in it redacted."""
    values = asdict(happening)
    clean: dict[str, Any] = {name: redacted(value) for name, value in values.items() if type(value) is str}
    return replace(happening, **clean) if clean else happening
