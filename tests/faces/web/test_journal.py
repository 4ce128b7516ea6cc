"""The journal's pages: filtered, page by page, an entry in its chain; and how things stood, and two side by side."""

from __future__ import annotations

import re
from itertools import permutations
from urllib.parse import quote

import pytest

from faces.journals import AGENT, PERSON, SYSTEM, reports
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.gates.approval import refused_attempt

from .sites import HOSTILE, Site

HOSTILE_NAME = "<img src=x onerror=alert(1)>"
TURNED = "before \u202e after \u200b \x7f end"


def _session(site: Site, *states: str, reason: str | None = None) -> str:
    made = site.journal.create("session", Event("created", SYSTEM, evidence=Evidence(data={"ticket_id": "7"})))
    for state in states:
        site.journal.append(made.entry.instance, reports(state, reason))
    return made.entry.instance


def _numbers(page: str) -> list[int]:
    """The numbers of the entries that a page lists."""
    return [int(one) for one in re.findall(r'id="e(\d+)"', page)]


@pytest.fixture(scope="module")
def hostile(site: Site) -> str:
    """A session in which every word that somebody else chooses is hostile."""
    villain = Actor(ActorKind.AGENT, HOSTILE_NAME, Channel.MCP)
    session = _session(site)
    data = {"message": HOSTILE, HOSTILE: [TURNED, {"deep": HOSTILE}], "type": HOSTILE_NAME}
    site.journal.append(session, Event(NOTED, villain, reason=HOSTILE, evidence=Evidence(data=data)))
    site.journal.append(session, Event("update_session_state", villain, "analyzing", reason=HOSTILE))
    return session


# The list


def test_the_newest_come_first_with_all_that_they_say(site: Site) -> None:
    session = _session(site, "analyzing", "reviewing", reason="it is so")
    page = site.page("/journal")
    newest = site.journal.history(session)[-1]
    numbers = _numbers(page)
    assert numbers[0] == newest.seq == site.journal.head()
    assert numbers == sorted(numbers, reverse=True)
    row = page.split(f'id="e{newest.seq}"')[1].split("</li>")[0]
    for said in ("update_session_state", "Analyzing", "Reviewing", "agent", "claude", "it is so", newest.hash[:8]):
        assert said in row
    assert "off path" in row
    assert "following" in page


def test_an_empty_filter_says_what_to_do(site: Site) -> None:
    page = site.page("/journal?event=no_such_event")
    assert not _numbers(page)
    assert "No entry here matches" in page


def test_each_field_filters_and_stays_filled_in(site: Site) -> None:
    session = _session(site, "analyzing")
    site.journal.append(session, Event(NOTED, PERSON, evidence=Evidence(data={"message": 'a "needle" here'})))
    first, moved, noted = (entry.seq for entry in site.journal.history(session))
    assert set(_numbers(site.page(f"/journal?instance={session}"))) == {first, moved, noted}
    assert set(_numbers(site.page(f"/journal?instance={session[-8:]}"))) == {first, moved, noted}
    assert _numbers(site.page(f"/journal?instance={session}&event=noted")) == [noted]
    assert _numbers(site.page(f"/journal?instance={session}&actor=human")) == [noted]
    page = site.page("/journal?text=%22needle%22&machine=session")
    assert _numbers(page) == [noted]
    assert "&#34;needle&#34;" in page
    assert "<option selected>session</option>" in page


def test_pages_lead_both_ways_and_none_is_left_out(site: Site) -> None:
    session = _session(site)
    for number in range(120):
        site.journal.append(session, Event(NOTED, AGENT, evidence=Evidence(data={"message": f"n{number}"})))
    all_numbers = [entry.seq for entry in site.journal.history(session)]
    path, seen = f"/journal?instance={session}", []
    pages = []
    while path:
        page = site.page(path)
        pages.append(_numbers(page))
        seen += pages[-1]
        found = re.search(r'rel="next" href="([^"]+)"', page)
        path = found[1].replace("&amp;", "&") if found else ""
    assert seen == all_numbers[::-1]
    assert "Newest, and follow" in page
    newer = re.search(r'rel="prev" href="([^"]+)"', page)
    assert newer is not None
    back = _numbers(site.page(newer[1].replace("&amp;", "&")))
    assert back
    assert set(back).isdisjoint(pages[-1])
    assert min(back) == max(pages[-1]) + 1


@pytest.mark.parametrize(
    "query",
    [
        "before=x", "before=-1", "after=99999999999999999999", "before=0", "after=0", "text=%00", "text=%ff",
        "machine=../../etc/passwd", "machine=session&machine=thread", "text=" + "x" * 5000, "event=%3Cscript%3E",
    ],
)  # fmt: skip
def test_whatever_is_asked_is_answered(site: Site, query: str) -> None:
    site.page(f"/journal?{query}")


