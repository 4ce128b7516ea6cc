"""`ralph import`: shown first, written once, and nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.programs import RALPH, Result, run_here, run_in_terminal
from interlock.work.importing.planning import MOST
from interlock.work.importing.sources import MOST_BYTES
from interlock.work.threads.spec import parse_spec
from patience import SECONDS
from work.importing.samples import SAMPLES

Ralph = Callable[..., Result]
_KILLED = """
import os, signal
from interlock.faces.cli import main
from interlock.journal import Transaction
created, made = Transaction.create, []

def create(self, *given, **more):
    made.append(given)
    if len(made) == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return created(self, *given, **more)

Transaction.create = create
main()
"""
"""`ralph`, killed at the sixth ticket that it makes."""
NAMES = {
    "prd": "prd.json",
    "fix-plan": ".ralph/fix_plan.md",
    "spec-kit": "specs/001-albums/tasks.md",
    "backlog": "backlog/tasks/task-12 - Parse-dates.md",
    "beads": ".beads/issues.jsonl",
    "github": "issues.json",
}


@pytest.fixture
def ralph(repository: Path, environment: dict[str, str]) -> Ralph:
    return lambda *words: run_here(*words, cwd=repository, env=environment)


def _put(repository: Path, form: str, text: str | None = None) -> str:
    path = repository / NAMES[form]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SAMPLES[form] if text is None else text, encoding="utf-8")
    return NAMES[form]


def _tickets(ralph: Ralph) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ralph("ticket", "list", "--all", "-n", "100", "--json").data
    return found


@pytest.mark.parametrize("form", NAMES)
def test_each_form_is_shown_then_written_then_known(form: str, repository: Path, ralph: Ralph) -> None:
    name = _put(repository, form)
    shown = ralph("import", name, "--dry-run", "--json").data
    assert (shown["form"], shown["written"]) == (form, False)
    assert shown["make"]
    assert not (repository / ".ralf").exists()
    written = ralph("import", ".", "--yes", "--json").data  # found in its directory, too
    assert [one["id"] for one in written["make"]] == [one["id"] for one in shown["make"]]
    titles = [one["title"] for one in _tickets(ralph)]
    assert sorted(titles) == sorted(one["title"] for one in shown["make"])
    again = ralph("import", name, "--yes", "--json").data
    assert (again["make"], again["written"]) == ([], False)
    assert [one["changed"] for one in again["known"]] == [[] for _ in titles]
    assert len(_tickets(ralph)) == len(titles)
    alias = written["make"][0]["alias"]
    assert ralph("ticket", "show", alias, "--json").data["number"] == written["make"][0]["number"]


def test_criteria_are_what_a_spec_takes_up_and_links_are_made(repository: Path, ralph: Ralph) -> None:
    ralph("import", _put(repository, "beads"), "--yes")
    part = ralph("ticket", "show", "beads:bd-1.1", "--json").data
    assert [one.text for one in parse_spec(part["body"]).criteria] == ["works", "tested"]
    assert part["parent"]["title"] == "Dates"
    assert [one["title"] for one in part["blocked_by"]] == ["Calendars"]
    assert (part["priority"], part["labels"], part["assignees"]) == ("P3", ["parser", "bug"], ["ann"])


def test_what_is_done_is_closed_where_it_is_asked_for(repository: Path, ralph: Ralph) -> None:
    assert ralph("import", _put(repository, "beads"), "--with-done", "--yes").code == 0
    assert ralph("ticket", "show", "beads:bd-2", "--json").data["state"] == "Done"
    assert ralph("journal", "verify").code == 0


def test_a_change_in_the_source_is_told_and_not_written(repository: Path, ralph: Ralph) -> None:
    name = _put(repository, "prd")
    ralph("import", name, "--yes")
    changed = SAMPLES["prd"].replace("Show the cart", "Show it").replace('"passes": false', '"passes": true')
    _put(repository, "prd", changed)
    known = {one["id"]: one["changed"] for one in ralph("import", name, "--yes", "--json").data["known"]}
    assert known == {"ralph/cart/US-002": ["title", "done"], "ralph/cart/US-003": ["done"]}
    assert ralph("ticket", "show", "prd:ralph/cart/US-002", "--json").data["title"] == "Show the cart"


def test_without_a_terminal_nothing_is_written_unasked(repository: Path, ralph: Ralph) -> None:
    name = _put(repository, "prd")
    assert ralph("import", name, "--json").error["code"] == "import_declined"
    assert not (repository / ".ralf").exists()


@pytest.mark.parametrize(("typed", "made"), [("y", 2), ("n", 0)])
def test_at_a_terminal_it_asks(
    typed: str, made: int, repository: Path, environment: dict[str, str], ralph: Ralph
) -> None:
    answers = [("Make these tickets?", f"{typed}\n")]
    _, screen = run_in_terminal("import", _put(repository, "prd"), cwd=repository, env=environment, answers=answers)
    assert "Show the cart" in screen
    assert len(_tickets(ralph)) == made


def test_an_agent_imports_with_its_own_name(repository: Path, environment: dict[str, str], ralph: Ralph) -> None:
    session = ralph("session", "create", "--json").data["session_id"]
    inside = {**environment, "RALPH_SESSION_ID": session}
    name = _put(repository, "beads")
    assert run_here("import", name, "--yes", "--with-done", cwd=repository, env=inside).code == 0
    entries = [json.loads(line) for line in ralph("journal", "export").out.splitlines()]
    ours = [one for one in entries if str(one.get("key") or "").startswith("import:")]
    assert len(ours) == 4
    assert {one["actor_kind"] for one in ours} == {"agent"}


def test_two_imports_at_once_make_everything_once(repository: Path, environment: dict[str, str], ralph: Ralph) -> None:
    words = [str(RALPH), "import", _put(repository, "spec-kit"), "--yes"]
    both = [subprocess.Popen(words, cwd=repository, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [one.wait(SECONDS) for one in both] == [0, 0]
    titles = [one["title"] for one in _tickets(ralph)]
    assert len(titles) == len(set(titles)) == 9


def test_an_import_that_is_killed_in_the_middle_wrote_nothing(
    repository: Path, environment: dict[str, str], ralph: Ralph
) -> None:
    name = _put(repository, "spec-kit")
    words = [sys.executable, "-c", _KILLED, "import", name, "--yes"]
    killed = subprocess.run(words, cwd=repository, env=environment, capture_output=True, timeout=SECONDS, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (repository / ".ralf" / "journal.db").exists()
    assert _tickets(ralph) == []
    assert len(ralph("import", name, "--yes", "--json").data["make"]) == 9
    assert len(_tickets(ralph)) == 9
    assert ralph("journal", "verify").code == 0


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: path.symlink_to("elsewhere"), "import_invalid"),
        (lambda path: path.write_bytes(b"\x89PNG\xff\xfe"), "import_invalid"),
        (lambda path: path.write_bytes(b"{\0}"), "import_invalid"),
        (lambda path: path.write_bytes(b" " * (MOST_BYTES + 1)), "import_invalid"),
        (lambda path: path.write_text("nothing known"), "import_unclear"),
        (lambda path: path.mkdir(), "import_unclear"),
        (lambda path: None, "import_invalid"),
    ],
)
def test_what_cannot_be_imported_is_told(
    make: Callable[[Path], Any], code: str, repository: Path, ralph: Ralph
) -> None:
    make(repository / "thing")
    assert ralph("import", "thing", "--yes", "--json").error["code"] == code
    assert not (repository / ".ralf").exists()


def test_too_many_at_once_are_refused(repository: Path, ralph: Ralph) -> None:
    text = "".join(f"- [ ] Thing {number}\n" for number in range(MOST + 1))
    name = _put(repository, "fix-plan", text)
    assert ralph("import", name, "--as", "fix-plan", "--yes", "--json").error["code"] == "import_invalid"


def test_several_known_things_are_told_apart_by_as(repository: Path, ralph: Ralph) -> None:
    _put(repository, "prd")
    _put(repository, "beads")
    error = ralph("import", ".", "--json").error
    assert error["code"] == "import_unclear"
    assert "--as beads (.beads/issues.jsonl)" in error["hint"]
    assert ralph("import", ".", "--as", "beads", "--yes", "--json").data["form"] == "beads"


def test_stories_are_the_story_loops_own(repository: Path, ralph: Ralph) -> None:
    assert ralph("import", _put(repository, "prd"), "--to", "stories", "--json").data == {"next": "ralph story init"}
    error = ralph("import", _put(repository, "spec-kit"), "--to", "stories", "--json").error
    assert error["code"] == "invalid_argument"


def test_a_long_title_is_cut_and_stands_whole_in_the_body(repository: Path, ralph: Ralph) -> None:
    long = "word " * 60
    ralph("import", _put(repository, "fix-plan", f"- [ ] {long}\n"), "--as", "fix-plan", "--yes")
    [line] = _tickets(ralph)
    shown = ralph("ticket", "show", str(line["number"]), "--json").data
    assert shown["title"].endswith("…")
    assert shown["body"].startswith(long.strip())
