"""The one door: every wish of everybody in every state, against the table as it is written in its file."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exhaustive import EXHAUSTIVE
from interlock.errors import CODES, InterlockError
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.audit import comment_of, parse, trail_of
from interlock.work.tickets.handoff import Handed
from interlock.work.views.ticket import ticket_view
from journal.databases import Address
from journal.histories import Clock
from machine.walks import Row

from .places import (
    AGENT,
    LOCKS,
    STATES,
    TABLE,
    agent,
    caught_up,
    entries_of,
    everything,
    held,
    made,
    moved,
    other_agent,
    person,
    place,
    refused,
    stranger,
)

COMMANDS = TABLE.section("commands")
INTENTS = TABLE.section("intents")
OFFERED = tuple(name for name, one in COMMANDS.items() if not one.get("internal"))


# What the file says, read by itself


class Wish(msgspec.Struct, frozen=True):
    """What is asked for: a command or none, and an intent or a state."""

    command: str | None
    intent: str | None = None
    to: str | None = None

    def asked(self) -> dict[str, str | None]:
        return {"command": self.command, "intent": self.intent, "to": self.to}


class Move(msgspec.Struct, frozen=True):
    """A move that must be made."""

    event: str
    to: str


def wishes(kind: str) -> Iterator[Wish]:
    """Everything that can be asked for; also what no command, intent or state is."""
    for command in (*COMMANDS, "deploy", None):
        for intent in (*INTENTS, "finish"):
            yield Wish(command, intent=intent)
        for to in (*STATES, "Nowhere"):
            yield Wish(command, to=to)
    yield Wish("plan", "lock", "Done")
    yield Wish("plan")
    if kind == "human":
        yield Wish(None, "close", "Done")
        yield Wish(None)


def expected(state: str, kind: str, holds: str | None, wish: Wish) -> Move | str | None:
    """The move that must come of a wish, the code that it must be refused with, or None where only that it is."""
    meant = _meant(state, kind, wish)
    if isinstance(meant, str):
        return meant
    if TABLE.terminal(state):
        return "terminal"
    rows = [row for row in TABLE.speaking(state, meant.event, kind) if not row.refuses and _holds(row.when)]
    rows = [row for row in rows if meant.event == "release" or row.to == meant.to]
    rows = [row for row in rows if not row.raw.get("requires") and _makes(wish.command, kind, row)]
    if not rows:
        return None
    [row] = rows
    if TABLE.states[state].get("lock") and kind != "human":
        if holds == "other":
            return "lock_held"
        if holds is None and not row.raw.get("holds"):
            return "lock_unclaimed"
    assert row.to is not None
    return Move(meant.event, row.to)


def _meant(state: str, kind: str, wish: Wish) -> Move | str:
    if wish.command is None and kind != "human":
        return "command_required"
    if (wish.intent is None) == (wish.to is None):
        return "invalid_argument"
    if wish.command is None:
        return _meant_by_person(state, wish)
    if wish.command not in OFFERED:
        return "unknown_command"
    command = COMMANDS[wish.command]
    if wish.intent is None:
        if wish.to not in STATES:
            return "unknown_state"
        return Move("lock" if wish.to == command.get("lock") else "handoff", str(wish.to))
    if wish.intent not in INTENTS:
        return "unknown_intent"
    meaning = INTENTS[wish.intent]
    if wish.command in meaning.get("ambiguous", []):
        return "intent_ambiguous"
    target = meaning["commands"].get(wish.command)
    if target is None and wish.command not in meaning.get("unsupported", []):
        target = meaning["commands"].get("*")
        target = target if target in command["outputs"] else None
    return Move(meaning["event"], target) if target else "intent_unmapped"


def _meant_by_person(state: str, wish: Wish) -> Move | str:
    if wish.intent is None:
        if wish.to not in STATES:
            return "unknown_state"
        claims = wish.to == state and TABLE.states[state].get("lock")
        return Move("lock" if claims else "handoff", str(wish.to))
    if wish.intent not in INTENTS:
        return "unknown_intent"
    meaning = INTENTS[wish.intent]
    rows = TABLE.speaking(state, meaning["event"], "human")
    here = {"*", *(name for name in OFFERED if state in (*COMMANDS[name]["inputs"], COMMANDS[name].get("lock")))}
    targets = {target for name, target in meaning["commands"].items() if name in here}
    reached = {row.to or state for row in rows if not row.refuses} & targets
    if len(reached) > 1 or here & {*meaning.get("ambiguous", ())}:
        return "intent_ambiguous"
    if not reached:
        return "intent_unmapped"
    return Move(meaning["event"], reached.pop())


def _holds(when: str | None) -> bool:
    """A condition, for a ticket that was never sent back, is held or nobody's, and whose plans people approve."""
    said = {
        None: True,
        "plan_review == 'auto'": False,
        "rework < rework.limit": True,
        "rework >= rework.limit": False,
    }
    return said[when]


