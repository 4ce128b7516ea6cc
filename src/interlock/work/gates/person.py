"""The caller who decides something, and how they prove that they are a person."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from interlock.errors import Refusal
from interlock.machine import Actor, ActorKind
from interlock.work.gates.presence import Presence

__all__ = ["Person", "must_be_person"]


class Person(msgspec.Struct, frozen=True):
    """The caller of a verb, and how they prove that they are there."""

    actor: Actor
    presence: Callable[[], Presence]
    """A proof of presence for a gate; raises where there is none."""
    is_at_terminal: Callable[[], bool]
    vouch: Callable[[str, str], None] = lambda id_, name: None
    """Proves the person for one move of one instance, where a terminal proves nothing; raises otherwise."""


def must_be_person(actor: Actor, does: str, instead: str) -> None:
    """Refuse what only people decide; `instead` is what an agent can do."""
    if actor.kind != ActorKind.HUMAN:
        raise Refusal("person_needed", f"Only a person {does}, and this is an agent.", instead)
