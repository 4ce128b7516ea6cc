"""`ralph thread`: every verb, as a person at a terminal, as a program in a pipe, and from a second process."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.journals import opened, settle, trust, write_session
from faces.parsing import parsed
from faces.programs import SECONDS, Result, Stream, clean_environment, followed, run, run_here, run_in_terminal
from interlock.faces.cli.main import verbs_of
from interlock.machine import load_shipped
from interlock.work.threads.choices import next_commands
from work.threads.places import Places
from work.threads.test_seed import STUCK_MENU

MACHINE = load_shipped("thread")
SPEC = """\
# Greet

## Goal

People are greeted.

## Completion Criteria

- [ ] greeting.txt says hello
  - verify: `grep -q hello greeting.txt`

<promise>COMPLETE</promise>
"""
BAR = "1. Spec Creation ── ○ 2. Implementation ── ○ 3. Polish ── ○ 4. Review ── ○ 5. Complete"
Steps = list[dict[str, Any]]
DONE: Steps = [
    {"say": "I greet"},
    {"write": {"path": "greeting.txt", "text": "hello\n"}},
    {"promise": "COMPLETE"},
    {"finish": True},
]
WAITING: Steps = [{"say": "waiting"}, {"wait": ".ralf/go"}, *DONE]
"""Works as soon as the test says so."""
READY: Steps = [{"say": "VERDICT: READY"}, {"finish": True}]


class Project:
    """A repository, and whoever sits before it."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root, self.environment = root, environment

    def play(self, *iterations: Steps) -> None:
        (self.root / ".ralf" / "agent.count").unlink(missing_ok=True)
        text = json.dumps({"state": "agent.count", "iterations": list(iterations)})
        (self.root / ".ralf" / "agent.json").write_text(text)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def person(self, *words: str, gate: str | None = None, code: int = 0) -> str:
        """A person types a verb at a terminal, and the word of its gate; what the screen shows."""
        answers = [(f"Type {gate}", f"{gate}\n")] if gate else []
        status, screen = run_in_terminal("thread", *words, cwd=self.root, env=self.environment, answers=answers)
        assert status == code, screen
        return re.sub(r"\x1b\[[0-9;]*m", "", screen).replace("\r\n", "\n")

    def program(self, *words: str) -> Result:
        """A program runs a verb in a pipe; the envelope is the last of the lines that it reads."""
        made = run_here("thread", *words, "--json", cwd=self.root, env=self.environment)
        return Result(made.code, made.out.splitlines(keepends=True)[-1], made.err)

    @property
    def state(self) -> str:
        return str(self.program("show").data["state"])

    def following(self, *words: str) -> Any:
        return followed("thread", *words, "--json", cwd=self.root, env=self.environment)

    def go(self) -> None:
        for place in (self.root, *self.root.glob(".ralf/trees/*/files")):
            (place / ".ralf").mkdir(exist_ok=True)
            (place / ".ralf" / "go").touch()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose agent greets at once."""
    place = tmp_path_factory.mktemp("template")
    (place / "home").mkdir()
    repository = place / "repository"
    repository.mkdir()
    made = Project(repository, clean_environment(place / "home"))
    made.git("init", "-q")
    made.git("config", "user.name", "Ann")
    made.git("config", "user.email", "ann@example.org")
    made.git("switch", "-qc", "main")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "exclude").write_text(".ralf/\nspec.md\n")
    (repository / "spec.md").write_text(SPEC)
    (repository / ".ralf").mkdir()
    settle(
        repository,
        '[agent]\nsandbox = "none"\nname = "scripted"\nscript = ".ralf/agent.json"\n[verify]\ncommands = ["true"]\n'
        '[thread]\niterations = 2\nisolation = "checkout"\n',
    )
    made.git("add", "-A")
    made.git("commit", "-qm", "start")
    made.play(DONE)
    return made


@pytest.fixture
def project(template: Project, tmp_path: Path, environment: dict[str, str]) -> Project:
    """A copy of it, to work in."""
    repository = tmp_path / "repository"
    shutil.copytree(template.root, repository, symlinks=True)
    trust(repository)
    return Project(repository, environment)


def _begun(project: Project, *more: str) -> str:
    """A thread in Configuring; its id."""
    id_ = str(project.program("new", "Greet people", "--file", "spec.md", *more).data["id"])
    project.person("finalize", gate="finalize")
    if "--quick" not in more:
        project.person("start")
    return id_


def _seen(stream: Stream, what: str) -> None:
    while what not in stream.line():
        pass


def _ended(stream: Stream) -> dict[str, Any]:
    """The envelope at the end of what a verb told."""
    out, _ = stream.process.communicate(timeout=SECONDS)
    last: dict[str, Any] = json.loads((stream._rest + out).decode().splitlines()[-1])
    return last


# The whole way


def test_a_person_goes_the_whole_way_at_a_terminal(project: Project) -> None:
    screen = project.person("new", "Greet people", "--file", "spec.md")
    assert f"✎ {BAR}" in screen
    assert "→ ralph thread finalize  approve it" in screen
    assert "greeting.txt says hello" in project.person("spec")
    project.play(READY)
    assert "AI reviews spec" in project.person("assess")
    assert "Goal" in project.person("finalize", gate="finalize")
    screen = project.person("start")
    assert "● 1. Spec Creation ── ⚙ 2. Implementation" in screen
    assert "→ ralph thread run  start the loop" in screen
    project.person("configure", "--iterations", "3", "--agents", "scripted")
    project.play(DONE)
    screen = project.person("run")
    assert "☑ 1. greeting.txt says hello" in screen
    assert "I greet" in screen
    project.person("polish")
    (project.root / "NOTES").write_text("a note\n")
    assert "Implemented" in project.person("polish", "--done")
    screen = project.person("review")
    assert "+hello" in screen
    assert "+a note" in screen
    assert "Recommend Approve" not in screen
    project.person("reverify")
    assert "Changes ready for human inspection" in project.person("review")
    assert "Ready to Commit" in project.person("approve", gate="approve")
    assert "Pending Review" in project.person("withdraw")
    assert "+hello" in project.person("approve", gate="approve")
    screen = project.person("commit", gate="commit")
    assert "Hooks of the repository do not run" in screen
    made = project.git("rev-parse", f"ralf/{project.program('show').data['id']}")
    assert f"commit {made}" in screen
    assert project.git("log", "-1", "--format=%s", made) == "Greet people"
    assert project.git("show", "--format=", "--name-only", made).split() == ["NOTES", "greeting.txt"]
    assert run("journal", "verify", cwd=project.root, env=project.environment).code == 0


def test_in_quick_mode_three_words_are_typed(project: Project) -> None:
    id_ = _begun(project, "--quick")
    data = project.program("show", id_).data
    assert (data["state"], data["mode"]) == ("PendingReview", "quick")
    screen = project.person("review")
    assert "Recommend Approve" in screen
    assert project.program("review").data["recommend_approve"] is True
    project.person("approve", gate="approve")
    project.person("commit", gate="commit")
    assert project.program("show").data["outcome"] == "success"


def test_the_wrong_word_passes_no_gate(project: Project) -> None:
    project.program("new", "Greet people", "--file", "spec.md")
    answers = [("Type finalize", "yes\n")]
    code, screen = run_in_terminal("thread", "finalize", cwd=project.root, env=project.environment, answers=answers)
    assert (code, "gate_declined" in screen) == (5, True)
    data = project.program("show").data
    assert data["state"] == "Drafting"
    assert [one["gate"] for one in data["refused"]] == ["finalize"]
    assert "! refused at the gate finalize" in project.person("show")


# In each state


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


@pytest.fixture
def at(places: Places, environment: dict[str, str]) -> Callable[[str], Project]:
    return lambda state: Project(places.at(state)[0].root, environment)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("state", MACHINE.states)
def test_the_page_of_a_state_has_the_phase_and_a_way_on(at: Callable[[str], Project], state: str) -> None:
    project = at(state)
    page = run_here("thread", cwd=project.root, env=project.environment).out
    known = MACHINE.states[state]
    assert f"{known.icon} {known.phase}" in page
    assert f"{MACHINE.label(state)}  {known.description}" in page
    for one in next_commands(state):
        assert f"→ {one.command.replace(' {id}', '')}  {one.does}" in page
        assert one.command.split()[2] in verbs_of("thread")
    assert ("ralph thread abandon" in page) is not known.terminal
    assert known.terminal is not bool(next_commands(state))
    assert (STUCK_MENU in page) is (state == "Stuck")
    assert ("PAUSED: Loop interrupted" in page) is (state == "Paused")
    data = project.program("show").data
    assert (data["state"], data["title"]) == (state, "Greet people")


PLAYED = (
    '[agent]\nsandbox = "none"\nname = "scripted"\nscript = ".ralf/script.json"\njudge_script = ".ralf/judge.json"\n'
    '[thread]\nisolation = "checkout"\n'
)
STAYING = {"Assessing", "Stuck", "PreflightFailed"}
"""Where a person reads what came of the command, or what is wrong is still wrong."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("state", [name for name, one in MACHINE.states.items() if not one.terminal])
def test_the_command_that_a_thread_waits_for_is_one_that_continues_it(at: Callable[[str], Project], state: str) -> None:
    project = at(state)
    with (project.root / ".git" / "info" / "exclude").open("a") as excluded:
        excluded.write("\nralph.toml\n")
    settle(project.root, PLAYED)
    waits = run_here("why", project.program("show").data["id"], "--json", cwd=project.root, env=project.environment)
    [listed] = run_here("status", "--json", cwd=project.root, env=project.environment).data["waiting"]
    command = waits.data["waits"]["command"]
    assert (listed["command"], listed["is_gate"]) == (command, waits.data["waits"]["kind"] == "person")
    _, verb, _ = parsed(command)
    answers = [(f"Type {verb}", f"{verb}\n")] if verb in GATES else []
    code, screen = run_in_terminal(*command.split()[1:], cwd=project.root, env=project.environment, answers=answers)
    assert code == (5 if state == "PreflightFailed" else 0), screen
    assert (project.state == state) is (state in STAYING), screen


