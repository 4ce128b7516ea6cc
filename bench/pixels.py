"""From a journal's entry to a change on a page that somebody looks at, while few or many others listen."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import msgspec

from bench.browser import NoBrowser, Seen, browser
from bench.project import AUTHORIZED
from bench.served import AGENT, Served, bare_stream, filled, listening, served
from bench.timing import Comparison, compare, missing
from interlock.journal import Journal
from interlock.work.sessions.verbs import Caller, create, update

__all__ = ["measure"]

_OTHERS = (0, 49, 499)
_STATES = {"implementing": "Implementing", "testing": "Testing"}
"""States to go to and from, and what the page says then."""
_BARE = "bare Starlette, the same bytes"
_PAUSE_SECONDS = 0.2
_WARM_UP = len(_STATES)
_SUBJECT = "entry to pixel"


class _Side(msgspec.Struct):
    """One of the two servers, its page, and what was measured."""

    server: Served
    page: Seen
    milliseconds: list[float] = msgspec.field(default_factory=list)
    busy: float = 0.0
    """Seconds of the processor, for all entries."""


def measure(samples: int, directory: Path) -> Iterator[Comparison]:
    """The dashboard beside a program that pushes the same bytes, by turns."""
    journal = filled(directory, 10)
    try:
        with browser() as chromium, served(directory) as ours, bare_stream() as bare:
            session = journal.transact(create(Caller(AGENT, "claude"))).session_id
            journal.transact(update(session, "analyzing", AGENT))
            events = _recorded(journal, session, ours)
            bare.push("page", _get(ours, "/"))
            bare.push("event", events["testing"])
            for others in _OTHERS:
                sides = [_Side(one, Seen(chromium.new_page(), one.url)) for one in (ours, bare)]
                with listening(ours, others), listening(bare, others):
                    _sample(journal, session, events, sides, samples)
                yield from _compared(others, *sides)
    except NoBrowser as error:
        yield missing(_SUBJECT, _BARE, str(error))
    finally:
        journal.close()


def _sample(journal: Journal, session: str, events: dict[str, bytes], sides: list[_Side], samples: int) -> None:
    ours, bare = sides
    pauses = random.Random(8)
    for number in range(-_WARM_UP, samples):
        state = [*_STATES][number % 2]
        for side in sides:
            side.page.expect(_STATES[state])
            time.sleep(pauses.random() * _PAUSE_SECONDS)  # else each entry comes right after a look at the journal
            before = side.server.used()
            if side is ours:
                journal.transact(update(session, state, AGENT))
            else:
                bare.server.push("event", events[state])
            began = time.time()
            took = (side.page.at() - began) * 1000
            time.sleep(_PAUSE_SECONDS / 4)  # until the others have it, too
            if number >= 0:
                side.milliseconds.append(took)
                side.busy += side.server.used() - before


def _compared(others: int, ours: _Side, bare: _Side) -> Iterator[Comparison]:
    title = f"{_SUBJECT}, {others} others listen"
    yield compare(f"{title}, p50", _BARE, ours.milliseconds, bare.milliseconds, unit=" ms")
    slow, slow_bare = _p95(ours.milliseconds), _p95(bare.milliseconds)
    yield Comparison(f"{title}, p95", _BARE, " ms", slow, slow_bare, slow / slow_bare)
    spent, least = (one.busy / len(one.milliseconds) * 1000 for one in (ours, bare))
    ratio = spent / least if least else None
    yield Comparison(f"{title}, CPU of the server", _BARE, " ms", spent, least, ratio, note="for each entry")


def _p95(milliseconds: list[float]) -> float:
    return statistics.quantiles(milliseconds, n=20, method="inclusive")[-1]


def _recorded(journal: Journal, session: str, ours: Served) -> dict[str, bytes]:
    """What the stream says in each state, of those regions that differ."""
    found = {}
    for state in _STATES:
        journal.transact(update(session, state, AGENT))
        found[state] = _regions(ours, _STATES[state])
    changed = [name for name, html in found["testing"].items() if found["implementing"][name] != html]
    return {state: b"".join(_event(name, regions[name]) for name in changed) for state, regions in found.items()}


def _event(name: str, html: str) -> bytes:
    return b"id: 1\nevent: region\ndata: %s\n\n" % json.dumps({"name": name, "html": html}).encode()


def _regions(server: Served, wanted: str) -> dict[str, str]:
    """The regions of the page, when one of them says what is wanted."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/live?show=/", headers=AUTHORIZED)
    answer = connection.getresponse()
    regions: dict[str, str] = {}
    names = _get(server, "/").count(b'sse-swap="/#')  # others are those of every page
    while len(regions) < names or not any(wanted in html for html in regions.values()):
        line = answer.readline()
        if line.startswith(b"data: "):
            told = json.loads(line.removeprefix(b"data: "))
            if "html" in told:  # else it says how many wait, and belongs to no region
                regions[told["name"]] = told["html"]
    connection.close()
    return regions


def _get(server: Served, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers=AUTHORIZED)
    found = connection.getresponse().read()
    connection.close()
    return found
