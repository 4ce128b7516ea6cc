"""`ralph thread` with a run of the orchestrator as its driver, and `ralph orchestrate` beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faces.journals import settle
from faces.programs import Result, run_here
from faces.test_cli_thread import SPEC, Project, Steps, _begun, _ended, _seen
from work.orchestration.playing import MET, done, plan, qualified, task

SETTINGS = (
    '[agent]\nsandbox = "none"\nname = "scripted"\nscript = ".ralf/agent.json"\njudge_script = ".ralf/judge.json"\n'
    '[verify]\ncommands = ["true"]\n[thread]\niterations = 2\nisolation = "checkout"\n'
)
WORK: Steps = [{"write": {"path": "greeting.txt", "text": "hello\n"}}, *done(1)]
WAITING: Steps = [{"say": "waiting"}, {"wait": ".ralf/go"}, *WORK]


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Project:
    """A repository whose agents plan one task, do it and are content."""
    made = Project(repository, environment)
    made.git("config", "user.name", "Ann")
    made.git("config", "user.email", "ann@example.org")
    made.git("switch", "-qc", "main")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "exclude").write_text("spec.md\n")
    (repository / "spec.md").write_text(SPEC)
    (repository / ".ralf").mkdir()
    settle(repository, SETTINGS)
    made.git("add", "-A")
    made.git("commit", "-qm", "start")
    made.play(plan(task(1)), WORK)
    _judges(made)
    return made


def _judges(project: Project) -> None:
    (project.root / ".ralf" / "judge.count").unlink(missing_ok=True)
    text = json.dumps({"state": "judge.count", "iterations": [qualified(1), MET]})
    (project.root / ".ralf" / "judge.json").write_text(text)


def _orchestrate(project: Project, *words: str) -> Result:
    made = run_here("orchestrate", *words, "--json", cwd=project.root, env=project.environment)
    return Result(made.code, made.out.splitlines(keepends=True)[-1], made.err)


def test_a_person_lets_a_run_drive_a_thread_and_sees_its_tasks(project: Project) -> None:
    _begun(project)
    main = project.git("rev-parse", "main")
    assert project.program("configure", "--driver", "orchestrator").data["child"] is None
    screen = project.person("run")
    assert "orchestrator" in screen
    assert "[x] task-1  write part 1" in screen
    child = project.program("show").data["child"]
    assert (child["machine"], child["state"], child["outcome"]) == ("orchestrator", "Exit", "success")
    assert child["parts"] == [{"id": "task-1", "mark": "[x]", "text": "write part 1"}]
    project.person("review")
    project.person("approve", gate="approve")
    project.person("commit", gate="commit")
    commit = project.program("show").data["commit"]
    assert project.git("diff", "--name-only", main, commit).split() == ["greeting.txt", "part-1"]
    assert list(project.root.glob(".ralf/trees/*/files/.ralph-sessions/*"))


def test_the_verbs_of_a_run_are_refused_while_a_thread_drives_it(project: Project) -> None:
    _begun(project)
    project.person("configure", "--driver", "orchestrator")
    project.play(plan(task(1)), WAITING, WORK)
    with project.following("run") as stream:
        _seen(stream, '"waiting"')
        for words in (("stop",), ("add", "and in Welsh"), ("resume",), ("drive",), ("Greet in Welsh",)):
            refused = _orchestrate(project, *words)
            assert refused.error["code"] == "driven_by_thread", words
            assert "ralph thread" in refused.error["hint"]
        assert _orchestrate(project, "status").data["state"] == "Executing"
        assert project.program("pause").data["state"] == "Paused"
        assert _ended(stream)["data"]["state"] == "Paused"
    assert not (project.root / "greeting.txt").exists()
    project.person("resume")
    shown = project.program("show").data
    assert (shown["state"], shown["child"]["outcome"]) == ("Implemented", "success")


def test_what_a_run_of_ones_own_writes_down_is_no_change_of_the_work_tree(project: Project) -> None:
    assert _orchestrate(project, "All parts are there").code == 0
    assert project.git("status", "--porcelain") == ""
    assert project.git("log", "-1", "--format=%s").startswith("task-")
    project.play([{"promise": "COMPLETE"}, {"finish": True}])
    _begun(project)
    assert project.state == "Configuring", "nothing is in the way of a thread"
