"""Looking through the entries: what matches, page by page, both ways, and never the whole journal at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.journal import Entry, Journal, Sought, projection, reading, search
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED

from .databases import Address
from .histories import AGENT, HUMAN, created, reports

NAMED = Actor(ActorKind.AGENT, "Claude_100%", Channel.MCP)


def _note(said: str, actor: Actor = AGENT) -> Event:
    return Event(NOTED, actor, evidence=Evidence(data={"message": said}))


@pytest.fixture
def filled(journal: Journal) -> Journal:
    """Two sessions and a thread that tell of things in turn: 24 entries."""
    ids = [journal.create(machine, created()).entry.instance for machine in ("session", "session", "thread")]
    for number in range(7):
        journal.append(ids[0], reports(("analyzing", "implementing")[number % 2]))
        journal.append(ids[1], _note(f'note {number} says "ä%_!" \\ and ends'))
        journal.append(ids[2], Event(NOTED, NAMED, reason=f"Reason {number}", evidence=Evidence(data={})))
    return journal


def _all_back(journal: Journal, sought: Sought, most: int) -> list[Entry]:
    found, before = [], None
    while True:
        page = journal.search(sought, before=before, most=most)
        found += [entry for _, entry in page.entries]
        if page.older is None:
            return found
        before = page.older


def _all_on(journal: Journal, sought: Sought, most: int) -> list[Entry]:
    found: list[Entry] = []
    after: int | None = 0
    while after is not None:
        page = journal.search(sought, after=after, most=most)
        found += [entry for _, entry in reversed(page.entries)]
        after = page.newer
    return found


WANTED: dict[str, tuple[Sought, Callable[[Entry, str], bool]]] = {
    "anything": (Sought(), lambda entry, machine: True),
    "a machine": (Sought(machine="thread"), lambda entry, machine: machine == "thread"),
    "an event": (Sought(event="noted"), lambda entry, machine: entry.event == "noted"),
    "a kind of actor": (Sought(actor="agent"), lambda entry, machine: entry.actor_kind == "agent"),
    "a part of a name": (Sought(actor="CLAUDE_100%"), lambda entry, machine: entry.actor_id == NAMED.id),
    "a channel": (Sought(actor="mcp"), lambda entry, machine: entry.channel == "mcp"),
    "a reason": (Sought(text="reason 3"), lambda entry, machine: entry.reason == "Reason 3"),
    "evidence with quotes": (Sought(text='SAYS "ä%_!" \\'), lambda entry, machine: "note " in entry.evidence),
    "a wildcard is a letter": (Sought(text="note%says"), lambda entry, machine: False),
    "a state": (
        Sought(text="implementing"),
        lambda entry, machine: "implementing" in (entry.from_state, entry.to_state),
    ),
    "two things": (
        Sought(machine="session", event="noted"),
        lambda entry, machine: machine == "session" and entry.event == "noted",
    ),
    "nothing": (Sought(event="x' OR 1=1 --"), lambda entry, machine: False),
}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("most", [1, 4, 100])
@pytest.mark.parametrize("window", [3, 20_000])
def test_every_match_is_found_once_in_both_directions(
    filled: Journal, wanted: str, most: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WINDOW", window)
    sought, matches = WANTED[wanted]
    machines = {one.id: one.machine for one in filled.instances()}
    right = [entry for entry in filled.all_entries() if matches(entry, machines[entry.instance])]
    assert _all_back(filled, sought, most) == right[::-1]
    assert _all_on(filled, sought, most) == right


def test_an_instance_is_looked_up_however_old_it_is(filled: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WINDOW", 2)
    first = filled.instances("session")[0]
    found = filled.search(Sought(instance=first.id), most=100)
    assert [entry for _, entry in found.entries] == filled.history(first.id)[::-1]
    assert (found.older, found.newer) == (None, None)


def test_the_newest_page_has_nothing_newer_and_the_oldest_nothing_older(filled: Journal) -> None:
    newest = filled.search(Sought(), most=5)
    assert newest.newer is None
    assert newest.older == newest.entries[-1][1].seq
    oldest = filled.search(Sought(), after=0, most=5)
    assert oldest.older is None
    assert oldest.newer == oldest.entries[0][1].seq


@settings(max_examples=examples(150))
@given(before=st.integers(0, 10**18), after=st.none() | st.integers(0, 10**18), text=st.text(max_size=40))
def test_whatever_is_asked_is_answered(shared_journal: Journal, before: int, after: int | None, text: str) -> None:
    if "\x00" in text or not text.isprintable():
        text = ""
    shared_journal.search(Sought(text=text), before=before, after=after)
    shared_journal.search(Sought(actor=text), after=after)


def test_a_window_and_a_page_are_all_that_is_read(sqlite_journal: Journal) -> None:
    """The plan of a search goes along the numbers, and that of an instance by its index; neither sorts."""
    with sqlite_journal._store.read() as sql:
        for sought in (Sought(text="x"), Sought(), Sought(machine="session"), Sought(instance="0" * 26)):
            seen = _Explained(sql)
            search.find_entries(seen, sought)
            assert seen.plans
            assert not [line for line in seen.plans if "SCAN" in line or "B-TREE" in line], seen.plans


def test_what_stands_is_counted_from_an_index_alone(sqlite_journal: Journal) -> None:
    for _ in range(3):
        sqlite_journal.create("session", created())
    done = sqlite_journal.create("thread", created()).entry.instance
    sqlite_journal.append(done, Event("abandon", HUMAN))
    assert sqlite_journal.counts_by_state() == {"session": {"idle": 3}}
    with sqlite_journal._store.read() as sql:
        seen = _Explained(sql)
        reading.count_by_state(seen)
        assert [line for line in seen.plans if "COVERING INDEX instances_standing" in line], seen.plans


class _Explained:
    """SQL whose statements are explained too."""

    dialect = "sqlite"

    def __init__(self, sql: object) -> None:
        self._sql = sql
        self.memory: dict[str, object] = {}
        self.plans: list[str] = []

    def rows(self, statement: str, parameters: object = ()) -> list[tuple[object, ...]]:
        if "max(seq)" not in statement:
            self.plans += [row[3] for row in self._sql.rows(f"EXPLAIN QUERY PLAN {statement}", parameters)]  # type: ignore[attr-defined]
        return self._sql.rows(statement, parameters)  # type: ignore[attr-defined,no-any-return]


def test_an_entry_is_found_by_its_number(filled: Journal, address: Address) -> None:
    last = list(filled.all_entries())[-1]
    assert filled.entry(last.seq) == ("thread", last)
    assert filled.entry(last.seq + 1) is None


def test_what_is_new_for_a_projection_is_looked_for_along_the_entries(sqlite_journal: Journal) -> None:
    with sqlite_journal._store.read() as sql:
        seen = _Explained(sql)
        seen.rows(f"SELECT 1 {projection._NEWER} LIMIT 1", (5, "session"))
        assert "SEARCH e USING INTEGER PRIMARY KEY" in seen.plans[0], seen.plans
