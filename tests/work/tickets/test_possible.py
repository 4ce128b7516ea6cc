"""What a refusal lists as possible is possible for the very caller who reads it: each listed call is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from faces.parsing import parsed
from interlock.journal import Journal, open_journal
from interlock.machine import Event
from interlock.work.sessions.verbs import DRIVER, Caller
from interlock.work.tickets.numbers import known_ticket
from journal.histories import Clock

from .places import STATES, TABLE, agent, moved, person, place, refused

WHO = ("an agent over MCP", "a person without a terminal", "a person at a terminal")
OPEN = [state for state in STATES if not TABLE.terminal(state)]
_CALLS = re.compile(r"handoff_ticket\((\{.*?\})\) → ([^;.]+)|`(ralph ticket handoff [^`]*)` → ([^;.]+)")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return open_journal(tmp_path / "journal.db", now=Clock())


def _asks(who: str) -> tuple[Caller, dict[str, bool]]:
    if who == WHO[0]:
        return agent(), {}
    return person(), {"present": who == WHO[2]}


def _placed(journal: Journal, state: str, *, has_thread: bool) -> int:
    number = place(journal, state)
    if has_thread:
        parent = known_ticket(journal, number).id
        journal.transact(lambda transaction: transaction.create("thread", Event("created", DRIVER), parent=parent))
        if known_ticket(journal, number).state != state:  # it follows its thread; a person takes it back
            moved(journal, person(), number, to=state)
    return number


def _listed(hint: str) -> list[tuple[dict[str, str | None], str]]:
    """The calls of a hint, each with the state that it leads to."""
    found: list[tuple[dict[str, str | None], str]] = []
    for text, to, line, there in _CALLS.findall(hint):
        if text:
            given = json.loads(text)
            asked = {"command": given["command"], "intent": given.get("intent"), "to": given.get("to_state")}
        else:
            words = parsed(line)[2]
            asked = {"command": words.command, "intent": words.intent, "to": words.to_state}
        found.append((asked, to or there))
    return found


@pytest.mark.parametrize("has_thread", [False, True], ids=["alone", "with a thread"])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("state", OPEN)
def test_every_listed_call_can_be_made(journal: Journal, state: str, who: str, has_thread: bool) -> None:
    caller, given = _asks(who)
    command = {"command": "plan"} if who == WHO[0] else {}
    number = _placed(journal, state, has_thread=has_thread)
    error = refused(journal, caller, number, to="Nowhere", **command, **given)
    listed = _listed(error.hint)
    if who == WHO[2]:
        assert listed, error.hint
    for asked, to in listed:
        fresh = _placed(journal, state, has_thread=has_thread)
        assert moved(journal, caller, fresh, **asked, **given).new_state == to


def test_a_merge_that_was_seen_is_listed_and_one_that_was_not_is_not(journal: Journal) -> None:
    number = place(journal, "In Review")
    seen = refused(journal, agent(), number, command="merge", to="Backlog", merged="c" * 40)
    assert '"intent": "complete"' in seen.hint
    told = moved(journal, agent(), number, command="merge", intent="complete", merged="c" * 40)
    assert told.new_state == "Done"
    other = place(journal, "In Review")
    unseen = refused(journal, agent(), other, command="merge", intent="complete")
    assert '"intent": "complete"' not in unseen.hint
