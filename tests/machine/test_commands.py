"""From a command and what it asks for to a move of the ticket: the source system's tables with our decisions."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.machine import Accepted, Event, Evidence, Refused, Snapshot, load_shipped, step
from interlock.machine.commands import Handoff, normalise_command, normalise_intent, resolve

from .walks import HOLDER, by, shipped_table

TICKET = load_shipped("ticket")
COMMANDS = ("triage", "split", "research", "plan", "review", "impl", "hero", "merge")
INTENTS = ("lock", "complete", "escalate", "reject", "close", "cancel", "release")

TARGETS: dict[str, dict[str, str]] = {
    "triage": {
        "complete": "?",
        "escalate": "Human Needed",
        "reject": "Human Needed",
        "close": "Done",
        "cancel": "Canceled",
    },
    "split": {"complete": "Backlog", "escalate": "Human Needed", "reject": "Human Needed"},
    "research": {
        "lock": "Research in Progress",
        "complete": "Ready for Plan",
        "escalate": "Human Needed",
        "reject": "Human Needed",
        "release": "Research Needed",
    },
    "plan": {
        "lock": "Plan in Progress",
        "complete": "Plan in Review",
        "escalate": "Human Needed",
        "reject": "Human Needed",
        "release": "Ready for Plan",
    },
    "review": {"complete": "In Progress", "escalate": "Human Needed", "reject": "Ready for Plan"},
    "impl": {"lock": "In Progress", "complete": "In Review", "escalate": "Human Needed", "release": "In Progress"},
    "hero": {"escalate": "Human Needed", "reject": "Human Needed"},
    "merge": {"complete": "Done", "escalate": "Human Needed", "reject": "Human Needed", "close": "Done"},
}
"""What each command means by each intent; `?` is ambiguous, what is left out the command does not have."""

EVENTS = {"lock": "lock", "release": "release"}


def test_the_table_speaks_of_every_command_and_intent_that_people_are_offered() -> None:
    offered = {name for name, one in TICKET.form.commands.items() if not one.internal}
    assert offered == set(COMMANDS) == set(TARGETS)
    assert set(TICKET.form.intents) == set(INTENTS)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("intent", INTENTS)
def test_an_intent_means_what_the_table_says(command: str, intent: str) -> None:
    target = TARGETS[command].get(intent)
    if target is None or target == "?":
        assert _refusal(command, intent=intent) == ("intent_ambiguous" if target else "intent_unmapped")
    else:
        assert resolve(TICKET, command, intent=intent) == Handoff(
            command, EVENTS.get(intent, "handoff"), target, intent
        )


def _refusal(command: str, **asked: str | None) -> str:
    with pytest.raises(InterlockError) as caught:
        resolve(TICKET, command, **asked)
    assert caught.value.hint
    assert len(caught.value.message) < 1000
    return caught.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_the_same_with_the_source_systems_prefix(command: str) -> None:
    assert normalise_command(f"ralph_{command}") == normalise_command(command) == command
    assert resolve(TICKET, f"ralph_{command}", intent="escalate") == resolve(TICKET, command, intent="escalate")


@pytest.mark.parametrize("intent", INTENTS)
def test_an_intent_is_the_same_as_the_source_system_writes_it(intent: str) -> None:
    assert normalise_intent(f"__{intent.upper()}__") == normalise_intent(intent) == intent


def test_a_command_that_names_a_state_hands_off_or_claims_its_lock() -> None:
    assert resolve(TICKET, "triage", to="Canceled") == Handoff("triage", "handoff", "Canceled", None)
    assert resolve(TICKET, "plan", to="Plan in Progress") == Handoff("plan", "lock", "Plan in Progress", None)
    assert resolve(TICKET, "impl", to="In Progress") == Handoff("impl", "lock", "In Progress", None)
    assert resolve(TICKET, "review", to="In Progress") == Handoff("review", "handoff", "In Progress", None)


@pytest.mark.parametrize("asked", [{}, {"intent": "lock", "to": "Done"}])
def test_exactly_one_of_an_intent_and_a_state_is_given(asked: dict[str, str]) -> None:
    assert _refusal("plan", **asked) == "invalid_argument"


@pytest.mark.parametrize("command", ["deploy", "", "ralph_", "thread", "RESEARCH", "x" * 10_000, "\x00"])
def test_a_command_that_nobody_offers_is_unknown(command: str) -> None:
    assert _refusal(command, intent="complete") == "unknown_command"


@pytest.mark.parametrize("intent", ["finish", "", "____", "x" * 10_000])
def test_an_intent_that_does_not_exist_is_unknown(intent: str) -> None:
    assert _refusal("plan", intent=intent) == "unknown_intent"


@pytest.mark.parametrize("state", ["Nowhere", "", "backlog", "__LOCK__", "x" * 10_000])
def test_a_state_that_does_not_exist_is_unknown(state: str) -> None:
    assert _refusal("plan", to=state) == "unknown_state"


# What comes of it

REFUSED = {
    ("research", "complete", "Research Needed"): "lock_unclaimed",
    ("research", "release", "Research Needed"): "not_allowed",
    ("plan", "complete", "Ready for Plan"): "lock_unclaimed",
    ("plan", "release", "Ready for Plan"): "not_allowed",
    ("review", "complete", "Plan in Review"): "refused_by_rule",
    ("merge", "complete", "In Review"): "proof_required",
    ("merge", "close", "In Review"): "proof_required",
}
"""What an agent may not do although the intent has a meaning: finish or give back what it did not claim, approve a
plan where a person does, call merged what we have not seen merged."""

CASES = [
    (name, intent, state)
    for name, command in shipped_table("ticket").section("commands").items()
    if name in TARGETS
    for intent, target in TARGETS[name].items()
    if target != "?"
    for state in dict.fromkeys([*command["inputs"], command.get("lock", command["inputs"][0])])
]


def _asked(command: str, intent: str, snapshot: Snapshot, kind: str = "agent") -> Accepted | Refused:
    handoff = resolve(TICKET, command, intent=intent)
    to = handoff.to if handoff.event == "handoff" else None
    return step(TICKET, snapshot, Event(handoff.event, by(kind), to, command, "because", Evidence(holder=HOLDER)))


def _held(state: str, **changes: Any) -> Snapshot:
    return Snapshot(state, holder=HOLDER if TICKET.states[state].lock else None, **changes)


@pytest.mark.parametrize(("command", "intent", "state"), CASES)
def test_an_agent_can_carry_out_an_intent_from_where_its_command_works(command: str, intent: str, state: str) -> None:
    result = _asked(command, intent, _held(state))
    if isinstance(result, Refused):
        assert result.code == REFUSED.get((command, intent, state))
    else:
        assert (command, intent, state) not in REFUSED
        assert result.snapshot.state == TARGETS[command][intent]


def test_every_refusal_in_the_table_is_tried() -> None:
    assert REFUSED.keys() <= set(CASES)


@pytest.mark.parametrize(("command", "intent", "state"), CASES)
def test_a_command_does_nothing_from_where_it_does_not_work(command: str, intent: str, state: str) -> None:
    works = {from_ for name, _, from_ in CASES if name == command}
    for elsewhere in TICKET.states.keys() - works:
        if not TICKET.states[elsewhere].terminal:
            assert isinstance(_asked(command, intent, _held(elsewhere)), Refused), elsewhere


def test_review_approves_a_plan_only_where_that_is_set() -> None:
    for setting, accepted in (("human", False), ("auto", True)):
        result = _asked("review", "complete", _held("Plan in Review", settings={"plan_review": setting}))
        assert isinstance(result, Accepted) == accepted
    assert isinstance(_asked("review", "complete", _held("Plan in Review"), "human"), Accepted)


def test_merge_closes_a_ticket_whose_commit_was_seen_in_the_target_branch() -> None:
    seen = Event("merge_observed", by("system"), evidence=Evidence(subjects={"commit": "c"}))
    observed = step(TICKET, _held("In Review"), seen)
    assert isinstance(observed, Accepted)
    merged = _asked("merge", "complete", observed.snapshot)
    assert isinstance(merged, Accepted)
    assert (merged.snapshot.state, merged.snapshot.outcome) == ("Done", "success")
    assert isinstance(_asked("merge", "complete", _held("In Review"), "human"), Accepted)


@pytest.mark.parametrize(
    ("command", "intent", "state"), [("review", "reject", "Plan in Review"), ("split", "complete", "Backlog")]
)
def test_what_was_sent_back_too_often_is_not_sent_back_by_an_agent_again(command: str, intent: str, state: str) -> None:
    often = {"rework": 3}
    result = _asked(command, intent, _held(state, counters=often))
    assert isinstance(result, Refused)
    assert result.code == "refused_by_rule"
    by_person = _asked(command, intent, _held(state, counters=often), "human")
    assert isinstance(by_person, Accepted)
    assert by_person.snapshot.counters == {}
    assert isinstance(_asked(command, "escalate", _held(state, counters=often)), Accepted)


@pytest.mark.parametrize(
    ("command", "state"), [("research", "Research in Progress"), ("plan", "Plan in Progress"), ("impl", "In Progress")]
)
def test_what_was_given_back_too_often_needs_a_person_and_can_still_be_finished(command: str, state: str) -> None:
    released, completed = (
        _asked(command, intent, _held(state, counters={"rework": 3})) for intent in ("release", "complete")
    )
    assert isinstance(released, Accepted)
    assert released.snapshot.state == "Human Needed"
    assert isinstance(completed, Accepted)


@pytest.mark.parametrize("to", ["Backlog", "Research Needed", "Ready for Plan", "In Progress", "Canceled"])
def test_only_a_person_moves_a_ticket_out_of_human_needed(to: str) -> None:
    for command in (*COMMANDS, "thread", None):
        event = Event("handoff", by("agent"), to, command, "because", Evidence(holder=HOLDER))
        result = step(TICKET, _held("Human Needed"), event)
        assert isinstance(result, Refused)
        assert result.code == "person_needed"
    moved = step(TICKET, _held("Human Needed"), Event("handoff", by("human"), to))
    assert isinstance(moved, Accepted)
    assert moved.snapshot.holder is None
