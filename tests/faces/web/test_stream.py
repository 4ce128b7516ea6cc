"""The streams of what happens: who was cut off goes on where it was, whatever it says that it has seen."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from markupsafe import escape

from faces.journals import AGENT
from faces.programs import AUTHORIZED, SECONDS
from interlock.work.sessions.verbs import note
from work.attention.standings import thread_in

from .sites import Site

_ABSURD = ["-1", "x", "9" * 19, "1e3", "1.5", "7 7", "0x10", "²", "'; DROP TABLE entries; --"]


@contextmanager
def _listening(site: Site, path: str, last: str | None, **asked: str) -> Iterator[Iterator[tuple[str, str]]]:
    """The events of a stream, each with its id and its data."""
    authorized = {name.encode(): value.encode() for name, value in AUTHORIZED.items()}
    headers = authorized if last is None else {**authorized, b"last-event-id": last.encode()}
    with httpx.stream(
        "GET", f"{site.url}{path}", params=asked, headers=headers, verify=False, timeout=SECONDS
    ) as answer:
        assert answer.status_code == 200, answer.read()
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    id_ = ""
    for line in lines:
        if line.startswith("id: "):
            id_ = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield id_, line.removeprefix("data: ")


def _escaped(text: str) -> str:
    return str(escape(text))


@pytest.mark.parametrize("is_of_one", [False, True], ids=["of all", "of one instance"])
def test_none_is_missed_and_none_comes_twice_while_others_write(site: Site, is_of_one: bool) -> None:
    wanted, other = site.session(), site.session()
    begin, count = site.journal.head(), 90

    def write() -> None:
        for _ in range(count):
            for session in (wanted, other):
                site.journal.transact(note(session, "progress", AGENT, {"message": "goes on"}))

    writing = threading.Thread(target=write)
    writing.start()
    seen, asked = [str(begin)], {"instance": wanted} if is_of_one else {}
    for size in (1, 2, 5, 10) * 5:  # 90 in all
        with _listening(site, "/events", seen[-1], **asked) as events:
            seen += [next(events)[0] for _ in range(size)]
    writing.join(SECONDS)
    after = [one.seq for one in site.journal.entries(begin) if not is_of_one or one.instance == wanted]
    assert seen[1:] == [str(one) for one in after[:count]]


@pytest.mark.parametrize("last", _ABSURD)
def test_a_number_that_is_none_is_refused_with_words(site: Site, last: str) -> None:
    authorized = {name.encode(): value.encode() for name, value in AUTHORIZED.items()}
    headers = {**authorized, b"last-event-id": last.encode()}
    answer = httpx.get(f"{site.url}/events", headers=headers, verify=False, timeout=SECONDS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_argument")


def test_who_is_ahead_of_the_journal_hears_nothing_twice(site: Site) -> None:
    session = site.session()
    last = site.journal.head() + 2
    with _listening(site, "/events", str(last)) as events:
        for _ in range(3):
            site.journal.transact(note(session, "progress", AGENT, {"message": "goes on"}))
        assert next(events)[0] == str(last + 1)


@pytest.mark.parametrize("last", [None, "0", str(10**17), *_ABSURD])
def test_the_pages_of_who_comes_back_are_as_they_are_now(site: Site, last: str | None) -> None:
    """Regions are whole, so there is nothing to be missed, whatever was seen before."""
    thread_in(site.journal, "Stuck", f"Came before {last}")
    with _listening(site, "/live", last, show="/threads") as events:
        assert any(_escaped(f"Came before {last}") in json.loads(data)["html"] for _, data in events)
        thread_in(site.journal, "Stuck", f"Came after {last}")
        assert any(_escaped(f"Came after {last}") in json.loads(data)["html"] for _, data in events)
