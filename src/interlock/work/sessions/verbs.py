"""What a session can be asked to do. Each verb gives the work of one transaction: all of it happens, or nothing.

journal.transact(update(id, "testing", ...))              the command line
await journal.transact_async(update(id, "testing", ...))  the MCP server
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from interlock.errors import InterlockError, NotFound, Refusal
from interlock.journal import Holder, Instance, Journal, Recorded, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, Machine
from interlock.machine.model import NOTED
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.formats.times import seconds_of
from interlock.work.sessions.findings import SessionFinding, WrittenFile, of_session, of_stay, unseen
from interlock.work.sessions.record import COMPLETE, MOVES, UPDATE, SessionRecord, record_of
from interlock.work.tickets.numbers import ticket_or_stub
from interlock.world.place import Place
from interlock.world.processes import Process
from interlock.world.redaction import redacted, redacted_data

__all__ = [
    "DRIVER",
    "MACHINE",
    "TIMEOUT_SECONDS",
    "Caller",
    "Moved",
    "Opened",
    "allowed_next",
    "complete",
    "create",
    "end_if_gone",
    "find_session",
    "keep_findings",
    "note",
    "update",
]

Result = TypeVar("Result")
Work = Callable[[Transaction], Result]

DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.DRIVER)
"""Who writes down what no agent and no person said."""
MACHINE = "session"
_FINDING = "finding"
TIMEOUT_SECONDS = 3600.0
"""For how long a session without a known process may be silent, before it counts as gone."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks for a session: the actor, its agent's process where it is known, and where it works."""

    actor: Actor
    agent: str | None = None
    process: Process | None = None
    place: Place | None = None
    session: str | None = None
    """The session that it says it works in."""


