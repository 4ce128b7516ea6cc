"""`ralph orchestrate`, seen from outside: a goal, agents that play scripts, and what people do with a run."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.journals import settle
from faces.programs import Stream, clean_environment, followed, run, run_here, run_in_terminal
from patience import SECONDS
from work.orchestration.playing import MET, done, plan, qualified, says, task

SETTINGS = (
    '[agent]\nsandbox = "none"\nname = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n'
    '[verify]\ncommands = ["true"]\n'
)


@pytest.fixture
def project(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A repository whose agents do one task, and whose reviewer is content."""
    return _project(tmp_path / "repository", environment)


def _project(repository: Path, environment: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "-q", repository], env=environment, check=True)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run(["git", "config", key, value], cwd=repository, env=environment, check=True)
    (repository / ".gitignore").write_text("*.json\n*.count\n")
    settle(repository, SETTINGS)
    _plays(repository, "agent", plan(task(1)), done(1))
    _plays(repository, "judge", qualified(1), MET)
    subprocess.run(["git", "add", "-A"], cwd=repository, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=repository, env=environment, check=True)
    return repository


def _plays(repository: Path, name: str, *iterations: list[dict[str, Any]]) -> None:
    (repository / f"{name}.count").unlink(missing_ok=True)
    (repository / f"{name}.json").write_text(json.dumps({"state": f"{name}.count", "iterations": list(iterations)}))


def _last(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def test_a_goal_is_met_its_files_and_status_say_so_and_its_verbs_how_to_begin_another(
    project: Path, environment: dict[str, str]
) -> None:
    result = run("orchestrate", "All parts are there", cwd=project, env=environment)
    assert result.code == 0, result
    assert "[x] task-1" in result.out
    status = run("orchestrate", "status", "--json", cwd=project, env=environment).data
    assert (status["state"], status["outcome"], [one["mark"] for one in status["tasks"]]) == ("Exit", "success", ["x"])
    assert "- [x] task-1" in (project / ".ralph-sessions" / status["session"] / "progress.md").read_text()
    _says_how_to_begin_another(project, environment)
    assert run_here("journal", "verify", cwd=project, env=environment).code == 0


_GO = "../../../../go"
"""A file in the person's checkout, as the agents see it from their tree."""


def _mend(project: Path, environment: dict[str, str]) -> None:
    """Commit the file that the verifiers want."""
    (project / "mended").touch()
    for words in (("add", "mended"), ("commit", "-qm", "what was missing")):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True, timeout=SECONDS)


def test_a_run_that_failed_says_what_it_needs_and_a_person_lets_it_go_on(
    project: Path, environment: dict[str, str]
) -> None:
    settle(project, SETTINGS.replace('"true"', '"test -f mended"'))
    failed = run("orchestrate", "All parts are there", "--json", cwd=project, env=environment)
    error = _last(failed.out)["error"]
    assert (failed.code, error["code"]) == (5, "run_failed")
    assert error["details"]["tasks"][0]["mark"] == "F"
    assert run("orchestrate", "resume", cwd=project, env=environment).code == 5
    _mend(project, environment)
    _plays(project, "agent", done(1))
    _plays(project, "judge", qualified(1), MET)
    code, screen = run_in_terminal("orchestrate", "resume", cwd=project, env=environment)
    assert code == 0, screen
    assert run("orchestrate", "status", "--json", cwd=project, env=environment).data["outcome"] == "success"


