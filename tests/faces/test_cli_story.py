"""`ralph story`, `ralph "PROMPT"`, `ralph --status`: the loop from the command line, with the scripted agent."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from faces.journals import settle, trust
from faces.programs import RALPH, SECONDS, Result, clean_environment, followed, run, run_here, run_in_terminal
from interlock.faces.cli.command import Parser
from interlock.faces.cli.main import RUN_OPTIONS, verbs_of

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


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one story, whose agent does it at once; for calls that are refused and change nothing."""
    place = tmp_path_factory.mktemp("unchanged")
    (place / "home").mkdir()
    environment = clean_environment(place / "home")
    repository = place / "repository"
    subprocess.run(["git", "init", "-q", repository], env=environment, check=True)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        subprocess.run(["git", "config", key, value], cwd=repository, env=environment, check=True)
    (repository / "stories").mkdir()
    (repository / "stories" / "1-1-greet.md").write_text(STORY.format(number="1.1", title="greeting"))
    (repository / ".gitignore").write_text(".ralf/\n*.state\n*.json\nralph_prompt.md\n")
    settle(
        repository,
        '[agent]\nsandbox = "none"\nname = "scripted"\nscript = "agent.json"\njudge_script = "judge.json"\n'
        '[story]\ntests = ["grep -q good work.txt"]\n',
    )
    _script(repository, "agent", [WRITES])
    _script(repository, "judge", [JUDGED])
    run_here("story", "init", cwd=repository, env=environment)
    subprocess.run(["git", "add", "-A"], cwd=repository, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=repository, env=environment, check=True)
    return repository


@pytest.fixture
def project(unchanged: Path, tmp_path: Path, environment: dict[str, str]) -> Path:
    """A copy of it, to work in."""
    repository = tmp_path / "repository"
    shutil.copytree(unchanged, repository, symlinks=True)
    trust(repository)
    return repository


def _script(repository: Path, name: str, iterations: list[list[dict[str, Any]]]) -> None:
    text = json.dumps({"state": f"{name}.state", "iterations": iterations})
    (repository / f"{name}.json").write_text(text)


