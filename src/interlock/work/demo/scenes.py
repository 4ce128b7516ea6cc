"""What a demo is made of: who did what, what was refused, and what was seen on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Journal, Recorded
from interlock.machine import Actor, ActorKind, Channel, Event
from interlock.machine.model import NOTED, OBSERVED

__all__ = [
    "AGENT",
    "PERSON",
    "Hook",
    "Hooked",
    "Lookup",
    "Saw",
    "Scene",
    "SceneHeading",
    "SceneMove",
    "SceneRefusal",
    "Showed",
    "moves_since",
]

PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.DEMO)
AGENT = Actor(ActorKind.AGENT, "claude", Channel.DEMO)


class SceneHeading(msgspec.Struct, frozen=True):
    """What comes next."""

    text: str


class SceneMove(msgspec.Struct, frozen=True):
    """A move that was made and is in the journal."""

    machine: str
    recorded: Recorded


class SceneRefusal(msgspec.Struct, frozen=True):
    """A move that was refused, and is not in the journal."""

    machine: str
    event: Event
    error: InterlockError


class Hooked(msgspec.Struct, frozen=True):
    """A tool call of the agent, and what the hook said to it; nothing where it passed."""

    tool: str
    about: str
    said: str | None


class Lookup(msgspec.Struct, frozen=True):
    """What somebody asked for, and what was found."""

    asked: str
    found: str


class Saw(msgspec.Struct, frozen=True):
    """What was seen in the world: a claim, a test, a commit."""

    who: str
    text: str
    is_good: bool | None = None


class Showed(msgspec.Struct, frozen=True):
    """A text of several lines that somebody is shown."""

    what: str
    text: str


Scene = SceneHeading | SceneMove | SceneRefusal | Hooked | Lookup | Saw | Showed
Hook = Callable[[str, str, dict[str, str]], str | None]
"""Ask the real hook about a session's tool call: why it is blocked, or None."""


def moves_since(journal: Journal, head: int) -> Iterator[SceneMove]:
    """Every move after an entry, of whatever machine; what was only noted is left out."""
    for entry in journal.entries(head, most=10_000):
        if entry.event not in (NOTED, OBSERVED):
            instance = journal.instance(entry.instance)
            yield SceneMove(instance.machine, Recorded(entry, journal.snapshot(instance.id, entry.version)))
