"""A person acts through the dashboard: ordinary moves with a browser that is theirs, gates with a code each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faces.journals import opened
from faces.programs import run
from forging.arena import PASSPHRASE, Arena
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.gates.approval import REFUSED
from interlock.work.threads.reading import read_thread
from work.threads.benches import DONE, IDLE, SPEC

from .persons import Browser, Terminal, in_terminal

SIGNS = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing")


@contextmanager
def acting(place: Path, mode: str = "none") -> Iterator[tuple[Arena, Terminal, Browser]]:
    """A repository, its server in a terminal, and a browser that is the person's."""
    arena = Arena(place, mode)
    arena.begin()
    with in_terminal(arena.root, arena.environment) as terminal:
        if mode == "passphrase":
            terminal.answer("Enter passphrase", f"{PASSPHRASE}\n")
        browser = terminal.browser()
        browser.log_in(terminal)
        yield arena, terminal, browser


def entries(arena: Arena, instance: str) -> list[Any]:
    with opened(arena.root) as journal:
        return journal.history(instance)


def attempts(arena: Arena, instance: str) -> list[str]:
    notes = [one.decoded_evidence().data for one in entries(arena, instance) if one.event == "noted"]
    return [str(one["why"]) for one in notes if one.get("type") == REFUSED]


def state(arena: Arena, thread: str) -> str:
    with opened(arena.root) as journal:
        return read_thread(journal, thread).state


@SIGNS
def test_a_person_runs_a_thread_from_drafting_to_done_and_a_key_signs_at_each_gate(tmp_path: Path) -> None:
    _run_to_done(tmp_path, "passphrase")


@pytest.mark.sampled(0)  # in `make test` a real browser does this, in test_browser_clicks
def test_a_person_runs_a_thread_from_drafting_to_done_without_a_key(tmp_path: Path) -> None:
    _run_to_done(tmp_path, "none")


def _run_to_done(tmp_path: Path, mode: str) -> None:
    with acting(tmp_path, mode) as (arena, terminal, browser):
        arena._script("script", [DONE])
        thread = str(run("thread", "new", "Greet", "--json", cwd=arena.root, env=arena.environment).data["id"])
        act = f"/thread/{thread}/act"
        browser.post(act, event="spec", text=SPEC.replace("\n", "\r\n"))
        assert "Revision 1" in browser.told()
        browser.gate(terminal, thread, "finalize")
        assert state(arena, thread) == "Finalized", browser.told()
        browser.post(act, event="configure", iterations="3", judge="scripted")
        browser.post(act, event="run")
        browser.reached(thread, "Configuring")
        browser.post(act, event="start")
        browser.reached(thread, "Implemented")
        browser.post(act, event="ready")
        browser.gate(terminal, thread, "approve")
        browser.reached(thread, "ReadyToCommit")
        browser.gate(terminal, thread, "commit")
        browser.reached(thread, "Done")
        found = entries(arena, thread)
        gates = {one.event: one for one in found if "approval" in one.decoded_evidence().data}
        assert gates.keys() == {"finalize", "approve", "commit"}
        assert {(one.actor_kind, one.actor_id, one.channel) for one in gates.values()} == {
            ("human", "ann@example.org", "web")
        }
        words = ["--key", arena.fingerprint] if arena.fingerprint else []
        verified = run("journal", "verify", *words, "--json", cwd=arena.root, env=arena.environment)
        assert verified.code == 0, verified
        assert attempts(arena, thread) == []