def _log(repository: Path) -> list[str]:
    done = subprocess.run(["git", "log", "--format=%s"], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.requirement("story:start:command")
@pytest.mark.requirement("story:status:command")
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "words",
    [
        ("story", "run"),
        ("Execute next BMAD story subtask", "--agent", "scripted"),
        ("Execute next BMAD story subtask", "--agent", "scripted", "--prompt-template", "ralph_prompt.md"),
        ("go", "--max-iterations", "5"),
        ("--max-iterations=5", "go"),
        ("-f", "prompt.md"),
        ("go on", "--min-iterations", "1", "--no-questions", "--no-allow-all", "--verbose-tools"),
        ("go", "--agent", "scripted", "--", "--json", "--help"),
    ],
    ids=" ".join,
)
def test_the_loop_runs_to_its_end_in_each_of_its_forms(
    project: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    (project / "ralph_prompt.md").write_text("{{prompt}}\n{{tasks}}\n{{unknown}}\n")
    (project / ".git" / "info" / "exclude").write_text("prompt.md\n")
    (project / "prompt.md").write_text("go on")
    result = run(*words, cwd=project, env=environment)
    assert result.code == 0, result
    assert "<promise>READY_FOR_NEXT_TASK</promise>" in result.out
    assert "<promise>COMPLETED</promise>\n\nSummary:\n- Stories completed: 1\n- Total iterations: 1\n" in result.out
    assert _log(project)[1:] == ["story-1-1 task 1: greeting", "start"]
    shown = run("--status", "--json", cwd=project, env=environment).data
    assert (shown["outcome"], shown["iteration"], shown["spent"]["usd"]) == ("all_complete", 1, 0.5)
    assert run("journal", "verify", cwd=project, env=environment).code == 0


@pytest.mark.parametrize("word", ["greet", "stroy", "run"])
def test_a_typo_starts_no_agent(unchanged: Path, environment: dict[str, str], word: str) -> None:
    refused = run_here(word, "--json", cwd=unchanged, env=environment)
    assert (refused.code, refused.error["code"]) == (64, "usage")
    assert _log(unchanged) == ["start"]


def test_json_is_a_line_for_each_thing_that_happens_and_the_result_last(
    project: Path, environment: dict[str, str]
) -> None:
    *lines, last = _lines(run("story", "run", "--json", cwd=project, env=environment))
    states = [line["state"] for line in lines if line["event"] == "state"]
    assert states[:4] == ["INIT", "MEMORY_LOAD", "STORY_SELECT", "IMPLEMENT"]
    assert {"event": "said", "text": "I write it"} in lines
    assert (last["ok"], last["data"]["outcome"]) == (True, "all_complete")


@pytest.mark.requirement("story:error:instructions")
@pytest.mark.requirement("story:error:template")
def test_without_progress_txt_the_setup_is_explained(repository: Path, environment: dict[str, str]) -> None:
    result = run("story", "run", "--agent", "claude", cwd=repository, env=environment)
    assert result.code == 5
    expected = "<promise>SETUP_REQUIRED</promise>\nExplanation: progress.txt not found. Create with template.\n"
    assert expected in result.out
    assert "ralph story init" in result.err


@pytest.mark.requirement("story:git:dirty")
def test_unfinished_work_of_a_person_is_named_and_is_in_no_commit(project: Path, environment: dict[str, str]) -> None:
    (project / "mine.txt").write_text("half done")
    (project / "progress.txt").write_text((project / "progress.txt").read_text() + "# a person's note\n")
    done = run("story", "run", cwd=project, env=environment)
    assert done.code == 0
    said = "Your uncommitted changes are not part of this work and stay as they are: 'mine.txt'"
    assert done.out.splitlines()[0].strip().startswith(said)
    assert (project / "mine.txt").read_text() == "half done"
    git = ["git", "log", "--format=", "--name-only"]
    listed = subprocess.run(
        git, cwd=project, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "mine.txt" not in listed
    assert "work.txt" in listed
    assert "# a person's note" in (project / "progress.txt").read_text()


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


@pytest.mark.requirement("story:context:injected")
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


def test_ctrl_c_lets_it_rest_after_what_runs_and_a_second_one_stops_the_agent(
    project: Path, environment: dict[str, str]
) -> None:
    waits = [{"say": "I begin"}, {"wait": str(project / "go")}]
    _script(project, "agent", [waits, [*waits, *WRITES]])

    def go() -> str:
        (project / "go").touch()
        return ""

    stopped = (("I begin", "\x03"), ("resting after this", "\x03"))
    code, screen = run_in_terminal("story", "run", cwd=project, env=environment, answers=stopped)
    assert code == 130, screen
    status = run("--status", "--json", cwd=project, env=environment).data
    assert (status["state"], status["paused"]) == ("IMPLEMENT", "it was interrupted")
    rests = (("I begin", "\x03"), ("resting after this", go))
    code, screen = run_in_terminal("story", "run", cwd=project, env=environment, answers=rests)
    assert code == 130, screen
    assert run("--status", "--json", cwd=project, env=environment).data["state"] == "TEST", "its work counts"
    assert run("story", "run", cwd=project, env=environment).code == 0


def test_no_agent_steers_the_loop(project: Path, environment: dict[str, str]) -> None:
    run("story", "run", cwd=project, env=environment)
    loop = run("--status", "--json", cwd=project, env=environment).data["id"]
    inside = {**environment, "CLAUDECODE": "1"}
    for words in (
        ("drive", loop),
        ("pause",),
        ("resume",),
        ("skip", "story-1-1"),
        ("limit", "iterations", "9"),
        ("context", "x"),
    ):
        refused = run_here("story", *words, "--json", cwd=project, env=inside)
        assert (refused.code, refused.error["code"]) == (5, "person_needed")


def test_what_is_no_loop_is_not_driven_as_one(project: Path, environment: dict[str, str]) -> None:
    run("story", "run", cwd=project, env=environment)
    session = run_here("session", "list", "--json", cwd=project, env=environment).data[0]["id"]
    before = run_here("log", "--json", cwd=project, env=environment).out
    refused = run_here("story", "drive", session, "--json", cwd=project, env=environment)
    assert refused.error["code"] == "unknown_instance"
    assert run_here("log", "--json", cwd=project, env=environment).out == before


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("story", "run", "--agent", "nobody"), "agent_unknown"),
        (("story", "run", "--prompt-template", "nowhere.md"), "invalid_argument"),
        (("story", "run", "--max-iterations", "0"), "usage"),
        (("story", "run", "--abort-promise", "</promise>"), "invalid_argument"),
        (("story", "run", "--agent", "cursor-agent"), "agent_unknown"),
        (("story", "run", "--rotation", "scripted:small,nobody"), "agent_unknown"),
        (("story", "run", "--allow-all", "--no-allow-all"), "usage"),
        (("story", "context"), "usage"),
        (("story", "context", "x", "--clear"), "usage"),
        (("--clear-context",), "unknown_loop"),
        (("story", "limit", "luck", "7"), "invalid_argument"),
        (("story", "skip", "story-1-1"), "unknown_loop"),
        (("story", "status"), "unknown_loop"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told_and_changes_nothing(
    unchanged: Path, environment: dict[str, str], words: tuple[str, ...], code: str
) -> None:
    before = (unchanged / "progress.txt").read_bytes()
    assert run_here(*words, "--json", cwd=unchanged, env=environment).error["code"] == code
    assert (unchanged / "progress.txt").read_bytes() == before
    assert _log(unchanged) == ["start"]


def test_a_person_sees_what_happens_in_a_terminal(project: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("story", "run", cwd=project, env=environment)
    assert code == 0
    assert all(word in screen for word in ("IMPLEMENT", "I write it", "COMMIT", "COMPLETED"))
    assert RALPH.exists()


# The flags of such loops elsewhere

LISTENS = r"""echo "$1 $2 $3" >> ../../../../calls.log
cat >> ../../../../prompts.log
printf 'good\n' > work.txt
"""


@pytest.fixture
def listening(project: Path, environment: dict[str, str]) -> Path:
    """The same place with an agent of one's own, that writes down how it was called and what it was told."""
    (project / ".git" / "info" / "exclude").write_text("*.log\n")
    (project / "agent.sh").write_text(LISTENS)
    settle(
        project,
        '[agent]\nsandbox = "none"\nname = "command"\ncommand = "sh agent.sh model={model}"\njudge = "scripted"\n'
        'script = "agent.json"\njudge_script = "judge.json"\n[story]\ntests = ["grep -q good work.txt"]\n',
    )
    subprocess.run(["git", "add", "-A"], cwd=project, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "start"], cwd=project, env=environment, check=True)
    return project


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (("story", "run", "--model", "large"), ["model=large"]),
        (("story", "run", "--model", "large", "--", "--fast", "--json"), ["model=large --fast --json"]),
        (("story", "run", "--rotation", "command:small"), ["model=small"]),
        (("story", "run", "--rotation", "command:a:b", "--model", "large"), ["model=a:b"]),
        (("story", "run", "--rotation", "command", "--model", "large", "--", "-x"), ["model=large -x"]),
    ],
    ids=lambda one: " ".join(one),
)
def test_the_model_and_the_flags_behind_two_dashes_reach_the_agent(
    listening: Path, environment: dict[str, str], words: tuple[str, ...], calls: list[str]
) -> None:
    result = run(*words, cwd=listening, env=environment)
    assert result.code == 0, result
    assert [line.strip() for line in (listening / "calls.log").read_text().splitlines()] == calls