GATES = ("finalize", "assist", "approve", "commit")
DECISIONS = {
    "Stuck": ("revise", "configure"),
    "Paused": ("resume", "configure"),
    "PendingReview": ("revise", "reject --reason rude"),
    "Approved": ("withdraw",),
    "ReadyToCommit": ("withdraw",),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("state", MACHINE.states)
def test_in_a_pipe_nobody_is_there_to_decide(at: Callable[[str], Project], state: str) -> None:
    project = at(state)
    for verb in (*GATES, *DECISIONS.get(state, ())):
        refused = project.program(*verb.split())
        assert (refused.code, refused.error["code"]) == (5, "person_needed"), verb
    assert project.state == state


@pytest.mark.parametrize("verb", [one for one in verbs_of("thread") if one])
def test_every_verb_has_a_help(outside: Path, environment: dict[str, str], verb: str) -> None:
    result = run_here("thread", verb, "--help", cwd=outside, env=environment)
    assert result.code == 0
    assert f"ralph thread {verb}" in result.out


def test_no_agent_moves_a_thread(at: Callable[[str], Project]) -> None:
    project = at("Implemented")
    inside = {**project.environment, "CLAUDECODE": "1"}
    for words in (("abandon",), ("polish",), ("review",), ("context", "x"), ("undo",), ("configure",), ("pause",)):
        refused = run_here("thread", *words, "--json", cwd=project.root, env=inside)
        assert (refused.code, refused.error["code"]) == (5, "person_needed"), words
    assert project.state == "Implemented"


def test_steering_an_agent_and_ending_a_stuck_thread_need_a_person_at_a_terminal(at: Callable[[str], Project]) -> None:
    project = at("Stuck")
    for words in (("context", "be evil"), ("abandon",)):
        refused = project.program(*words)
        assert (refused.code, refused.error["code"]) == (5, "person_needed"), words
    assert project.state == "Stuck"
    project.person("context", "be kind")
    project.person("abandon")
    assert project.state == "Abandoned"


# Which thread


def test_a_thread_is_named_by_the_end_of_its_id_and_the_active_one_by_nothing(project: Project) -> None:
    first, second = (project.program("new", title).data["id"] for title in ("One", "Two"))
    assert project.program().data["id"] == second
    assert project.program("use", first[-10:]).data["id"] == first
    assert project.program("show").data["title"] == "One"
    rows = {row["title"]: row["is_active"] for row in project.program("list").data}
    assert rows == {"One": True, "Two": False}
    page = run_here("thread", "list", cwd=project.root, env=project.environment).out
    assert f"▸ {first[-8:]}  Drafting" in page


def test_a_corrupt_thread_is_told_beside_the_good_ones(project: Project) -> None:
    good = project.program("new", "Good").data["id"]
    threads = project.root / ".ralf" / "threads"
    for name, text in (("broken", "{"), ("newer", json.dumps({"schema_version": 99, "id": "newer"}))):
        (threads / name).mkdir()
        (threads / name / "thread.json").write_text(text)
    rows = project.program("list").data
    assert [row["id"] for row in rows if "corrupt" not in row] == [good]
    assert sorted(row["id"] for row in rows if "corrupt" in row) == ["broken", "newer"]
    page = run_here("thread", "list", cwd=project.root, env=project.environment).out
    assert "✗ broken" in page
    assert project.program("show", good).data["title"] == "Good"


def test_an_id_with_separators_names_nothing(project: Project) -> None:
    project.program("new", "Good")
    for id_ in ("../x", "a/b", "..", "a\\b", "-", "x" * 300, "ä", "a b"):
        for verb in ("show", "use", "abandon"):
            refused = project.program(verb, "--", id_)
            assert refused.code != 0, id_
            assert refused.error["code"] in ("unknown_instance", "invalid_argument", "ambiguous_instance", "usage")
    assert [row["title"] for row in project.program("list").data] == ["Good"]


def test_what_is_no_thread_is_not_taken_for_one(project: Project) -> None:
    with opened(project.root) as journal:
        session = write_session(journal)
    refused = project.program("show", session)
    assert refused.error["code"] == "unknown_instance"
    assert "not a thread" in refused.error["message"]


# Bad words


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("new", ""), "invalid_argument"),
        (("new", "x" * 201), "invalid_argument"),
        (("new", "a\x07b"), "invalid_argument"),
        (("new", "Good", "--file", "nowhere.md"), "invalid_argument"),
        (("spec", "--file", "."), "invalid_argument"),
        (("spec", "--edit"), "invalid_argument"),
        (("spec", "--revision", "7"), "spec_missing"),
        (("configure", "--iterations", "-1"), "usage"),
        (("configure", "--iterations", "0"), "invalid_argument"),
        (("configure", "--agents", "nobody"), "agent_unknown"),
        (("configure", "--driver", "magic"), "usage"),
        (("undo",), "nothing_kept"),
        (("pause",), "not_allowed"),
        (("run",), "not_allowed"),
        (("start",), "not_allowed"),
        (("polish",), "not_allowed"),
        (("reverify",), "not_allowed"),
        (("context", ""), "invalid_argument"),
        (("reject",), "usage"),
    ],
    ids=lambda one: " ".join(one)[:40] if isinstance(one, tuple) else one,
)
def test_what_cannot_be_meant_is_refused(project: Project, words: tuple[str, ...], code: str) -> None:
    project.program("new", "Greet people", "--file", "spec.md")
    head = project.git("rev-parse", "HEAD")
    refused = project.program(*words)
    assert refused.error["code"] == code
    assert refused.error["hint"]
    assert project.state == "Drafting"
    assert project.git("rev-parse", "HEAD") == head


