"""`ralph demo`: a ticket from Backlog to a merged commit, seen from outside."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from faces.journals import journal_file
from faces.programs import SECONDS, clean_environment, run, run_here, run_in_terminal
from interlock.journal import Journal, open_journal
from interlock.work.gates.audit import audit

PLAYED = {"ticket", "thread", "story", "session", "orchestrator"}
REFUSED = {"lock_held", "person_needed", "proof_required", "refused_by_rule", "target_not_allowed"}
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo is called: a repository whose settings name a program that leaves a `canary` beside it."""
    place = tmp_path_factory.mktemp("called")
    script, repository = place / "script", place / "repository"
    script.write_text(f"#!/bin/sh\necho ran >> {place / 'canary'}\n", encoding="utf-8")
    script.chmod(0o755)
    _git("init", "-q", repository)
    for key in ("core.fsmonitor", "core.pager", "core.hooksPath", "init.templateDir"):
        _git("-C", repository, "config", key, script)
    return repository


def _git(*words: str | Path) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, timeout=SECONDS, check=True).stdout


@pytest.fixture(scope="module")
def data(called: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `ralph demo --json` gives, played once."""
    environment = clean_environment(tmp_path_factory.mktemp("home"))
    found: dict[str, Any] = run("demo", "--json", cwd=called, env=environment).data
    return found


@pytest.fixture(scope="module")
def journal(data: dict[str, Any]) -> Iterator[Journal]:
    """The journal that it leaves behind."""
    with closing(open_journal(journal_file(Path(data["directory"])))) as found:
        yield found


def test_every_machine_takes_part_and_ends_in_success(data: dict[str, Any]) -> None:
    assert {one["machine"] for one in data["ends"] if one["outcome"] == "success"} == PLAYED
    others = [one["machine"] for one in data["ends"] if one["outcome"] not in ("success", None)]
    assert others == ["session"], "that of the driver that was killed"
    assert data["verified"] is True


def test_what_is_refused_is_told_with_what_is_allowed_instead(data: dict[str, Any]) -> None:
    assert {refused["code"] for refused in data["refused"]} == REFUSED
    for refused in data["refused"]:
        if refused["code"] != "person_needed":  # at a gate, who is no person is told nothing else
            assert all(one["event"] and one["to"] and one["by"] for one in refused["allowed"])


def test_the_journal_it_names_verifies_there(data: dict[str, Any], environment: dict[str, str]) -> None:
    directory = Path(data["directory"])
    assert (directory / ".ralf" / "journal.db").is_file()
    verified = run("journal", "verify", "--json", cwd=directory, env=environment).data
    signed = 5 if shutil.which("ssh-keygen") else 0
    told = {"instances": len(data["ends"]), "gates": signed or 4, "signed": signed}
    assert verified == {"entries": data["moves"] + data["noted"], **told}
    entries = run("log", "-n", "1000", "--json", cwd=directory, env=environment).data
    assert len(entries) == data["moves"] + data["noted"]
    assert data["blocked"] == 3
    assert {one["channel"] for one in entries if one["actor_kind"] == "human"} == {"demo"}


def test_two_lies_are_caught_and_what_is_committed_was_proven(data: dict[str, Any], journal: Journal) -> None:
    assert audit(journal) == []
    [thread] = journal.instances("thread")
    history = journal.history(thread.id)
    assert [one.event for one in history].count("criteria_failed") == 2
    [passed, *_] = [one for one in reversed(history) if one.event == "criteria_passed"]
    tree = passed.decoded_evidence().subjects["tree"]

    def git(*words: str) -> str:
        return _git("-C", data["directory"], *words).strip()

    assert git("rev-parse", f"ralf/{thread.id}^{{tree}}") == tree
    assert git("log", "--format=%s", "main").splitlines() == [
        "task-2: A command line",
        "task-1: Greet in Welsh",
        "progress: the loop ends after 3 iterations",
        "story-1-1 task 2: Test it",
        "story-1-1 task 1: Greet in French",
        "A story",
        "Greet people by name",
        "Add the plan document of #1",
        "A greeting",
    ]
    assert git("status", "--porcelain") == ""


def test_the_thread_hangs_on_its_ticket_and_each_run_on_who_sent_it(journal: Journal) -> None:
    named = {one.id: one.machine for one in journal.instances()}
    parents = {(one.machine, named.get(one.parent or "")) for one in journal.instances()}
    assert parents == {
        ("trust", None),
        ("ticket", None),
        ("thread", "ticket"),
        ("story", None),
        ("orchestrator", None),
        ("session", None),
        ("session", "ticket"),
        ("session", "thread"),
        ("session", "story"),
        ("session", "orchestrator"),
    }


def test_nothing_is_written_where_it_is_called(data: dict[str, Any], called: Path) -> None:
    assert data["verified"]
    assert [one.name for one in called.iterdir()] == [".git"]


def test_it_runs_nothing_that_the_repository_names(data: dict[str, Any], called: Path) -> None:
    canary = called.with_name("canary")
    assert data["verified"]
    assert not canary.exists()
    _git("-C", called, "status")
    assert canary.exists(), "the trap does not even catch git"


def test_a_demo_without_git_still_plays_and_can_be_looked_at(outside: Path, environment: dict[str, str]) -> None:
    """It names a directory and says `ralph log`; what it says must work, or it must say what is missing."""
    (outside / "bin").mkdir()
    alone = {**environment, "PATH": str(outside / "bin")}
    result = run("demo", "--json", cwd=outside, env=alone)
    if result.code == 0:
        assert run("journal", "verify", "--json", cwd=Path(result.data["directory"]), env=alone).data
    else:
        assert "git" in result.error["message"]
        assert result.error["code"] != "internal_error"


def test_make_demo_runs_it() -> None:
    not_inside_make = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--dry-run", "--assume-old=.venv/ready-base", "demo"],
        cwd=ROOT,
        env=not_inside_make,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1].split()[-2:] == [".venv/bin/ralph", "demo"]


@pytest.mark.sampled(0)  # in `make test`: what it prints, by the README; a person at its first gate, below
def test_a_person_at_a_terminal_passes_the_gates_and_sees_every_move_every_refusal_and_where_to_look(
    outside: Path, environment: dict[str, str]
) -> None:
    words = ("build", "finalize", "approve", "approve", "commit")
    answers = [(f"Type {word} and press Enter", f"{word}\n") for word in words]
    code, screen = run_in_terminal("demo", cwd=outside, env=environment, answers=answers, columns=200)
    assert code == 0, screen
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen).replace("\r\n", "\n")
    for name in PLAYED:
        assert re.search(rf"^  {name} .* ends: success$", lines, re.MULTILINE), screen
    [refused] = re.findall(r"moves in .*; (\d+) refused, 3 blocked; the journal verifies\.$", lines, re.MULTILINE)
    assert int(refused) == lines.count("✗ refused")
    [directory] = re.findall(r"cd (\S+) && ralph log$", lines, re.MULTILINE)
    assert run_here("journal", "verify", cwd=Path(directory), env=environment).code == 0


def test_a_person_who_declines_is_told_where_it_stands(outside: Path, environment: dict[str, str]) -> None:
    answers = [("Type build and press Enter", "no\n")]
    code, screen = run_in_terminal("demo", cwd=outside, env=environment, answers=answers)
    assert code != 0
    assert "You did not pass the gate" in screen
