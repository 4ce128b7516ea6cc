"""In a real browser, a person works by clicking: threads from their first word to the commit, menus, tickets."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from faces.journals import AGENT, PERSON, opened
from faces.programs import SECONDS, run
from interlock.machine import load_shipped
from interlock.work.sessions.verbs import Caller
from interlock.work.sessions.verbs import create as begin
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create
from work.threads.benches import DONE, IDLE, SPEC, shell

from .clicking import Clicker, clicking, is_same, stay

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MENUS = load_shipped("thread").states


@pytest.fixture(scope="module")
def person(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clicker]:
    with clicking(browser, tmp_path_factory.mktemp("clicks")) as found:
        yield found


def _git(person: Clicker, *words: str) -> str:
    return subprocess.run(
        ["git", *words],
        cwd=person.arena.root,
        env=person.arena.environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    ).stdout


def test_a_person_runs_a_thread_from_drafting_to_done_by_clicking(person: Clicker) -> None:
    person.arena._script("script", [[{"say": "It is clear.\nVERDICT: READY"}, {"finish": True}], DONE])
    page = person.page
    person.open("/")
    page.get_by_role("link", name="Threads", exact=True).click()
    page.get_by_text("New thread").click()
    page.get_by_label("What is to be built").fill("Greet people")
    page.get_by_label("Mode").select_option("methodical")
    person.press("Begin")
    person.stands("Drafting")
    page.get_by_label("The next revision").fill(SPEC)
    person.press("Keep as a new revision")
    page.locator("#told", has_text="Revision 1 of the spec is kept").wait_for()

    person.press("Assess")
    person.stands("Assessing")
    page.get_by_text("The assessment").click()
    page.get_by_text("It is clear.").wait_for()
    assert "spec" in person.pass_gate("Finalize", "finalize")
    person.stands("Finalized")
    person.press("Start")
    stay(page)
    person.stands("Configuring")
    assert is_same(page), "it came there while the page was open"
    person.press("Run")
    stay(page)
    person.stands("Implemented")
    page.locator("#output", has_text="All of it is there.").wait_for()
    assert is_same(page)

    person.press("Ready for review")
    person.stands("Pending Review")
    page.locator("#changes summary", has_text="greeting.txt").wait_for()
    assert page.locator("#changes .d-added", has_text="hello").count() == 1
    assert "2 of 2 met" in page.locator("#criteria h2").inner_text()
    receipt = page.locator("#receipt")
    assert "Verified" in receipt.inner_text()
    tree = receipt.locator("dd").first.inner_text()
    assert tree in person.pass_gate("Approve", "approve")
    person.stands("Ready to Commit")
    assert tree in person.pass_gate("Commit", "commit")
    person.stands("Done")
    page.locator("#gates tbody tr >> nth=2").wait_for()
    assert page.locator("#gates tbody tr").count() == 3
    person.can_do_nothing()

    thread = person.thread
    subject, body = _git(person, "log", "-1", "--format=%s%n%T", f"ralf/{thread}").splitlines()
    assert "Greet people" in subject
    assert body.startswith(tree)
    assert _git(person, "show", f"ralf/{thread}:greeting.txt") == "hello\n"
    run("journal", "verify", "--json", cwd=person.arena.root, env=person.arena.environment).data  # noqa: B018 - clean


def _menu(person: Clicker, state: str) -> None:
    """The seed's menu is there, each choice with the words of what it does."""
    rows = person.page.locator(f"[data-state='{state}'] .choices > li")
    said = [" ".join(one.split()) for one in rows.all_inner_texts()]
    wanted = MENUS[state].menu
    assert len(said) == len(wanted) > 2
    for one, words in zip(wanted, said, strict=True):
        assert words.startswith(f"{one.key} {one.label} {one.does}")


def test_stuck_is_a_menu_and_a_person_goes_on_from_it(person: Clicker) -> None:
    person.arena._script("script", [IDLE, DONE])
    page = person.page
    person.open(f"/thread/{person.arena.new('Sticks', '--quick')}")
    person.pass_gate("Finalize", "finalize")
    stay(page)
    person.stands("Stuck")
    page.get_by_role("heading", name="Stuck: what would you like to do?").wait_for()
    _menu(person, "Stuck")
    assert is_same(page)
    page.get_by_role("link", name="Diagnose").click()
    page.locator("#diagnosis", has_text="I looked around.").wait_for()
    assert person.state == "Stuck"

    page.get_by_label("What you did").fill("I mended the clock & more")
    person.pass_gate("Manual assist", "assist")
    stay(page)
    person.stands("Pending Review")
    assert is_same(page)
    page.locator("#way summary").click()
    page.locator("#way tr", has_text="I mended the clock & more").wait_for()
    page.get_by_text("Recommend Approve").wait_for()


@pytest.mark.sampled(0)  # in `make test`: its menu in test_threads, to rest and go on in test_steering
def test_paused_is_a_menu_and_a_person_resumes_from_it(person: Clicker) -> None:
    go = person.arena.root / ".ralf" / "go"
    waits = shell(f"while ! test -e {go}; do :; done")
    person.arena._script("script", [[waits], [waits, *DONE]])
    page = person.page
    person.open(f"/thread/{person.arena.new('Rests', '--quick')}")
    person.pass_gate("Finalize", "finalize")
    person.stands("Running")
    person.press("Pause")
    person.stands("Paused")
    page.get_by_role("heading", name="Paused: the loop rests").wait_for()
    _menu(person, "Paused")
    person.press("Resume")
    stay(page)
    person.stands("Running")
    page.locator("[data-state='Running']").wait_for()
    go.touch()
    person.stands("Pending Review")
    page.locator("#menu [data-state='PendingReview']").wait_for()
    assert is_same(page)
    page.get_by_label("Why").last.fill("enough of it")
    person.press("Abandon")
    person.stands("Abandoned")
    person.can_do_nothing()


def test_a_handoff_that_is_refused_says_why_and_what_to_do_and_then_one_is_made(
    browser: Browser, person: Clicker
) -> None:
    with opened(person.arena.root) as journal:
        number = journal.transact(create(PERSON, "Greet people")).number
    page = person.page
    person.open(f"/ticket/{number}")
    page.get_by_label("Why").fill("   ")
    person.press("Research Needed")
    assert page.locator("#told[role='alert']").inner_text().lower().count("reason") > 0
    page.get_by_label("Why").fill("worth <b>a look</b>")
    person.press("Research Needed")
    assert "It is in Research Needed now." in page.locator("#told[role='status']").inner_text()
    assert page.locator("#history li").first.locator(".said").inner_text() == "worth <b>a look</b>"

    known = page.context.storage_state()
    still = browser.new_context(java_script_enabled=False, storage_state=known).new_page()
    still.goto(page.url)
    with opened(person.arena.root) as journal:
        session = journal.transact(begin(Caller(AGENT, "claude"), ticket=str(number))).session_id
        claims = Caller(AGENT, "claude", session=session)
        journal.transact(handoff(claims, number, command="research", intent="lock", reason="I look at it"))
    page.get_by_text("held by claude").wait_for()
    still.get_by_label("Why").fill("nobody needs it")
    still.get_by_role("button", name="Canceled").click()
    said = still.locator("#told[role='alert']").inner_text()
    still.context.close()
    assert f"Ticket {number} in 'Research in Progress'" in said
    assert "Possible now" in said
    page.get_by_role("button", name="Canceled").wait_for(state="detached")
    page.get_by_label("Why").fill("is it wanted at all?")
    person.press("Human Needed")
    assert "It is in Human Needed now." in page.locator("#told[role='status']").inner_text()
