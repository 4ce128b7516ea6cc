"""What a machine is, one step of it, what is true of it.

Pure: no clock, no randomness, no I/O but the reading of machine files in `load`. It imports nothing of
Interlock but `errors`.

    load    file → Machine        check   Machine → findings, each with a shortest counter-example
    step    Machine, Snapshot, Event → Accepted | Refused

On the way to a Machine: `form` → `validate`, `compile` → `model`, whose `table` is made with `expand` when it is asked
for; `override` reads the source system's form, `condition`, `condition_parser` and `terms` what a `when` says. Of a
step: `values`, `demand`, `refusal`; `commands` finds the event that a command means, `model.led` the move of the
instance above. `check` looks at all that `explore` finds by stepping.
To look at: `describe` as data; `faces.drawing` makes pictures of it.
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