def _makes(command: str | None, kind: str, row: Row) -> bool:
    """Whether the row's move is one of the command's; a person needs none."""
    if command is None:
        return kind == "human"
    if "command" in row.raw:
        return bool(row.raw["command"] == command)
    one, everybodys = COMMANDS[command], {meaning["commands"].get("*") for meaning in INTENTS.values()}
    begins, inside = row.source in one["inputs"], row.source == one.get("lock")
    if row.raw.get("holds"):
        return bool(row.to == one.get("lock") and (begins or inside))
    if "lock" in row.raw.get("releases", []):
        return bool(inside)
    if row.to not in one["outputs"]:
        return False
    return bool(inside or (begins and ("lock" not in one or row.to in everybodys)))


# Everything that can be asked for

SITUATIONS = [
    pytest.param(state, who, id=f"{state}-{who}")
    for state in STATES
    for who in ("agent", "holder", "other", "person")
    if state in LOCKS or who not in ("holder", "other")
]
"""An agent where nobody holds the ticket, the holder, another agent than the holder, and a person."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handoff") / "journal.db"


@pytest.fixture(scope="module")
def journal(address: Path) -> Iterator[Journal]:
    """One journal for all of them: what one test does to its tickets no other looks at."""
    opened = open_journal(address, now=Clock(), randomness=random.Random(4).randbytes)
    yield opened
    opened.close()


def _placed(journal: Journal, state: str, who: str) -> int:
    return held(journal, state) if who in ("holder", "other") else place(journal, state)


def _caller(who: str) -> Caller:
    return {"agent": agent(), "holder": agent(), "other": other_agent(), "person": person()}[who]


def _expected(state: str, who: str, wish: Wish) -> Move | str | None:
    holds = {"holder": "me", "other": "other"}.get(who)
    return expected(state, "human" if who == "person" else "agent", holds, wish)


def _allowed(state: str, who: str) -> list[tuple[Wish, Move]]:
    kind = "human" if who == "person" else "agent"
    found = [(wish, _expected(state, who, wish)) for wish in wishes(kind)]
    return [(wish, one) for wish, one in found if isinstance(one, Move)]


def test_the_expectation_itself_allows_and_refuses() -> None:
    allowed = {
        (str(state), str(who)): len(_allowed(str(state), str(who))) for state, who in (one.values for one in SITUATIONS)
    }
    assert allowed["Backlog", "agent"] > 10
    assert allowed["In Progress", "holder"] >= 5
    assert {who for (state, who), count in allowed.items() if not count and state not in ("Done", "Canceled")} == {
        "agent",
        "other",
    }


@pytest.mark.sampled(5)
@pytest.mark.requirement("ticket:handoff:source-state")
@pytest.mark.requirement("ticket:handoff:command-output")
@pytest.mark.requirement("ticket:hole:advice")
@pytest.mark.parametrize(("state", "who"), SITUATIONS)
def test_what_the_file_does_not_allow_is_refused_and_changes_nothing(
    journal: Journal, address: Path, state: str, who: str
) -> None:
    number = _placed(journal, state, who)
    caught_up(journal)
    before, count = everything(address), 0
    for wish in wishes("human" if who == "person" else "agent"):
        said = _expected(state, who, wish)
        if isinstance(said, Move):
            continue
        error = refused(journal, _caller(who), number, **wish.asked())
        assert error.code in CODES
        assert said in (None, error.code), (wish, error)
        assert error.code not in ("journal_io", "unknown_ticket"), wish
        count += 1
    assert count > 100
    assert everything(address) == before


@pytest.mark.requirement("ticket:handoff:audit-comment")
@pytest.mark.requirement("ticket:hole:silence")
@pytest.mark.parametrize(("state", "who"), SITUATIONS)
def test_what_the_file_allows_is_done_with_one_entry_that_tells_all_and_an_audit_comment(
    journal: Journal, state: str, who: str
) -> None:
    caller = _caller(who)
    for wish, move in _allowed(state, who):
        number = _placed(journal, state, who)
        earlier = entries_of(journal, number)
        told = moved(journal, caller, number, reason=f"because of {move.to}", **wish.asked())
        later = entries_of(journal, number)[len(earlier) :]
        if move.event == "lock" and who == "holder":
            assert later == [], "a second lock by the holder writes nothing"
            assert (told.previous_state, told.new_state) == (state, state)
            continue
        [entry] = later
        assert (entry.event, entry.from_state, entry.to_state) == (move.event, state, move.to), wish
        assert (entry.command, entry.reason) == (wish.command, f"because of {move.to}")
        assert (entry.actor_kind, entry.actor_id) == (caller.actor.kind, caller.actor.id)
        assert entry.decoded_evidence().data.get("intent") == wish.intent
        _assert_told(told, number, state, move, wish)
        said = ticket_view(journal, number, with_group=False).comments[-1]
        assert said.is_audit
        assert parse(said.body) == trail_of(entry)
        assert said.body == comment_of(trail_of(entry))


def _assert_told(told: Handed, number: int, state: str, move: Move, wish: Wish) -> None:
    assert (told.number, told.previous_state, told.new_state) == (number, state, move.to)
    assert (told.intent, told.command, told.reason) == (wish.intent, wish.command, f"because of {move.to}")
    after, guidance = TABLE.states[move.to], told.guidance
    assert guidance.is_lock_state == after.get("lock", False)
    assert guidance.is_terminal == after.get("terminal", False)
    assert guidance.requires_human_action == after.get("human", False)
    rows = [row for row in TABLE.rows if row.source == move.to and row.on in ("handoff", "lock", "release")]
    possible = {row.to for row in rows if not row.refuses} - {None, move.to}
    assert set(guidance.allowed_next_transitions) <= possible
    free = {row.to for row in rows if not row.refuses and not row.when and not row.raw.get("requires")}
    assert free - {None, move.to} <= set(guidance.allowed_next_transitions)
    assert set(guidance.only_by_a_person) <= set(guidance.allowed_next_transitions)
    assert (guidance.holder is not None) == (move.event == "lock")


# The calls that a refusal offers

_CALL = re.compile(r"handoff_ticket\((\{.*?\})\) → ([^;.]+)")


@pytest.mark.parametrize(("state", "who"), [one for one in SITUATIONS if one.values[1] != "person"])
def test_what_a_refusal_says_is_possible_is_possible(journal: Journal, state: str, who: str) -> None:
    number = _placed(journal, state, who)
    error = refused(journal, _caller(who), number, command="plan", to="Nowhere")
    offered = _CALL.findall(error.hint)
    possible = {move.to for wish, move in _allowed(state, who) if not (move.event == "lock" and who == "holder")}
    assert bool(offered) == bool(possible), error.hint
    for text, to in offered:
        call = json.loads(text)
        fresh = _placed(journal, state, who)
        assert call.pop("number") == number
        assert call.pop("reason")
        told = moved(
            journal, _caller(who), fresh, command=call["command"], intent=call.get("intent"), to=call.get("to_state")
        )
        assert told.new_state == to
        assert to in possible


def test_an_agent_of_whom_nothing_is_known_is_offered_no_lock(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    error = refused(journal, stranger(), number, command="plan", to="Done")
    assert '"escalate"' in error.hint
    assert '"lock"' not in error.hint


def test_where_plans_are_approved_by_agents_a_refusal_offers_it(journal: Journal) -> None:
    number = place(journal, "Plan in Review")
    error = refused(journal, agent(), number, command="review", to="Done", plan_review="auto")
    assert '"command": "review", "intent": "complete"' in error.hint
    told = moved(journal, agent(), number, command="review", intent="complete", plan_review="auto")
    assert told.new_state == "In Progress"


def test_where_people_approve_plans_again_a_refusal_no_longer_offers_it(journal: Journal) -> None:
    number = place(journal, "Plan in Review")
    moved(journal, agent(), number, command="review", intent="complete", plan_review="auto")
    moved(journal, person(), number, to="Human Needed")
    moved(journal, person(), number, to="Ready for Plan")
    moved(journal, agent(), number, command="plan", intent="lock", plan_review="auto")
    moved(journal, agent(), number, command="plan", intent="complete", plan_review="auto")
    error = refused(journal, agent(), number, command="review", intent="complete", plan_review="human")
    assert error.code == "refused_by_rule"
    assert '"intent": "complete"' not in error.hint


def test_a_person_is_offered_what_can_be_typed(journal: Journal) -> None:
    number = place(journal, "In Review")
    error = refused(journal, person(), number, to="Backlog")
    for words, to in re.findall(r"`ralph ticket handoff (.*?) --reason …` → ([^;.]+)", error.hint):
        asked = re.fullmatch(rf'{number} (?:--intent (?P<intent>\w+)|--to-state "(?P<to>[^"]+)")', words)
        assert asked is not None, words
        assert moved(journal, person(), place(journal, "In Review"), **asked.groupdict()).new_state == to
    assert f"ralph ticket handoff {number} --intent" in error.hint


def test_an_agent_that_only_a_person_can_help_is_told_to_stop(journal: Journal) -> None:
    number = place(journal, "Human Needed")
    error = refused(journal, agent(), number, command="hero", to="In Progress")
    assert error.code == "person_needed"
    assert "Only a person" in error.hint
    assert not _CALL.search(error.hint)


# The answer

EXPECTED_BY = {
    "Backlog": {"triage", "split", "hero"},
    "Research Needed": {"split", "research", "hero"},
    "Ready for Plan": {"plan", "hero"},
    "Plan in Review": {"review", "hero"},
    "In Progress": {"impl", "hero"},
    "In Review": {"merge"},
}
"""The source system's table, with our differences: impl begins in In Progress only, and there is merge."""


