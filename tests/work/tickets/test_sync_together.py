"""People work here and there at once, in any order: in the end the tickets and the board are in step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.errors import InterlockError
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE
from world.github_server import FAULTS, Check

from .boards import MACHINE, Office, office_at

STATES = st.sampled_from(list(MACHINE.states))
TITLES = st.sampled_from(["One", "Two", "Three"])
EDITS = st.sampled_from([{"title": "Four"}, {"body": "Text"}, {"priority": "P0"}])
FAILURES = st.sampled_from(sorted(set(FAULTS) - {"silence-done"}))

Act = Callable[[Office, int, Any], object]

ANYTIME: Mapping[str, tuple[st.SearchStrategy[Any], Act]] = {
    "create": (TITLES, lambda office, _, title: office.create(title)),
    "add there": (TITLES, lambda office, _, title: office.there.add_issue(title)),
    "sync": (st.booleans(), lambda office, _, only_show: office.sync(only_show=only_show)),
    "fail": (st.tuples(st.integers(0, 12), FAILURES), lambda office, _, how: office.server.fail_in_turn(*how)),
}
HERE: Mapping[str, tuple[st.SearchStrategy[Any], Act]] = {
    "move": (STATES, lambda office, number, state: office.move(number, state)),
    "edit": (EDITS, lambda office, number, fields: office.edit(number, **fields)),
    "comment": (TITLES, lambda office, number, text: office.comment(number, text)),
    "accept": (st.none(), lambda office, number, _: office.accept(number)),
    "restore": (st.none(), lambda office, number, _: office.restore(number)),
}
THERE: Mapping[str, tuple[st.SearchStrategy[Any], Act]] = {
    "move there": (STATES, lambda office, issue, state: office.there.move(issue, STATE, state)),
    "rename there": (TITLES, lambda office, issue, title: setattr(office.there.issue(issue), "title", title)),
    "rank there": (st.just("P3"), lambda office, issue, option: office.there.move(issue, PRIORITY, option)),
    "size there": (st.just("XL"), lambda office, issue, option: office.there.move(issue, ESTIMATE, option)),
    "close there": (st.sampled_from(["COMPLETED", "NOT_PLANNED"]), lambda office, *how: office.there.close(*how)),
    "reopen there": (st.none(), lambda office, issue, _: office.there.reopen(issue)),
    "comment there": (TITLES, lambda office, issue, text: office.there.comment(issue, "ada", text)),
}
ACTS = st.sampled_from([*ANYTIME, *HERE, *THERE]).flatmap(
    lambda name: st.tuples(st.just(name), ({**ANYTIME, **HERE, **THERE})[name][0])
)
"""What somebody does, here or there."""


def _act(office: Office, which: int, name: str, given: object) -> None:
    """Do something, to one of the tickets or to one of the cards where there are any."""
    tickets, cards = office.numbers(), [card.content.number for card in office.there.cards if card.content]
    if name in ANYTIME:
        ANYTIME[name][1](office, 0, given)
    elif name in HERE and tickets:
        HERE[name][1](office, tickets[which % len(tickets)], given)
    elif name in THERE and cards:
        THERE[name][1](office, cards[which % len(cards)], given)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), ACTS), min_size=5, max_size=30))
def test_whoever_does_what_where_in_the_end_all_is_in_step(
    check: Check | None, acts: list[tuple[int, tuple[str, object]]]
) -> None:
    with tempfile.TemporaryDirectory() as directory, office_at(Path(directory) / "journal.db", check) as office:
        for which, (act, given) in acts:
            with suppress(InterlockError):
                _act(office, which, act, given)
            office.server.catch_up()
        office.recover()
        made = {one.id for one in office.there.issues}
        for one in office.sync().waiting:
            office.restore(one.number)
        assert office.sync().waiting == []
        office.assert_in_step(closed_by_us=False)
        assert {one.id for one in office.there.issues} == made
        office.quiet_sync()
