"""What a machine file may hold: the TOML form, as types.

The loader converts a file into these and refuses what does not fit; the JSON Schema that is shipped beside
the definitions is generated from them, so the two cannot disagree. What a schema cannot say (that a name is
one of the machine's) is checked by `load`; so are lengths and patterns, because annotating them for msgspec
makes the interpreter crash when it ends (msgspec issue 717).
"""

# Annotations are not postponed here: msgspec would compile each of them when the type is first decoded.

import re
from typing import Any, Literal

import msgspec

__all__ = [
    "NAME",
    "WORD",
    "Artifact",
    "Command",
    "Conflict",
    "Counter",
    "Estimate",
    "EventForm",
    "Fact",
    "Intent",
    "MachineForm",
    "MenuItem",
    "NextCommand",
    "Parent",
    "Proof",
    "RefusalForm",
    "Setting",
    "Start",
    "State",
    "TransitionForm",
    "schema",
]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,63}")
"""What a state is called."""
WORD = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What an event, a counter, a proof, a fact, a setting, a command or an intent is called."""

Kind = Literal["human", "agent", "system"]


class MenuItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A choice that a person has in a state."""

    key: str
    label: str
    does: str
    on: str | None = None


class NextCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command that a person can run next."""

    command: str
    """What to type; `{id}` stands for the instance."""
    does: str


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One state of the machine."""

    label: str = ""
    description: str = ""
    phase: str | None = None
    owner: str | None = None
    icon: str | None = None
    color: str | None = None
    indicator: Literal["dot", "spinner", "pulse", "check", "cross"] | None = None
    duration: str | None = None
    """How long it typically lasts, in the seed's words."""
    typical_seconds: tuple[int, int] | None = None
    terminal: bool = False
    outcome: str | None = None
    """What ending here means. `success` is what gates and receipts guard."""
    lock: bool = False
    """Being in it is exclusive ownership by a holder."""
    human: bool = False
    """It waits for a person."""
    changes: list[str] = []
    """Subjects that work in this state changes: entering it voids what was proven or approved of them."""
    carries: list[str] = []
    """What its projection shows beside the state's name."""
    tools: list[str] | None = None
    """The kinds of tools an agent may use in it; none given means all."""
    entry_criteria: str | None = None
    exit_criteria: str | None = None
    entry_actions: list[str] = []
    notes: list[str] = []
    menu: list[MenuItem] = []
    driven: bool = False
    """A driver works on it here; without one it stays where it is."""
    pause: list[str] = []
    """The events that pause it, in their order; none means that it cannot be paused. They move no instance above it."""
    tree: Literal["owned", "proven"] | None = None
    """The work tree is its own; `proven` means that it must also stay as it was proven or approved."""
    next: list[NextCommand] = []
    """What a person can run where nobody drives it, the likeliest first."""


class TransitionForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of the table; `from` and `to` may be lists."""

    on: str
    by: list[Kind]
    source: str | list[str] = msgspec.field(name="from")
    to: str | list[str] | None = None
    """Left out, the event is accepted and the state stays."""
    except_: list[str] = msgspec.field(name="except", default_factory=list)
    """For `from = "*"`: states, or the flags `lock` and `human`, that it leaves out."""
    trigger: str | None = None
    when: str | None = None
    gate: str | None = None
    receipt: str | None = None
    """The receipt that this event brings."""
    needs: list[str] = []
    """What this event must bring: `reason`, or a key of its data."""
    requires: list[str] = []
    """Gates and receipts from earlier that must still be valid."""
    voids: list[str] = []
    count: dict[str, int] = {}
    set: dict[str, int] = {}
    selects: Literal["task"] | None = None
    """The event names the task that becomes the current one."""
    names_task: bool = False
    """The event names the task it is about, and the current one stays."""
    releases: list[Literal["task", "lock"]] = []
    holds: bool = False
    """The event's holder becomes the holder of the lock."""
    any_holder: bool = False
    """Leaves a lock state whoever holds it."""
    command: str | None = None
    """Only this command makes the move, and a person may make it without."""
    effects: list[str] = []
    moves: Literal["at_once", "after_effects"] = "at_once"
    outcome: str | None = None
    off_path: bool = False
    progress: str | None = None
    """Why repeating this move ends by itself, where nothing counts it: an assumption that `check` prints."""
    added: str | None = None
    """Why it is here although the seed's table does not have it."""
    action: str | None = None


class RefusalForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the table refuses on purpose, with the reason."""

    on: str
    by: list[Kind]
    source: str | list[str] = msgspec.field(name="from")
    because: str
    to: str | None = None
    when: str | None = None
    except_: list[str] = msgspec.field(name="except", default_factory=list)


class Counter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that is counted, with the limit it is held to. A limit of 0 is never reached."""

    limit: int
    start: int = 0
    per: Literal["task"] | None = None
    reset_by: list[Kind] = []
    description: str = ""


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A gate (a person's approval) or a receipt (our own proof): valid for one hash of its subject."""

    subject: str
    immutable: bool = False
    """Once named, the subject never changes from outside: only a state that changes it makes a new one."""
    required_for: Literal["success"] | None = None
    description: str = ""


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fact that an event brings, with all its values."""

    values: list[str]
    default: str | None = None
    description: str = ""


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A choice that is made for an instance and decides between transitions."""

    values: list[str]
    default: str
    description: str = ""


class EventForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """More about an event: whether it names the state it leads to."""

    description: str = ""
    targeted: bool = False


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A state other than `initial` in which an instance may begin."""

    state: str
    command: str | None = None


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something an agent runs on an instance: where it begins, what it may produce."""

    description: str
    inputs: list[str]
    outputs: list[str]
    lock: str | None = None
    estimates: list[str] = []
    internal: bool = False
    """Interlock's own: no face offers it."""
    can_create_tickets: bool = False
    can_modify_blocks: bool = False
    delegates_to: list[str] = []
    modes: list[str] = []
    requires: list[str] = []
    creates: list[str] = []
    preconditions: list[str] = []
    postconditions: list[str] = []
    added: str | None = None


class Intent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A word for a target state that each command maps in its own way."""

    description: str
    event: str
    commands: dict[str, str] = {}
    """The target a command means by it; `*` is for all commands that can produce it."""
    ambiguous: list[str] = []
    unsupported: list[str] = []
    added: str | None = None


class Parent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a move of this machine means for the instance above it."""

    machine: str
    event: str
    enters: list[str] = []
    leaves: list[str] = []
    outcomes: list[str] = []
    to: str | None = None
    """Where it leads, in the very transaction of the move; without it, whoever drives the instance above brings it."""
    command: str | None = None
    binding: bool = False
    """Whether a move here is refused where the one above is."""
    note: str = ""


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A size or a priority on the board."""

    rank: int
    color: str
    description: str = ""


class Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file or directory that a command makes for a ticket."""

    pattern: str
    note: str = ""


class Conflict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What must not happen at the same time, and what is done instead."""

    name: str
    description: str
    action: str


class MachineForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A machine: its states, its transitions, and everything else its seed's tables say of it."""

    name: str
    version: int
    description: str
    initial: str
    states: dict[str, State]
    transitions: list[TransitionForm]
    enforcement: Literal["strict", "observe"] = "strict"
    never_ends: bool = False
    """It keeps a record for as long as there is a repository: it has no end, and so no success."""
    seed: str | None = None
    starts: list[Start] = []
    refusals: list[RefusalForm] = []
    events: dict[str, EventForm] = {}
    counters: dict[str, Counter] = {}
    gates: dict[str, Proof] = {}
    receipts: dict[str, Proof] = {}
    facts: dict[str, Fact] = {}
    settings: dict[str, Setting] = {}
    commands: dict[str, Command] = {}
    intents: dict[str, Intent] = {}
    parents: list[Parent] = []
    promises: dict[str, str] = {}
    limits: dict[str, int] = {}
    estimates: dict[str, Estimate] = {}
    priorities: dict[str, Estimate] = {}
    artifacts: dict[str, Artifact] = {}
    conflicts: list[Conflict] = []
    triage_actions: dict[str, str] = {}


def schema() -> dict[str, Any]:
    """The JSON Schema of a machine file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(MachineForm)}
