"""Following: every entry exactly once and in order, while others write."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from itertools import islice

from interlock.journal import Journal, Transaction

from .children import SECONDS, child, following, writing
from .databases import Address
from .histories import AGENT, created, reports

WRITERS = 4
EACH = 30


def test_followers_see_every_entry_once_and_in_order_while_four_processes_write(
    journal: Journal, address: Address
) -> None:
    last = WRITERS * EACH
    seen: list[int] = []

    def follow() -> None:
        seen.extend(following_until(journal, after=0, last=last))

    here = threading.Thread(target=follow, daemon=True)
    with ExitStack() as stack:
        follower = stack.enter_context(child(following, address, 0, last))
        writers = [stack.enter_context(child(writing, address, EACH)) for _ in range(WRITERS)]
        assert [one.receive() for one in (follower, *writers)] == ["ready"] * (WRITERS + 1)
        here.start()
        for writer in writers:
            writer.send("go")
        written = [writer.receive() for writer in writers]
        elsewhere = follower.receive()
    here.join(SECONDS)
    assert not here.is_alive()
    assert sorted(seq for each in written for seq in each) == list(range(1, last + 1))
    assert seen == list(range(1, last + 1))
    assert elsewhere == list(range(1, last + 1))


def test_a_follower_in_the_same_process_sees_what_threads_write(journal: Journal) -> None:
    sessions = [journal.create("session", created(AGENT)).entry.instance for _ in range(WRITERS)]
    last = WRITERS + WRITERS * EACH
    seen: dict[str, list[int]] = {"one": [], "two": []}

    def follow(name: str) -> None:
        seen[name] += following_until(journal, after=0, last=last)

    def write(id_: str) -> None:
        for _ in range(EACH):
            journal.append(id_, reports("testing"))

    followers = [threading.Thread(target=follow, args=(name,), daemon=True) for name in seen]
    writers = [threading.Thread(target=write, args=(id_,), daemon=True) for id_ in sessions]
    for thread in (*followers, *writers):
        thread.start()
    for thread in (*followers, *writers):
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert seen == {"one": list(range(1, last + 1)), "two": list(range(1, last + 1))}


def test_a_follower_stops_when_it_is_told_to(journal: Journal) -> None:
    journal.create("session", created(AGENT))
    told, caught_up = threading.Event(), threading.Event()
    seen: list[int] = []

    def follow() -> None:
        for entry in journal.follow(stop=told.is_set):
            seen.append(entry.seq)
            caught_up.set()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    assert caught_up.wait(SECONDS)
    told.set()
    follower.join(SECONDS)
    assert not follower.is_alive()
    assert seen == [1]
    assert list(journal.follow(stop=lambda: True)) == []


def test_a_follower_goes_on_from_where_it_was(journal: Journal) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    for state in ("analyzing", "implementing", "testing"):
        journal.append(id_, reports(state))
    assert following_until(journal, after=0, last=2) == [1, 2]
    assert following_until(journal, after=2, last=4) == [3, 4]
    journal.append(id_, reports("committing"))
    assert following_until(journal, after=4, last=5) == [5]


def following_until(journal: Journal, after: int, last: int) -> list[int]:
    seen = []
    for entry in journal.follow(after):
        seen.append(entry.seq)
        if entry.seq >= last:
            break
    return seen


def test_a_follower_of_one_instance_sees_only_its_entries(journal: Journal) -> None:
    one, other = (journal.create("session", created(AGENT)).entry.instance for _ in range(2))
    for id_ in (one, other, one):
        journal.append(id_, reports("testing"))
    seen = islice(journal.follow(instance=one), 3)
    assert [(entry.instance, entry.seq) for entry in seen] == [(one, 1), (one, 3), (one, 5)]


def test_a_follower_of_more_than_a_page_misses_none(journal: Journal) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance

    def many(transaction: Transaction) -> None:
        for _ in range(2_100):
            transaction.append(id_, reports("testing"))

    journal.transact(many)
    assert following_until(journal, after=0, last=2_101) == list(range(1, 2_102))
    assert [entry.seq for entry in journal.all_entries()] == list(range(1, 2_102))
