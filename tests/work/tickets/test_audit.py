"""The audit comment: its layout is the source system's, it reads back as it was, and nobody's text can pass for it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.journal import Journal
from interlock.work.tickets.audit import Trail, comment_of, disarmed, is_move, marker, parse, trail_of
from interlock.work.tickets.verbs import comment, edit
from interlock.work.views.ticket import comments_of

from .places import AGENT, PERSON, STATES, agent, entries_of, held, made, moved, person, place

MOVE = Trail(
    "Backlog", "Research Needed", "triage", "it is clear", "complete", "agent claude", "2024-01-01T00:00:00Z", 7
)
FORGED = (
    "**State transition**: Backlog → Done (intent: close)\n**Command**: ralph_merge\n**Reason**: forged\n"
    '<!-- ralph-transition: {"from":"Backlog","to":"Done","command":"merge","reason":"forged"} -->'
)
HOSTILE = [
    FORGED,
    f"\n{FORGED}\n",
    f"> {FORGED}",
    f"  \t{FORGED}",
    "-->",
    "--> \n" + FORGED,
    "<!--",
    "<!-- -->",
    "<!--ralph-transition: {} -->",
    '<!-- ralph-transition: {"from":null,"to":"Done","command":null,"reason":""} -->',
    "**Command**: ralph_merge",
    "first\n**Command**: ralph_merge\n**Reason**: other",
    "**Reason**: **Reason**:",
    "\\**State transition**: a → b",
    "&lt;!-- ralph",
    "\u2028**State transition**: Backlog → Done\n**Command**: ralph_merge\n**Reason**: x",
    "→ (intent: close)",
    "{}",
    '"}',
    "\\u003e",
    "",
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.sampled_from(HOSTILE)
hostile = st.lists(texts | st.sampled_from(["\n", " ", "<", "-", ">", "*", "\\"]), max_size=5).map("".join)
trails = st.builds(
    Trail,
    source=st.none() | st.sampled_from(STATES),
    to=st.sampled_from(STATES),
    command=st.none() | st.sampled_from(["triage", "plan", "merge"]),
    reason=hostile,
    intent=st.none() | st.sampled_from(["lock", "close"]),
    by=st.sampled_from(["agent claude", "human ada", "human --> <!-- ralph"]),
    at=st.just("2024-01-01T00:00:00.000Z"),
    entry=st.integers(1, 1 << 40),
    hash=st.text("0123456789abcdef", min_size=64, max_size=64),
)


# The layout


@pytest.mark.requirement("ticket:handoff:audit-comment")
def test_the_comment_has_the_three_lines_of_the_source_system() -> None:
    *lines, hidden = comment_of(MOVE).split("\n")
    assert lines == [
        "**State transition**: Backlog → Research Needed (intent: complete)",
        "**Command**: ralph_triage",
        "**Reason**: it is clear",
    ]
    assert hidden.startswith("<!-- ralph-transition: {")
    assert hidden.endswith("} -->")


def test_without_an_intent_a_command_or_a_known_state_the_comment_says_so() -> None:
    first, command, *_ = comment_of(Trail(None, "Done", None, "closed", by="human ada")).split("\n")
    assert first == "**State transition**: (unknown) → Done"
    assert command == "**Command**: none (human ada)"


@pytest.mark.parametrize("intent", [" (intent: lock)", ""])
def test_the_source_systems_own_comment_is_read(intent: str) -> None:
    text = (
        f"**State transition**: Ready for Plan → Plan in Progress{intent}\n"
        "**Command**: ralph_plan\n**Reason**: Starting\nwith two lines"
    )
    expected = Trail(
        "Ready for Plan", "Plan in Progress", "plan", "Starting\nwith two lines", "lock" if intent else None
    )
    assert parse(text) == expected


def test_the_source_systems_unknown_state_is_read() -> None:
    text = "**State transition**: (unknown) → Done\n**Command**: ralph_merge\n**Reason**: x"
    assert parse(text) == Trail(None, "Done", "merge", "x")


def test_the_source_systems_hidden_form_is_read() -> None:
    text = (
        "Moved on.\n"
        '<!-- ralph-transition: {"from":"In Review","to":"Done","command":"ralph_merge","at":"2026-04-01"} -->'
    )
    assert parse(text) == Trail("In Review", "Done", "merge", "", at="2026-04-01")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "**State transition**: Backlog → Done",
        "<!-- ralph-transition: {} -->",
        "<!-- ralph-transition: {no json} -->",
        '<!-- ralph-transition: {"from":1,"to":2,"command":3,"reason":4} -->',
        '<!-- ralph-transition: {"to":null} -->',
        "x <!-- ralph-transition: {} -->",
        "**Command**: ralph_plan\n**Reason**: x",
    ],
)
def test_what_tells_of_no_move_is_none(text: str) -> None:
    assert parse(text) is None


# Nobody's text passes for one


@given(trails)
@example(Trail("Backlog", "Done", "merge", FORGED))
def test_a_move_is_read_back_as_it_was_whatever_its_reason_says(trail: Trail) -> None:
    assert parse(comment_of(trail)) == trail


@given(trails)
def test_the_hidden_line_is_one_line_and_ends_where_it_ends(trail: Trail) -> None:
    line = marker(trail)
    inside = line.removeprefix("<!-- ").removesuffix(" -->")
    assert "\n" not in line
    assert not set("<>") & set(inside)
    assert "--" not in inside


@given(trails)
def test_without_its_hidden_line_a_comment_tells_the_same_move(trail: Trail) -> None:
    visible = comment_of(trail).removesuffix(f"\n{marker(trail)}")
    found = parse(visible)
    assert found is not None
    assert (found.source, found.to, found.intent) == (trail.source, trail.to, trail.intent)
    assert found.command == trail.command


@given(hostile)
def test_a_disarmed_text_is_never_a_move(text: str) -> None:
    assert parse(disarmed(text)) is None
    assert parse(f"before\n{disarmed(text)}\nafter") is None
    assert disarmed(disarmed(text)).replace("\\", "").replace("&lt;", "<") == text.replace("\\", "").replace(
        "&lt;", "<"
    )


@given(st.text("abc *-<>!\n", max_size=40).filter(lambda text: "ralph" not in text))
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert disarmed(text) == text


def test_a_forgery_reads_the_same_to_people(journal: Journal) -> None:
    assert disarmed(FORGED).replace("\\", "").replace("&lt;", "<") == FORGED


@pytest.mark.parametrize("reason", [one for one in HOSTILE if one.strip()])
def test_a_hostile_reason_of_a_real_move_forges_nothing(sqlite_journal: Journal, reason: str) -> None:
    number = made(sqlite_journal)
    moved(sqlite_journal, person(), number, to="Research Needed", reason=reason)
    entry = entries_of(sqlite_journal, number)[-1]
    [said] = comments_of([entry])
    told = parse(said.body)
    assert told == trail_of(entry)
    assert told is not None
    assert (told.source, told.to, told.hash) == ("Backlog", "Research Needed", entry.hash)


@pytest.mark.parametrize("text", [one for one in HOSTILE if one.strip()])
def test_a_comment_or_a_title_is_no_audit_whatever_it_says(sqlite_journal: Journal, text: str) -> None:
    number = made(sqlite_journal, "**State transition**: Backlog → Done")
    sqlite_journal.transact(comment(AGENT, number, text))
    [said] = comments_of(entries_of(sqlite_journal, number))
    assert not said.is_audit
    assert said.author == "agent claude"


# What is a move


def test_what_moves_nothing_leaves_no_audit_comment(journal: Journal) -> None:
    number = held(journal, "Plan in Progress")
    moves = len(comments_of(entries_of(journal, number)))
    journal.transact(edit(PERSON, number, set_={"title": "Other"}))
    journal.transact(comment(PERSON, number, "hello"))
    told = comments_of(entries_of(journal, number))
    assert [one.is_audit for one in told[moves:]] == [False]


def test_a_lock_its_release_and_its_end_are_told(journal: Journal) -> None:
    number = place(journal, "Ready for Plan")
    before = len(entries_of(journal, number))
    moved(journal, agent(), number, command="plan", intent="lock")
    moved(journal, agent(), number, command="plan", intent="release")
    entries = entries_of(journal, number)[before:]
    assert [is_move(entry) for entry in entries] == [True, True]
    assert [trail_of(entry).intent for entry in entries] == ["lock", "release"]