@pytest.mark.requirement("ticket:handoff:guidance")
@pytest.mark.parametrize("state", STATES)
def test_the_commands_that_a_state_waits_for_are_the_source_systems(journal: Journal, state: str) -> None:
    found = ticket_view(journal, place(journal, state), with_group=False).guidance
    assert set(found.expected_by_commands) == EXPECTED_BY.get(state, set())


@pytest.mark.requirement("ticket:handoff:guidance")
def test_the_answer_has_the_keys_of_the_source_system(journal: Journal) -> None:
    number = place(journal, "Research Needed")
    told = msgspec.to_builtins(moved(journal, agent(), number, command="ralph_research", intent="__LOCK__"))
    guidance = told.pop("guidance")
    assert told == {
        "number": number,
        "previousState": "Research Needed",
        "newState": "Research in Progress",
        "intent": "lock",
        "command": "research",
        "reason": "it is time",
    }
    assert guidance.pop("holder").startswith("claude (process ")
    assert guidance == {
        "isLockState": True,
        "isTerminal": False,
        "requiresHumanAction": False,
        "allowedNextTransitions": ["Human Needed", "Ready for Plan", "Research Needed"],
        "expectedByCommands": [],
        "note": "Lock acquired. This ticket is now exclusively claimed.",
    }