def test_an_approval_of_the_dashboard_that_somebody_copied_is_named(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        one, other = arena.new("x"), arena.new("y")
        browser.gate(terminal, one, "finalize")
        given = next(entry.decoded_evidence() for entry in entries(arena, one) if entry.event == "finalize")
        person = Actor(ActorKind.HUMAN, "ann@example.org", Channel.WEB)
        evidence = Evidence(data={"approval": given.data["approval"]}, subjects=given.subjects)
        with opened(arena.root) as journal:
            journal.append(other, Event("finalize", person, evidence=evidence))
        verified = run("journal", "verify", "--json", cwd=arena.root, env=arena.environment)
        found = {(problem["instance"], problem["code"]) for problem in verified.error["details"]["problems"]}
        assert found == {(other, "approval_differs"), (other, "approval_replayed")}


def test_the_page_of_a_gate_shows_what_the_terminal_shows(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        thread = arena.new("x")
        notes = "a line among many others\u3164 " * 2000
        (arena.place / "long.md").write_text(f"{SPEC}\n## Notes\n\n{notes}\nthe very end\n")
        run("thread", "spec", thread, "--file", str(arena.place / "long.md"), cwd=arena.root, env=arena.environment)
        after = len(terminal.screen)
        browser.post(f"/thread/{thread}/act", event="finalize")
        terminal.gate_code("finalize", after)
        shown = terminal.screen[after:].partition("To finalize, type")[0].strip()
        page = "\n".join(line.strip() for line in browser.text.splitlines())
        for line in shown.splitlines():
            assert line.strip() in page
        assert "│ the very end" in page
        assert page.count("⟦U+3164⟧") == 2000
        assert "spec " in shown
        assert state(arena, thread) == "Drafting"


def test_a_stuck_thread_goes_on_after_a_person_assists_and_rests_when_they_pause(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        arena._script("script", [IDLE, IDLE])
        thread = arena.new("x", "--quick")
        browser.gate(terminal, thread, "finalize")
        stuck = browser.reached(thread, "Stuck")
        browser.gate(terminal, thread, "assist", reason="I mended the tests")
        browser.reached(thread, "Stuck", stuck)
        assist = next(one for one in entries(arena, thread) if one.event == "assist")
        assert (assist.channel, assist.reason) == ("web", "I mended the tests")
        browser.post(f"/thread/{thread}/act", event="context", text="look at the clock")
        assert "told" in browser.told()
        browser.post(f"/thread/{thread}/act", event="pause")
        assert "pause" in browser.told()
        assert state(arena, thread) == "Stuck"
        browser.post(f"/thread/{thread}/act", event="abandon", reason="enough")
        assert state(arena, thread) == "Abandoned"


def test_a_reset_is_asked_for_with_a_code_too(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        arena._script("script", [DONE])
        thread = arena.new("x", "--quick")
        browser.gate(terminal, thread, "finalize")
        browser.reached(thread, "PendingReview")
        after = len(terminal.screen)
        browser.gate(terminal, thread, "revise")
        assert "This will reset changes" in terminal.screen[after:]
        assert state(arena, thread) == "Drafting", browser.told()


def test_a_code_that_is_wrong_used_or_for_another_gate_is_refused_and_kept(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        one, other = arena.new("x"), arena.new("y")
        browser.gate(terminal, one, "finalize", code="2222-2222")
        assert browser.where == f"/thread/{one}/gate/finalize"
        assert "the code is wrong" in browser.text
        after = len(terminal.screen)
        browser.post(f"/thread/{one}/act", event="finalize")
        form = browser.form(f"/thread/{one}/act", code="")
        code = terminal.gate_code("finalize", after)
        browser.gate(terminal, other, "finalize", code=code)
        assert state(arena, other) == "Drafting"
        browser.post(f"/thread/{one}/act", **{**form, "code": code})
        assert state(arena, one) == "Finalized"
        browser.post(f"/thread/{one}/act", event="reopen")
        assert state(arena, one) == "Drafting", browser.told()
        browser.get(f"/thread/{one}/gate/finalize")
        browser.post(f"/thread/{one}/act", **{**form, "code": code})
        assert state(arena, one) == "Drafting"
        assert ["wrong" in why for why in attempts(arena, other)] == [True]
        assert len(attempts(arena, one)) == 2
        assert "it was used" in attempts(arena, one)[1]


def test_what_was_said_with_a_gate_is_still_there_after_a_wrong_code_and_a_new_one(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, _, browser):
        act = f"/thread/{arena.new('x')}/act"
        browser.post(act, event="finalize", reason="it is & stays clear")
        assert browser.form(act, code="")["reason"] == "it is & stays clear"
        browser.post(act, **{**browser.form(act, code=""), "code": "2222-2222"})
        assert "the code is wrong" in browser.text
        assert browser.form(act)["reason"] == "it is & stays clear"
        browser.post(act, **browser.form(act, reason="it is & stays clear"))
        assert browser.form(act, code="")["reason"] == "it is & stays clear"


def test_a_code_is_void_for_a_spec_that_changed_meanwhile(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        thread = arena.new("x")
        after = len(terminal.screen)
        browser.post(f"/thread/{thread}/act", event="finalize")
        form = browser.form(f"/thread/{thread}/act", code="")
        code = terminal.gate_code("finalize", after)
        browser.post(f"/thread/{thread}/act", event="spec", text=SPEC.replace("polite", "rude"))
        browser.post(f"/thread/{thread}/act", **{**form, "code": code})
        assert "something else" in browser.text
        fresh = {**form, "about": "0" * 64, "code": code}
        browser.post(f"/thread/{thread}/act", **fresh)
        assert state(arena, thread) == "Drafting"
        assert len(attempts(arena, thread)) == 2


def test_a_tree_that_changed_between_the_page_and_the_code_is_not_approved(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        arena._script("script", [DONE])
        thread = arena.new("x", "--quick")
        browser.gate(terminal, thread, "finalize")
        browser.reached(thread, "PendingReview")
        after = len(terminal.screen)
        browser.post(f"/thread/{thread}/act", event="approve")
        form = browser.form(f"/thread/{thread}/act", code="")
        code = terminal.gate_code("approve", after)
        with opened(arena.root) as journal:
            tree = read_thread(journal, thread).directory(arena.root, arena.root)
        (tree / "greeting.txt").write_text("something else\n")
        browser.post(f"/thread/{thread}/act", **{**form, "code": code})
        assert state(arena, thread) == "PendingReview"
        assert all("approval" not in one.decoded_evidence().data for one in entries(arena, thread)[-3:])


@SIGNS
def test_where_a_key_is_enrolled_a_code_alone_passes_nothing(tmp_path: Path) -> None:
    arena = Arena(tmp_path, "passphrase")
    arena.begin()
    with in_terminal(arena.root, arena.environment) as terminal:
        thread = arena.new("x")

        browser = terminal.browser()
        browser.log_in(terminal)
        terminal.answer("Enter passphrase", "wrong\n")
        browser.gate(terminal, thread, "finalize")
        assert "none of them signed" in browser.text
        assert state(arena, thread) == "Drafting"
        assert attempts(arena, thread) == ["no enrolled key signed"]


def test_a_ticket_is_handed_on_with_a_reason_and_a_refusal_says_why(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, _, browser):
        run("ticket", "create", "Greet", cwd=arena.root, env=arena.environment)
        browser.post("/ticket/1/handoff", to="Research Needed", reason="worth a look")
        assert browser.where == "/ticket/1"
        assert "Research Needed" in browser.told()
        browser.post("/ticket/1/handoff", to="Done", reason="because")
        assert browser.told() != ""
        browser.post("/ticket/1/handoff", to="Human Needed", reason="")
        assert "reason" in browser.told().lower()
        browser.post("/ticket/1/handoff", to="Human Needed", reason="decide")
        browser.post("/ticket/1/handoff", to="Backlog", reason="not now")
        shown = run("ticket", "show", "1", "--json", cwd=arena.root, env=arena.environment).data
        assert shown["state"] == "Backlog", browser.told()


def test_what_there_is_not_cannot_be_done(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, _, browser):
        thread = arena.new("x")
        for path, fields in (
            (f"/thread/{thread}/act", {"event": "checks_passed"}),
            (f"/thread/{thread}/act", {"event": ""}),
            (f"/thread/{thread}/act", {"event": "configure", "iterations": "many"}),
            (f"/thread/{thread}/act", {"event": "resume"}),
            ("/thread/nothing/act", {"event": "pause"}),
            ("/threads/new", {"title": " "}),
            ("/threads/new", {"title": "x", "mode": "reckless"}),
            (f"/run/{thread}/act", {"event": "stop"}),
            (f"/story/{thread}/act", {"event": "pause"}),
            ("/ticket/77/handoff", {"to": "Backlog", "reason": "x"}),
        ):
            browser.post(path, **fields)
            assert browser.told(), (path, fields)
        assert state(arena, thread) == "Drafting"
        with opened(arena.root) as journal:
            assert [one.id for one in journal.instances("thread")] == [thread]


def test_a_driver_outlives_the_server_that_started_it(tmp_path: Path) -> None:
    with acting(tmp_path) as (arena, terminal, browser):
        gate = arena.root / ".ralf" / "go"
        waits = {"run": ["/bin/sh", "-c", f"while ! test -e {gate}; do :; done"]}
        arena._script("script", [[waits, *DONE]])
        thread = arena.new("x", "--quick")
        browser.gate(terminal, thread, "finalize")
        browser.reached(thread, "Running")
        terminal.end()
    gate.touch()
    with in_terminal(arena.root, arena.environment) as terminal:
        terminal.browser().reached(thread, "PendingReview")


def test_without_a_person_at_its_terminal_the_dashboard_only_shows(tmp_path: Path) -> None:
    arena = Arena(tmp_path, "none")
    arena.begin()
    thread = arena.new("x")
    with in_terminal(arena.root, {**arena.environment, "CLAUDECODE": "1"}) as terminal:
        browser = terminal.browser()
        assert "read-only" in browser.get("/")
        assert "claude" in browser.get("/login").lower()
        assert "a person starts `ralph serve` in a terminal" in browser.text
        browser.post("/login", code="2222-2222")
        assert browser.status == 403
        browser.post("/login", again="yes")
        assert browser.status == 403
        browser.post(f"/thread/{thread}/act", event="finalize")
        assert browser.status == 403
        browser.post("/threads/new", title="Forged")
        assert browser.status == 403
        assert "/login and type" not in terminal.screen
    assert len(attempts(arena, thread)) == 1
