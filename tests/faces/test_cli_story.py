"""`ralph story`, `ralph "PROMPT"`, `ralph --status`: the loop from the command line, with the scripted agent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from faces.programs import RALPH, SECONDS, Result, followed, run, run_here, run_in_terminal

Ralph = Callable[..., Result]

STORY = """# Story {number}: {title}

Status: ready-for-dev

## Acceptance Criteria

1. {title} works

## Tasks / Subtasks

- [ ] Task 1: {title} (AC: 1)
"""
WRITES: list[dict[str, Any]] = [
    {"say": "I write it"},
    {"write": {"path": "work.txt", "text": "good\n"}},
    {"cost": 0.5},
    {"finish": True},
]
IDLES: list[dict[str, Any]] = [{"say": "I am thinking"}, {"finish": True}]
JUDGED: list[dict[str, Any]] = [{"say": "AC-1: it works - ✓ work.txt:1"}, {"finish": True}]


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository with one story, whose agent does it at once."""
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run(["git", "config", key, value], cwd=repository, env=environment, check=True)
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY.format(number="1.1", title="greeting"))
    (repository / ".gitignore").write_text(".ralf/\n*.state\n*.json\nralph_prompt.md\n")
    (repository / "ralph.toml").write_text(
        '[story]\nagent = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n'
        'tests = ["grep -q good work.txt"]\n'
    )
    _script(repository, "agent", [WRITES])
    _script(repository, "judge", [JUDGED])
    run_here("story", "init", cwd=repository, env=environment)
    subprocess.run(["git", "add", "-A"], cwd=repository, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=repository, env=environment, check=True)
    return repository


def _script(repository: Path, name: str, iterations: list[list[dict[str, Any]]]) -> None:
    text = json.dumps({"state": f"{name}.state", "iterations": iterations})
    (repository / f"{name}.json").write_text(text)