def test_the_notes_say_what_the_source_systems_notes_say(journal: Journal) -> None:
    number = place(journal, "In Review")
    assert moved(journal, person(), number, intent="close").guidance.note == (
        "Terminal state. No further transitions possible."
    )
    escalated = moved(journal, agent(), place(journal, "Backlog"), command="hero", intent="escalate")
    assert escalated.guidance.note == "Human action required before next transition."
    approved = moved(journal, person(), place(journal, "Plan in Review"), to="In Progress")
    assert "intent lock" in str(approved.guidance.note)


# The order of the checks


def test_each_check_comes_before_the_next_one(journal: Journal) -> None:
    number, nobody = place(journal, "Done"), 999_999
    order: list[tuple[int, dict[str, Any], str]] = [
        (nobody, {"reason": "", "command": "deploy", "intent": "x", "to": "y"}, "unknown_ticket"),
        (number, {"reason": " \n", "command": "deploy", "intent": "x", "to": "y"}, "invalid_argument"),
        (number, {"command": "deploy", "intent": "x", "to": "y"}, "invalid_argument"),
        (number, {"command": "deploy"}, "invalid_argument"),
        (number, {"command": "deploy", "intent": "finish"}, "unknown_command"),
        (number, {"command": "plan", "intent": "finish"}, "unknown_intent"),
        (number, {"command": "plan", "to": "Nowhere"}, "unknown_state"),
        (number, {"command": "triage", "intent": "complete"}, "intent_ambiguous"),
        (number, {"command": "impl", "intent": "reject"}, "intent_unmapped"),
        (number, {"command": "plan", "to": "Backlog"}, "terminal"),
        (place(journal, "Backlog"), {"command": "plan", "to": "In Review"}, "target_not_allowed"),
        (place(journal, "Backlog"), {"command": "plan", "to": "Ready for Plan"}, "command_not_allowed"),
        (place(journal, "Ready for Plan"), {"command": "plan", "to": "Plan in Review"}, "lock_unclaimed"),
    ]
    assert [refused(journal, agent(), one, **asked).code for one, asked, _ in order] == [code for *_, code in order]


