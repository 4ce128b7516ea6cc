"""The agents of a run work in a tree of their own; what was verified is committed to the person's branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import Refusal
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import begin_goal
from interlock.world.repository import own_tree
from work.orchestration.playing import (
    MET,
    ROLES,
    Stage,
    begun,
    done,
    driven,
    is_in,
    opened,
    plan,
    qualified,
    rejected,
    rested,
    run,
    run_again,
    task,
)
from work.threads.benches import shell


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage.made(tmp_path / "repository")


def _trees(stage: Stage) -> list[str]:
    return [one.name for one in (stage.state_directory / "trees").iterdir()]


def _subjects(stage: Stage, what: str = "HEAD") -> list[str]:
    return stage.git("log", "--reverse", "--format=%s", what).splitlines()[1:]


def _meanwhile(stage: Stage, is_time: Callable[[Run], bool], do: Callable[[], object]) -> None:
    """Do something once, when the run is told of in a certain state."""
    did: list[Run] = []

    def hear(told: object) -> None:
        if isinstance(told, Run) and not did and is_time(told):
            did.append(told)
            do()

    stage.hear = hear


def _two(stage: Stage) -> None:
    stage.play(plan(task(1), task(2)), done(1), done(2))
    stage.judge(qualified(1), qualified(2), MET)


def test_agents_and_verifiers_never_work_in_the_persons_checkout(stage: Stage, tmp_path: Path) -> None:
    places = tmp_path / "places"
    here = shell(f"pwd >> {places}")
    stage.settings["verify.commands"] = (f"pwd >> {places}.verified",)
    stage.play(plan(task(1)), [here, *done(1)])
    stage.judge([here, *qualified(1)], [here, *MET])
    ended = run(stage)
    assert ended.outcome == "success"
    assert {*places.read_text().split()} == {str(own_tree(stage.state_directory, ended.id))}
    assert str(stage.root) not in Path(f"{places}.verified").read_text().split()
    assert _trees(stage) == []
    assert stage.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert stage.git("status", "--porcelain") == ""


def test_what_was_verified_is_committed_and_not_what_came_later(stage: Stage) -> None:
    """A program that an agent left behind writes into the tree after the verdict."""
    _two(stage)

    def stray() -> None:
        (next(iter((stage.state_directory / "trees").iterdir())) / "files" / "stray").write_text("1")

    _meanwhile(stage, lambda run: run.proven is not None, stray)
    run(stage)
    assert "stray" not in stage.git("ls-tree", "-r", "--name-only", "HEAD~1").split()
    assert _subjects(stage, "HEAD~1")[0].startswith("task-1")


def test_uncommitted_work_is_named_and_stays_and_the_branch_stays_behind(stage: Stage) -> None:
    _two(stage)
    (stage.root / "README").write_text("mine")
    ended = run(stage)
    assert ended.outcome == "success"
    assert (stage.root / "README").read_text() == "mine"
    assert _subjects(stage) == []
    assert [one.partition(":")[0] for one in _subjects(stage, f"ralf/{ended.id}")] == ["task-1", "task-2"]
    told = [one for one in stage.told if isinstance(one, str)]
    assert any(one.startswith("Your uncommitted changes") and "'README'" in one for one in told)
    assert sum(f"git merge ralf/{ended.id}" in one for one in told) == 1
    stage.git("checkout", "-q", "README")
    stage.git("merge", "-q", f"ralf/{ended.id}")
    assert len(_subjects(stage)) == 2


def test_what_the_person_commits_between_two_tasks_is_in_the_tree_of_the_next(stage: Stage) -> None:
    _two(stage)

    def commit() -> None:
        stage.git("commit", "-q", "--allow-empty", "-m", "theirs")

    _meanwhile(stage, lambda run: run.state == "Executing" and str(run.plan.tasks[0].mark) == "x", commit)
    assert run(stage).outcome == "success"
    assert [one.partition(":")[0] for one in _subjects(stage)] == ["task-1", "theirs", "task-2"]


def test_a_run_that_failed_leaves_its_tree_to_the_next_one(stage: Stage) -> None:
    stage.play(plan(task(1)), [shell("echo 1 > begun"), *done(1)], done(1), done(1))
    stage.judge(rejected(1), rejected(1), rejected(1))
    failed = run(stage)
    assert failed.outcome == "failure"
    assert _trees(stage) == [failed.id]
    assert not (stage.root / "begun").exists()
    stage.play([shell("test -f begun"), *done(1)])
    stage.judge(qualified(1), MET)
    ended = run_again(stage, failed)
    assert ended.outcome == "success"
    assert (stage.root / "begun").exists()
    assert _trees(stage) == []


def test_a_new_goal_keeps_what_a_run_that_failed_left(stage: Stage) -> None:
    stage.play(plan(task(1)), [shell("echo 1 > begun"), *done(1)], done(1), done(1))
    stage.judge(rejected(1), rejected(1), rejected(1))
    failed = run(stage)
    _two(stage)
    assert driven(stage, begun(stage, session="261115-130000")).outcome == "success"
    assert _trees(stage) == []
    kept = stage.git("ls-tree", "-r", "--name-only", f"refs/ralf/orchestrate/{failed.id}/end").split()
    assert any(one.endswith("begun") for one in kept)
    assert not (stage.root / "begun").exists()


@pytest.mark.parametrize(
    ("do", "says"), [("git update-ref -d HEAD", "no commits"), ("git checkout -q --detach", "No branch")]
)
def test_without_a_branch_with_a_commit_nothing_begins(stage: Stage, do: str, says: str) -> None:
    stage.git(*do.split()[1:])
    with opened(stage) as (journal, context):
        with pytest.raises(Refusal, match=says):
            begin_goal(context, "All parts are there", ROLES)
        assert journal.open_instances("orchestrator") == []


def test_commits_of_an_agent_are_kept_and_never_merged(stage: Stage) -> None:
    stage.play(plan(task(1)), [shell("echo 1 > x; git add x; git commit -qm mine; echo 2 > x"), *done(1)])
    stage.judge(qualified(1), MET)
    ended = run(stage)
    assert [one.partition(":")[0] for one in _subjects(stage)] == ["task-1"]
    assert stage.git("show", "HEAD:x") == "2"
    kept = stage.git("for-each-ref", "--format=%(contents:subject)", f"refs/ralf/orchestrate/{ended.id}").split()
    assert kept == ["mine"]


def test_a_driver_that_dies_before_the_commit_is_followed_by_one_that_makes_it(stage: Stage) -> None:
    _two(stage)
    id_ = begun(stage)
    rested(stage, id_, lambda run: run.proven is not None)
    ended = driven(stage, id_)
    assert ended.outcome == "success"
    assert [one.partition(":")[0] for one in _subjects(stage)] == ["task-1", "task-2"]
    assert is_in("Exit")(ended)
