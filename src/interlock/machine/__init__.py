"""What a machine is, one step of it, what is true of it.

Pure: no clock, no randomness, no I/O but the reading of machine files in `load`. It imports nothing of
Interlock but `errors`.

    load    file → Machine        check   Machine → findings, each with a shortest counter-example
    step    Machine, Snapshot, Event → Accepted | Refused
"""

from interlock.machine.load import INTERNAL, SHIPPED, load_file, load_shipped
from interlock.machine.model import Machine, Transition
from interlock.machine.refusal import allowed
from interlock.machine.step import start, step
from interlock.machine.values import (
    Accepted,
    Actor,
    ActorKind,
    Allowed,
    Channel,
    Event,
    Evidence,
    Refused,
    Snapshot,
)

__all__ = [
    "INTERNAL",
    "SHIPPED",
    "Accepted",
    "Actor",
    "ActorKind",
    "Allowed",
    "Channel",
    "Event",
    "Evidence",
    "Machine",
    "Refused",
    "Snapshot",
    "Transition",
    "allowed",
    "load_file",
    "load_shipped",
    "start",
    "step",
]
