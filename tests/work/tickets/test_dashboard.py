"""The pipeline at a glance: its counts, each thing that can be wrong with it, and how bad that is."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.journal import Journal
from interlock.machine import load_shipped
from interlock.work.tickets.dashboard import Dashboard, PipelineFinding, as_markdown, as_text, dashboard
from journal.histories import Clock

from .places import STATES, TABLE, held, made, moved, other_agent, person, place

TICKET = load_shipped("ticket")
HOUR, DAY = 3600, 24 * 3600


def board(journal: Journal, **how: Any) -> Dashboard:
    return dashboard(journal, TICKET, **how)


def found(journal: Journal, code: str, **how: Any) -> list[PipelineFinding]:
    return [one for one in board(journal, **how).health if one.code == code]


def test_an_empty_pipeline_is_on_track(journal: Journal) -> None:
    seen = board(journal)
    assert (seen.status, seen.risk_score, seen.open, seen.health) == ("ON_TRACK", 0, 0, [])
    assert [phase.count for phase in seen.phases] == [0] * len(STATES)
    assert {phase.state for phase in seen.phases} == set(STATES)


def test_a_phase_has_its_count_its_points_and_the_most_urgent_first(journal: Journal, clock: Clock) -> None:
    points = TABLE.section("estimates")
    for estimate, priority in (("XS", "P2"), ("XL", "P0"), (None, None)):
        place(journal, "Ready for Plan", estimate=estimate, priority=priority)
    clock.forward(2 * HOUR)
    phase = next(one for one in board(journal).phases if one.state == "Ready for Plan")
    assert (phase.count, phase.points) == (3, points["XS"]["rank"] + points["XL"]["rank"])
    assert [one.priority for one in phase.tickets] == ["P0", "P2", None]
    assert phase.oldest_hours == 2.0
    assert [len(one.tickets) for one in board(journal, most=1).phases if one.count] == [1]
    assert board(journal).open == 3


def test_what_ended_counts_for_a_week_and_can_be_archived_after_two(journal: Journal, clock: Clock) -> None:
    place(journal, "In Review")
    moved(journal, person(), 1, intent="close")
    place(journal, "Canceled")
    moved(journal, person(), made(journal), to="Done")
    assert (board(journal).velocity, board(journal).archivable) == (1, 0)
    assert next(one.count for one in board(journal).phases if one.state == "Done") == 2
    clock.forward(8 * DAY)
    assert (board(journal).velocity, board(journal).archivable) == (0, 0)
    assert next(one.count for one in board(journal).phases if one.state == "Done") == 0
    clock.forward(7 * DAY)
    assert board(journal).archivable == 3


# What can be wrong


def test_more_work_than_is_meant_to_be_is_found(journal: Journal) -> None:
    for _ in range(2):
        place(journal, "In Progress")
    assert found(journal, "wip_exceeded", wip_limit=2) == []
    assert found(journal, "wip_exceeded", wip_limit=0) == [], "0 is no limit"
    [one] = found(journal, "wip_exceeded", wip_limit=1)
    assert (one.severity, one.tickets) == ("warning", [1, 2])


def test_a_holder_of_two_tickets_in_one_state_is_found(journal: Journal) -> None:
    held(journal, "Plan in Progress")
    held(journal, "In Progress")
    held(journal, "Plan in Progress", other_agent())
    assert found(journal, "lock_collision") == []
    held(journal, "Plan in Progress")
    [one] = found(journal, "lock_collision")
    assert (one.severity, one.tickets, one.count) == ("critical", [1, 4], 1)
    assert "claude" in one.message


@pytest.mark.sampled(8)
@pytest.mark.parametrize("state", STATES)
def test_what_does_not_move_is_found_where_no_person_is_waited_for(journal: Journal, clock: Clock, state: str) -> None:
    flags = TABLE.states[state]
    place(journal, state)
    clock.forward(47 * HOUR)
    assert found(journal, "stuck_issue") == []
    clock.forward(2 * HOUR)
    severities = [one.severity for one in found(journal, "stuck_issue")]
    clock.forward(48 * HOUR)
    severities += [one.severity for one in found(journal, "stuck_issue")]
    waits = flags.get("human") or flags.get("terminal")
    assert severities == ([] if waits else ["warning", "critical"])


def test_what_waits_for_others_is_found_until_they_end(journal: Journal) -> None:
    blocker = made(journal)
    waiting = made(journal, blocked_by=[blocker])
    [one] = found(journal, "blocked")
    assert (one.severity, one.tickets) == ("warning", [waiting])
    moved(journal, person(), blocker, to="Canceled")
    assert found(journal, "blocked") == []


def test_what_is_too_large_is_found_once_it_is_worked_on_unsplit(journal: Journal) -> None:
    place(journal, "Research Needed", estimate="XL")
    place(journal, "Ready for Plan", estimate="S")
    place(journal, "Done", estimate="XL")
    assert found(journal, "oversized_in_pipeline") == []
    large = place(journal, "Ready for Plan", estimate="M")
    [one] = found(journal, "oversized_in_pipeline")
    assert (one.severity, one.tickets) == ("warning", [large])
    made(journal, parent=large)
    assert found(journal, "oversized_in_pipeline") == []


def test_an_empty_state_between_others_is_a_gap(journal: Journal) -> None:
    place(journal, "Backlog")
    place(journal, "Research Needed")
    assert found(journal, "pipeline_gap") == []
    place(journal, "Ready for Plan")
    [one] = found(journal, "pipeline_gap")
    assert (one.severity, one.message) == ("info", "nothing is in Research in Progress")
    assert board(journal).risk_score == 0


def test_somebody_who_has_twice_what_the_others_have_is_found(journal: Journal) -> None:
    for assignees in (["ada"], ["ada"], ["bob"]):
        made(journal, assignees=assignees)
    assert found(journal, "unbalanced_workload") == []
    made(journal, assignees=["ada", "eve"])
    [one] = found(journal, "unbalanced_workload")
    assert one.severity == "info"
    assert one.message.startswith("ada has 3 open tickets")


# How bad it is


@pytest.mark.parametrize(
    ("waiting", "status"), [(0, "ON_TRACK"), (1, "ON_TRACK"), (2, "AT_RISK"), (5, "AT_RISK"), (6, "OFF_TRACK")]
)
def test_the_status_is_what_the_findings_add_up_to(journal: Journal, waiting: int, status: str) -> None:
    blocker = made(journal)
    for _ in range(waiting):
        made(journal, blocked_by=[blocker])
    seen = board(journal)
    assert (seen.risk_score, seen.status) == (waiting, status)


def test_what_is_critical_weighs_three(journal: Journal, clock: Clock) -> None:
    made(journal)
    clock.forward(100 * HOUR)
    assert (board(journal).risk_score, board(journal).status) == (3, "AT_RISK")
    made(journal, blocked_by=[1])
    assert board(journal).risk_score == 4


# As text


def test_as_text_it_has_every_state_and_every_finding_on_a_line_of_its_own(journal: Journal) -> None:
    blocker = made(journal)
    made(journal, blocked_by=[blocker])
    for text in (as_text(board(journal)), as_markdown(board(journal))):
        lines = text.splitlines()
        assert all(any(state in line for line in lines) for state in STATES)
        assert [line for line in lines if "blocked" in line and "#2" in line]
        assert "ON_TRACK" in lines[0]
        assert text.endswith("\n")