@pytest.mark.requirement("ticket:handoff:one-of-intent-and-state")
@pytest.mark.parametrize("asked", [{}, {"intent": "complete", "to": "Plan in Review"}])
@pytest.mark.parametrize("who", ["agent", "person"])
def test_exactly_one_of_an_intent_and_a_state_is_asked_for(journal: Journal, who: str, asked: dict[str, str]) -> None:
    number = held(journal, "Plan in Progress")
    before = entries_of(journal, number)
    error = refused(journal, _caller(who), number, command="plan", **asked)
    assert error.code == "invalid_argument"
    assert entries_of(journal, number) == before


@pytest.mark.requirement("ticket:handoff:reason")
@pytest.mark.parametrize("reason", ["", " ", "\n\t ", "a\x00b", "a\x1b[2J", "\u202eevil", "x" * 10_001, "\ud800"])
def test_a_move_without_a_reason_that_can_be_kept_is_not_made(journal: Journal, reason: str) -> None:
    number = place(journal, "Backlog")
    error = refused(journal, person(), number, to="Research Needed", reason=reason)
    assert error.code == "invalid_argument"
    assert len(entries_of(journal, number)) == 1


def test_a_reason_of_several_lines_is_kept_as_it_is_whatever_ends_its_lines(journal: Journal) -> None:
    number = place(journal, "Backlog")
    moved(journal, person(), number, to="Research Needed", reason=" first\r\nsecond\n\tthird \r\n")
    assert entries_of(journal, number)[-1].reason == "first\nsecond\n\tthird"


def test_secrets_in_a_reason_are_not_kept(journal: Journal) -> None:
    number, token = place(journal, "Backlog"), "ghp_" + "a1B2" * 9
    told = moved(journal, person(), number, to="Research Needed", reason=f"the token is {token}")
    assert token not in told.reason
    assert token not in str(entries_of(journal, number)[-1].reason)


# The seed's four holes


