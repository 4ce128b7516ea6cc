"""What must not reach the journal: each is refused with a code of the catalogue, and nothing is written."""

from __future__ import annotations

import base64
import json
import math
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import examples
from interlock.errors import CODES, InterlockError
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, load_shipped

from .databases import Address, dump
from .histories import AGENT, HUMAN, SYSTEM, created, reports, tries
from .refusals import code_of

MEGABYTES = "x" * 3_000_000
NOT_PRINTABLE = {"nothing": "", "a NUL": "a\x00b", "a newline": "a\nb", "an escape": "\x1b[2J", "too long": MEGABYTES}
NOT_PRINTABLE |= {"a lone surrogate": "\ud800", "turned text": "a\u202eb", "no text": cast("str", 7)}
TEXTS = [pytest.param(text, id=name) for name, text in NOT_PRINTABLE.items()]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def looped() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["itself"] = value
    return value


WRONG_EVIDENCE = {
    "a fact that is no text": Evidence(facts=cast("Any", {"tests": 1})),
    "facts that are no table": Evidence(facts=cast("Any", ["tests"])),
    "a subject that is no text": Evidence(subjects=cast("Any", {"tree": None})),
    "a setting that is a fraction": Evidence(settings=cast("Any", {"iteration.limit": 1.5})),
    "a setting that is true": Evidence(settings=cast("Any", {"iteration.limit": True})),
    "a task that is a number": Evidence(task=cast("Any", 7)),
    "a holder that is a list": Evidence(holder=cast("Any", ["me"])),
    "data that is a list": Evidence(data=cast("Any", [1])),
    "data that is nothing": Evidence(data=cast("Any", None)),
    "an object": Evidence(data={"x": object()}),
    "a field that evidence has not": cast("Evidence", {"facts": {}, "verdict": "passed"}),
    "no evidence at all": cast("Evidence", "evidence"),
    "not a number": Evidence(data={"x": math.nan}),
    "not a number within": Evidence(data={"x": [{"y": (1.0, math.nan)}]}),
    "infinity": Evidence(data={"x": -math.inf}),
    "a huge number": Evidence(data={"x": 10**5000}),
    "deep nesting": Evidence(data={"x": nested(50_000)}),
    "endless nesting": Evidence(data=looped()),
    "a lone surrogate": Evidence(data={"x": "\ud800"}),
    "a lone surrogate as a name": Evidence(data={"\udfff": 1}),
    "a NUL": Evidence(data={"x": "a\x00b"}),
    "a NUL in a name": Evidence(data={"a\x00b": 1}),
    "a NUL in a subject": Evidence(subjects={"tree": "\x00"}),
    "too much": Evidence(data={"x": "y" * (256 * 1024)}),
    "far too much": Evidence(data={str(n): MEGABYTES for n in range(3)}),
}
EVIDENCE = [pytest.param(evidence, id=name) for name, evidence in WRONG_EVIDENCE.items()]


@pytest.fixture(scope="module")
def journal(shared_journal: Journal) -> Journal:
    return shared_journal


@pytest.fixture(scope="module")
def address(shared_address: Address) -> Address:
    return shared_address


@pytest.fixture
def session(journal: Journal) -> str:
    return journal.create("session", created(AGENT)).entry.instance


@pytest.fixture
def thread(journal: Journal) -> str:
    return journal.create("thread", created()).entry.instance


def refused(journal: Journal, address: Address, instance: str, event: Event, key: str | None = None) -> InterlockError:
    """The error of an append that must be refused and write nothing."""
    before = dump(address)
    with pytest.raises(InterlockError) as refusal:
        journal.append(instance, event, key=key)
    return checked(address, before, refusal.value)


def refused_creation(journal: Journal, address: Address, event: Event, machine: str = "session") -> InterlockError:
    """The error of a creation that must be refused and write nothing."""
    before = dump(address)
    with pytest.raises(InterlockError) as refusal:
        journal.create(machine, event)
    return checked(address, before, refusal.value)


def checked(address: Address, before: object, error: InterlockError) -> InterlockError:
    assert dump(address) == before
    assert error.code in CODES
    assert error.hint
    assert len(error.message) + len(error.hint) < 4000
    return error


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_evidence_of_the_wrong_shape_is_refused(
    journal: Journal, address: Address, session: str, evidence: Evidence
) -> None:
    assert refused(journal, address, session, reports("analyzing", evidence)).code == "evidence_invalid"
    assert refused_creation(journal, address, created(AGENT, evidence)).code == "evidence_invalid"


