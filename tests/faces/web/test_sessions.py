"""The pages of sessions: the seed's indicators, the time in each state, and what does not agree."""

from __future__ import annotations

import re

import pytest

from faces.journals import AGENT
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.verbs import complete, note, update

from .sites import HOSTILE, WAY, Site, walk

SEED = {
    "idle": ("gray", "dot"),
    "analyzing": ("blue", "spinner"),
    "implementing": ("yellow", "pulse"),
    "testing": ("cyan", "spinner"),
    "committing": ("green", "spinner"),
    "reviewing": ("purple", "dot"),
    "done": ("green", "check"),
    "failed": ("red", "cross"),
}
"""The column `UI Indicator` of the seed's table."""
HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)


def _way_to(state: str) -> list[str]:
    way = [*WAY, "done"]
    return [state] if state == "failed" else [] if state == "idle" else way[: way.index(state) + 1]


def _indicators(page: str) -> list[tuple[str, str, str]]:
    found = re.findall(r'data-state="(\w+)" data-indicator="(\w+)" data-color="(\w+)"', page)
    return [(state, color, indicator) for state, indicator, color in found]


@pytest.mark.parametrize("state", SEED)
def test_each_state_has_the_indicator_of_the_seeds_table(site: Site, state: str) -> None:
    session = site.session()
    walk(site.journal, session, *_way_to(state))
    page = site.page(f"/session/{session}")
    assert _indicators(page)[0] == (state, *SEED[state])
    row = re.search(rf'data-session="{session}">(.*?)</li>', site.page("/sessions"), re.DOTALL)
    assert row is not None
    assert _indicators(row[1]) == [(state, *SEED[state])]


def test_a_page_has_the_time_in_each_state_as_a_bar(site: Site) -> None:
    session = site.session()
    walk(site.journal, session, *WAY, "done")
    page = site.page(f"/session/{session}")
    shares = re.findall(r'<rect class="fill c-(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"', page)
    assert [color for color, _, _ in shares] == ["gray", "blue", "yellow", "cyan", "green", "purple"]
    assert sum(float(width) for *_, width in shares) == pytest.approx(1000, abs=0.1)


def test_moves_off_the_path_and_contradictions_are_marked(site: Site) -> None:
    session = site.session()
    walk(site.journal, session, "analyzing", "testing")
    site.journal.transact(
        note(session, "tool_end", HOOK, {"tool": "Bash", "tests": True, "known": True, "success": False})
    )
    results = {"testResults": {"passed": 3, "failed": 0}}
    site.journal.transact(update(session, "committing", AGENT, results))
    page = site.page(f"/session/{session}")
    assert "off the path" in page
    assert 'data-finding="tests_contradicted"' in page
    assert "3 passed" in page
    row = re.search(rf'data-session="{session}">(.*?)</li>', site.page("/sessions"), re.DOTALL)
    assert row is not None
    assert "⚠ 1 off the path" in row[1]
    assert "⚠ 1 found" in row[1]


def test_what_agents_write_is_text_and_nothing_else(site: Site) -> None:
    session = site.session(agent='claude"><script>')
    hostile = f"{HOSTILE} {'x' * 100_000}"
    site.journal.transact(update(session, "analyzing", AGENT, {"message": hostile, "\u202eturned": HOSTILE}))
    site.journal.transact(note(session, "<b>odd</b>", AGENT, {"message": f"{HOSTILE}\u202e\u2066\x1b[31m"}))
    site.journal.transact(complete(session, "failure", AGENT, HOSTILE))
    page = site.page(f"/session/{session}")
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert "{{ 7*7 }}" in page
    assert len(page) < 300_000
    assert "<b>odd" not in site.page("/sessions")


def test_an_unknown_session_is_said_to_be_unknown(site: Site) -> None:
    for reference in ("0" * 26, "zzzz", "..%2f..%2fetc", "%3Cscript%3E"):
        answer = site.get(f"/session/{reference}")
        assert answer.status_code == 404
        assert "<script>" not in answer.text.partition("<main")[2]


def test_the_list_is_paged_newest_first(site: Site) -> None:
    made = sorted(site.session() for _ in range(35))  # of one millisecond, in any order
    first = re.findall(r'data-session="(\w+)"', site.page("/sessions"))
    assert first == made[::-1][:30]
    older = re.search(r'href="(/sessions\?before=\w+)"', site.page("/sessions"))
    assert older is not None
    second = re.findall(r'data-session="(\w+)"', site.page(older[1]))
    assert second[:5] == made[::-1][30:]
    assert not set(first) & set(second)