def test_agents_take_turns_each_with_its_own_model(listening: Path, environment: dict[str, str]) -> None:
    text = LISTENS.replace("printf 'good", "test -f twice.log && printf 'good", 1) + "touch twice.log\necho looked\n"
    (listening / "agent.sh").write_text(text)
    subprocess.run(["git", "commit", "-qam", "it needs two"], cwd=listening, env=environment, check=True)
    result = run("story", "run", "--rotation", "command:small, command:large", cwd=listening, env=environment)
    assert result.code == 0, result
    assert (listening / "calls.log").read_text().split() == ["model=small", "model=large"]


def test_a_template_has_the_promises_that_were_asked_for(listening: Path, environment: dict[str, str]) -> None:
    names = ("iteration", "max_iterations", "min_iterations", "completion_promise", "task_promise", "abort_promise")
    (listening / "template.log").write_text(" ".join(f"{{{{{one}}}}}" for one in names) + "\n{{prompt}}\n")
    flags = (
        "--completion-promise",
        "ALL DONE",
        "--task-promise",
        "NEXT",
        "--abort-promise",
        "STOP",
        "--max-iterations",
        "7",
    )
    result = run("say it", "--prompt-template", "template.log", *flags, cwd=listening, env=environment)
    assert result.code == 0, result
    assert (listening / "prompts.log").read_text() == "1 7 1 ALL DONE NEXT STOP\nsay it\n"
    assert "<promise>COMPLETED</promise>" in result.out