@pytest.mark.requirement("ticket:hole:jump")
def test_no_command_and_nobody_jumps_from_backlog_to_in_progress(journal: Journal) -> None:
    number = place(journal, "Backlog")
    callers = [agent(), stranger(), person()]
    for caller in callers:
        for command in (*OFFERED, "thread", "ralph_impl", None):
            for asked in ({"to": "In Progress"}, {"intent": "lock"}):
                code = refused(journal, caller, number, command=command, plan_review="auto", **asked).code
                assert code in CODES
    assert [entry.event for entry in entries_of(journal, number)] == ["created"]


@pytest.mark.requirement("ticket:hole:hooks")
@pytest.mark.requirement("ticket:handoff:no-bypass")
@pytest.mark.exhaustive
def test_an_agent_that_has_no_hooks_is_held_by_the_tool_itself(journal: Journal) -> None:
    """A subagent is nothing but a caller over MCP: no hook, no session, no process that is known."""
    bare = Caller(Actor(ActorKind.AGENT, "task", Channel.MCP))
    for state in STATES:
        number = place(journal, state)
        before = entries_of(journal, number)
        for to in STATES:
            allowed = {wish.to for wish, move in _allowed(state, "agent") if wish.to and move.event == "handoff"}
            if to not in allowed:
                for command in OFFERED if EXHAUSTIVE else [random.Random(f"{state} {to}").choice(OFFERED)]:
                    refused(journal, bare, number, command=command, to=to)
        assert entries_of(journal, number) == before


@pytest.mark.requirement("ticket:hole:silence")
def test_no_state_is_reached_without_an_entry_that_names_who_and_why(journal: Journal) -> None:
    for state in STATES:
        number = place(journal, state)
        entries = entries_of(journal, number)
        assert entries[0].to_state == "Backlog"
        for before, entry in itertools.pairwise(entries):
            assert entry.from_state == before.to_state
            assert entry.actor_id == "ada"
            assert entry.reason == "it is time"
        audited = [one for one in ticket_view(journal, number, with_group=False).comments if one.is_audit]
        assert len(audited) == len(entries) - 1


# Intents


@pytest.mark.requirement("ticket:handoff:reject")
def test_reject_sends_a_plan_back_and_stops_where_it_has_no_other_meaning(journal: Journal) -> None:
    plan = place(journal, "Plan in Review")
    assert moved(journal, agent(), plan, command="review", intent="reject").new_state == "Ready for Plan"
    research = held(journal, "Research in Progress")
    assert moved(journal, agent(), research, command="research", intent="reject").new_state == "Human Needed"
    work = held(journal, "In Progress")
    assert refused(journal, agent(), work, command="impl", intent="reject").code == "intent_unmapped"


@pytest.mark.requirement("ticket:handoff:intents")
def test_a_ticket_goes_from_backlog_to_done_by_intents(journal: Journal) -> None:
    number = made(journal)
    moved(journal, agent(), number, command="triage", to="Research Needed")
    steps: list[tuple[Caller, dict[str, str]]] = [
        (agent(), {"command": "research", "intent": "lock"}),
        (agent(), {"command": "research", "intent": "complete"}),
        (agent(), {"command": "plan", "intent": "lock"}),
        (agent(), {"command": "plan", "intent": "complete"}),
        (person(), {"command": "review", "intent": "complete"}),
        (agent(), {"command": "impl", "intent": "lock"}),
        (agent(), {"command": "impl", "intent": "complete"}),
        (person(), {"intent": "close"}),
    ]
    path = [moved(journal, caller, number, **asked).new_state for caller, asked in steps]
    assert path == [*STATES[2:7], "In Progress", "In Review", "Done"]
    assert ticket_view(journal, number).outcome == "success"


def test_a_ticket_that_was_only_closed_did_not_succeed(journal: Journal) -> None:
    number = made(journal)
    moved(journal, agent(), number, command="triage", intent="close")
    assert ticket_view(journal, number).outcome == "closed"


# A person who is not at a terminal