@pytest.mark.parametrize("words", [("status",), ("add", "more"), ("stop",), ("resume",)])
def test_without_a_run_it_says_how_to_begin_one(
    repository: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    refused = run_here("orchestrate", *words, "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "unknown_run"
    assert "ralph orchestrate" in refused.error["hint"]


def test_a_verb_that_is_none_begins_no_run(repository: Path, environment: dict[str, str]) -> None:
    refused = run("orchestrate", "resme", "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "usage"
    assert "resume" in refused.error["hint"]


# Watching


def test_what_happens_is_a_plain_line_each_where_nobody_has_a_terminal(
    project: Path, environment: dict[str, str]
) -> None:
    _plays(project, "agent", plan(task(1)), done(1), done(1))
    _plays(project, "judge", qualified(1, "Failed"), qualified(1), MET)
    lines = run("orchestrate", "All parts are there", cwd=project, env=environment).out.splitlines()
    told = [line.strip() for line in lines]
    expected = [
        "Planning",
        "▸ planner scripted INITIALIZE",
        "✓ the plan is made",
        "Executing  0 of 1 tasks closed",
        "▸ executor scripted on task-1",
        "✗ task-1 Failed; attempt 2 is next: it is not right",
        "▸ executor scripted on task-1, attempt 2",
        "✓ task-1 [x] Qualified: I looked",
        "✓ the goal is met: The goal is met.",
    ]
    places = [told.index(line) for line in expected]
    assert places == sorted(places), told
    assert not any("\x1b" in line or '"status"' in line for line in lines)


def test_what_happens_is_a_line_of_json_each(project: Path, environment: dict[str, str]) -> None:
    lines = [
        json.loads(line)
        for line in run("orchestrate", "All parts are there", "--json", cwd=project, env=environment).out.splitlines()
    ]
    events = [line["event"] for line in lines[:-1]]
    assert {"state", "at_work", "said", "invoked", "planner_completed", "reviewer_completed"} <= set(events)
    assert [line["state"] for line in lines if line.get("event") == "state"] == [
        "Initializing",
        "Planning",
        "Executing",
        "Reviewing",
        "Executing",
        "Complete",
        "Exit",
    ]
    [first, *_] = [line for line in lines if line.get("event") == "at_work"]
    assert first == {**first, "role": "planner", "agent": "scripted", "attempt": 1}
    assert lines[-1]["data"]["outcome"] == "success"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("columns", [50, 80])
def test_in_a_terminal_the_plan_stays_below_the_lines_and_fits(
    project: Path, environment: dict[str, str], columns: int
) -> None:
    long = {**task(1), "description": "write the part that has a very long name, " * 5}
    edits: list[dict[str, Any]] = [{"tool": {"name": "Edit", "about": "part-1"}}, {"wait": _GO}, *done(1)]
    _plays(project, "agent", plan(long), edits)

    def go_on() -> str:
        (project / "go").touch()
        return ""

    words = ("orchestrate", "All parts are there")
    drawing = [("› Edit part-1", go_on)]
    code, screen = run_in_terminal(*words, cwd=project, env=environment, columns=columns, answers=drawing)
    assert code == 0, screen
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "\n").splitlines()
    block = [line for line in drawn if re.match(r"▶ |▸ \[/\] |\d+:\d\d ", line)]
    assert any(line.startswith("▶ Executing  0 of 1 task closed") for line in block)
    assert any("Edit" in line for line in block)
    assert all(len(line) <= columns for line in block), block
    assert any(line.startswith("▸ [/] task-1  write the part") and line.rstrip().endswith("…") for line in block)


# A run that another process drives


_WAITS: list[dict[str, Any]] = [{"say": "I begin"}, {"wait": _GO}]


def _until(stream: Stream, event: str, **found: object) -> dict[str, Any]:
    """What is told next of this kind."""
    while True:
        line: dict[str, Any] = json.loads(stream.line())
        if line.get("event") == event and found.items() <= line.items():
            return line


def test_status_says_who_drives_it_and_who_is_at_work(project: Path, environment: dict[str, str]) -> None:
    _plays(project, "agent", plan(task(1)), [*_WAITS, *done(1)])
    with followed("orchestrate", "All parts are there", "--json", cwd=project, env=environment) as stream:
        _until(stream, "said", text="I begin")
        found = run("orchestrate", "status", "--json", cwd=project, env=environment).data
        assert f"ralph {stream.process.pid} on " in found["driver"]["name"]
        assert found["driver"]["since"] >= "20"
        assert (found["at_work"]["role"], found["at_work"]["agent"], found["task"]) == (
            "executor",
            "scripted",
            "task-1",
        )
        page = run("orchestrate", "status", cwd=project, env=environment).out
        assert "at work: executor scripted on task-1" in page
        assert "▸ [/] task-1  write part 1" in page
        assert found["directory"] in page
        assert run("orchestrate", "resume", "--json", cwd=project, env=environment).error["code"] == "lease_held"
        (project / "go").touch()
        _until(stream, "state", state="Exit")  # nobody ends the agent of a driver that is killed


def test_what_is_added_ends_what_runs_puts_it_back_and_is_planned_at_once(
    project: Path, environment: dict[str, str]
) -> None:
    _plays(project, "agent", plan(task(1)), _WAITS, plan(task(1), task(2)), done(1), done(2))
    _plays(project, "judge", qualified(1), qualified(2), MET)
    with followed("orchestrate", "All parts are there", "--json", cwd=project, env=environment) as stream:
        _until(stream, "said", text="I begin")
        added = run("orchestrate", "add", "and in Welsh", "--json", cwd=project, env=environment).data
        assert added["driven"] is True
        told = _until(stream, "requirements_added")
        assert "ann@example.org wants more: and in Welsh" in told["text"]
        assert "put back" in told["text"]
        assert _until(stream, "at_work")["mode"] == "UPDATE"
        assert _until(stream, "at_work", role="executor")["attempt"] == 1
        _until(stream, "state", state="Exit")
    status = run("orchestrate", "status", "--json", cwd=project, env=environment).data
    assert [(one["mark"], one["attempt"]) for one in status["tasks"]] == [("x", 1), ("x", 1)]


def test_stop_from_elsewhere_ends_the_agent_and_it_rests(project: Path, environment: dict[str, str]) -> None:
    _plays(project, "agent", plan(task(1)), _WAITS, done(1))
    with followed("orchestrate", "All parts are there", "--json", cwd=project, env=environment) as stream:
        _until(stream, "said", text="I begin")
        assert run("orchestrate", "stop", "--reason", "tomorrow", cwd=project, env=environment).code == 0
        assert _until(stream, "paused")["text"] == "ann@example.org lets it rest: tomorrow"
        assert stream.process.wait(SECONDS) == 0
    page = run("orchestrate", "status", cwd=project, env=environment).out
    assert "Executing  rests  0 of 1 task closed\nnobody drives it: tomorrow" in page
    assert run("orchestrate", "resume", cwd=project, env=environment).code == 0


def test_ctrl_c_lets_it_rest_after_what_runs_and_a_second_one_ends_it(
    project: Path, environment: dict[str, str]
) -> None:
    _plays(project, "agent", plan(task(1)), [*_WAITS, *done(1)], _WAITS, done(1))

    def go() -> str:
        (project / "go").touch()
        return ""

    code, screen = run_in_terminal(
        *("orchestrate", "All parts are there"),
        cwd=project,
        env=environment,
        answers=(("I begin", "\x03"), ("resting after this", go)),
    )
    assert (code, "Rests in Reviewing" in screen) == (130, True), screen
    (project / "go").unlink()
    _plays(project, "judge", [{"say": "I begin"}, {"wait": _GO}], qualified(1), MET)
    code, screen = run_in_terminal(
        *("orchestrate", "resume"),
        cwd=project,
        env=environment,
        answers=(("I begin", "\x03"), ("resting after this", "\x03")),
    )
    assert (code, "Rests in Reviewing" in screen) == (130, True), screen
    assert run("orchestrate", "resume", cwd=project, env=environment).code == 0


def test_a_run_that_rests_by_itself_says_why_and_needs_a_person(project: Path, environment: dict[str, str]) -> None:
    settle(project, f"{SETTINGS}[orchestrate]\nbudget_tokens = 10\n")
    _plays(project, "agent", [{"usage": {"input": 100, "output": 1}}, *plan(task(1))], done(1))
    rests = run("orchestrate", "All parts are there", "--json", cwd=project, env=environment)
    error = _last(rests.out)["error"]
    assert (rests.code, error["code"]) == (5, "run_rests")
    assert "orchestrate.budget_tokens" in error["message"]
    assert "nobody drives it: the budget" in run("orchestrate", "status", cwd=project, env=environment).out
    settle(project, SETTINGS)
    assert run("orchestrate", "resume", cwd=project, env=environment).code == 0


# Adding


@pytest.mark.parametrize(
    ("text", "says_"),
    [
        ("", "this one is empty"),
        (" \n ", "this one is empty"),
        ("x" * 100_000, "has 100000"),
        ("a\x1b[2J", "character 2"),
    ],
    ids=["empty", "blank", "long", "control"],
)
def test_what_cannot_be_a_requirement_or_a_goal_is_refused(
    resting: Path, environment: dict[str, str], text: str, says_: str
) -> None:
    refused = run_here("orchestrate", "add", text, "--json", cwd=resting, env=environment).error
    assert refused["code"] == "invalid_argument"
    assert says_ in refused["message"]
    assert run_here("orchestrate", text, "--json", cwd=resting, env=environment).code != 0


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that rests in Executing, for all tests that are refused and change nothing."""
    place = tmp_path_factory.mktemp("resting")
    (place / "home").mkdir()
    environment = clean_environment(place / "home")
    made = _project(place / "repository", environment)
    _rests(made, environment)
    return made


def _rests(project: Path, environment: dict[str, str]) -> None:
    """A run that rests in Executing."""
    _plays(project, "agent", plan(task(1)), _WAITS, done(1))
    with followed("orchestrate", "All parts are there", "--json", cwd=project, env=environment) as stream:
        _until(stream, "said", text="I begin")
        assert run("orchestrate", "stop", cwd=project, env=environment).code == 0
        assert stream.process.wait(SECONDS) == 0


@pytest.mark.parametrize("words", [("add", "more"), ("stop",), ("resume",), ("drive",)])
def test_an_agent_steers_no_run_and_is_told_what_to_do_instead(
    resting: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    refused = run_here("orchestrate", *words, "--json", cwd=resting, env={**environment, "CLAUDECODE": "1"}).error
    assert refused["code"] == "person_needed"
    assert refused["hint"]


def _says_how_to_begin_another(project: Path, environment: dict[str, str]) -> None:
    """Every verb of a run that met its goal is refused."""
    for words in (("add", "more"), ("stop",), ("resume",)):
        refused = run_here("orchestrate", *words, "--json", cwd=project, env=environment).error
        assert refused["code"] == "terminal"
        assert 'ralph orchestrate "GOAL"' in refused["hint"]


def test_what_is_added_while_it_rests_is_planned_first(project: Path, environment: dict[str, str]) -> None:
    _rests(project, environment)
    _plays(project, "agent", plan(task(1), task(2)), done(1), done(2))
    _plays(project, "judge", qualified(1), qualified(2), MET)
    resumed = run("orchestrate", "resume", "--say", "and part 2", "--json", cwd=project, env=environment)
    assert [one["mark"] for one in _last(resumed.out)["data"]["tasks"]] == ["x", "x"]


# Failed


def _fails(
    project: Path, environment: dict[str, str], *answers: tuple[str, str | Callable[[], str]]
) -> tuple[int, str]:
    return run_in_terminal(
        "orchestrate", "All parts are there", cwd=project, env=environment, answers=answers, columns=120
    )


def test_on_a_terminal_it_asks_what_should_change_and_goes_on_with_that(
    project: Path, environment: dict[str, str]
) -> None:
    settle(project, SETTINGS.replace('"true"', '"test -f part-2"'))
    both = [{"write": {"path": "part-2", "text": "here\n"}}, *done(1)]
    _plays(project, "agent", plan(task(1)), done(1), done(1), done(1), plan(task(1), task(2)), both, done(2))
    _plays(project, "judge", qualified(1), qualified(2), MET)
    code, screen = _fails(project, environment, ("What should change?", "write part 2, too\n"))
    assert code == 0, screen
    assert "$ test -f part-2" in screen
    assert "our verifiers refuse it" in screen
    status = run("orchestrate", "status", "--json", cwd=project, env=environment).data
    assert [(one["id"], one["mark"]) for one in status["tasks"]] == [("task-1", "x"), ("task-2", "x")]
    runs = run("orchestrate", "list", "--json", cwd=project, env=environment).data
    assert [one["outcome"] for one in runs] == ["success", "failure"]
    assert len({one["session"] for one in runs}) == 1
    first = run("orchestrate", "status", runs[1]["id"], "--json", cwd=project, env=environment).data
    assert (first["successor"], first["needs"]["cause"]) == (runs[0]["id"], "task")
    _, screen = run_in_terminal("orchestrate", "resume", runs[1]["id"], "--json", cwd=project, env=environment)
    assert json.loads(screen)["error"]["code"] == "terminal"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("typed", ["\n", "\x04", "\x03"], ids=["empty", "end", "Ctrl+C"])
def test_nothing_typed_leaves_it_failed_with_what_to_do(project: Path, environment: dict[str, str], typed: str) -> None:
    _plays(project, "agent", says(status="blocked", goal="g", blockers=["no database", "no network"]))
    code, screen = _fails(project, environment, ("What should change?", typed))
    assert code == 5, screen
    assert [line.rstrip() for line in screen.splitlines() if "│ no " in line] == ["  │ no database", "  │ no network"]
    assert "[run_failed]" in screen
    page = run("orchestrate", "status", cwd=project, env=environment).out
    assert "It needs you: " in page
    assert "ralph orchestrate resume" in page


def test_again_goes_on_as_it_is_after_somebody_mended_it(project: Path, environment: dict[str, str]) -> None:
    settle(project, SETTINGS.replace('"true"', '"test -f mended"'))
    _plays(project, "agent", plan(task(1)), done(1))

    def mends() -> str:
        _mend(project, environment)
        return "again\n"

    code, screen = _fails(project, environment, ("What should change?", mends))
    assert code == 0, screen
    assert screen.count("▸ planner") == 1


def test_what_the_planner_still_asks_is_asked_of_the_person(project: Path, environment: dict[str, str]) -> None:
    asks = says(status="needs_qa_cycle", goal="g", questions=["Which language?", "How polite?"])
    found = {"number": 1, "text": "Which language?", "status": "Unanswered"}
    empty = says(status="completed", mode="RESEARCH", cycle=1, questions=[found], summary="nobody knows")
    echoes = [{"echo": True}, *plan(task(1))]
    _plays(project, "agent", asks, empty, asks, empty, asks, empty, asks, echoes, done(1))
    code, screen = _fails(project, environment, ("1 of 2: Which language?", "Welsh\n"), ("2 of 2: How polite?", "\n"))
    assert code == 0, screen
    told = "".join(one.read_text() for one in (project / ".ralf" / "runs").rglob("*planner.log"))
    assert "Question: Which language?" in told
    assert "Answer: Welsh" in told


def test_an_agent_at_a_terminal_is_not_asked(project: Path, environment: dict[str, str]) -> None:
    _plays(project, "agent", says(status="blocked", goal="g", blockers=["no database"]))
    code, screen = _fails(project, {**environment, "CLAUDECODE": "1"})
    assert (code, "What should change?" in screen) == (5, False), screen


def test_a_directory_that_no_run_is_known_of_is_gone_on_with(project: Path, environment: dict[str, str]) -> None:
    place = project / ".ralph-sessions" / "260131-144400"
    place.mkdir(parents=True)
    (place / "progress.md").write_text("## Implementation Progress\n- [ ] task-1 (Not Started)\n")
    (place / "tasks.md").write_text("- task-1: write it\n    - **Success Criteria**: part-1 is there\n")
    _plays(project, "agent", done(1))
    result = run("orchestrate", "resume", "260131-144400", cwd=project, env=environment)
    assert result.code == 0, result
    assert "- [x] task-1 (Completed)" in (place / "progress.md").read_text()
    refused = run("orchestrate", "resume", "260131-144401", "--json", cwd=project, env=environment)
    assert refused.error["code"] == "unknown_run"


def test_a_directory_that_cannot_be_right_is_refused_and_stays_as_it_is(
    project: Path, environment: dict[str, str]
) -> None:
    place = project / ".ralph-sessions" / "260131-144400"
    place.mkdir(parents=True)
    (place / "progress.md").write_text("## Implementation Progress\n- [?] task-1\n")
    refused = run("orchestrate", "resume", "260131-144400", "--json", cwd=project, env=environment)
    assert (refused.error["code"], "line 2" in refused.error["message"]) == ("session_unreadable", True)
    assert [one.name for one in place.iterdir()] == ["progress.md"]