def test_evidence_that_just_fits_is_kept(journal: Journal, session: str) -> None:
    room = 256 * 1024 - len(json.dumps({"data": {"x": ""}}, separators=(",", ":")))
    journal.append(session, reports("analyzing", Evidence(data={"x": "y" * room})))
    assert journal.history(session)[1].decoded_evidence().data == {"x": "y" * room}
    with pytest.raises(InterlockError) as refusal:
        journal.append(session, reports("testing", Evidence(data={"x": "y" * (room + 1)})))
    assert refusal.value.code == "evidence_invalid"


def test_text_that_looks_like_an_escaped_nul_is_text_like_any_other(journal: Journal, session: str) -> None:
    text = "a JSON file says \\u0000 for NUL"
    journal.append(session, reports("analyzing", Evidence(data={"x": text})))
    assert journal.history(session)[1].decoded_evidence().data == {"x": text}


def test_nesting_that_was_accepted_can_be_verified_from_anywhere(journal: Journal, session: str) -> None:
    """What was accepted near the bottom of a stack must not be too deep for a reader further up."""
    accepted = 0
    for depth in (16, 64, 256, 512, 700, 800, 850, 900):
        event = reports("analyzing", Evidence(data={"x": nested(depth)}))
        code = code_of(lambda event=event: journal.append(session, event))  # type: ignore[misc]
        assert code in (None, "evidence_invalid")
        accepted = depth if code is None else accepted
    assert accepted

    def from_above(frames: int) -> list[object]:
        return from_above(frames - 1) if frames else [*journal.verify(), journal.snapshot(session, at=2).state]

    assert from_above(500) == ["analyzing"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("field", ["actor", "command", "key", "event"])
def test_a_name_that_is_not_printable_text_is_refused(
    journal: Journal, address: Address, session: str, field: str, text: str
) -> None:
    if field == "command" and text == "":
        assert refused(journal, address, session, replace(reports("analyzing"), command=text)).code
        return
    events = {
        "actor": replace(reports("analyzing"), actor=Actor(ActorKind.AGENT, text, Channel.TEST)),
        "command": replace(reports("analyzing"), command=text),
        "key": reports("analyzing"),
        "event": replace(reports("analyzing"), name=text),
    }
    error = refused(journal, address, session, events[field], key=text if field == "key" else None)
    assert error.code == "invalid_argument"


REASONS = {"a NUL": "a\x00b", "an escape": "\x1b[31mred", "too long": "x" * 10_001, "megabytes": MEGABYTES}
REASONS |= {"a lone surrogate": "\udc80", "turned text": "\u202e", "a bell": "\a", "no text": cast("str", 7)}


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS.keys())
def test_a_reason_with_control_characters_or_without_end_is_refused(
    journal: Journal, address: Address, thread: str, reason: str
) -> None:
    error = refused(journal, address, thread, Event("assess", HUMAN, reason=reason))
    assert error.code == "invalid_argument"
    assert refused_creation(journal, address, created(reason=reason)).code == "invalid_argument"


@pytest.mark.parametrize("to", [*NOT_PRINTABLE.values(), "nowhere"], ids=[*NOT_PRINTABLE.keys(), "no state"])
def test_a_state_that_the_machine_has_not_is_refused(
    journal: Journal, address: Address, session: str, thread: str, to: str
) -> None:
    assert refused(journal, address, session, replace(reports("idle"), to=to)).code in CODES
    assert refused(journal, address, thread, Event("assess", HUMAN, to)).code in CODES
    if to:
        assert refused_creation(journal, address, replace(created(), to=to)).code in CODES


@pytest.mark.parametrize("machine", ["no_such_machine", "", "../session", "session\x00", "\ud800", MEGABYTES])
def test_a_machine_that_does_not_exist_is_refused(journal: Journal, address: Address, machine: str) -> None:
    assert refused_creation(journal, address, created(), machine).code == "unknown_machine"


def test_an_event_that_the_machine_does_not_know_is_refused(journal: Journal, address: Address, thread: str) -> None:
    assert refused(journal, address, thread, Event("explode", HUMAN)).code == "unknown_event"
    assert refused(journal, address, thread, Event("created", HUMAN)).code == "unknown_event"


