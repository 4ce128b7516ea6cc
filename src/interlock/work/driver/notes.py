"""Notes of a driver: entries that record something and move nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.machine import Actor, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.sessions.verbs import DRIVER

__all__ = ["noted"]


def noted(type_: str, actor: Actor = DRIVER, /, **data: Any) -> Event:
    """Return the event of a note; structs, tuples and enums in its data become what JSON has for them."""
    plain = msgspec.json.decode(msgspec.json.encode({"type": type_, **data}))
    return Event(NOTED, actor, evidence=Evidence(data=plain))