def test_an_agent_that_gives_up_as_agreed_pauses_the_loop(project: Path, environment: dict[str, str]) -> None:
    gives_up = [*WRITES[:2], {"say": "There is no network."}, {"promise": "no way"}, {"finish": True}]
    _script(project, "agent", [gives_up, WRITES])
    flags = ("--abort-promise", "NO WAY", "--json")
    *_, last = _lines(run("story", "run", *flags, cwd=project, env=environment))
    assert last["error"]["code"] == "loop_paused"
    assert "the agent gave up with <promise>NO WAY</promise>" in last["error"]["message"]
    assert run("--status", "--json", cwd=project, env=environment).data["stories"][0]["retry_count"] == 1
    assert run("story", "run", "--abort-promise", "NO WAY", cwd=project, env=environment).code == 0


def test_an_agents_promise_alone_stops_nothing_and_ends_nothing(project: Path, environment: dict[str, str]) -> None:
    _script(project, "agent", [[*WRITES[:2], {"promise": "COMPLETED"}, {"finish": True}]])
    assert run("story", "run", "--completion-promise", "COMPLETED", cwd=project, env=environment).code == 0
    assert _log(project)[1:] == ["story-1-1 task 1: greeting", "start"]


def test_nothing_is_committed_and_nothing_is_streamed_where_that_is_asked(
    project: Path, environment: dict[str, str]
) -> None:
    result = run("story", "run", "--no-commit", "--no-stream", cwd=project, env=environment)
    assert result.code == 0, result
    assert "I write it" not in result.out
    assert "IMPLEMENT" in result.out
    assert _log(project) == ["start"]
    assert (project / "work.txt").read_text() == "good\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("flags", "is_whole"), [((), False), (("--verbose-tools",), True)], ids=str)
def test_a_tools_use_is_shown_as_a_whole_where_that_is_asked(
    project: Path, environment: dict[str, str], flags: tuple[str, ...], is_whole: bool
) -> None:
    about = "x" * 300
    _script(project, "agent", [[{"tool": {"name": "Bash", "about": about}}, *WRITES]])
    result = run("story", "run", *flags, cwd=project, env=environment)
    assert "\u203a Bash xxx" in result.out
    assert (about in result.out) is is_whole


@pytest.mark.parametrize(
    ("flag", "given"),
    [
        ("--allow-all", "--dangerously-bypass-approvals-and-sandbox"),
        ("--no-allow-all", "--sandbox workspace-write"),
    ],
)
def test_an_agent_may_do_everything_only_where_that_is_asked(
    project: Path, environment: dict[str, str], tmp_path: Path, flag: str, given: str
) -> None:
    programs, calls = tmp_path / "programs", tmp_path / "calls"
    programs.mkdir()
    (programs / "codex").write_text(
        f"#!/bin/sh\necho \"$@\" >> {calls}\nprintf 'good\\n' > work.txt\n"
        """echo '{"type":"turn.completed","usage":{}}'\n"""
    )
    (programs / "codex").chmod(0o755)
    path = {**environment, "PATH": f"{programs}:{environment['PATH']}"}
    settle(project, (project / "ralph.toml").read_text().replace("[agent]", '[agent]\njudge = "scripted"'))
    subprocess.run(["git", "commit", "-qam", "judge"], cwd=project, env=environment, check=True)
    result = run("go on", "--agent", "codex", flag, cwd=project, env=path)
    assert result.code == 0, result
    assert given in calls.read_text()
    assert ("dangerously" in calls.read_text()) is (flag == "--allow-all")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("do it", "--tasks"), "ralph story tasks"),
        (("do it", "-t"), "ralph story tasks"),
        (("--add-task", "greet"), "progress.txt"),
        (("--remove-task", "1"), "ralph story skip"),
        (("do it", "--questions"), "--add-context"),
        (("do it", "--no-plugins"), "behind `--`"),
        (("do it", "--config", "x.json"), "ralph.toml"),
        (("--init-config",), "ralph init"),
        (("do it", "--min-iterations", "3"), "story.tests"),
    ],
    ids=str,
)
def test_a_flag_that_means_nothing_here_is_refused_with_what_does_it(
    unchanged: Path, environment: dict[str, str], words: tuple[str, ...], hint: str
) -> None:
    refused = run_here(*words, "--json", cwd=unchanged, env=environment)
    assert (refused.code, refused.error["code"]) == (64, "usage")
    assert hint in refused.error["hint"]
    assert _log(unchanged) == ["start"]


def test_every_option_of_a_run_tells_a_prompt_from_a_noun() -> None:
    parser = Parser("ralph")
    verbs_of("story")["run"].arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    assert options - {"-h", "--help", "--json"} == RUN_OPTIONS