def test_an_instance_begins_with_the_event_created_and_no_other(journal: Journal, address: Address) -> None:
    error = refused_creation(journal, address, Event("assess", HUMAN), "thread")
    assert error.code in ("unknown_event", "invalid_argument")


def test_what_the_journal_itself_keeps_in_a_first_entry_cannot_be_given(journal: Journal, address: Address) -> None:
    evidence = Evidence(data={"created": {"machine": "ticket", "digest": "0" * 64}})
    assert refused_creation(journal, address, created(evidence=evidence)).code == "evidence_invalid"


@pytest.mark.parametrize("kind", ["martian", "", "HUMAN", MEGABYTES, cast("str", 7)])
def test_an_actor_of_no_known_kind_is_refused(journal: Journal, address: Address, thread: str, kind: str) -> None:
    actor = Actor(cast("ActorKind", kind), "somebody", Channel.TEST)
    assert refused(journal, address, thread, Event("assess", actor)).code == "unknown_actor"
    assert refused(journal, address, thread, Event("superseded", actor)).code == "unknown_actor"
    assert refused_creation(journal, address, created(actor)).code == "unknown_actor"


@pytest.mark.parametrize("channel", ["carrier pigeon", "", "\x00", MEGABYTES, cast("str", 7)])
def test_a_channel_that_is_not_known_is_refused(journal: Journal, address: Address, thread: str, channel: str) -> None:
    actor = Actor(ActorKind.HUMAN, "somebody", cast("Channel", channel))
    assert refused(journal, address, thread, Event("assess", actor)).code in CODES
    assert refused_creation(journal, address, created(actor)).code in CODES


@pytest.mark.parametrize(
    ("event", "code"),
    [
        pytest.param(Event("assess", HUMAN, evidence=Evidence(facts={"sky": "blue"})), "fact_invalid", id="a fact"),
        pytest.param(
            Event("assess", HUMAN, evidence=Evidence(settings={"speed": 9})), "setting_invalid", id="a setting"
        ),
        pytest.param(
            Event("assess", HUMAN, evidence=Evidence(settings={"iteration.limit": -1})), "setting_invalid", id="a limit"
        ),
        pytest.param(
            Event("observed", SYSTEM, evidence=Evidence(subjects={"moon": "x"})), "evidence_invalid", id="a subject"
        ),
        pytest.param(
            Event("observed", SYSTEM, evidence=Evidence(task="../../x")), "evidence_invalid", id="a task like a path"
        ),
        pytest.param(
            Event("effect_settled", SYSTEM, evidence=Evidence(data={"key": MEGABYTES[:200_000], "result": "done"})),
            "effect_unknown",
            id="an effect",
        ),
    ],
)
def test_what_the_machine_does_not_know_is_refused(
    journal: Journal, address: Address, thread: str, event: Event, code: str
) -> None:
    assert refused(journal, address, thread, event).code == code


def test_a_command_that_the_machine_does_not_know_is_refused(journal: Journal, address: Address) -> None:
    machine = load_shipped("ticket")
    ticket = journal.create("ticket", created()).entry.instance
    snapshot = journal.snapshot(ticket)
    commanded = [event for event in tries(machine, snapshot) if event.command is not None]
    assert commanded
    for event in commanded:
        assert refused(journal, address, ticket, replace(event, command="fly")).code == "unknown_command"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(data=st.dictionaries(st.text(max_size=8), anything, max_size=4), reason=st.text() | st.none(), actor=st.text())
@settings(max_examples=examples(150))
def test_whatever_is_given_is_kept_as_json_keeps_it_or_refused(
    journal: Journal, address: Address, data: dict[str, Any], reason: str | None, actor: str
) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    before = dump(address)
    event = Event(
        "update_session_state", Actor(ActorKind.AGENT, actor, Channel.MCP), "testing", None, reason, Evidence(data=data)
    )
    code = code_of(lambda: journal.append(id_, event))
    if code is not None:
        assert code in ("evidence_invalid", "invalid_argument")
        assert dump(address) == before
        return
    kept = journal.history(id_)[-1]
    assert (kept.version, kept.reason, kept.actor_id) == (2, reason, actor)
    assert json.loads(kept.evidence).get("data", {}) == as_json(data)
    assert kept.hash == kept.computed_hash()


def as_json(value: Any) -> Any:
    """A value as it is after it was JSON; bytes become text, and what is no number is none of JSON's."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        assert math.isfinite(value), "JSON has no such number"
        return value
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    return value
