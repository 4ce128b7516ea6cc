"""Who plays: the person, the agents and the system, each through the channel `demo`."""

from __future__ import annotations

from msgspec.structs import replace

from interlock.machine import Actor, ActorKind, Channel

__all__ = ["AGENT", "PERSON", "SYSTEM", "agent"]

PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.DEMO)
AGENT = Actor(ActorKind.AGENT, "claude", Channel.DEMO)
SYSTEM = Actor(ActorKind.SYSTEM, "interlock", Channel.DEMO)


def agent(name: str) -> Actor:
    return replace(AGENT, id=name)