def test_without_a_thread_the_first_step_is_told(project: Project) -> None:
    assert project.program("show").error["code"] == "unknown_thread"
    assert project.program("list").data == []


def test_a_spec_is_written_in_an_editor(project: Project) -> None:
    project.program("new", "Greet people")
    project.environment["EDITOR"] = "cp spec.md"
    assert "revision 1 of 1, by ann@example.org" in project.person("spec", "--edit")
    assert project.program("spec").data["text"] == SPEC
    project.environment["EDITOR"] = "false"
    assert "Nothing was changed" in project.person("spec", "--edit", code=64)


def test_talk_and_polish_with_an_agent(project: Project) -> None:
    project.play([{"say": f"Here:\n```markdown\n{SPEC}```"}, {"finish": True}], DONE)
    project.program("new", "Greet people")
    assert project.program("spec", "--say", "greet them").data["text"] == SPEC
    talk = next((project.root / ".ralf" / "spec" / "threads").iterdir()).read_text().splitlines()
    assert [json.loads(line).get("role") for line in talk[1:]] == ["user", "assistant"]
    project.person("finalize", gate="finalize")
    project.person("start")
    project.person("run")
    project.play([{"write": {"path": "NOTES", "text": "a note\n"}}, {"finish": True}])
    screen = project.person("polish", "--ask", "write notes", "--done")
    assert "Implemented" in screen
    assert "#1 polisher scripted: finished" in screen
    assert "+a note" in project.person("review")


