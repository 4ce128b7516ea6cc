"""Runs of the orchestrator and loops over stories, steered from the dashboard; what goes on is driven by a process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from faces.journals import opened, settle
from faces.programs import RALPH, SECONDS, run
from faces.test_cli_story import JUDGED, STORY, WRITES
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from work.orchestration.playing import MET, done, plan, qualified, task

from .persons import in_terminal

RUNS = (
    '[agent]\nsandbox = "none"\nname = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n'
    '[verify]\ncommands = ["{0}"]\n'
)


def plays(root: Path, name: str, *iterations: list[dict[str, Any]]) -> None:
    (root / f"{name}.count").unlink(missing_ok=True)
    (root / f"{name}.json").write_text(json.dumps({"state": f"{name}.count", "iterations": list(iterations)}))


def commit(root: Path, environment: dict[str, str]) -> None:
    (root / ".gitignore").write_text(".ralf/\n*.json\n*.count\nralph_prompt.md\n")
    for words in (
        ["config", "user.name", "Ann"],
        ["config", "user.email", "ann@example.org"],
        ["add", "-A"],
        ["commit", "-qm", "start"],
    ):
        subprocess.run(["git", *words], cwd=root, env=environment, check=True, timeout=SECONDS)


def notes(root: Path, instance: str) -> list[tuple[str, str]]:
    with opened(root) as journal:
        found = [
            (one.channel, one.decoded_evidence().data) for one in journal.history(instance) if one.event == "noted"
        ]
    return [(channel, str(data["type"])) for channel, data in found if channel == "web"]


def test_a_run_that_failed_goes_on_from_the_browser(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, RUNS.format("test -f mended"))
    plays(repository, "agent", plan(task(1)), done(1))
    plays(repository, "judge", qualified(1), MET)
    commit(repository, environment)
    run("orchestrate", "All parts are there", "--json", cwd=repository, env=environment)
    with opened(repository) as journal:
        [failed] = [one.id for one in journal.recent("orchestrator", 5)]
    (repository / "mended").write_text("")
    commit(repository, environment)
    plays(repository, "agent", done(1))
    plays(repository, "judge", qualified(1), MET)
    with in_terminal(repository, environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        for event, said in (("stop", "has failed"), ("add", "has failed"), ("dance", "nothing that is done")):
            browser.post(f"/run/{failed}/act", event=event, text="and in Welsh")
            assert said in browser.told()
        browser.post(f"/run/{failed}/act", event="resume")
        made = browser.where.rpartition("/")[2]
        assert made != failed
        browser.reached(made, "Exit")
        assert ("web", "resumed") in notes(repository, made)


def test_a_run_rests_and_hears_of_more_from_the_browser(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, RUNS.format("true"))
    waits = {"run": ["/bin/sh", "-c", "while :; do :; done"]}
    plays(repository, "agent", plan(task(1)), [waits, *done(1)])
    plays(repository, "judge", qualified(1), MET)
    commit(repository, environment)
    with in_terminal(repository, environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        with opened(repository) as journal:
            head = journal.head()
        process = subprocess.Popen(
            [RALPH, "orchestrate", "All parts are there", "--json"],
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            seen = browser.next_instance(head)
            browser.reached(seen, "Executing")
            browser.post(f"/run/{seen}/act", event="stop", reason="tomorrow")
            assert "rests" in browser.told()
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait(SECONDS)
        assert notes(repository, seen) == [("web", "paused")]


def test_a_loop_rests_and_goes_on_from_the_browser(repository: Path, environment: dict[str, str]) -> None:
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY.format(number="1.1", title="greeting"))
    settle(repository, RUNS.format("true") + '[story]\ntests = ["grep -q good work.txt"]\n')
    plays(repository, "agent", WRITES)
    plays(repository, "judge", JUDGED)
    run("story", "init", cwd=repository, env=environment)
    commit(repository, environment)
    with opened(repository) as journal:
        data: dict[str, Any] = {"options": {}, "counters": {}, "carried": None}
        loop = journal.create("story", Event("created", DRIVER, evidence=Evidence(data=data))).entry.instance
    with in_terminal(repository, environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        for fields in (
            {"event": "pause", "reason": "lunch"},
            {"event": "context", "text": "use the clock"},
            {"event": "unblock", "story": "1-1-greet"},
            {"event": "skip", "story": "nothing"},
            {"event": "dance"},
            {"event": "resume"},
        ):
            browser.post(f"/story/{loop}/act", **fields)
            assert browser.told()
        browser.reached(loop, "EXIT")
        assert notes(repository, loop) == [("web", "paused"), ("web", "context_added"), ("web", "resumed")]


def test_a_ticket_is_worked_on_from_its_page_until_it_is_the_persons_turn(
    repository: Path, environment: dict[str, str]
) -> None:
    settle(repository, RUNS.format("true"))
    handing = [
        str(RALPH),
        "ticket",
        "handoff",
        "1",
        "--command",
        "triage",
        "--to-state",
        "Human Needed",
        "--reason",
        "why?",
    ]
    plays(repository, "agent", [{"run": handing}, {"finish": True}])
    commit(repository, environment)
    run("ticket", "create", "Greet people", "--json", cwd=repository, env=environment)
    with opened(repository) as journal:
        [ticket] = [one.id for one in journal.instances("ticket")]
    with in_terminal(repository, environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        browser.post("/ticket/1/work", reason="")
        assert "as far as it goes without you" in browser.told()
        browser.reached(ticket, "Human Needed")
    with opened(repository) as journal:
        last = journal.history(ticket)[-1]
        [session] = journal.instances("session")
    assert (last.actor_kind, last.command, session.parent) == ("agent", "triage", ticket)
