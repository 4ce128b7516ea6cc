"""The values that flow through a machine: who acts, what happens, where an instance stands, what came of it.

They are msgspec structs and not dataclasses because every step makes two of them: a struct is made, copied
and written as JSON in C, about ten times faster. Treat the mappings inside them as frozen too.
"""

# Annotations are not postponed here: msgspec would compile each of them when the type is first decoded.

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from interlock.machine.model import Transition

__all__ = ["Accepted", "Actor", "ActorKind", "Allowed", "Channel", "Event", "Evidence", "Refused", "Snapshot"]


class ActorKind(StrEnum):
    """Who can act: a person, a coding agent, or Interlock itself."""

    HUMAN = "human"
    AGENT = "agent"
    SYSTEM = "system"

    __hash__ = str.__hash__  # every step looks a kind up; Enum's own hash is ten times slower


class Channel(StrEnum):
    """The way an event came in."""

    CLI = "cli"
    MCP = "mcp"
    HOOK = "hook"
    WEB = "web"
    FILE = "file"
    TRACKER = "tracker"
    DRIVER = "driver"
    DEMO = "demo"
    TEST = "test"


class Actor(msgspec.Struct, frozen=True):
    """Who fired an event, and through which channel."""

    kind: ActorKind
    id: str
    channel: Channel


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an event brings besides its name.

    `facts` decide between transitions; `subjects` name what was observed, approved or proven, by hash;
    `task` is what a counter kept per task counts for; `data` is anything else worth keeping; `names` are
    what the instance can be found by from now on, besides its id.
    """

    facts: dict[str, str] = {}
    subjects: dict[str, str] = {}
    settings: dict[str, int | str] = {}
    task: str | None = None
    holder: str | None = None
    data: dict[str, Any] = {}
    names: tuple[str, ...] = ()


class Event(msgspec.Struct, frozen=True):
    """Something that happened, or that somebody wants to happen."""

    name: str
    actor: Actor
    to: str | None = None
    command: str | None = None
    reason: str | None = None
    evidence: Evidence | None = None


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where one instance stands: all that `step` needs to know of its past."""

    state: str
    counters: Mapping[str, int] = {}
    settings: dict[str, int | str] = {}
    subjects: dict[str, str] = {}
    """The hash of each subject as last observed."""
    proofs: dict[str, str] = {}
    """The gates and receipts that are valid now, each with the hash of the subject it is for."""
    task: str | None = None
    holder: str | None = None
    """Who holds the lock, in a lock state."""
    pending: dict[str, str] = {}
    """The effects that were begun and are not settled, by key."""
    awaiting: str | None = None
    """The transition that is made when the pending effects have succeeded."""
    outcome: str | None = None


class Allowed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event that is possible now, and what it takes."""

    event: str
    to: str
    by: tuple[str, ...]
    gate: str | None = None
    needs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    when: str | None = None


class Accepted(msgspec.Struct, frozen=True):
    """The step was made: where it leads and what is to be done in the world."""

    snapshot: Snapshot
    transition: "Transition | None" = None
    effects: tuple[str, ...] = ()
    off_path: bool = False
    warning: str | None = None
    changed: bool = True
    """False where the event asks for what is already so; then nothing need be written."""


class Refused(msgspec.Struct, frozen=True):
    """The step was not made: why, what to do instead, and every event that is allowed now."""

    code: str
    message: str
    hint: str
    allowed: tuple[Allowed, ...] = ()
