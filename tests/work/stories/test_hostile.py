"""Agents that lie, idle, meddle, flood, hang and reach limits; none of them is believed, and none gets further."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.work.stories.context import Limits
from interlock.work.stories.record import Loop
from interlock.world.agents.command import CommandAgent
from work.stories.yards import FINE, IDLE, MET, WORK, Ground, Steps, shell
from world.agents.runs import are_gone

FLOOD = 1_000_000_000 if EXHAUSTIVE else 2_000_000
LIES: Steps = [{"lie": True}, {"promise": "COMPLETED"}, {"say": "AC-1: it - ✓ all done"}, {"finish": True}]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path).made()


@pytest.fixture
def two(tmp_path: Path) -> Ground:
    """A place with two stories."""
    return Ground(tmp_path, {"1-1": ("greet",), "1-2": ("leave",)}).made()


def test_what_an_agent_says_of_its_work_counts_for_nothing(ground: Ground) -> None:
    ground.drive(agents=[ground.agent(LIES)])
    assert ground.moves().count("attempt_failed") == 3
    assert ground.moves()[-1] == "only_blocked_left"
    assert ground.promises() == ["<promise>BLOCKED</promise>"]


def test_a_prompt_that_is_printed_back_is_no_answer(ground: Ground) -> None:
    echo: Steps = [{"echo": True}, {"promise": "COMPLETED"}, {"finish": True}]
    judge = CommandAgent(("/bin/cat",), "judge")
    ground.drive(agents=[ground.agent([*WORK[:1], *echo])], judge=judge)
    assert "criteria_met" not in ground.moves()
    assert ground.commits() == ["progress: the loop ends after 3 iterations"]


def _own(ground: Ground) -> dict[str, str]:
    names = ("progress.txt", "stories/1-1-it.md", "stories/1-2-it.md")
    return {name: (ground.root / name).read_text() for name in names}


MEDDLING: dict[str, Steps] = {
    "progress": [{"write": {"path": "progress.txt", "text": "stories: []\n"}}],
    "progress_gone": [{"delete": "progress.txt"}],
    "progress_a_link": [shell("ln -sf /etc/hostname progress.txt")],
    "progress_a_directory": [shell("rm progress.txt; mkdir progress.txt; touch progress.txt/x")],
    "boxes": [shell("sed -i 's/\\[ \\]/[x]/' stories/*.md")],
    "criteria": [shell("sed -i 's/It can/It may/' stories/*.md")],
    "stories_gone": [shell("rm -r stories")],
    "a_story_in_front": [
        shell("mkdir -p _bmad-output/stories"),
        {"write": {"path": "_bmad-output/stories/1-2-easy.md", "text": "## Acceptance Criteria\n\n1. Nothing\n"}},
    ],
    "prd": [{"write": {"path": "prd.json", "text": '{"userStories": []}'}}],
    "complete": [shell("sed -i 's/status: .*/status: complete/' progress.txt")],
    "committed": [shell("sed -i 's/status: .*/status: complete/' progress.txt; git add -A"), {"commit": "all done"}],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", MEDDLING)
def test_the_files_of_the_loop_are_put_back_and_the_edit_is_kept_and_told(two: Ground, how: str) -> None:
    ground = two
    seen: list[tuple[dict[str, str], bool]] = []

    def look(loop: Loop) -> None:
        if loop.iteration <= 1 and loop.state in ("IMPLEMENT", "TEST"):
            seen.append((_own(ground), (ground.root / "prd.json").exists()))

    ground.meddle = look
    ground.drive(agents=[ground.agent([*MEDDLING[how], *WORK], WORK)])
    (before, _), (after, prd) = seen[:2]
    assert not prd
    assert {name: text for name, text in after.items() if name != "progress.txt"} == {
        name: text for name, text in before.items() if name != "progress.txt"
    }
    assert "rejected" in {one["type"] for one in _all_notes(ground)}
    assert any("guarded" in one for one in ground.told)
    assert ground.moves()[-1] == "all_complete"
    assert (ground.boxes("1-1"), ground.boxes("1-2")) == ("x", "x")
    assert [one for one in ground.commits() if one.startswith("story-")] == [
        "story-1-1 task 1: greet",
        "story-1-2 task 1: leave",
    ]
    assert ground.is_clean()


def _all_notes(ground: Ground) -> list[dict[str, object]]:
    return [one.decoded_evidence().data for one in ground.entries() if one.event == "noted"]


def test_code_that_is_tested_cannot_move_the_loop_either(ground: Ground) -> None:
    tests = ("sed -i 's/status: .*/status: complete/' progress.txt", "sed -i 's/\\[ \\]/[x]/' stories/*.md")
    ground.drive(tests=tests)
    assert ground.moves().count("committed") == 1
    assert ground.moves()[-1] == "all_complete"


def test_a_judge_that_changes_the_code_has_judged_something_else(ground: Ground) -> None:
    mends: Steps = [shell("echo mended > extra"), *MET]
    ground.drive(judge=ground.agent(mends, MET, name="judge"))
    assert ground.moves().count("criteria_failed") == 1
    assert ground.moves()[-1] == "all_complete"


def test_what_an_agent_commits_itself_is_code_and_its_commits_are_kept_beside(ground: Ground) -> None:
    ground.drive(agents=[ground.agent([*WORK[:1], {"commit": "mine"}, {"finish": True}])])
    assert ground.moves()[-1] == "all_complete"
    assert [one.partition(" ")[0] for one in ground.commits()] == ["story-1-1", "progress:"]
    assert "part-1" in ground.git("show", "--name-only", "--format=", "HEAD~1").split()
    kept = ground.git("for-each-ref", "--format=%(contents:subject)", "refs/ralf/story").split()
    assert kept == ["mine"]


def test_children_that_do_not_want_to_end_are_ended(ground: Ground, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    forks: Steps = [{"fork": {"count": 2, "ignore": ["SIGTERM"], "detach": True, "pids": str(pids)}}, *WORK]
    ground.drive(agents=[ground.agent(forks)], limits=Limits(iterations=1))
    assert are_gone(pids)


@pytest.mark.exhaustive
def test_a_flood_is_heard_and_not_kept(ground: Ground) -> None:
    flood: Steps = [{"flood": FLOOD}, {"say": "x" * 1_000_000}, *WORK]
    ground.drive(agents=[ground.agent(flood, WORK)])
    assert ground.moves()[-1] == "all_complete"
    assert max(len(one.evidence) for one in ground.entries()) < 64 * 1024


NOTHING = "the agent ended without changing anything"
ODD: dict[str, tuple[Steps, str]] = {
    "no_line_end": ([{"bytes": FLOOD}, *WORK], ""),
    "does_nothing": ([{"say": "Hm."}, {"exit": 0}], NOTHING),
    "claims": ([{"lie": True}, {"promise": "COMPLETED"}], NOTHING),
    "fails": ([*WORK[:1], {"complain": "no key"}, {"exit": 3}], "the agent failed (exit 3)"),
}
HANGS: dict[str, tuple[Steps, str]] = {
    "does_not_want_to_end": ([{"ignore": ["SIGTERM", "SIGINT"]}, {"wait": "never"}], "the agent took too long"),
}
if EXHAUSTIVE:  # it is waited for, ten seconds
    HANGS["closes_and_hangs"] = ([{"close": True}, {"wait": "never"}], "the agent closed its output and did not end")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", [*ODD, *HANGS])
def test_each_is_told_for_what_it_was(ground: Ground, how: str) -> None:
    steps, why = {**ODD, **HANGS}[how]
    limits = Limits(iterations=1, idle_seconds=1.5 if how in HANGS else 900.0)
    ground.drive(agents=[ground.agent(steps)], limits=limits)
    failures = [data["failure"].splitlines()[0] for data in ground.brought("attempt_failed")]
    assert [one[: len(why)] for one in failures] == ([why] if why else [])
    assert ground.moves().count("committed") == (0 if why else 1)


def test_a_claim_with_failing_tests_is_a_failure_with_what_they_said(ground: Ground) -> None:
    claims: Steps = [*WORK[:1], *LIES]
    ground.drive(agents=[ground.agent(claims)], tests=("echo 1 failed, 41 passed; exit 1",))
    assert "tests_passed" not in ground.moves()
    [first, *_] = ground.brought("tests_failed")
    assert first["failure"].splitlines()[1:] == ["1 failed, 41 passed"]
    assert ground.promises() == ["<promise>BLOCKED</promise>"]


TESTED = "def test_greets():\n    assert greeting() == 'hello'\n    assert polite()\n"
GONE = "the test file tests/test_greeting.py is gone"
WEAKENED = {
    "deleted": ("rm tests/test_greeting.py", GONE),
    "committed": ("git rm -q tests/test_greeting.py; git commit -qm tidy", GONE),
    "emptied": ("sed -i '/assert/d' tests/test_greeting.py", "a test checks less than it did: assert polite()"),
    "skipped": (
        "sed -i '1i @pytest.mark.skip' tests/test_greeting.py",
        "a test is skipped that was not: tests/test_greeting.py: @pytest.mark.skip",
    ),
    "changed": ("echo '# it' >> tests/test_greeting.py", "the test file tests/test_greeting.py was changed"),
    "added": ("echo 'def test_more(): ...' > tests/test_more.py", None),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", WEAKENED)
def test_tests_that_an_agent_weakens_are_named_to_people_and_to_the_judge(tmp_path: Path, how: str) -> None:
    command, sentence = WEAKENED[how]
    ground = Ground(tmp_path).made()
    (ground.root / "tests").mkdir()
    (ground.root / "tests" / "test_greeting.py").write_text(TESTED)
    ground.git("add", "-A")
    ground.git("commit", "-qm", "a test")
    answers = f"cat > '{tmp_path}/asked'; echo 'AC-1: It can greet - ✗ its test is gone'"
    judge = CommandAgent(("/bin/sh", "-c", answers), "judge")
    ground.drive(agents=[ground.agent([shell(command), *WORK])], judge=judge, limits=Limits(iterations=1))
    [written] = ground.brought("code_written")
    assert sentence in written["tests"] if sentence else not written["tests"]
    told = (tmp_path / "asked").read_text()
    assert ("Tests that were there before" in told) is (sentence is not None)
    assert sentence is None or (sentence in told and f"WARNING: {sentence}" in ground.told)
    assert ground.moves()[-1] == "criteria_failed"


def test_an_agent_that_hangs_is_stopped_with_the_loop_and_that_is_no_attempt(ground: Ground) -> None:
    hangs: Steps = [shell("echo begun > begun"), {"say": "hanging"}, {"wait": "never"}]

    def heard(happening: object) -> None:
        if "hanging" in str(happening):
            ground.stop.set()

    ground.hear = heard
    driven = ground.drive(agents=[ground.agent(hangs)])
    assert not driven.ended
    assert ground.loop().state == "IMPLEMENT"
    later = ground.again()
    later.hear = None
    later.drive(agents=[later.agent(WORK, name="other")])
    assert "attempt_failed" not in later.moves()
    assert later.moves()[-1] == "all_complete"
    assert later.progress.iteration == 1


@pytest.mark.parametrize("until", [None, 1_700_009_000])
def test_a_limit_is_waited_for_and_is_no_attempt(ground: Ground, until: int | None) -> None:
    limited: Steps = [{"limit": {"kind": "session", "until": until, "said": "limit reached"}}, {"exit": 1}]
    ground.drive(agents=[ground.agent(limited, limited, WORK)])
    assert ground.moves()[-1] == "all_complete"
    assert "attempt_failed" not in ground.moves()
    assert ground.progress.iteration == 1
    expected = [15, 15] if until is None else [9000, 15]  # the second time it is over already
    assert ground.waited == pytest.approx(expected, rel=0.2)


def test_a_limit_of_one_agent_is_another_ones_turn(ground: Ground) -> None:
    limited: Steps = [{"limit": {"kind": "session", "until": 1_800_000_000, "said": ""}}, {"exit": 1}]
    ground.drive(agents=[ground.agent(limited), ground.agent(WORK, name="second")])
    assert ground.moves()[-1] == "all_complete"
    assert ground.waited == []
    assert [one.agent for one in ground.loop().attempts if one.role == "implementer" and one.counts] == ["second"]


def test_where_all_have_reached_a_limit_the_first_reset_is_waited_for(ground: Ground) -> None:
    def limited(until: int) -> Steps:
        return [{"limit": {"kind": "session", "until": until, "said": ""}}, {"exit": 1}]

    first, second = ground.agent(limited(1_700_090_000)), ground.agent(limited(1_700_009_000), WORK, name="second")
    ground.drive(agents=[first, second])
    assert ground.moves()[-1] == "all_complete"
    assert [round(seconds, -2) for seconds in ground.waited] == [9000]


def test_the_limit_of_a_judge_is_waited_for_too(ground: Ground) -> None:
    limited: Steps = [{"limit": {"kind": "weekly", "until": 1_700_009_000, "said": ""}}, {"exit": 1}]
    judge = ground.agent(limited, MET, name="judge")
    ground.drive(agents=[ground.agent(WORK), ground.agent(WORK, name="second")], judge=judge)
    assert ground.moves()[-1] == "all_complete"
    assert "criteria_failed" not in ground.moves()
    assert len(ground.waited) == 1


def test_an_agent_that_is_not_installed_changes_nothing(ground: Ground) -> None:
    with pytest.raises(InterlockError) as raised:
        ground.drive(agents=[CommandAgent(("surely-no-such-agent-here",), "missing")])
    assert raised.value.code == "agent_missing"
    assert ground.commits() == []
    assert ground.git("status", "--porcelain").split() == ["M", "progress.txt"]
    assert ground.loop().state == "IMPLEMENT"
    assert ground.story().retry_count == 0
    later = ground.again()
    later.drive()
    assert later.moves()[-1] == "all_complete"
    assert "attempt_failed" not in later.moves()
    assert later.progress.iteration == 1


NAMES = {"no_text": "bad\\377", "a_line_end": "a\\n## Tasks\\n\\n- [ ] Task 9: more", "long": "x" * 250}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_file_may_be_called_anything(ground: Ground, name: str) -> None:
    names: Steps = [shell(f"printf x > \"$(printf '{name.replace('- ', '-- ')}')\""), *WORK]
    ground.drive(agents=[ground.agent(names, WORK)])
    assert ground.moves()[-1] == "all_complete"
    assert ground.boxes("1-1") == "x"
    assert ground.is_clean()


def test_an_agent_that_takes_too_long_is_no_passing_trouble(two: Ground) -> None:
    silent: Steps = [{"wait": "never"}]
    two.drive(agents=[two.agent(silent)], limits=Limits(iterations=3, idle_seconds=0.5))
    assert two.story("1-1").blocker_type == "permanent"


def test_agents_take_turns(ground: Ground) -> None:
    agents = [ground.agent(IDLE, name=name) for name in ("one", "two")]
    ground.drive(agents=agents, tests=FINE)
    assert [one.agent for one in ground.loop().attempts] == ["one", "two", "one"]
