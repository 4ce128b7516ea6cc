"""Whether attempts get anywhere: which fact is told, to whom, and when the loop no longer tries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.work.stories.context import Limits
from interlock.work.stories.stuck import Facts, NoProgress, failing_tests, fingerprint, standstill
from work.stories.yards import IDLE, MET, WORK, Ground, Steps, shell

BASE = "base"


def seen(tree: str, output: str = "o", *failing: str, met: Sequence[int] | None = None, wanted: int = 3) -> Facts:
    return Facts(tree, output, failing, None if met is None else tuple(met), wanted)


# The facts


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ([], ()),
        ([seen("t1")], ()),
        ([seen(BASE)], ("the tree is as it was before the task",)),
        ([seen("t1", "o1", "a"), seen("t2", "o2", "b")], ()),
        ([seen("t1", "o1"), seen("t2", "o2")], ()),
        ([seen("t1", "o1", "a"), seen("t1", "o2", "b")], ("the tree is the same as after attempt 1",)),
        ([seen("t1"), seen("t2", "p"), seen("t1", "q")], ("the tree is the same as after attempt 1",)),
        ([seen("t1", "o1", "a", "b"), seen("t2", "o2", "a", "b")], ("the same 2 tests fail as after attempt 1: a, b",)),
        ([seen("t1", "o1", "a", "b"), seen("t2", "o2", "a")], ()),
        ([seen("t1", "o", "a"), seen("t2", "o", "a")], ("the same test fails as after attempt 1: a",)),
        ([seen("t1", "o"), seen("t2", "o")], ("it failed in the same words as attempt 1",)),
        (
            [seen("t1", "o1", met=[1]), seen("t2", "o2", met=[1])],
            ("no criterion gained: 1 of 3, and 1 before",),
        ),
        ([seen("t1", "o1", met=[1]), seen("t2", "o2", met=[2])], ()),
        ([seen("t1", "o1", met=[1, 2]), seen("t2", "o2", met=[1])], ("no criterion gained: 1 of 3, and 2 before",)),
        ([seen("t1", "o1"), seen("t2", "o2", met=[])], ()),
        (
            [seen("t1", "o", *"abcde"), seen("t1", "o", *"abcde")],
            (
                "the tree is the same as after attempt 1",
                "the same 5 tests fail as after attempt 1: a, b, c and 2 more",
            ),
        ),
    ],
)
def test_what_has_not_changed_is_told_and_what_has_is_not(attempts: list[Facts], said: tuple[str, ...]) -> None:
    assert standstill(BASE, attempts) == said


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            "FAILED tests/test_a.py::test_x[a b] - assert 1 == 2\n=== 1 failed in 0.1s ===",
            ["tests/test_a.py::test_x[a b]"],
        ),
        ("\x1b[31mFAILED\x1b[0m t.py::x\nERROR t.py - SyntaxError", ["t.py", "t.py::x"]),
        ("FAIL: test_x (mod.Case.test_x)\nERROR: test_y (mod.Case)", ["test_x (mod.Case.test_x)", "test_y (mod.Case)"]),
        ("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL", ["TestA", "TestA/b"]),
        ("test a::b ... FAILED\ntest a::c ... ok", ["a::b"]),
        ("ok 1 - fine\nnot ok 2 - broken # time=3ms\nnot ok 3 later # TODO", ["broken"]),
        ("  \u2715 adds (5 ms)\n  \u25cf sums \u203a adds\n \u00d7 takes 12ms", ["adds", "sums \u203a adds", "takes"]),
        ("FAILED (failures=1)\nERROR: no connection\nERROR root - something\nerror TS2304: no name", []),
    ],
)
def test_the_tests_that_fail_are_read_where_they_can_be(output: str, names: list[str]) -> None:
    assert list(failing_tests(output)) == names


def test_an_output_is_known_again_whatever_the_time_is() -> None:
    first = "E 2026-01-02T03:04:05Z <A at 0x7f01> /tmp/pytest-1/a: no\n1 failed in 0.12s"
    assert fingerprint(first) == fingerprint(
        "E 2027-02-03T04:05:06Z <A at 0x8f02> /tmp/pytest-22/b: no\n1 failed in 12s"
    )
    assert fingerprint(first) != fingerprint(first.replace("1 failed", "2 failed"))


# The loop


def _ground(tmp_path: Path, *stories: str) -> tuple[Ground, list[NoProgress]]:
    """A place, and what is told there of standing still."""
    heard: list[NoProgress] = []
    ground = Ground(tmp_path, dict.fromkeys(stories or ("1-1",), ("greet",))).made()

    def hear(happening: object) -> None:
        if isinstance(happening, NoProgress):
            heard.append(happening)
        elif isinstance(happening, str):
            ground.told.append(happening)

    ground.hear = hear
    return ground, heard


FAILS = "echo 'FAILED t.py::a - no'; echo 'FAILED t.py::b - no'; exit 1"


def test_facts_are_told_to_people_to_the_next_agent_and_in_the_blocker(tmp_path: Path) -> None:
    ground, heard = _ground(tmp_path)
    prompts = tmp_path / "prompts"

    listens = f"cat >> {prompts}; cat work.txt 2>/dev/null | wc -l >> work.txt"
    from interlock.world.agents.command import CommandAgent

    agent = CommandAgent(("/bin/sh", "-c", listens), "implementer")
    ground.drive(agents=[agent], tests=(FAILS,))
    same = "the same 2 tests fail as after attempt {}: t.py::a, t.py::b"
    assert [(one.attempt, one.facts) for one in heard] == [(2, (same.format(1),)), (3, (same.format(2),))]
    assert f"## What has not changed\n\n- {same.format(1)}\n\nGo another way" in prompts.read_text()
    reason = ground.story().blocker_reason or ""
    assert reason.endswith(f"exit 1; {same.format(2)}")
    [blocker] = [one["event"] for one in ground.notes("remembered") if one["event"]["type"] == "BROOKS_TASK_BLOCKER"]
    assert same.format(2) in blocker["data"]["reason"]
    assert [one.partition(", ")[2] for one in blocker["data"]["attempted_fixes"]] == ["failing: t.py::a, t.py::b"] * 3


def test_an_agent_that_does_nothing_is_told_of_at_once(tmp_path: Path) -> None:
    ground, heard = _ground(tmp_path)
    ground.drive(agents=[ground.agent(IDLE, WORK)])
    assert heard == [NoProgress(1, ("the tree is as it was before the task",))]


def test_criteria_that_are_gained_are_progress_and_others_are_not(tmp_path: Path) -> None:
    ground, heard = _ground(tmp_path)
    text = ground.story_file("1-1").read_text()
    ground.story_file("1-1").write_text(
        text.replace("1. It can greet", "1. It greets\n2. It bows").replace("AC: 1", "AC: 1, 2")
    )
    ground.git("commit", "-qam", "two criteria")
    half: Steps = [{"say": "AC-1: it - \u2713 part-1:1\nAC-2: it - \u2717 it does not"}, {"finish": True}]
    none: Steps = [{"say": "AC-1: it - \u2717 no\nAC-2: it - \u2717 no"}, {"finish": True}]
    grows: Steps = [shell("echo more >> work.txt"), {"finish": True}]
    ground.drive(agents=[ground.agent(grows)], judge=ground.agent(none, half, half, name="judge"))
    assert [one.facts for one in heard] == [
        ("it failed in the same words as attempt 2", "no criterion gained: 1 of 2, and 1 before")
    ]


THREE = ("1-1", "1-2", "1-3")
CRASH: Steps = [{"say": "Out of memory."}, {"exit": 1}]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("script", "tests", "said", "runs"),
    [
        (IDLE, ("true",), "the agent ended without changing anything", 7),
        (CRASH, ("true",), "the agent failed (exit 1): Out of memory.", 7),
        (WORK, ("no-such-runner-here",), "the test runner is missing: no-such-runner-here", 3),
        (WORK, ("echo 'no database at 0x1'; exit 2",), "echo 'no database at 0x1'; exit 2: exit 2", 7),
    ],
    ids=["idle", "crash", "no-runner", "same-failure"],
)
def test_subtasks_that_fail_alike_are_no_reason_to_block_every_story(
    tmp_path: Path, script: Steps, tests: tuple[str, ...], said: str, runs: int
) -> None:
    ground, _ = _ground(tmp_path, *THREE, "1-4")
    agent = ground.agent(script)
    driven = ground.drive(agents=[agent], tests=tests)
    assert not driven.ended
    assert driven.loop.paused is not None
    assert driven.loop.paused.reason == f"3 subtasks in a row failed in the same way: {said}"
    assert ground.runs_of() == runs
    assert f"paused: {driven.loop.paused.reason}" in ground.told
    ground.note("resumed")
    assert ground.drive(agents=[ground.agent(WORK, name="mended")]).ended


def test_somebody_who_wants_no_such_pause_gets_none(tmp_path: Path) -> None:
    ground, _ = _ground(tmp_path, *THREE)
    assert ground.drive(agents=[ground.agent(IDLE)], limits=Limits(stuck_after=0)).ended
    assert ground.runs_of() == 9


def test_failures_that_differ_and_work_in_between_are_no_standstill(tmp_path: Path) -> None:
    ground, _ = _ground(tmp_path, *THREE, "1-4")
    crash: Steps = [{"say": "out of luck"}, {"exit": 1}]
    script = (*[IDLE] * 3, *[crash] * 3, WORK, IDLE)
    assert ground.drive(agents=[ground.agent(*script)]).ended


def test_a_judge_that_cannot_judge_is_the_same_fact_for_every_criterion(tmp_path: Path) -> None:
    ground, _ = _ground(tmp_path, *THREE)
    driven = ground.drive(judge=ground.agent(CRASH, name="judge"))
    assert driven.loop.paused is not None
    assert driven.loop.alike == ["story-1-1 1", "story-1-2 1", "story-1-3 1"]
    ground.note("resumed")
    assert ground.drive(judge=ground.agent(MET, name="well")).ended
