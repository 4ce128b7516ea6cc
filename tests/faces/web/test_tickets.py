"""The board and the page of a ticket: what stands where, who holds it, what happened, and what can be done now."""

from __future__ import annotations

import re

import pytest

from faces.journals import AGENT, PERSON
from interlock.machine import load_shipped
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import comment, create, edit, link
from work.tickets.boards import way_to

from .sites import HOSTILE, Site

_PERSON = Caller(PERSON)
STATES = load_shipped("ticket").states


def ticket_in(site: Site, title: str = "Parse dates", state: str = "Backlog", **fields: str) -> int:
    """A ticket in a state; its number."""
    number = site.journal.transact(create(PERSON, title, **fields)).number
    for to in way_to(state):
        site.journal.transact(handoff(_PERSON, number, to=to, reason="on its way"))
    return number


def _column(page: str, state: str) -> str:
    found = re.search(rf'data-column="{state}">(.*?)</section>', page, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("state", STATES)
def test_a_ticket_stands_in_the_column_of_its_state(site: Site, state: str) -> None:
    number = ticket_in(site, f"Stands in {state}", state, priority="P1", estimate="S")
    column = _column(site.page("/board"), state)
    card = re.search(rf'data-ticket="{number}">(.*?)</li>', column, re.DOTALL)
    assert card is not None
    assert f"Stands in {state}" in card[1]
    assert "P1" in card[1]
    assert "<time datetime=" in card[1]
    assert f'<h1><span class="soft">#{number}</span> Stands in {state}' in site.page(f"/ticket/{number}")


def test_locks_and_blockers_are_shown_with_who_holds_and_what_waits(site: Site) -> None:
    number, other = ticket_in(site, state="In Progress"), ticket_in(site)
    session = site.session(str(number))
    claims = Caller(AGENT, "claude", session=session)
    site.journal.transact(handoff(claims, number, command="impl", intent="lock", reason="I take it"))
    site.journal.transact(link(PERSON, other, "blocked_by", number))
    page = site.page("/board")
    held = f"claude (session …{session[-6:]})"
    assert held in _column(page, "In Progress")
    assert "waits for 1" in _column(page, "Backlog")
    shown = site.page(f"/ticket/{number}")
    assert f"held by {held}" in shown
    assert f'data-session="{session}"' in shown
    assert f'href="/ticket/{other}"' in shown.partition(">Blocks<")[2]
    assert "</svg> blocked" in site.page(f"/ticket/{other}")


def test_a_ticket_tells_what_happened_who_did_it_and_why(site: Site) -> None:
    number = ticket_in(site, state="Research Needed")
    site.journal.transact(comment(PERSON, number, "Seen on\ntwo machines"))
    site.journal.transact(edit(PERSON, number, set_={"priority": "P0"}, artifacts={"plan": "docs/plan.md"}))
    page = site.page(f"/ticket/{number}")
    history = page.partition(">History<")[2]
    assert re.findall(r'data-kind="(\w+)"', history) == ["edited", "commented", "moved", "created"]
    assert "on its way" in history
    assert "human ada@example.org" in history
    assert "Seen on\ntwo machines" in history
    assert "docs/plan.md" in page


def test_a_ticket_says_what_can_be_done_now_and_by_whom(site: Site) -> None:
    waiting = site.page(f"/ticket/{ticket_in(site, state='Human Needed')}")
    people, agents = waiting.partition("By a person<")[2].split("By an agent<", 1)
    assert "ralph ticket handoff" in people
    assert "a person is needed" in agents.partition("</div>")[0]
    ended = site.page(f"/ticket/{ticket_in(site, state='Canceled')}")
    assert "It has ended" in ended


def test_each_way_that_is_named_can_be_gone(site: Site) -> None:
    """The page names nothing that is then refused."""
    for state in STATES:
        number = ticket_in(site, state=state)
        page = site.page(f"/ticket/{number}")
        calls = re.findall(r"--(intent|to-state) (?:&#34;)?([\w ]+?)(?:&#34;)? --reason", page)
        assert calls or STATES[state].terminal
        for kind, what in calls:
            fresh = ticket_in(site, state=state)
            wanted = {"intent" if kind == "intent" else "to": what}
            site.journal.transact(handoff(_PERSON, fresh, reason="tried", **wanted))


def test_what_people_and_trackers_write_is_text_and_nothing_else(site: Site) -> None:
    number = ticket_in(site, HOSTILE[:180], body=f"{HOSTILE}{'y' * 60_000}")
    site.journal.transact(comment(PERSON, number, f"{HOSTILE} [x](javascript:alert(1))"))
    site.journal.transact(edit(PERSON, number, add={"pull_requests": ["javascript:alert(1)"], "labels": ["<b>"]}))
    for path in (f"/ticket/{number}", "/board", f"/board?find={HOSTILE[:20]}"):
        page = site.page(path)
        assert "&lt;script&gt;" in page
        assert not re.search(r'href="\s*javascript', page)
        assert len(page) < 500_000


def test_finding_looks_at_words_and_says_where_there_are_none(site: Site) -> None:
    number = ticket_in(site, "Quaintly named thing")
    assert f'data-ticket="{number}"' in site.page("/board?find=quaintly")
    assert "No ticket is like that" in site.page("/board?find=%25%27%22%3Cnone")
    assert f'data-ticket="{number}"' in site.page("/board?state=Backlog&find=quaintly")


@pytest.mark.parametrize("path", ["/ticket/999999", "/ticket/99999999999999999999999999", "/ticket/x", "/ticket/-1"])
def test_there_is_no_such_ticket(site: Site, path: str) -> None:
    assert site.get(path).status_code == 404


@pytest.mark.parametrize("query", ["state=Nowhere", "find=%00%1b", "find=" + "x" * 3000, "state=%E2%80%AE"])
def test_a_strange_question_is_no_fault_of_ours(site: Site, query: str) -> None:
    assert site.get(f"/board?{query}").status_code in (200, 404)