# Ctrl+C, other processes, and drivers that die


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [("spec", "--say", "shorter"), ("polish", "--ask", "write notes")])
def test_who_abandons_a_thread_elsewhere_ends_the_agent_that_was_asked(
    project: Project, words: tuple[str, ...]
) -> None:
    if words[0] == "polish":
        _begun(project)
        project.person("run")
    else:
        project.program("new", "Greet people")
    project.play(WAITING)
    with project.following(*words) as stream:
        _seen(stream, '"waiting"')
        assert project.program("abandon").code == 0
        assert stream.process.wait(60) == 1
    assert project.state == "Abandoned"


def test_ctrl_c_once_pauses_after_the_iteration(project: Project) -> None:
    _begun(project)
    project.play(WAITING, DONE)
    with project.following("run") as stream:
        _seen(stream, '"waiting"')
        stream.process.send_signal(signal.SIGINT)
        project.go()
        told = _ended(stream)
    assert told["data"]["state"] == "Paused"
    assert (project.root / "greeting.txt").read_text() == "hello\n"
    page = run_here("thread", cwd=project.root, env=project.environment).out
    assert "Current model: scripted" in page
    project.person("resume")
    assert project.state == "Implemented"


def test_ctrl_c_twice_stops_the_agent_and_nothing_is_lost(project: Project) -> None:
    _begun(project)
    early: Steps = [{"write": {"path": "half.txt", "text": "half\n"}}, *WAITING]
    project.play(early, DONE)
    with project.following("run") as stream:
        _seen(stream, '"waiting"')
        stream.process.send_signal(signal.SIGINT)
        _seen(stream, "resting after this")
        stream.process.send_signal(signal.SIGINT)
        told = _ended(stream)
    assert told["data"]["state"] == "Paused"
    assert told["data"]["iteration"] == 1
    assert (project.root / "half.txt").read_text() == "half\n"
    assert not (project.root / "greeting.txt").exists()
    project.person("resume")
    assert project.state == "Implemented"


