"""The first page: what waits for a person, with why, since when and what to type; who is at work; what is stuck."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.machine import load_shipped
from interlock.work.sessions.verbs import Caller, create
from work.attention.standings import AGENT, loop_in, run_in, thread_in

from .sites import HOSTILE, Site, site_of

HUMAN = [name for name, state in load_shipped("thread").states.items() if state.human and not state.driven]


def _card(page: str, id_: str) -> str:
    found = re.search(rf'<article class="card ([^"]*)" data-row data-waits="{id_}">(.*?)</article>', page, re.DOTALL)
    assert found is not None
    return f"{found[1]} {found[2]}"


@pytest.mark.parametrize("state", HUMAN)
def test_a_gate_is_loud_and_says_why_since_when_and_what_to_type(site: Site, state: str) -> None:
    id_ = thread_in(site.journal, state, f"A thread in {state}", "the tests are red")
    card = _card(site.page("/"), id_)
    assert card.startswith("loud")
    assert f'data-state="{state}"' in card
    assert f'<a href="/thread/{id_}">A thread in {state}</a>' in card
    assert "the tests are red" in card
    assert "<time datetime=" in card
    assert re.search(rf'<code class="command">ralph thread \w+ {id_[-6:]}', card)


def test_what_only_rests_is_there_and_not_loud(site: Site) -> None:
    thread, run, loop = (
        thread_in(site.journal, "Running"),
        run_in(site.journal, "Planning"),
        loop_in(site.journal, "INIT"),
    )
    page = site.page("/")
    for id_ in (thread, run, loop):
        assert _card(page, id_).startswith(" ")
    assert f'href="/run/{run}"' in page
    assert f'href="/story/{loop}"' in page


def test_the_number_of_what_waits_is_there_for_the_title_and_the_icon(site: Site) -> None:
    before = re.search(r'data-waiting="(\d+)"', site.page("/needed"))
    thread_in(site.journal, "Stuck")
    after = re.search(r'data-waiting="(\d+)"', site.page("/needed"))
    assert before is not None
    assert after is not None
    assert int(after[1]) == int(before[1]) + 1


def test_who_is_at_work_is_told_with_what_on(site: Site) -> None:
    thread = thread_in(site.journal, "Running", "Worked on")
    session = site.journal.transact(create(Caller(AGENT, "codex"), parent=thread, role="judge")).session_id
    row = re.search(rf'data-session="{session}">(.*?)</li>', site.page("/"), re.DOTALL)
    assert row is not None
    assert "codex as judge" in row[1]
    assert f'<a href="/thread/{thread}">Worked on</a>' in row[1]


def test_what_agents_and_people_write_is_text_and_nothing_else(site: Site) -> None:
    thread = thread_in(site.journal, "PreflightFailed", f"{HOSTILE}\u202e{'z' * 100_000}", HOSTILE)
    run = run_in(site.journal, "Planning", f"{HOSTILE}\x1b[31m\u2066")
    site.session(agent=f"{HOSTILE}\u202e"[:150])
    page = site.page("/")
    assert "&lt;script&gt;" in _card(page, thread)
    assert "&lt;script&gt;" in _card(page, run)
    assert len(page) < 200_000


def test_an_empty_repository_is_told_how_to_begin(environment: dict[str, str], repository: Path) -> None:
    with site_of(repository, environment) as site:
        now = site.page("/")
        assert "Nothing waits for you" in now
        assert "ralph init" in now
        assert "Nobody is at work" in now
        assert "ralph ticket create" in site.page("/board")
        assert "ralph init" in site.page("/sessions")


def test_settings_that_nobody_accepted_are_told(environment: dict[str, str], repository: Path) -> None:
    with site_of(repository, environment) as site:
        (repository / "ralph.toml").write_text("[story]\nday_usd = 3\n")
        assert "ralph config accept" in _card(site.page("/"), "settings")