def test_a_person_who_is_not_at_a_terminal_makes_only_what_an_agent_could_make(journal: Journal) -> None:
    for state in STATES:
        for wish, move in _allowed(state, "person"):
            if wish.command is not None or wish.intent is not None:
                continue
            number = place(journal, state)
            by_agents = any(
                "agent" in row.by
                for row in TABLE.rows
                if (row.source, row.on, row.to or state) == (state, move.event, move.to) and not row.refuses
            )
            if by_agents:
                assert moved(journal, person(), number, present=False, **wish.asked()).new_state == move.to
            else:
                error = refused(journal, person(), number, present=False, **wish.asked())
                assert error.code == "person_needed"
                assert "terminal" in error.hint


# Keys


def test_a_repeated_handoff_gives_the_first_answer_although_the_ticket_went_on(journal: Journal) -> None:
    number = place(journal, "Research Needed")
    calls: list[tuple[Caller, dict[str, Any]]] = [
        (agent(), {"command": "research", "intent": "lock"}),
        (agent(), {"command": "ralph_research", "intent": "__COMPLETE__"}),
        (agent(), {"command": "plan", "to": "Plan in Progress"}),
        (agent(), {"command": "plan", "intent": "complete"}),
        (agent(), {"command": "review", "intent": "complete", "plan_review": "auto"}),
        (agent(), {"command": "impl", "intent": "lock", "plan_review": "auto"}),
        (agent(), {"command": "impl", "intent": "complete", "plan_review": "auto"}),
        (person(), {"intent": "close", "plan_review": "auto"}),
    ]
    answers = [
        moved(journal, caller, number, key=f"{number}-{place}", **asked) for place, (caller, asked) in enumerate(calls)
    ]
    assert answers[-1].new_state == "Done"
    before = journal.head()
    again = [
        moved(journal, caller, number, key=f"{number}-{place}", **asked) for place, (caller, asked) in enumerate(calls)
    ]
    assert again == answers
    assert journal.head() == before


def test_a_key_that_was_used_for_another_handoff_is_refused(journal: Journal) -> None:
    number, other = place(journal, "Ready for Plan"), place(journal, "Ready for Plan")
    key = f"key of {number}"
    moved(journal, agent(), number, command="plan", intent="lock", key=key)
    before = journal.head()
    assert refused(journal, agent(), other, command="plan", intent="lock", key=key).code == "key_reused"
    assert refused(journal, agent(), number, command="plan", intent="complete", key=key).code == "key_reused"
    assert journal.head() == before


def test_a_second_lock_with_a_key_of_its_own_says_that_it_is_held_already(journal: Journal) -> None:
    number = held(journal, "Plan in Progress")
    told = moved(journal, agent(), number, command="plan", intent="lock", key=f"second of {number}")
    assert (told.previous_state, told.new_state) == ("Plan in Progress", "Plan in Progress")
    assert told.guidance.note == "You hold it already."


# Both stores


@pytest.fixture(params=["sqlite", "postgresql"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    found: Address = tmp_path / "other.db" if request.param == "sqlite" else request.getfixturevalue("postgres_address")
    return found


def test_moves_and_refusals_are_the_same_in_both_stores(elsewhere: Address) -> None:
    opened = open_journal(elsewhere, now=Clock(), randomness=random.Random(5).randbytes)
    try:
        for state, command in LOCKS.items():
            number = held(opened, state)
            caught_up(opened)
            before = everything(elsewhere)
            assert refused(opened, other_agent(), number, command=command, intent="complete").code == "lock_held"
            assert refused(opened, agent(), number, command=command, to="Backlog").code == "target_not_allowed"
            assert everything(elsewhere) == before
            told = moved(opened, agent(), number, command=command, intent="complete")
            assert told.new_state == INTENTS["complete"]["commands"][command]
    finally:
        opened.close()


def test_the_error_of_a_refusal_carries_what_the_table_allows(journal: Journal) -> None:
    number = place(journal, "Plan in Review")
    with pytest.raises(InterlockError) as caught:
        moved(journal, Caller(AGENT), number, command="plan", to="Done")
    assert {one["to"] for one in caught.value.details["allowed"]} == {
        "Human Needed",
        "In Progress",
        "Ready for Plan",
        "Canceled",
    }
