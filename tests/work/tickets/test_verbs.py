"""What can be written on a ticket: made, edited, spoken on and linked, and never moved."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.journal import Journal
from interlock.machine import Actor
from interlock.work.tickets.fields import MAX_PROSE, MAX_TITLE
from interlock.work.tickets.numbers import known_ticket, ticket_or_stub
from interlock.work.tickets.record import TicketDocument, TicketRecord
from interlock.work.tickets.ticket_table import TICKETS, card_of
from interlock.work.tickets.verbs import TicketWrite, comment, create, edit, link
from interlock.work.views.ticket import TicketView, ticket_view
from journal.refusals import code_of, failed

from .places import AGENT, LOCKS, PERSON, STATES, agent, entries_of, held, made, moved, place

FULL: dict[str, Any] = {
    "body": "What is wrong:\n\t- the door",
    "estimate": "S",
    "priority": "P1",
    "labels": ["bug", "door"],
    "assignees": ["ada"],
}


def shown(journal: Journal, number: int) -> TicketView:
    return ticket_view(journal, number, with_group=False)


def card(journal: Journal, number: int) -> TicketRecord:
    ticket = known_ticket(journal, number).id
    with journal.projected(TICKETS) as sql:
        return card_of(sql, ticket)


def written(journal: Journal, number: int, **changes: Any) -> TicketWrite:
    return journal.transact(edit(PERSON, number, **changes))


def refused_to_make(journal: Journal, *codes: str, actor: Actor = AGENT, **given: Any) -> None:
    """A ticket that must not be made."""
    failed(lambda: journal.transact(create(actor, "Part", **given)), *codes)


def linked(journal: Journal, number: int, relation: str, other: int, **how: Any) -> TicketWrite:
    return journal.transact(link(PERSON, number, relation, other, **how))


# Made


def test_a_ticket_is_made_with_all_its_fields_and_begins_in_backlog(journal: Journal) -> None:
    above, first = made(journal, "Epic"), made(journal, "First")
    told = journal.transact(create(AGENT, "  Mend the door ", parent=above, blocked_by=[first, str(first)], **FULL))
    assert (told.number, told.title, told.state) == (3, "Mend the door", "Backlog")
    found = shown(journal, told.number)
    assert {name: getattr(found, name) for name in FULL} == FULL
    assert (found.id, found.created_at, found.since) == (told.id, told.created_at, told.created_at)
    assert found.parent is not None
    assert found.parent.number == above
    assert [one.number for one in found.blocked_by] == [first]
    [entry] = entries_of(journal, told.number)
    assert (entry.event, entry.actor_id) == ("created", "claude")


def test_numbers_begin_with_one_and_are_given_once(journal: Journal) -> None:
    assert [made(journal) for _ in range(5)] == [1, 2, 3, 4, 5]


def test_only_split_begins_a_ticket_in_research_needed_and_a_person_may_too(journal: Journal) -> None:
    for command in ("split", "ralph_split"):
        told = journal.transact(create(AGENT, "Part", command=command, state="Research Needed"))
        assert told.state == "Research Needed"
        assert entries_of(journal, told.number)[0].command == "split"
    for other in ("plan", None):
        refused_to_make(journal, "command_required", command=other, state="Research Needed")
    assert journal.transact(create(PERSON, "Part", state="Research Needed")).state == "Research Needed"


@pytest.mark.parametrize("state", [one for one in STATES if one not in ("Backlog", "Research Needed")])
def test_a_ticket_begins_nowhere_else(journal: Journal, state: str) -> None:
    for actor in (AGENT, PERSON):
        for command in (None, "split", "triage"):
            refused_to_make(journal, "not_allowed", actor=actor, command=command, state=state)
    assert journal.head() == 0


TITLES = [
    "",
    " ",
    "\n",
    "a\nb",
    "a\tb",
    "x" * (MAX_TITLE + 1),
    "a\x00b",
    "a\x1b[2J",
    "\u202ea",
    "a\u2066b",
    "\ud800",
    "a\u2028b",
]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_that_is_not_one_printable_line_is_refused(journal: Journal, title: str) -> None:
    failed(lambda: journal.transact(create(AGENT, title)), "invalid_argument")
    assert journal.head() == 0
    number = made(journal)
    failed(lambda: written(journal, number, set_={"title": title}), "invalid_argument")
    assert journal.head() == 1


def test_a_title_may_be_as_long_as_it_is_said_to_be(journal: Journal) -> None:
    number = made(journal, "é" * MAX_TITLE)
    assert shown(journal, number).title == "é" * MAX_TITLE


BAD: list[dict[str, Any]] = [
    {"estimate": "XXL"},
    {"estimate": "S; DROP TABLE tickets"},
    {"priority": "P9"},
    {"labels": [""]},
    {"labels": ["a\nb"]},
    {"labels": ["x" * 101]},
    {"labels": [f"label {place}" for place in range(101)]},
    {"assignees": ["\u202eada"]},
    {"body": "a\x00b"},
    {"body": "\x1b[2J"},
    {"body": "\ud800"},
    {"body": "\u202e"},
    {"body": "x" * (1 << 20)},
    {"body": "x" * (MAX_PROSE + 1)},
]


@pytest.mark.parametrize("fields", BAD, ids=[str(one)[:40] for one in BAD])
def test_fields_that_hold_what_they_must_not_are_refused_in_both_ways(journal: Journal, fields: dict[str, Any]) -> None:
    failed(lambda: journal.transact(create(AGENT, "A title", **fields)), "invalid_argument")
    assert journal.head() == 0
    number = made(journal)
    failed(lambda: written(journal, number, set_=fields), "invalid_argument")
    assert journal.head() == 1


@pytest.mark.parametrize("other", [0, 99, "nobody", "", "'; --", "9" * 30])
def test_a_ticket_that_is_linked_with_one_that_is_not_there_is_not_made(journal: Journal, other: int | str) -> None:
    failed(lambda: journal.transact(create(AGENT, "A title", parent=other)), "unknown_ticket")
    failed(lambda: journal.transact(create(AGENT, "A title", blocked_by=[other])), "unknown_ticket")
    assert journal.head() == 0


def test_secrets_are_not_kept(journal: Journal) -> None:
    token = "ghp_" + "a1B2" * 9
    number = made(journal, f"Use {token}", body=f"the token is {token}")
    journal.transact(comment(AGENT, number, f"{token} works"))
    assert token not in str([msgspec.to_builtins(entry) for entry in entries_of(journal, number)])


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(title=st.text(max_size=30), body=st.text(max_size=60))
def test_any_text_is_kept_as_it_is_or_refused(sqlite_journal: Journal, title: str, body: str) -> None:
    before = sqlite_journal.head()
    code = code_of(lambda: made(sqlite_journal, title, body=body))
    assert code in (None, "invalid_argument")
    assert sqlite_journal.head() == before + (code is None)
    if code is None:
        found = shown(sqlite_journal, len(sqlite_journal.instances("ticket")))
        assert (found.title, found.body) == (title.strip(), body.replace("\r\n", "\n"))
    assert sqlite_journal.verify(TICKETS) == []


# Edited


def test_fields_are_set_added_to_and_taken_away(journal: Journal) -> None:
    number = made(journal, **FULL)
    told = written(
        journal,
        number,
        set_={"title": "Other", "estimate": "none", "priority": "p0"},
        add={"labels": ["urgent", "bug"], "commits": ["abc1234"], "pull_requests": ["https://example.org/1"]},
        remove={"labels": ["door"], "assignees": ["ada", "nobody"]},
        artifacts={"plan": "thoughts/shared/plans/2026-01-01-GH-1-door.md"},
    )
    assert set(told.changed) == {
        *("title", "estimate", "priority", "labels", "commits", "pull_requests", "assignees", "artifacts"),
    }
    found = shown(journal, number)
    assert (found.title, found.estimate, found.priority) == ("Other", None, "P0")
    assert (found.labels, found.assignees) == (["bug", "urgent"], [])
    assert (found.commits, found.pull_requests) == (["abc1234"], ["https://example.org/1"])
    assert found.artifacts == [TicketDocument("plan_document", "thoughts/shared/plans/2026-01-01-GH-1-door.md")]
    assert found.body == FULL["body"]


def test_an_artifact_is_attached_once(journal: Journal) -> None:
    number = made(journal)
    for kind in ("plan", "plan_document"):
        written(journal, number, artifacts={kind: "a.md"})
    assert shown(journal, number).artifacts == [TicketDocument("plan_document", "a.md")]


@pytest.mark.parametrize("artifacts", [{"novel": "a.md"}, {"plan": ""}, {"plan": "a\nb"}, {"plan": "x" * 501}])
def test_an_artifact_of_no_kind_or_nowhere_is_refused(journal: Journal, artifacts: dict[str, str]) -> None:
    number = made(journal)
    failed(lambda: written(journal, number, artifacts=artifacts), "invalid_argument")
    assert journal.head() == 1


NOTHING: list[dict[str, Any]] = [{}, {"set_": {}}, {"add": {"labels": []}}, {"remove": {}}, {"artifacts": {}}]


@pytest.mark.parametrize("changes", NOTHING)
def test_an_edit_of_nothing_is_refused_and_says_how_a_ticket_is_moved(
    journal: Journal, changes: dict[str, Any]
) -> None:
    number = made(journal)
    error = failed(lambda: written(journal, number, **changes), "invalid_argument")
    assert "`ralph ticket handoff`" in error.hint
    assert journal.head() == 1


NO_FIELDS = [
    "state",
    "workflow_state",
    "workflowState",
    "outcome",
    "number",
    "holder",
    "held_by",
    "parent",
    "blocked_by",
]


@pytest.mark.requirement("ticket:handoff:no-bypass")
@pytest.mark.parametrize(
    "name", [*NO_FIELDS, "stub", "since", "shown", "tracked", "created", "counters", "type", "body\x00"]
)
def test_an_edit_moves_nothing_whatever_it_is_given(journal: Journal, name: str) -> None:
    number = made(journal)
    before = journal.head()
    ways: list[dict[str, Any]] = [{"set_": {name: "Done"}}, {"add": {name: ["Done"]}}, {"remove": {name: ["Done"]}}]
    for changes in ways:
        assert code_of(partial(written, journal, number, **changes)) == "invalid_argument"
    if name not in ("state", "parent", "blocked_by"):
        fields: dict[str, Any] = {name: "Done"}
        refused_to_make(journal, "invalid_argument", **fields)
    assert journal.head() == before


@pytest.mark.requirement("ticket:handoff:no-bypass")
@pytest.mark.parametrize("state", STATES)
def test_no_verb_but_handoff_changes_the_state_the_holder_or_the_rework(journal: Journal, state: str) -> None:
    number, other = held(journal, state) if state in LOCKS else place(journal, state), made(journal)
    before = known_ticket(journal, number).snapshot
    written(
        journal, number, set_={"title": "Done", "body": "state: Done", "labels": ["Done"]}, add={"commits": ["a" * 40]}
    )
    journal.transact(comment(AGENT, number, "**State transition**: x → Done\n/close\nFixes #1"))
    linked(journal, number, "parent", other)
    linked(journal, number, "blocked_by", made(journal))
    assert known_ticket(journal, number).snapshot == before


def test_a_ticket_that_has_ended_can_still_be_written_on(journal: Journal) -> None:
    number = place(journal, "Done")
    written(journal, number, set_={"title": "Was done"})
    journal.transact(comment(PERSON, number, "thanks"))
    assert shown(journal, number).title == "Was done"


def test_what_is_not_there_cannot_be_written_on(journal: Journal) -> None:
    failed(lambda: written(journal, 7, set_={"title": "x"}), "unknown_ticket")
    failed(lambda: journal.transact(comment(PERSON, 7, "x")), "unknown_ticket")
    failed(lambda: linked(journal, 7, "parent", 8), "unknown_ticket")


# Comments


def test_a_comment_is_kept_with_who_said_it_and_when(journal: Journal) -> None:
    number = made(journal)
    told = journal.transact(comment(AGENT, number, "one\r\n\ttwo"))
    [said] = shown(journal, number).comments
    assert (said.author, said.body, said.at, said.is_audit) == ("agent claude", "one\n\ttwo", told.at, False)


@pytest.mark.parametrize("body", ["", " \n", "a\x00b", "\x1b]0;x\x07", "\u202e", "x" * (MAX_PROSE + 1), "\ud800"])
def test_a_comment_that_cannot_be_kept_is_refused(journal: Journal, body: str) -> None:
    number = made(journal)
    failed(lambda: journal.transact(comment(AGENT, number, body)), "invalid_argument")
    assert journal.head() == 1


# Links


def test_links_are_seen_from_both_ends_and_taken_away(journal: Journal) -> None:
    one, two = made(journal), made(journal)
    linked(journal, one, "blocks", two)
    assert [other.number for other in shown(journal, two).blocked_by] == [one]
    assert [other.number for other in shown(journal, one).blocking] == [two]
    linked(journal, two, "blocked_by", one)
    linked(journal, two, "blocked_by", one, remove=True)
    assert shown(journal, two).blocked_by == []
    linked(journal, two, "parent", one)
    assert [other.number for other in shown(journal, one).sub_tickets] == [two]
    linked(journal, two, "parent", one, remove=True)
    assert shown(journal, two).parent is None


def test_a_part_is_given_another_parent_only_where_that_is_said(journal: Journal) -> None:
    one, two, part = (made(journal) for _ in range(3))
    linked(journal, part, "parent", one)
    linked(journal, part, "parent", one)
    error = failed(lambda: linked(journal, part, "parent", two), "relation_refused")
    assert f"part of ticket {one}" in error.message
    linked(journal, part, "parent", two, replace=True)
    parent = shown(journal, part).parent
    assert parent is not None
    assert parent.number == two
    assert shown(journal, one).sub_tickets == []


def test_a_cycle_of_parts_or_of_blockers_is_refused_and_named(journal: Journal) -> None:
    for relation, words in (("parent", "is a part of"), ("blocked_by", "waits for")):
        numbers = [made(journal) for _ in range(4)]
        for one, other in itertools.pairwise(numbers):
            linked(journal, one, relation, other)
        before = journal.head()
        error = failed(partial(linked, journal, numbers[-1], relation, numbers[0]), "dependency_cycle")
        assert f" {words} ".join(f"#{number}" for number in [numbers[-1], *numbers]) in error.message
        assert error.details["tickets"] == numbers
        assert journal.head() == before


def test_a_ticket_is_no_part_and_no_blocker_of_itself(journal: Journal) -> None:
    number = made(journal)
    for relation in ("parent", "blocks", "blocked_by"):
        error = failed(partial(linked, journal, number, relation, number), "dependency_cycle")
        assert "#1" in error.message
    assert journal.head() == 1


def test_a_link_that_is_not_there_is_not_taken_away(journal: Journal) -> None:
    one, two = made(journal), made(journal)
    for relation in ("parent", "blocks", "blocked_by"):
        failed(partial(linked, journal, one, relation, two, remove=True), "relation_refused")


def test_a_relation_that_is_none_is_refused(journal: Journal) -> None:
    one, two = made(journal), made(journal)
    failed(lambda: linked(journal, one, "child", two), "invalid_argument")


# Keys

KEYED: dict[str, Callable[[str, int], Any]] = {
    "create": lambda key, _: create(AGENT, "A title", labels=["bug"], key=key),
    "edit": lambda key, number: edit(AGENT, number, set_={"priority": "P0"}, add={"labels": ["bug"]}, key=key),
    "comment": lambda key, number: comment(AGENT, number, "hello", key=key),
    "link": lambda key, number: link(AGENT, number, "blocked_by", 1, key=key),
    "unlink": lambda key, number: link(AGENT, number, "blocked_by", 2, remove=True, key=key),
    "orphan": lambda key, number: link(AGENT, number, "parent", 3, remove=True, key=key),
}


@pytest.mark.parametrize("verb", KEYED)
def test_a_repeated_call_with_its_key_writes_once_and_says_the_same(journal: Journal, verb: str) -> None:
    made(journal), made(journal), made(journal)
    number = made(journal, blocked_by=[2], parent=3)
    first = journal.transact(KEYED[verb]("the key", number))
    head = journal.head()
    assert journal.transact(KEYED[verb]("the key", number)) == first
    written(journal, number, set_={"title": "went on"})
    assert journal.transact(KEYED[verb]("the key", number)) == first
    assert journal.head() == head + 1


@pytest.mark.parametrize("verb", KEYED)
def test_a_key_that_something_else_was_done_with_is_refused(journal: Journal, verb: str) -> None:
    made(journal), made(journal), made(journal)
    number = made(journal, blocked_by=[2], parent=3)
    journal.transact(edit(AGENT, number, set_={"title": "Something else"}, key="the key"))
    head = journal.head()
    failed(lambda: journal.transact(KEYED[verb]("the key", number)), "key_reused")
    assert journal.head() == head


def test_a_stub_is_a_ticket_once_it_is_written_on(journal: Journal) -> None:
    stub = journal.transact(lambda transaction: ticket_or_stub(transaction, "7.11", AGENT))
    assert stub.state == "Backlog"
    assert card(journal, 1).stub
    written(journal, 1, set_={"title": "The real title"})
    assert not card(journal, 1).stub


def test_since_is_when_the_ticket_came_to_its_state_and_not_when_it_was_written_on(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    since = shown(journal, number).since
    written(journal, number, set_={"title": "Other"})
    assert shown(journal, number).since == since == entries_of(journal, number)[-2].time
    moved(journal, agent(), number, command="plan", intent="lock")
    assert shown(journal, number).since == entries_of(journal, number)[-1].time