def test_what_others_wrote_cannot_do_anything(site: Site, hostile: str) -> None:
    for path in (f"/journal?instance={hostile}", f"/at/{hostile}", f"/at/{hostile}?version=2",
                 f"/journal?text={quote(HOSTILE)}&actor={quote(HOSTILE_NAME)}",
                 f"/compare?left={hostile}&right={_session(site)}"):  # fmt: skip
        page = site.page(path)
        assert "<script>alert" not in page
        assert "<img" not in page
    seq = site.journal.history(hostile)[1].seq
    page = site.page(f"/journal/{seq}")
    assert "&lt;script&gt;alert(&#39;x&#39;)" in page
    assert "before ⟦U+202E⟧ after ⟦U+200B⟧ ⟦U+007F⟧ end" in page
    assert "49" not in re.findall(r"<blockquote>([^<]*)</blockquote>", page)[0], "a template in it is text"


def test_evidence_of_any_size_is_cut(site: Site) -> None:
    session = _session(site)
    data = {"message": "y" * 200_000}
    seq = site.journal.append(session, Event(NOTED, AGENT, evidence=Evidence(data=data))).entry.seq
    page = site.page(f"/journal/{seq}")
    assert len(page) < 60_000
    assert "more characters" in page


def test_a_refused_attempt_at_a_gate_is_marked(site: Site) -> None:
    thread = site.journal.create("thread", Event("created", PERSON)).entry.instance
    refused_attempt(site.journal, thread, AGENT, "approve", "it is an agent's process")
    page = site.page(f"/journal?instance={thread}")
    assert '<span class="badge bad">refused</span>' in page
    assert "an agent&#39;s process" in page


# One entry


def test_an_entry_stands_between_its_neighbours_with_their_hashes(site: Site) -> None:
    session = _session(site, "analyzing", "implementing")
    _, entry, later = site.journal.history(session)
    page = site.page(f"/journal/{entry.seq}")
    for hash_ in (entry.hash, entry.previous, later.hash):
        assert hash_ in page
    assert f'href="/journal/{entry.seq - 1}"' in page
    assert f'href="/journal/{entry.seq + 1}"' in page
    assert page.count("✓") == 3
    assert "✗" not in page


@pytest.mark.parametrize(
    "path", ["/journal/0", "/journal/999999999", f"/journal/{10**40}", "/journal/x", "/journal/-1"]
)
def test_an_entry_that_is_not_there_is_not_found(site: Site, path: str) -> None:
    assert site.get(path).status_code == 404


# Travel


def test_an_instance_is_put_back_to_how_it_was(site: Site) -> None:
    session = _session(site, "analyzing", "implementing", "testing")
    now = site.page(f"/at/{session}")
    assert '<input class="grow" type="range" id="version" name="version" min="1" max="4" value="4">' in now
    assert re.search(r'class="state-now"><span class="badge c-cyan">.*Testing', now)
    back = site.page(f"/at/{session}?version=2")
    assert re.search(r'class="state-now"><span class="badge c-blue">.*Analyzing', back)
    assert "After entry 2 of 4" in back
    assert "Why it was in Analyzing" in back
    assert back.count('data-row class="row"') == 2
    site.journal.append(session, reports("reviewing"))
    again = site.page(f"/at/{session}?version=2")
    assert "After entry 2 of 5" in again


def test_why_it_is_there_is_told_also_when_others_were_noted_since(site: Site) -> None:
    session = _session(site, "analyzing", reason="the ticket asks for it")
    for _ in range(3):
        site.journal.append(session, Event(NOTED, AGENT, evidence=Evidence(data={"message": "later"})))
    page = site.page(f"/at/{session}")
    why = page.split("Why it was in")[1]
    assert "the ticket asks for it" in why
    assert f'href="/journal/{site.journal.history(session)[1].seq}"' in why


@pytest.mark.parametrize("path", ["/at/nope", "/at/zzzz", "/at/..%2f..%2fetc", "/at/%25%25%25%25"])
def test_what_is_not_there_cannot_be_travelled_to(site: Site, path: str) -> None:
    assert site.get(path).status_code == 404


@pytest.mark.parametrize("version", ["0", "99", "-1", "x", "1e9", "9" * 30])
def test_a_moment_that_never_was_is_not_found(site: Site, version: str) -> None:
    session = _session(site)
    assert site.get(f"/at/{session}?version={version}").status_code == 404


# Side by side


def test_two_are_set_side_by_side_with_what_differs(site: Site) -> None:
    left = _session(site, "analyzing", "implementing", reason="one")
    right = _session(site, "implementing", reason="two")
    page = site.page(f"/compare?left={left}&right={right[-10:]}")
    assert "2 of 3 steps differ" in page
    assert page.count("k-left") == 1
    assert "never" in page
    assert "differs in reason" in page


def test_two_of_different_machines_are_not_compared(site: Site) -> None:
    thread = site.journal.create("thread", Event("created", PERSON)).entry.instance
    answer = site.get(f"/compare?left={thread}&right={_session(site)}")
    assert answer.status_code == 404
    assert "same machine" in answer.text


def test_without_two_names_there_is_a_choice(site: Site) -> None:
    sessions = [_session(site), _session(site)]
    page = site.page("/compare")
    # Ids of one millisecond are in no order.
    assert any(f"/compare?left={left}&amp;right={right}" in page for left, right in permutations(sessions))
    assert site.get("/compare?left=nope&right=nope").status_code == 404
