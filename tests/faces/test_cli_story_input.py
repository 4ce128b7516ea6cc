"""`ralph story run` where something is wrong from the start: it is told, the exit status says so, nothing changes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from faces.journals import settle
from faces.programs import Result, run_here
from interlock.errors import InterlockError
from interlock.work.stories.progress_file import parse

STORY = "# Story 1.1: Greet\n\n## Acceptance Criteria\n\n1. It greets\n\n## Tasks\n\n- [ ] Task 1: greet (AC: 1)\n"
PROGRESS = "workflow: ralph-bmad-integration\nproject: demo\nstories:\n  - id: story-1-1\n    status: not_started\n"
NEITHER = '{"epics": [1, 2]}'


def _git(directory: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=directory, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository with one story, whose agent would leave a trace."""
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        _git(repository, environment, "config", key, value)
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY)
    (repository / "progress.txt").write_text(PROGRESS)
    (repository / ".gitignore").write_text(".ralf/\n")
    settle(
        repository, '[agent]\nsandbox = "none"\nname = "command"\ncommand = "touch ran"\n[story]\ntests = ["true"]\n'
    )
    _git(repository, environment, "add", "-A")
    _git(repository, environment, "commit", "-qm", "start")
    return repository


def _write(name: str, text: str | None) -> Callable[[Path, dict[str, str]], None]:
    def change(project: Path, environment: dict[str, str]) -> None:
        path = project / name
        path.unlink(missing_ok=True) if text is None else path.write_bytes(text.encode("utf-8", "surrogateescape"))
        _git(project, environment, "add", "-A")
        _git(project, environment, "commit", "-qm", "changed")

    return change


def _detach(project: Path, environment: dict[str, str]) -> None:
    _git(project, environment, "checkout", "-q", "--detach")


def _prd(project: Path, environment: dict[str, str]) -> None:
    _write("prd.json", NEITHER)(project, environment)
    _write("stories/1-1-greet.md", None)(project, environment)


def _story(status: str) -> str:
    return PROGRESS.replace("status: not_started", status)


WRONG: dict[str, tuple[Callable[[Path, dict[str, str]], None], str]] = {
    "progress_missing": (_write("progress.txt", None), "progress.txt not found"),
    "progress_empty": (_write("progress.txt", ""), "line 1"),
    "progress_no_yaml": (_write("progress.txt", "stories:\n  - id: [\n"), "no YAML"),
    "progress_no_text": (_write("progress.txt", "stories: \udcff"), "cannot be read"),
    "unknown_status": (_write("progress.txt", _story("status: almost")), "'almost' is no status"),
    "no_current_task": (_write("progress.txt", _story("status: in_progress")), "no current_task"),
    "no_reason": (_write("progress.txt", _story("status: blocked")), "no blocker_reason"),
    "no_criteria": (
        _write("stories/1-1-greet.md", "# Story 1.1: Greet\n\n## Tasks\n\n- [ ] Task 1: greet\n"),
        "story-1-1",
    ),
    "no_story_file": (_write("stories/1-1-greet.md", None), "there is no story file"),
    "prd_of_neither_form": (_prd, "prd.json"),
    "detached": (_detach, "No branch is checked out"),
}


@pytest.mark.requirement("story:error:instructions")
@pytest.mark.requirement("story:error:code-untouched")
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_and_nothing_is_changed(project: Path, environment: dict[str, str], what: str) -> None:
    change, words = WRONG[what]
    change(project, environment)
    before = _look(project, environment)
    result = run_here("story", "run", cwd=project, env=environment)
    assert (result.code, _error(result)) == (5, "setup_required"), result
    assert words in result.err, result
    assert "<promise>SETUP_REQUIRED</promise>\nExplanation: " in result.out
    assert _look(project, environment) == before
    assert not (project / "ran").exists(), "no agent was started"


def _error(result: Result) -> str:
    return result.err.rpartition("[")[2].partition("]")[0]


def _look(project: Path, environment: dict[str, str]) -> object:
    """Every file, and where git stands; of a `progress.txt` that can be read, the stories."""
    files = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    own = {path: text for path, text in files.items() if {".git", ".ralf"}.isdisjoint(path.parts)}
    progress = project / "progress.txt"
    with suppress(InterlockError, UnicodeDecodeError):
        own[progress] = str(parse(own.get(progress, b"").decode()).stories).encode()
    return own, _git(project, environment, "log", "--format=%H %D")


@pytest.mark.requirement("story:init:git")
def test_without_a_repository_there_is_no_loop(outside: Path, environment: dict[str, str]) -> None:
    (outside / "progress.txt").write_text(PROGRESS)
    refused = run_here("story", "run", "--json", cwd=outside, env=environment)
    assert (refused.code, refused.error["code"]) == (1, "no_repository")
    assert "git init" in refused.error["hint"]
    assert [path.name for path in outside.iterdir()] == ["progress.txt"]


def test_an_agent_that_is_not_installed_is_named_and_costs_no_attempt(
    project: Path, environment: dict[str, str]
) -> None:
    bare = {**environment, "PATH": "/usr/bin:/bin"}
    result = run_here("story", "run", "--agent", "opencode", cwd=project, env=bare)
    assert (result.code, _error(result)) == (1, "agent_missing"), result
    assert "opencode" in result.err
    assert parse((project / "progress.txt").read_text()).stories[0].retry_count == 0
    assert _git(project, environment, "log", "--format=%s").split() == ["start"]