def _log(repository: Path) -> list[str]:
    done = subprocess.run(["git", "log", "--format=%s"], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        ("story", "run"),
        ("Execute next BMAD story subtask", "--agent", "scripted"),
        ("Execute next BMAD story subtask", "--agent", "scripted", "--prompt-template", "ralph_prompt.md"),
        ("go", "--max-iterations", "5"),
    ],
    ids=" ".join,
)
def test_the_loop_runs_to_its_end_in_each_of_its_forms(
    project: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    (project / "ralph_prompt.md").write_text("{{prompt}}\n{{tasks}}\n{{unknown}}\n")
    result = run(*words, cwd=project, env=environment)
    assert result.code == 0, result
    assert "<promise>READY_FOR_NEXT_TASK</promise>" in result.out
    assert "<promise>COMPLETED</promise>\n\nSummary:\n- Stories completed: 1\n- Total iterations: 1\n" in result.out
    assert _log(project)[1:] == ["story-1-1 task 1: greeting", "start"]
    shown = run("--status", "--json", cwd=project, env=environment).data
    assert (shown["outcome"], shown["iteration"], shown["spent"]["usd"]) == ("all_complete", 1, 0.5)
    assert run("journal", "verify", cwd=project, env=environment).code == 0


@pytest.mark.parametrize("word", ["greet", "stroy", "run"])
def test_a_typo_starts_no_agent(project: Path, environment: dict[str, str], word: str) -> None:
    refused = run_here(word, "--json", cwd=project, env=environment)
    assert (refused.code, refused.error["code"]) == (64, "usage")
    assert _log(project) == ["start"]


def test_json_is_a_line_for_each_thing_that_happens_and_the_result_last(
    project: Path, environment: dict[str, str]
) -> None:
    *lines, last = _lines(run("story", "run", "--json", cwd=project, env=environment))
    states = [line["state"] for line in lines if line["event"] == "state"]
    assert states[:4] == ["INIT", "MEMORY_LOAD", "STORY_SELECT", "IMPLEMENT"]
    assert {"event": "said", "text": "I write it"} in lines
    assert (last["ok"], last["data"]["outcome"]) == (True, "all_complete")


def test_without_progress_txt_the_setup_is_explained(repository: Path, environment: dict[str, str]) -> None:
    result = run("story", "run", "--agent", "claude", cwd=repository, env=environment)
    assert result.code == 5
    expected = "<promise>SETUP_REQUIRED</promise>\nExplanation: progress.txt not found. Create with template.\n"
    assert expected in result.out
    assert "ralph story init" in result.err


def test_a_loop_does_not_begin_on_somebodys_unfinished_work(project: Path, environment: dict[str, str]) -> None:
    (project / "mine.txt").write_text("half done")
    refused = run_here("story", "run", "--json", cwd=project, env=environment)
    assert (refused.code, refused.error["code"]) == (5, "setup_required")
    assert "mine.txt" in refused.error["message"]
    assert (project / "mine.txt").read_text() == "half done"
    (project / "mine.txt").unlink()
    (project / "progress.txt").write_text((project / "progress.txt").read_text() + "# a person's note\n")
    assert run("story", "run", cwd=project, env=environment).code == 0


def test_init_makes_progress_txt_once_from_the_stories_that_there_are(
    project: Path, environment: dict[str, str]
) -> None:
    text = (project / "progress.txt").read_text()
    assert "id: story-1-1" in text
    refused = run_here("story", "init", "--json", cwd=project, env=environment)
    assert refused.error["code"] == "file_exists"
    printed = run_here("story", "init", "--print", cwd=project, env=environment)
    assert "story-1-1" in printed.out
    assert (project / "progress.txt").read_text() == text


def test_a_blocked_loop_needs_a_person_who_can_unblock_it(project: Path, environment: dict[str, str]) -> None:
    _script(project, "agent", [IDLES, IDLES, IDLES, WRITES])
    result = run("story", "run", cwd=project, env=environment)
    assert result.code == 5
    assert "<promise>BLOCKED</promise>" in result.out
    assert "[loop_blocked]" in result.err
    assert "retry_count: 3" in (project / "progress.txt").read_text()
    assert run("story", "unblock", "story-1-1", cwd=project, env=environment).code == 0
    assert run("story", "unblock", "story-9-9", "--json", cwd=project, env=environment).error["code"] == "unknown_story"
    again = run("story", "run", cwd=project, env=environment)
    assert again.code == 0, again


def test_a_loop_is_paused_and_steered_from_elsewhere_and_goes_on(project: Path, environment: dict[str, str]) -> None:
    gate = project / "gate"
    waits = [{"say": "waiting"}, {"wait": str(gate)}, *WRITES]
    _script(project, "agent", [waits, WRITES])
    with followed("story", "run", "--json", cwd=project, env=environment) as stream:
        while json.loads(stream.line()).get("text") != "waiting":
            pass
        steered: Mapping[str, Any] = run("--add-context", "use the clock", "--json", cwd=project, env=environment).data
        assert steered["state"] == "IMPLEMENT"
        assert run("story", "limit", "iterations", "9", cwd=project, env=environment).code == 0
        assert run("story", "pause", "--reason", "lunch", cwd=project, env=environment).code == 0
        last: dict[str, Any] = {}
        while "ok" not in last:
            last = json.loads(stream.line())
        assert stream.process.wait(SECONDS) == 0
    assert (last["data"]["state"], last["data"]["paused"]) == ("IMPLEMENT", "lunch")
    assert "use the clock" in run("--status", cwd=project, env=environment).out
    assert run("story", "run", cwd=project, env=environment).code == 0
    assert run("--status", "--json", cwd=project, env=environment).data["context"] == []


def test_ctrl_c_stops_the_agent_and_loses_nothing(project: Path, environment: dict[str, str]) -> None:
    _script(project, "agent", [[{"say": "waiting"}, {"wait": str(project / "never")}], WRITES])
    with followed("story", "run", "--json", cwd=project, env=environment) as stream:
        while json.loads(stream.line()).get("text") != "waiting":
            pass
        ended = stream.interrupt()
    assert ended.code == 130
    assert run("--status", "--json", cwd=project, env=environment).data["state"] == "IMPLEMENT"
    assert run("story", "run", cwd=project, env=environment).code == 0


def test_no_agent_steers_the_loop(project: Path, environment: dict[str, str]) -> None:
    run("story", "run", cwd=project, env=environment)
    inside = {**environment, "CLAUDECODE": "1"}
    for words in (("pause",), ("resume",), ("skip", "story-1-1"), ("limit", "iterations", "9"), ("context", "x")):
        refused = run_here("story", *words, "--json", cwd=project, env=inside)
        assert (refused.code, refused.error["code"]) == (5, "person_needed")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("story", "run", "--agent", "nobody"), "agent_unknown"),
        (("story", "run", "--prompt-template", "nowhere.md"), "invalid_argument"),
        (("story", "run", "--max-iterations", "0"), "usage"),
        (("story", "limit", "luck", "7"), "invalid_argument"),
        (("story", "skip", "story-1-1"), "unknown_loop"),
        (("story", "status"), "unknown_loop"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told_and_changes_nothing(
    project: Path, environment: dict[str, str], words: tuple[str, ...], code: str
) -> None:
    before = (project / "progress.txt").read_bytes()
    assert run_here(*words, "--json", cwd=project, env=environment).error["code"] == code
    assert (project / "progress.txt").read_bytes() == before
    assert _log(project) == ["start"]


def test_a_person_sees_what_happens_in_a_terminal(project: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("story", "run", cwd=project, env=environment)
    assert code == 0
    assert all(word in screen for word in ("IMPLEMENT", "I write it", "COMMIT", "COMPLETED"))
    assert RALPH.exists()