class Opened(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A session that was begun."""

    success: bool
    session_id: str
    ticket_id: str | None
    state: str
    started_at: str
    allowed_next: list[str]
    closed: list[str] = []
    """Sessions of the same ticket whose agent was gone, ended as time-outs first."""


class Moved(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A session that was moved, and what was noticed on the way."""

    success: bool
    session_id: str
    previous_state: str
    new_state: str
    transitioned_at: str
    allowed_next: list[str]
    outcome: str | None = None
    off_path: bool = False
    warning: str | None = None
    findings: list[str] = []


def create(
    caller: Caller,
    *,
    ticket: str | None = None,
    parent: str | None = None,
    role: str | None = None,
    timeout: float = TIMEOUT_SECONDS,
    key: str | None = None,
    kept: Mapping[str, Any] | None = None,
) -> Work[Opened]:
    """Begin a session. A ticket, or a parent with a role, has one open session at a time.

    `kept` is what its driver keeps with it.
    """

    def work(transaction: Transaction) -> Opened:
        above = ticket_or_stub(transaction, ticket, caller.actor).id if ticket is not None else parent
        given = {"ticket_id": ticket, "role": role, "agent": caller.agent, "place": msgspec.to_builtins(caller.place)}
        data = {name: value for name, value in given.items() if value is not None} | dict(kept or {})
        names = (caller.process.name,) if caller.process is not None else ()
        event = Event("created", caller.actor, evidence=Evidence(data=data, names=names))
        recorded = transaction.create(MACHINE, event, parent=above, key=key)
        made = recorded.entry.instance
        closed: list[str] = []
        if recorded.written:
            closed = _vacated(transaction, above, role, made) if above is not None else []
            transaction.acquire(_lease(made), _holder(caller), timeout, is_present)
        usual = allowed_next(transaction.machine_of(transaction.instance(made)), recorded.snapshot.state)
        return Opened(True, made, ticket, recorded.snapshot.state, recorded.entry.time, usual, closed)

    return work


def update(
    reference: str,
    state: str,
    actor: Actor,
    metadata: dict[str, Any] | None = None,
    *,
    written: Sequence[WrittenFile] = (),
    timeout: float = TIMEOUT_SECONDS,
    key: str | None = None,
) -> Work[Moved]:
    """Report the state that a session is in. Test results that it reported here before count until it says others.

    `written` is what was written in the state that it leaves, if that does not allow it (`written_in_state`).
    """
    data = redacted_data(metadata or {})

    def work(transaction: Transaction) -> Moved:
        session = find_session(transaction, reference)
        machine = transaction.machine_of(session)
        record = record_of(transaction.latest(session.id, MOVES))
        tests = _tests(data) if "testResults" in data else _tests(record.stays[-1].metadata)
        facts = {"tests": tests} if tests != "unknown" else {}
        event = Event(UPDATE, actor, state, evidence=Evidence(facts=facts, data=data) if facts or data else None)
        transaction.prolong(_lease(session.id), timeout)
        if not machine.observes and _is_there(machine, session, state) and actor.kind == ActorKind.AGENT:
            return _still(transaction, session, machine, event, key)
        recorded = _moved(transaction, session, event, key)
        if not recorded.written:
            return _told(recorded, machine, _found_then(transaction, recorded))
        moves = recorded.entry.to_state != recorded.entry.from_state
        now = seconds_of(recorded.entry.time)
        found = of_stay(record, machine, now, _tests(data)) if moves else []
        found += unseen(record, machine, now, written)
        return _told(recorded, machine, keep_findings(transaction, session.id, found))

    return work


def complete(
    reference: str,
    outcome: str,
    actor: Actor,
    error: str | None = None,
    *,
    metadata: dict[str, Any] | None = None,
    written: Sequence[WrittenFile] = (),
    key: str | None = None,
) -> Work[Moved]:
    """End a session with its outcome; what was written in its work tree is compared with what it reported."""
    data = redacted_data(metadata or {}) | {"outcome": outcome} | ({"error": redacted(error)} if error else {})
    tests = _tests(data)
    facts = {"outcome": outcome} | ({"tests": tests} if tests != "unknown" else {})

    def work(transaction: Transaction) -> Moved:
        session = find_session(transaction, reference)
        machine = transaction.machine_of(session)
        record = record_of(transaction.history(session.id))
        event = Event(COMPLETE, actor, evidence=Evidence(facts=facts, data=data))
        recorded = _moved(transaction, session, event, key)
        transaction.vacate(_lease(session.id))
        if not recorded.written:
            return _told(recorded, machine, _found_then(transaction, recorded))
        now = seconds_of(recorded.entry.time)
        found = of_stay(record, machine, now, tests) + of_session(record, machine, now, written, tests != "unknown")
        return _told(recorded, machine, keep_findings(transaction, session.id, found))

    return work


def note(
    reference: str,
    type_: str,
    actor: Actor,
    data: dict[str, Any] | None = None,
    *,
    names: Sequence[str] = (),
    timeout: float = TIMEOUT_SECONDS,
    key: str | None = None,
) -> Work[Recorded]:
    """Tell of something in a session. It moves nothing."""
    kept = redacted_data(data or {}) | {"type": type_}

    def work(transaction: Transaction) -> Recorded:
        session = find_session(transaction, reference)
        event = Event(NOTED, actor, evidence=Evidence(data=kept, names=tuple(names)))
        recorded = transaction.append(session.id, event, key=key)
        transaction.prolong(_lease(session.id), timeout)
        return recorded

    return work


def find_session(journal: Journal | Transaction, reference: str) -> Instance:
    """A session by its id, or by a suffix of it that only one instance has."""
    found: Instance | None = None
    try:
        found = journal.instance(reference)
    except InterlockError as error:
        if error.code not in ("unknown_instance", "invalid_argument"):
            raise
    if found is None or found.machine != MACHINE:
        message = f"Session {reference[:80]} not found."
        hint = "`ralph session create` begins one, and `ralph session list` shows the ids."
        raise NotFound("unknown_session", message, hint)
    return found


def allowed_next(machine: Machine, state: str) -> list[str]:
    """The states that the table leads to from here, by a report or by a success."""
    rows = [row for row, _ in machine.outgoing[state] if row.on in (UPDATE, COMPLETE) and not row.off_path]
    ends = {row.to for row in rows if machine.states[row.to].terminal and machine.states[row.to].outcome != "success"}
    return list(dict.fromkeys(row.to for row in rows if row.to != state and row.to not in ends))


def _moved(transaction: Transaction, session: Instance, event: Event, key: str | None) -> Recorded:
    try:
        return transaction.append(session.id, event, key=key)
    except Refusal as error:
        if error.code != "terminal":
            raise
        message = f"Session {session.id} is already completed with outcome: {session.outcome}."
        hint = "It stays as it is. For more work, begin a new one with `ralph session create`."
        raise Refusal("session_completed", message, hint, error.details) from None


def _is_there(machine: Machine, session: Instance, state: str) -> bool:
    """Whether an open session is in a state that can be reported, and is reported again."""
    return session.outcome is None and state == session.state and state in machine.targets.get(UPDATE, ())


def _still(transaction: Transaction, session: Instance, machine: Machine, event: Event, key: str | None) -> Moved:
    """The same state again: a strict table has no such move, so it is told and not made."""
    data = event.evidence.data if event.evidence is not None else {}
    told = Evidence(data={**data, "type": "progress", "state": session.state})
    recorded = transaction.append(session.id, Event(NOTED, event.actor, evidence=told), key=key)
    return _told(msgspec.structs.replace(recorded, warning=f"already in {session.state!r}"), machine, [])


def _told(recorded: Recorded, machine: Machine, found: list[str]) -> Moved:
    entry = recorded.entry
    off_path = f"{entry.from_state!r} to {entry.to_state!r} is off the path" if entry.off_path else None
    return Moved(
        success=True,
        session_id=entry.instance,
        previous_state=entry.from_state or entry.to_state,
        new_state=entry.to_state,
        transitioned_at=entry.time,
        allowed_next=[] if recorded.snapshot.outcome else allowed_next(machine, entry.to_state),
        outcome=recorded.snapshot.outcome,
        off_path=bool(entry.off_path),
        warning=recorded.warning or off_path,
        findings=found,
    )


def keep_findings(transaction: Transaction, session: str, found: Sequence[SessionFinding]) -> list[str]:
    """Write down what was found; the sentences."""
    for one in found:
        data = {"type": _FINDING, "code": one.code, "message": one.message, "state": one.state}
        transaction.append(session, Event(NOTED, DRIVER, evidence=Evidence(data=data)))
    return [one.message for one in found]


def _found_then(transaction: Transaction, recorded: Recorded) -> list[str]:
    """What was found with a move that was made before: the findings stand right behind it."""
    found: list[str] = []
    for entry in transaction.history(recorded.entry.instance)[recorded.entry.version :]:
        data = entry.decoded_evidence().data if entry.event == NOTED and entry.actor_kind == "system" else {}
        if data.get("type") != _FINDING:
            break
        found.append(str(data.get("message")))
    return found


def _tests(data: dict[str, Any]) -> str:
    """What reported test results say, as the machine's fact."""
    results = data.get("testResults")
    if not isinstance(results, dict):
        return "unknown"
    failed, passed = results.get("failed"), results.get("passed")
    if isinstance(failed, int | float) and failed > 0:
        return "failed"
    return "passed" if isinstance(passed, int | float) and passed > 0 else "unknown"


# One open session at a time, and whose it is


def _vacated(transaction: Transaction, above: str, role: str | None, made: str) -> list[str]:
    """End the sessions of this place whose agent is gone; refuse where one lives. The ids of those ended."""
    closed = []
    for other in transaction.open_children(above, MACHINE):
        if other.id == made:
            continue
        record = record_of(transaction.history(other.id))
        if record.role != role:
            continue
        if not end_if_gone(transaction, other.id):
            raise _open(other, record)
        closed.append(other.id)
    return closed


def _open(other: Instance, record: SessionRecord) -> Refusal:
    message = f"Session {other.id} of {record.ticket_id or other.parent} is still open, in {other.state!r}."
    its = f"--session {other.id}"
    hint = f"Continue it: `ralph session update {its} STATE`. Or end it: `ralph session complete {its} success`."
    return Refusal("session_open", message, hint, {"sessionId": other.id, "state": other.state})


def end_if_gone(transaction: Transaction, session: str, written: Sequence[WrittenFile] = ()) -> bool:
    """End a session as a time-out if nobody holds it any more; whether it was ended."""
    if transaction.is_held(_lease(session), is_present) is not False:
        return False
    why = "the agent's process ended, or nothing was heard of it for too long, and the session was not completed"
    complete(session, "timeout", DRIVER, why, written=written)(transaction)
    return True


def _lease(session: str) -> str:
    return f"{MACHINE}:{session}"


def _holder(caller: Caller) -> Holder:
    """The agent's process, or nobody that can be seen: then only time tells that it is gone."""
    return process_holder(caller.process or Process("", "", 0, ""), caller.agent or "agent")