def test_the_subtasks_are_listed_with_their_boxes(project: Path, environment: dict[str, str]) -> None:
    assert run("--list-tasks", cwd=project, env=environment).out == (
        "\u25cb story-1-1  not_started\n    [ ] 1 greeting\n"
    )
    run("story", "run", cwd=project, env=environment)
    done = [{"story": "story-1-1", "status": "complete", "tasks": [{"id": "1", "text": "greeting", "done": True}]}]
    assert run("story", "tasks", "--json", cwd=project, env=environment).data == done
    assert run("--status", "--tasks", "--json", cwd=project, env=environment).data["tasks"] == done
    assert "    [x] 1 greeting\n" in run("--status", "--tasks", cwd=project, env=environment).out
    (project / "progress.txt").unlink()
    assert run_here("--list-tasks", "--json", cwd=project, env=environment).error["code"] == "setup_required"


def test_context_is_added_and_taken_back(project: Path, environment: dict[str, str]) -> None:
    _script(project, "agent", [IDLES])
    run("story", "run", "--max-iterations", "1", cwd=project, env=environment)
    run("--add-context", "use the clock", cwd=project, env=environment)
    assert run("--status", "--json", cwd=project, env=environment).data["context"] == ["use the clock"]
    assert run("--clear-context", "--json", cwd=project, env=environment).code == 0
    assert run("--status", "--json", cwd=project, env=environment).data["context"] == []


# Steering by facts and budgets


def test_a_loop_that_pauses_by_itself_needs_a_person_and_says_which_fact(
    project: Path, environment: dict[str, str]
) -> None:
    _script(project, "agent", [IDLES])
    paused = run("story", "run", "--max-iterations", "1", cwd=project, env=environment)
    assert paused.code == 5
    assert "[loop_paused]" in paused.err
    assert "! no progress in attempt 1: the tree is as it was before the task" in paused.out
    shown = run("--status", "--json", cwd=project, env=environment).data
    assert shown["no_progress"] == ["the tree is as it was before the task"]
    assert "no progress: the tree is as it was" in run("--status", cwd=project, env=environment).out
    *lines, last = _lines(run("story", "run", "--max-iterations", "2", "--json", cwd=project, env=environment))
    told = [line for line in lines if line["event"] == "noprogress"]
    assert [(one["attempt"], one["facts"]) for one in told] == [
        (2, ["the tree is as it was before the task", "it failed in the same words as attempt 1"])
    ]
    assert last["error"]["code"] == "loop_paused"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("day_usd = 1", "the money for the day is used up"),
        ("day_tokens = 1", "the tokens for the day are used up"),
        ("day_iterations = 1", "1 iterations of the day are used up"),
        ("task_tokens = 1", "the tokens for the task are used up"),
    ],
)
def test_a_budget_of_the_settings_pauses_and_a_limit_lets_it_go_on(
    project: Path, environment: dict[str, str], setting: str, why: str
) -> None:
    spends: list[dict[str, Any]] = [{"cost": 1}, {"usage": {"input": 1, "output": 0, "cached": 0}}, *IDLES]
    _script(project, "agent", [spends, WRITES])
    settle(project, (project / "ralph.toml").read_text() + f"{setting}\n")
    subprocess.run(["git", "commit", "-qam", "budget"], cwd=project, env=environment, check=True)
    for _ in range(2):
        paused = run("story", "run", "--json", cwd=project, env=environment)
        assert why in _lines(paused)[-1]["error"]["message"]
    assert run("story", "limit", setting.split()[0], "0", cwd=project, env=environment).code == 0
    assert run("story", "run", cwd=project, env=environment).code == 0


def test_of_two_runs_at_once_one_drives_and_the_other_is_told_who(project: Path, environment: dict[str, str]) -> None:
    _script(project, "agent", [[{"say": "waiting"}, {"wait": str(project / "gate.state")}, *WRITES]])
    with followed("story", "run", "--json", cwd=project, env=environment) as stream:
        while json.loads(stream.line()).get("text") != "waiting":
            pass
        refused = run("story", "run", "--json", cwd=project, env=environment)
        error = _lines(refused)[-1]["error"]
        assert (refused.code, error["code"]) == (6, "lease_held")
        assert f"ralph {stream.process.pid} on " in error["message"]
        (project / "gate.state").touch()
        last: dict[str, Any] = {"event": "waiting"}
        while "event" in last:
            last = json.loads(stream.line())
        assert stream.process.wait(SECONDS) == 0
    assert last["data"]["outcome"] == "all_complete"
