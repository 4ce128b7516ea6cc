"""A driver that a click started and that failed is told of on the page of what it should have driven."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest

from faces.journals import opened, settle
from faces.programs import SECONDS, run
from faces.test_cli_story import JUDGED, STORY, WRITES
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.driver_lease import hold_driver_lease
from interlock.work.driver.spawn import Drivers
from interlock.work.orchestration.beginning import begin
from work.attention.standings import noted, run_in
from work.orchestration.playing import MET, ROLES, done, plan, qualified, task
from work.threads.benches import Bench

from .persons import Browser, in_terminal
from .test_steering import RUNS, commit, plays


def test_a_driver_that_dies_at_once_is_told_and_forgotten_when_the_next_one_does_its_work(
    repository: Path, environment: dict[str, str]
) -> None:
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY.format(number="1.1", title="greeting"))
    settle(repository, RUNS.format("true") + '[story]\ntests = ["grep -q good work.txt"]\n')
    plays(repository, "agent", WRITES)
    plays(repository, "judge", JUDGED)
    run("story", "init", cwd=repository, env=environment)
    commit(repository, environment)
    with opened(repository) as journal:
        given = Evidence(data={"options": {}, "counters": {}, "carried": None})
        loop = journal.create("story", Event("created", DRIVER, evidence=given)).entry.instance
    with in_terminal(repository, environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        (repository / ".git").rename(repository / "git")
        browser.post(f"/story/{loop}/act", event="resume")
        assert "no git repository" in _head(browser, loop, lambda html: "data-trouble" in html)
        assert "ralph story run" in browser.get(f"/story/{loop}")
        (repository / "git").rename(repository / ".git")
        browser.post(f"/story/{loop}/act", event="resume")
        browser.reached(loop, "EXIT")
        _head(browser, loop, lambda html: "data-trouble" not in html)


def _head(browser: Browser, loop: str, is_wanted: object) -> str:
    """What the page says at its top, as the stream brings it, waited for."""
    with browser.http.stream("GET", f"/live?show=/story/{loop}") as stream:
        for line in stream.iter_lines():
            told = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
            if told.get("name", "").endswith("#head") and is_wanted(told["html"]):  # type: ignore[operator]
                return str(told["html"])
    raise AssertionError("the stream ended")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", ""),
        ('{"ok": true, "data": {}}\n', ""),
        (
            '{"ok": false, "error": {"code": "no_repository", "message": "None.", "hint": "Go."}}\n',
            "None.\nGo.",
        ),
        ('{"ok": false, "error": {"code": "thread_stuck", "message": "It is stuck.", "hint": "Look."}}\n', ""),
        ('{"ok": false, "error": {"code": "lease_held", "message": "Another.", "hint": "Wait."}}\n', ""),
        ('{"ok": true}\nTraceback:\nMemoryError\n', '{"ok": true}\nTraceback:\nMemoryError'),
        ("[1]\n", ""),
    ],
)
def test_what_a_driver_said_last_decides_whether_it_failed(repository: Path, said: str, told: str) -> None:
    with opened(repository) as journal:
        drivers = Drivers(journal, repository, repository / ".ralf", {}, frozenset())
        id_ = run_in(journal, "Planning")
        log = drivers.log_of("orchestrator", id_)
        log.parent.mkdir()
        log.write_text(said)
        assert drivers.trouble(journal.instance(id_)) == told
        tick = datetime.fromisoformat(journal.instance(id_).updated).timestamp() - 0.005
        os.utime(log, (tick, tick))
        assert drivers.trouble(journal.instance(id_)) == told, "a file's clock may be a moment behind"
        os.utime(log, (0, 0))
        noted(journal, id_, "heard")
        assert drivers.trouble(journal.instance(id_)) == "", "something happened since"


def _until_ended(drivers: Drivers, id_: str) -> None:
    """Wait for the end of a driver of ours; it is bounded by what a driver does."""
    deadline = time.monotonic() + SECONDS
    while id_ not in drivers.news():
        assert time.monotonic() < deadline, "no driver of ours has ended"
        threading.Event().wait(0.05)


def test_what_was_moved_while_somebody_else_held_it_is_driven_when_they_let_it_go(
    repository: Path, environment: dict[str, str]
) -> None:
    settle(repository, RUNS.format("true"))
    plays(repository, "agent", plan(task(1)), done(1))
    plays(repository, "judge", qualified(1), MET)
    commit(repository, environment)
    with opened(repository) as journal:
        id_ = begin(Bench(repository).context(journal), "All parts are there", "261115-120000", ROLES)
        drivers = Drivers(journal, repository, repository / ".ralf", environment, frozenset())
        with hold_driver_lease(Bench(repository).context(journal), "orchestrator", id_):
            assert not drivers.start("orchestrator", id_)
        _until_ended(drivers, id_)
        assert journal.instance(id_).outcome == "success"


def test_a_driver_of_ours_lets_rest_what_rests_and_begins_nothing_anew(
    repository: Path, environment: dict[str, str]
) -> None:
    settle(repository, RUNS.format("true"))
    commit(repository, environment)
    with opened(repository) as journal:
        drivers = Drivers(journal, repository, repository / ".ralf", environment, frozenset())
        run_ = begin(Bench(repository).context(journal), "All parts are there", "261115-120000", ROLES)
        given = Evidence(data={"options": {}, "counters": {}, "carried": None})
        loop = journal.create("story", Event("created", DRIVER, evidence=given)).entry.instance
        noted(journal, run_, "stopped", reason="")
        noted(journal, loop, "paused", reason="")
        for machine, id_ in (("orchestrator", run_), ("story", loop)):
            assert drivers.start(machine, id_)
            _until_ended(drivers, id_)
            types = [one.decoded_evidence().data.get("type") for one in journal.history(id_)]
            assert types[-1] in ("stopped", "paused"), types
        noted(journal, loop, "resumed")
        assert drivers.start("story", loop)
        _until_ended(drivers, loop)
        assert journal.instance(loop).outcome == "setup_required"
        assert drivers.start("story", loop), "somebody clicked twice"
        _until_ended(drivers, loop)
        assert len(journal.instances("story")) == 1
