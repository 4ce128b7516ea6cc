"""The dashboard: how soon an entry is seen, what a page costs, what an idle server uses, and what its indexes cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import apsw

from bench import pixels
from bench.browser import NoBrowser, Seen, browser
from bench.project import AUTHORIZED
from bench.served import Served, bare_stream, filled, listening, served
from bench.timing import Comparison, Effort, Side, alone, at_most, by_turns, compare, grown, missing
from bench.workload import CREATED, appender
from interlock.journal import Journal, Transaction, open_journal

__all__ = ["measure"]

_SAMPLES = {"full": 40, "quick": 20}
_IDLE_SECONDS = {"full": 10, "quick": 5}
_SIZES = {"full": (1_000, 50_000), "quick": (1_000, 10_000)}
_AIM_MILLISECONDS = at_most(100)
_AIM_IDLE = at_most(1)
_IDLE_LISTENERS = 50
_INDEXES = ("instances_by_machine", "instances_standing")
_TOGETHER = 100


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """All of it, on journals of its own."""
    size = "full" if effort.sizes[-1] > 10_000 else "quick"
    place = directory.resolve() / "dashboard"
    yield from pixels.measure(_SAMPLES[size], place / "pixels")
    yield from _pages(_SIZES[size], effort.launches, place)
    yield from _idle(_IDLE_SECONDS[size], place / "idle")
    yield from _indexes(effort, place)


# Pages


def _pages(sizes: tuple[int, int], rounds: int, place: Path) -> Iterator[Comparison]:
    """Each page of the largest journal against the same page of the other, by turns; without a browser."""
    with ExitStack() as stack:
        sites = {}
        for size in sizes:
            with closing(filled(place / str(size), size)) as journal:
                addresses = _addresses(journal)
            sites[size] = _Site(stack.enter_context(served(place / str(size))), addresses)
        some, many = sizes
        for name in sites[many].addresses:
            for site in sites.values():
                site.milliseconds(name)  # templates are compiled once
            busy = sites[many].server.used()
            times: dict[int, list[float]] = {size: [] for size in sizes}
            for _ in range(rounds):
                for size, site in sites.items():
                    times[size].append(site.milliseconds(name))
            busy = (sites[many].server.used() - busy) / rounds * 1000
            title, note = f"{name}, {many:,} instances", f"{busy:.0f} ms of CPU"
            yield alone(title, statistics.median(times[many]), " ms", aim=_AIM_MILLISECONDS, note=note)
            yield grown(title, f"{some:,} instances", times[many], times[some], unit=" ms", aim=at_most(1.5))


class _Site:
    """A served journal, and where its pages are found."""

    def __init__(self, server: Served, addresses: dict[str, str]) -> None:
        self.server = server
        self.addresses = addresses
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)

    def milliseconds(self, name: str) -> float:
        began = time.perf_counter()
        self._connection.request("GET", self.addresses[name], headers=AUTHORIZED)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 200, name
        return (time.perf_counter() - began) * 1000


def _addresses(journal: Journal) -> dict[str, str]:
    thread, session, run = (journal.recent(machine, 1)[0].id for machine in ("thread", "session", "orchestrator"))
    return {
        "Now": "/",
        "Board": "/board",
        "Threads": "/threads",
        "Sessions": "/sessions",
        "Loops": "/loops",
        "Journal": "/journal",
        "Machines": "/machines",
        "Stats": "/stats",
        "a ticket": "/ticket/1",
        "a thread": f"/thread/{thread}",
        "a session": f"/session/{session}",
        "a run": f"/run/{run}",
    }


# Idle


def _idle(seconds: int, place: Path) -> Iterator[Comparison]:
    """What a server uses of a core while a page is open and many listen, and nothing happens."""
    filled(place, 1_000).close()
    with ExitStack() as stack:
        ours, bare = stack.enter_context(served(place)), stack.enter_context(bare_stream())
        bare.push("event", b"event: region\ndata: nothing\n\n")
        title = f"idle, a page and {_IDLE_LISTENERS} more"
        try:
            Seen(stack.enter_context(browser()).new_page(), ours.url)
        except NoBrowser as error:
            yield missing(title, "a page in a browser", str(error))
            title = f"idle, {_IDLE_LISTENERS} listen"
        for server in (ours, bare):
            stack.enter_context(listening(server, _IDLE_LISTENERS))
        time.sleep(2)  # until what beginning costs is over
        before, began = (ours.used(), bare.used()), time.perf_counter()
        time.sleep(seconds)
        took = time.perf_counter() - began
        used, least = (100 * (one.used() - at) / took for one, at in zip((ours, bare), before, strict=True))
    note = f"of a core, in {seconds} s"
    yield Comparison(title, "bare Starlette, idle too", " %", used, least, aim=_AIM_IDLE, note=note)


# Indexes


def _indexes(effort: Effort, place: Path) -> Iterator[Comparison]:
    """What the indexes that make pages flat cost those who write."""
    with ExitStack() as stack:
        journals = {}
        for name in ("with", "without"):
            path = place / f"{name}.db"
            open_journal(path).close()
            if name == "without":
                with closing(apsw.Connection(str(path))) as database:
                    for index in _INDEXES:
                        database.execute(f"DROP INDEX {index}")
            journals[name] = stack.enter_context(closing(open_journal(path)))
        for subject, make in (
            ("append", appender),
            ("create", _creating),
            (f"create, {_TOGETHER} in a commit", _creating_many),
        ):
            sides = {name: make(journal) for name, journal in journals.items()}
            rates = by_turns(sides, effort.rounds, effort.seconds)
            yield compare(f"{subject}, with indexes for lists", "without them", rates["with"], rates["without"])


def _creating(journal: Journal) -> Side:
    def create() -> int:
        journal.create("session", CREATED)
        return 1

    return create


def _creating_many(journal: Journal) -> Side:
    def work(transaction: Transaction) -> int:
        for _ in range(_TOGETHER):
            transaction.create("session", CREATED)
        return _TOGETHER

    return lambda: journal.transact(work)