@pytest.mark.parametrize(("verb", "state"), [("pause", "Paused"), ("abandon", "Abandoned")])
def test_another_process_lets_the_loop_rest_or_end(project: Project, verb: str, state: str) -> None:
    _begun(project)
    project.play(WAITING, DONE)
    with project.following("run") as stream:
        _seen(stream, '"waiting"')
        assert project.program(verb).data["state"] == state
        told = _ended(stream)
    assert told["data"]["state"] == state
    assert not (project.root / "greeting.txt").exists()
    assert project.state == state


def test_a_loop_whose_driver_was_killed_is_shown_and_goes_on(project: Project) -> None:
    _begun(project)
    project.play(WAITING, DONE)
    with project.following("run") as stream:
        _seen(stream, '"waiting"')
        second = project.program("resume")
        assert second.error["code"] in ("held", "lease_held", "busy"), second
        stream.process.kill()
        stream.process.wait(SECONDS)
        assert "nobody drives it" in run_here("thread", cwd=project.root, env=project.environment).out
        assert project.program("resume").data["state"] == "Implemented"


def test_a_stuck_thread_is_revised_and_the_work_is_brought_back(project: Project) -> None:
    id_ = _begun(project)
    project.play([{"write": {"path": "greeting.txt", "text": "hm\n"}}, *DONE[2:]])
    stuck = project.program("run")
    assert (stuck.code, stuck.error["code"]) == (5, "thread_stuck")
    assert stuck.error["details"]["diagnosis"]["failed"]
    screen = run_here("thread", "diagnose", cwd=project.root, env=project.environment).out
    assert "Spec version: v1" in screen
    assert "This will reset changes. Continue?" in project.person("revise", gate="revise")
    assert project.state == "Drafting"
    assert project.git("branch", "--show-current") == "main"
    assert not (project.root / "greeting.txt").exists()
    restored = project.program("undo").data["restored"]
    assert restored.startswith(f"threads/{id_}/reset-")
    assert (project.root / "greeting.txt").read_text() == "hm\n"
    assert project.git("branch", "--show-current") == f"ralf/{id_}"
    assert project.state == "Drafting"


def test_a_rejection_and_context_reach_the_next_agent(project: Project) -> None:
    _begun(project, "--quick")
    echo: Steps = [{"echo": True}, *DONE]
    project.play(echo)
    project.person("context", "use few words")
    project.person("reject", "--reason", "the greeting is cold")
    log = (project.root / ".ralf" / "runs" / project.program("show").data["run"] / "output.log").read_text()
    assert "sent it back: the greeting is cold" in log
    assert "use few words" in log


def test_a_failed_preflight_is_told_and_start_checks_again(project: Project) -> None:
    project.program("new", "Greet people", "--file", "spec.md")
    project.person("finalize", gate="finalize")
    (project.root / "unfinished").write_text("")
    failed = project.program("start")
    assert (failed.code, failed.error["code"]) == (5, "preflight_failed")
    assert "unfinished" in failed.error["message"]
    (project.root / "unfinished").unlink()
    assert project.program("start").data["state"] == "Configuring"
    abandoned = project.person("abandon", "--reason", "no need")
    assert "`git switch main` goes back to where it began" in abandoned
    assert project.git("branch", "--show-current").startswith("ralf/")
