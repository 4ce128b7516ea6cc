"""One definition of a verifier: what no agent can fix stops before the first agent, and costs no iteration."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.verbs import begin_goal, roles_of
from interlock.work.settings.values import Settings
from interlock.work.stories.opening import LoopOptions, make_story_context
from interlock.work.verification.request import plan_of
from interlock.work.verification.verifiers import missing_verifiers, story_tests, uncarried, verifiers_of
from work.threads.benches import DONE, SPEC, Bench
from work.verification.grounds import Wanted

ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)
UNSEEN = "sh -c no-such-program-anywhere"
"""Only a shell finds out that it is not there."""


def _settings(**values: Any) -> Settings:
    return Settings({**Settings().values, **{name.replace("__", "."): value for name, value in values.items()}})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def _sessions(bench: Bench) -> int:
    with closing(bench.open()) as journal:
        return len(journal.instances("session"))


# The definition


def test_configured_commands_and_those_of_criteria_are_verifiers_by_their_command() -> None:
    plan = plan_of(_settings(verify__commands=("types: mypy src", "pytest")))
    assert verifiers_of(plan, [Wanted(1, command="./greet"), Wanted(2)]) == ("mypy src", "pytest", "./greet")


def test_a_story_loop_tests_with_its_own_commands_or_with_the_verifiers() -> None:
    assert story_tests(_settings(verify__commands=("fast: pytest -q",))) == ("pytest -q",)
    assert story_tests(_settings(verify__commands=("pytest",), story__tests=("make test",))) == ("make test",)
    assert story_tests(_settings(), [Wanted(1, command="./greet")]) == ("./greet",)


def test_only_a_program_that_no_agent_could_bring_is_missing(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    criteria = [Wanted(1, command="./to-be-made"), Wanted(2, command="no-such-program --all")]
    plan = plan_of(_settings(verify__commands=("types: true", "./check.sh", "absent-program")))
    assert missing_verifiers(plan, criteria, tmp_path, environment) == (
        "./check.sh",
        "absent-program",
        "no-such-program --all",
    )
    prepared = plan_of(_settings(verify__commands=(".venv/bin/pytest",), verify__prepare="uv sync"))
    assert missing_verifiers(prepared, (), tmp_path, environment) == ()
    assert missing_verifiers(prepared, (), tmp_path, environment, is_prepared=True) == (".venv/bin/pytest",)


@pytest.mark.parametrize(
    "command",
    [
        "! grep -rq FIXME src",
        "if test -f Makefile; then make test; fi",
        "for one in *.py; do python -m py_compile $one; done",
        "command -v git",
        "exec make test",
        "# all of them\nmake test",
        "~/bin/check",
    ],
)
def test_what_only_a_shell_can_find_is_not_missing(tmp_path: Path, command: str) -> None:
    plan = plan_of(_settings(verify__commands=(command,)))
    assert missing_verifiers(plan, (), tmp_path, os.environ) == ()


def test_a_path_to_carry_that_is_not_there_is_named(tmp_path: Path) -> None:
    plan = plan_of(_settings(verify__carry=(".venv", "models")))
    (tmp_path / "models").mkdir()
    assert ["models" in one for one in uncarried(plan, tmp_path)] == [False]


# A thread


@pytest.mark.parametrize("driver", ["plain", "story"])
def test_work_that_a_criterions_command_proves_is_done_the_first_time(bench: Bench, driver: str) -> None:
    bench.settings |= {"verify.commands": (), "thread.driver": driver, "thread.iterations": 2}
    if driver == "story":
        bench.judge([{"say": "AC-1: hello - ✓ greeting.txt:1\nAC-2: polite - ✓ greeting.txt:1\nCRITERION 2: PASS"}])
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PendingReview", thread.reason
    assert thread.iteration == 1


@pytest.mark.parametrize(
    ("settings", "check", "said"),
    [
        ({"verify.carry": (".venv",)}, "verifiers_available", ".venv"),
        ({"verify.prepare": "echo no registry; exit 3"}, "verification_rehearsed", "no registry"),
        ({"verify.prepare": "true", "verify.commands": ("./made-by-prepare",)}, "verification_rehearsed", "made-by"),
    ],
    ids=["carry", "prepare", "not-made"],
)
def test_what_fails_on_the_untouched_baseline_is_found_before_the_first_agent(
    bench: Bench, settings: dict[str, Any], check: str, said: str
) -> None:
    bench.settings.update(settings)
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "PreflightFailed"
    assert [one["name"] for one in thread.checks if not one["passed"]] == [check]
    assert said in thread.reason
    assert _sessions(bench) == 0


def test_a_repository_in_which_nobody_can_commit_is_found_before_the_first_agent(bench: Bench) -> None:
    bench.git("config", "user.email", "")
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert [one["name"] for one in thread.checks if not one["passed"]] == ["git_identity"]
    assert _sessions(bench) == 0


def test_a_verifier_that_is_nowhere_costs_no_iteration_and_the_same_command_goes_on(bench: Bench) -> None:
    bench.settings["verify.commands"] = (UNSEEN,)
    id_ = bench.new(mode="quick")
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "finalize")
    assert caught.value.code == "verifiers_missing"
    thread = bench.thread(id_)
    assert (thread.state, thread.iteration) == ("Verifying", 1)
    bench.settings["verify.commands"] = ("true",)
    assert bench.drive(id_).state == "PendingReview"
    assert [one.role for one in bench.thread(id_).iterations] == ["implementer", "judge"]


def test_a_verifier_that_an_agent_removed_is_the_next_agents_to_bring_back(bench: Bench) -> None:
    (bench.root / "check.sh").write_text("#!/bin/sh\n")
    (bench.root / "check.sh").chmod(0o755)
    bench.git("add", "-A")
    bench.git("commit", "-qm", "a check")
    bench.settings |= {"verify.commands": ("sh -c ./check.sh",), "verify.allowed": ("check.sh",)}
    back = {"run": ["/bin/sh", "-c", "git checkout -q HEAD check.sh"]}
    bench.play([{"run": ["/bin/rm", "check.sh"]}, *DONE], [back, *DONE])
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert (thread.state, thread.iteration) == ("PendingReview", 2)


def test_carried_paths_come_from_the_repository_where_a_thread_has_a_work_tree_of_its_own(bench: Bench) -> None:
    exclude = bench.root / ".git" / "info" / "exclude"
    exclude.write_text(f"{exclude.read_text()}models/\n")
    (bench.root / "models").mkdir()
    (bench.root / "models" / "one").write_text("a model\n")
    bench.settings |= {
        "thread.isolation": "worktree",
        "verify.carry": ("models",),
        "verify.commands": ("test -f models/one",),
    }
    thread = bench.act(bench.new(SPEC, mode="quick"), "finalize")
    assert (thread.state, thread.iteration) == ("PendingReview", 1)


# A run and a story loop of their own


@pytest.mark.parametrize("commands", [(), ("no-such-verifier --all",)], ids=["none", "missing"])
def test_a_run_that_nothing_could_prove_asks_no_role(bench: Bench, commands: tuple[str, ...]) -> None:
    bench.settings["verify.commands"] = commands
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        run = begin_goal(context, "All is well", roles_of(context, {}))
        with pytest.raises(InterlockError) as caught:
            drive(context, run)
    assert caught.value.code == "verifiers_missing"
    assert _sessions(bench) == 0


def test_a_run_whose_reviewer_is_not_installed_asks_no_planner(bench: Bench) -> None:
    bench.settings["agent.command"] = "/nowhere/agent"
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        run = begin_goal(context, "All is well", roles_of(context, {"reviewer": "command"}))
        with pytest.raises(InterlockError) as caught:
            drive(context, run)
    assert caught.value.code == "agent_missing"
    assert _sessions(bench) == 0


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"verify.commands": ()}, "verifiers_missing"),
        ({"story.tests": ("no-such-runner",)}, "verifiers_missing"),
        ({"agent.judge": "command", "agent.command": "/nowhere/judge"}, "agent_missing"),
    ],
    ids=["none", "missing", "judge"],
)
def test_a_story_loop_that_nothing_could_prove_is_not_begun(bench: Bench, settings: dict[str, Any], code: str) -> None:
    bench.settings.update(settings)
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        (bench.root / "progress.txt").write_text("stories: []\n")
        with pytest.raises(InterlockError) as caught:
            make_story_context(context, LoopOptions())
    assert caught.value.code == code
