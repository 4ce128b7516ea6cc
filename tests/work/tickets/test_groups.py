"""Tickets that belong together, their order, where they stand in the pipeline, and whether they came together."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.machine import load_shipped
from interlock.work.tickets.groups import group_lines, group_of, ordered
from interlock.work.tickets.pipeline import convergence, distance, escalated, is_earlier, order, position
from interlock.work.tickets.ticket_table import TicketRow
from interlock.work.tickets.verbs import link
from journal.refusals import failed

from .places import PERSON, STATES, made, place

TICKET = load_shipped("ticket")
ORDER = [state for state in STATES if state not in ("Human Needed", "Canceled")]


def line(number: int, state: str = "Backlog", **more: Any) -> TicketRow:
    ended = {"Done": "success", "Canceled": "canceled"}.get(state)
    given: dict[str, Any] = {
        "id": f"id-{number}",
        "number": number,
        "title": f"ticket {number}",
        "state": state,
        "outcome": ended,
        "estimate": None,
        "priority": None,
        "size": 0,
        "rank": 9,
        "labels": "[]",
        "assignees": "[]",
        "parent": None,
        "holder": None,
        "held_by": None,
        "blockers": 0,
        "parts": 0,
        "since": "",
        "created": "",
        "updated": "",
        "outside": None,
    }
    return TicketRow(**{**given, **more})


def numbers(lines: list[TicketRow]) -> list[int]:
    return [one.number for one in lines]


# The order

graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.permutations(range(1, size + 1)),
        st.sets(st.tuples(st.integers(1, size), st.integers(1, size)), max_size=20),
    )
)


@given(graphs)
def test_what_blocks_comes_first_whatever_the_links_are(graph: tuple[list[int], set[tuple[int, int]]]) -> None:
    places, pairs = graph
    forward = {(one, other) for one, other in pairs if places.index(one) > places.index(other)}
    blocks: dict[str, list[str]] = {}
    for blocked, blocker in forward:
        blocks.setdefault(f"id-{blocked}", []).append(f"id-{blocker}")
    done = numbers(ordered([line(number) for number in places], blocks))
    assert sorted(done) == sorted(places)
    assert all(done.index(blocker) < done.index(blocked) for blocked, blocker in forward)
    again = numbers(ordered([line(number) for number in reversed(places)], blocks))
    assert done == again, "the order does not hang on how they were found"


def test_where_either_could_be_first_the_lower_number_is() -> None:
    lines = [line(number) for number in (5, 3, 4, 1, 2)]
    assert numbers(ordered(lines, {})) == [1, 2, 3, 4, 5]
    assert numbers(ordered(lines, {"id-1": ["id-5"]})) == [2, 3, 4, 5, 1]


def test_what_is_blocked_by_tickets_outside_waits_for_none_here() -> None:
    assert numbers(ordered([line(1), line(2)], {"id-1": ["id-9"]})) == [1, 2]


@given(st.integers(1, 8), st.integers(0, 3))
def test_a_cycle_is_refused_and_its_tickets_are_named(size: int, more: int) -> None:
    around = [f"id-{number}" for number in range(1, size + 1)]
    blocks = {one: [other] for one, other in zip(around, [*around[1:], around[0]], strict=True)}
    others = [line(100 + number) for number in range(more)]
    with pytest.raises(Refusal) as caught:
        ordered([*[line(number) for number in range(1, size + 1)], *others], blocks)
    assert caught.value.code == "dependency_cycle"
    assert "Cycle detected in dependencies!" in caught.value.message
    assert ", ".join(f"#{number}" for number in range(1, size + 1)) in caught.value.message
    assert "#100" not in caught.value.message


# Who belongs together


def test_a_ticket_that_is_linked_with_none_is_no_group(journal: Journal) -> None:
    number = made(journal)
    found = group_of(journal, number)
    assert (found.primary, found.is_group, len(found.tickets)) == (number, False, 1)


def test_parts_belong_together_and_what_holds_them_is_none_of_them(journal: Journal) -> None:
    epic = made(journal, "Epic")
    parts = [made(journal, "Part", parent=epic) for _ in range(3)]
    journal.transact(link(PERSON, parts[0], "blocked_by", parts[2]))
    expected = [parts[1], parts[2], parts[0]]
    for called in (epic, *parts):
        found = group_of(journal, called)
        assert [one.number for one in found.tickets] == expected
        assert (found.primary, found.is_group) == (parts[1], True)
    assert found.tickets[-1].blocked_by == [parts[2]]
    assert [one.order for one in found.tickets] == [1, 2, 3]


def test_links_are_followed_from_one_to_the_next_in_both_directions(journal: Journal) -> None:
    chain = [made(journal) for _ in range(5)]
    for one, other in itertools.pairwise(chain):
        journal.transact(link(PERSON, one, "blocks", other))
    made(journal, "somebody else")
    for called in chain:
        assert numbers(group_lines(journal, called)) == chain
    assert len(group_of(journal, chain[0], most=2).tickets) == 2


# Where it stands

RULES = [
    (["Backlog"], {"size": 3}, "SPLIT", False),
    (["Research Needed", "In Progress"], {"size": 5}, "SPLIT", False),
    (["Research Needed", "Ready for Plan", "In Progress"], {}, "RESEARCH", False),
    (["Research in Progress", "Plan in Progress"], {}, "RESEARCH", False),
    (["Ready for Plan", "Ready for Plan"], {}, "PLAN", True),
    (["Plan in Progress", "Plan in Review"], {}, "REVIEW", False),
    (["Plan in Review", "Plan in Review"], {}, "HUMAN_GATE", True),
    (["Plan in Review", "In Progress"], {}, "REVIEW", False),
    (["In Progress", "Done", "Human Needed"], {}, "IMPLEMENT", True),
    (["In Review", "Done", "Canceled"], {}, "TERMINAL", True),
    (["Done", "Human Needed", "Backlog"], {}, "TERMINAL", False),
    (["Backlog", "Ready for Plan"], {}, "TRIAGE", False),
    (["Ready for Plan", "Done"], {}, "PLAN", False),
]


@pytest.mark.parametrize(("states", "more", "phase", "converged"), RULES)
def test_the_first_rule_of_the_source_system_that_holds_says_where_a_group_stands(
    states: list[str], more: dict[str, int], phase: str, converged: bool
) -> None:
    for some in itertools.permutations(states):
        found = position([line(number, state, **more) for number, state in enumerate(some, 1)])
        assert (found.phase, found.converged) == (phase, converged)
        assert found.reason


def test_what_was_split_or_has_ended_is_not_split_again() -> None:
    assert position([line(1, "Ready for Plan", size=4, parts=2)]).phase == "PLAN"
    assert position([line(1, "Done", size=5)]).phase == "TERMINAL"
    assert position([line(1, "Ready for Plan", size=2)]).phase == "PLAN"


def test_what_is_left_of_the_pipeline_is_told() -> None:
    assert position([line(1, "Ready for Plan")]).remaining_phases == ["plan", "review", "implement", "pr"]
    assert position([line(1, "Plan in Review")]).remaining_phases == ["human approval", "implement", "pr"]
    assert position([line(1, "Done")]).remaining_phases == []


@given(st.lists(st.sampled_from(STATES), min_size=1, max_size=5))
def test_every_group_stands_somewhere(states: list[str]) -> None:
    found = position([line(number, state) for number, state in enumerate(states, 1)])
    assert found.tickets == list(range(1, len(states) + 1))
    assert found.phase in {phase for *_, phase, _ in RULES}


# The way


def test_the_way_is_the_source_systems_order() -> None:
    assert order(TICKET) == ORDER == [*STATES[:8], "Done"]
    assert escalated(TICKET) == "Human Needed"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("target", STATES)
def test_distances_are_counted_along_the_way_and_only_there(state: str, target: str) -> None:
    if state in ORDER and target in ORDER:
        assert distance(TICKET, state, target) == ORDER.index(target) - ORDER.index(state)
        assert is_earlier(TICKET, state, target) == (ORDER.index(state) < ORDER.index(target))
    else:
        assert distance(TICKET, state, target) == -1
        assert not is_earlier(TICKET, state, target)


# Together


def test_a_group_that_has_come_together_proceeds() -> None:
    found = convergence(
        TICKET, [line(1, "Ready for Plan"), line(2, "In Review"), line(3, "Canceled")], "Ready for Plan"
    )
    assert (found.converged, found.recommendation, found.total, found.ready) == (True, "proceed", 3, 3)
    assert found.blocking == []


def test_a_group_waits_for_those_that_are_late() -> None:
    found = convergence(TICKET, [line(1, "Ready for Plan"), line(2, "Research Needed")], "Ready for Plan")
    assert (found.converged, found.recommendation, found.total, found.ready) == (False, "wait", 2, 1)
    [late] = found.blocking
    assert (late.number, late.current_state, late.distance_to_target) == (2, "Research Needed", 2)


def test_a_group_that_waits_for_a_person_is_escalated() -> None:
    found = convergence(TICKET, [line(1, "Backlog"), line(2, "Human Needed")], "Ready for Plan")
    assert (found.converged, found.recommendation) == (False, "escalate")
    assert [late.distance_to_target for late in found.blocking] == [3, -1]


@pytest.mark.parametrize("target", ["Nowhere", "", "ready for plan"])
def test_a_group_does_not_come_together_where_there_is_no_state(target: str) -> None:
    failed(lambda: convergence(TICKET, [line(1)], target), "invalid_argument")


def test_a_real_group_comes_together(journal: Journal) -> None:
    epic = made(journal, "Epic")
    for state in ("Ready for Plan", "Plan in Progress"):
        place(journal, state, parent=epic)
    lines = group_lines(journal, epic)
    assert convergence(TICKET, lines, "Ready for Plan").converged
    assert not convergence(TICKET, lines, "Plan in Review").converged
    assert position(lines).phase == "REVIEW"
