"""A browser that sleeps, a server that restarts, a connection that drops: afterwards each page equals a fresh load."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from exhaustive import EXHAUSTIVE
from faces.journals import opened
from faces.mcp.servers import Served, serving
from faces.programs import clean_environment
from interlock.machine import Event
from work.attention.standings import PERSON, run_in, thread_in

from .sites import WAY, Site, walk
from .test_tickets import ticket_in
from .wires import Wire, wired

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.exhaustive
_PAGES = ("/", "/board", "/journal", "/stats", "/loops") if EXHAUSTIVE else ("/", "/board", "/journal")
_OPEN, _LOST = "#connection[data-state='open']", "#connection[data-state='lost']"
_SHOWN = """(page) => JSON.stringify(Object.fromEntries([...page.querySelectorAll("[sse-swap]")]
  .filter((one) => one.id !== "needed")
  .map((one) => [one.id, one.innerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1").replace(/(class="[^"]*?) "/g, '$1"')])))"""
"""All that lives on a page, but how long things are past, and spaces that htmx takes out of the names of classes."""
_FRESH = f"""async () => {{
  const answer = await fetch(location.href, {{headers: {{accept: "text/html"}}, cache: "no-store"}});
  if (!answer.ok) throw new Error(answer.status);
  return ({_SHOWN})(new DOMParser().parseFromString(await answer.text(), "text/html"));
}}"""
"""The same of what the server has for it now, in a document in which no script runs."""


class _Stage(msgspec.Struct):
    """A served repository, a wire to it, and a browser with a page of every kind."""

    stack: ExitStack
    browser: Browser
    environment: dict[str, str]
    site: Site
    served: Served
    wire: Wire
    context: BrowserContext
    pages: list[Page] = msgspec.field(default_factory=list)
    thread: str = ""
    session: str = ""

    def open(self) -> None:
        """All pages, those of a thread and a session of their own among them; each knows if it is loaded again."""
        self.thread = thread_in(self.site.journal, "Stuck", "Greet people")
        self.session = self.site.session(str(ticket_in(self.site, "Was there before")))
        paths = (*_PAGES, f"/thread/{self.thread}", f"/session/{self.session}")
        self.pages = self.pages or [self.context.new_page() for _ in paths]
        for page, path in zip(self.pages, paths, strict=True):
            if page.url != f"{self.wire.url}{path}":
                page.goto(f"{self.wire.url}{path}")
            page.evaluate("window.loadedOnce = true")
        self.all(_OPEN)

    def all(self, selector: str) -> None:
        for page in self.pages:
            page.wait_for_selector(selector)

    def happen(self) -> None:
        """Something on every page changes."""
        journal = self.site.journal
        walk(journal, self.session, *WAY, "done")
        journal.append(self.thread, Event("abandon", PERSON, reason="not wanted"))
        ticket_in(self.site, "Came meanwhile")
        run_in(journal, "Failed")
        thread_in(journal, "PendingReview", "Came meanwhile")

    def equal_a_fresh_load(self) -> dict[str, str]:
        """Each page shows what one that is loaded now has from the server, and was not loaded again itself."""
        found = {}
        for page in self.pages:
            path = page.url.removeprefix(self.wire.url)
            found[path] = page.evaluate(_FRESH)
            assert len(json.loads(found[path])) > 0, path
            _becomes(page, found[path])
            assert page.evaluate("window.loadedOnce === true"), "the page was loaded again"
        self.all(_OPEN)
        return found

    def end(self) -> None:
        self.served.end(signal.SIGKILL)

    def begin_again(self) -> None:
        self.served = self.stack.enter_context(serving(self.site.repository, self.environment))
        self.site = replace(self.site, url=self.served.url)
        self.wire.leads_to(int(self.served.url.rpartition(":")[2]))


def _becomes(page: Page, wanted: str) -> None:
    """Wait until a page shows this; where it does not, say what is other."""
    error = _error()
    try:
        page.wait_for_function(f"(wanted) => ({_SHOWN})(document) === wanted", arg=wanted)
    except error:
        assert json.loads(page.evaluate(f"({_SHOWN})(document)")) == json.loads(wanted), page.url


def _error() -> Any:
    from playwright.sync_api import Error

    return Error


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[_Stage]:
    environment = clean_environment(tmp_path_factory.mktemp("home"))
    repository: Path = tmp_path_factory.mktemp("site") / "repository"
    subprocess.run(["git", "init", "-q", repository], env=environment, check=True, timeout=60)
    with ExitStack() as stack:
        served = stack.enter_context(serving(repository, environment))
        site = Site(served.url, stack.enter_context(opened(repository)), repository)
        wire = stack.enter_context(wired(site.url))
        yield _Stage(stack, browser, environment, site, served, wire, stack.enter_context(browser.new_context()))


@pytest.fixture
def stage(whole: _Stage) -> Iterator[_Stage]:
    """Pages that are open before something happens, and equal a fresh load after it."""
    whole.open()
    before = whole.equal_a_fresh_load()
    yield whole
    after = whole.equal_a_fresh_load()
    assert [path for path in before if before[path] == after[path]] == [], "nothing happened there"
    for page in whole.pages:
        page.wait_for_function("document.title.startsWith('(')")  # for somebody is needed


def test_after_a_connection_dropped(stage: _Stage) -> None:
    stage.wire.cut()
    stage.all(_LOST)
    stage.happen()
    stage.wire.mend()


def test_after_the_server_was_killed_and_another_begun(stage: _Stage) -> None:
    stage.end()
    stage.all(_LOST)
    stage.happen()
    stage.begin_again()


@pytest.mark.parametrize("is_cut", [False, True], ids=["with its connection", "and a connection that ended meanwhile"])
def test_after_a_sleep(stage: _Stage, is_cut: bool) -> None:
    sleeping = [stage.context.new_cdp_session(page) for page in stage.pages]
    for one in sleeping:
        one.send("Page.setWebLifecycleState", {"state": "frozen"})
    if is_cut:
        stage.wire.cut()
    stage.happen()
    stage.wire.mend()
    for one in sleeping:
        one.send("Page.setWebLifecycleState", {"state": "active"})


def test_after_a_connection_fell_silent(stage: _Stage) -> None:
    stage.wire.silence()
    stage.happen()
    _Worker(stage.browser).run("heard = 0; check()")  # as if so much time had passed
    stage.all(_LOST)
    stage.wire.mend()


class _Worker:
    """The browser's shared worker, as its developer tools reach it."""

    def __init__(self, browser: Browser) -> None:
        self._tools = browser.new_browser_cdp_session()
        targets = self._tools.send("Target.getTargets", {"filter": [{"type": "shared_worker"}]})["targetInfos"]
        [target] = [one for one in targets if one["type"] == "shared_worker"]
        attached = {"targetId": target["targetId"], "flatten": False}
        self._session = self._tools.send("Target.attachToTarget", attached)["sessionId"]

    def run(self, script: str) -> None:
        message = json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": script}})
        self._tools.send("Target.sendMessageToTarget", {"sessionId": self._session, "message": message})
