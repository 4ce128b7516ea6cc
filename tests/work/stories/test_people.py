"""What people do to a loop: they edit `progress.txt`, pause, and set what it may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.work.stories.context import Limits
from interlock.work.stories.record import Loop
from interlock.world.agents.command import CommandAgent
from work.stories.yards import IDLE, WORK, Ground, Steps

TWO = {"1-1": ("greet",), "1-2": ("leave",)}
THREE = {**TWO, "1-3": ("come back",)}
PAID: Steps = [{"cost": 0.5}, *IDLE]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, TWO).made()


@pytest.fixture
def three(tmp_path: Path) -> Ground:
    """A place with three stories."""
    return Ground(tmp_path, THREE).made()


def _paused(ground: Ground, iterations: int, steps: Steps = WORK) -> Ground:
    """A loop that has used up its iterations and been given more, so that the next driver goes on."""
    driven = ground.drive(agents=[ground.agent(steps)], limits=Limits(iterations=iterations))
    assert not driven.ended
    ground.note("resumed")
    return ground.again()


@pytest.mark.requirement("story:blocker:resolution")
@pytest.mark.requirement("story:memory:progress")
def test_a_blocked_story_is_unblocked_by_an_edit(ground: Ground) -> None:
    later = _paused(ground, 3, IDLE)
    assert later.story().status == "blocked"
    text = later.progress_file.read_text()
    head, _, rest = text.partition("status: blocked")
    later.progress_file.write_text(f"{head}status: in_progress{rest}".replace("retry_count: 3", "retry_count: 0", 1))
    later.drive(agents=[later.agent(IDLE, IDLE, WORK, name="able")])
    assert "story_unblocked" in later.moves()
    assert [later.story(one).status for one in TWO] == ["complete"] * 2
    assert later.story().blocker_reason is None


def test_stories_are_done_in_the_order_that_people_give_them(three: Ground) -> None:
    ground, order = three, ["1-3", "1-1", "1-2"]
    lines = "".join(f"  - id: story-{one}\n    status: not_started\n" for one in order)
    ground.progress_file.write_text(f"# mine\nworkflow: ralph-bmad-integration\nproject: demo\nstories:\n{lines}")
    ground.drive()
    made = [one.split()[0].removeprefix("story-") for one in ground.commits() if one.startswith("story-")]
    assert made == order
    assert ground.progress_file.read_text().startswith("# mine\n")


def test_a_story_that_is_added_while_the_loop_rests_is_done_too(ground: Ground) -> None:
    later = _paused(ground, 1)
    later.story_file("1-4").write_text(ground.story_file("1-2").read_text().replace("[x]", "[ ]"))
    text = later.progress_file.read_text()
    added = "stories:\n  - id: story-1-4\n    status: not_started\n"
    later.progress_file.write_text(text.replace("stories:\n", added, 1))
    later.drive()
    made = [one.split()[0] for one in later.commits() if one.startswith("story-")]
    assert sorted(made) == ["story-1-1", "story-1-2", "story-1-4"]
    assert later.moves()[-1] == "all_complete"


def test_an_edit_in_mid_run_counts_where_no_agent_worked_and_not_where_one_did(three: Ground) -> None:
    """A person moves the last story up while the first is committed; an agent tries the same with the others."""
    ground = three

    def reorder(loop: Loop) -> None:
        if (loop.state, loop.story) == ("MEMORY_LOAD", None) and loop.iteration == 1:
            ground.progress_file.write_text(_last_story_first(ground.progress_file.read_text()))

    meddles: Steps = [{"run": ["sed", "-i", "s/not_started/complete/", "progress.txt"]}, *WORK]
    ground.meddle = reorder
    ground.drive(agents=[ground.agent(WORK, meddles, WORK)])
    made = [one.split()[0] for one in ground.commits() if one.startswith("story-")]
    assert made == ["story-1-1", "story-1-3", "story-1-2"]
    [edited] = ground.notes("read_back")
    assert [one["id"] for one in edited["progress"]["stories"]] == ["story-1-3", "story-1-1", "story-1-2"]
    [rejected] = ground.notes("rejected")
    assert rejected["file"] == "progress.txt"


def _last_story_first(text: str) -> str:
    head, stories, rest = text.partition("stories:\n")
    stories_text, empty, rest = rest.partition("\n\n")
    items = stories_text.split("  - id: ")[1:]
    ordered = [items[-1].rstrip("\n") + "\n", *items[:-1]]
    return f"{head}{stories}{''.join(f'  - id: {item}' for item in ordered).rstrip()}{empty}{rest}"


def test_a_story_cannot_be_completed_by_hand(three: Ground) -> None:
    later = _paused(three, 1)
    text = later.progress_file.read_text()
    later.progress_file.write_text(text.replace("status: not_started", "status: complete", 1))
    later.drive()
    assert any("was set to complete by hand" in one for one in later.told)
    assert [later.boxes(one) for one in THREE] == ["x"] * 3


def test_comments_and_keys_of_a_person_stay(ground: Ground) -> None:
    later = _paused(ground, 1)
    text = later.progress_file.read_text()
    text = text.replace("stories:\n", "owner: Ann  # ask her\nstories:\n  # the order matters\n", 1)
    later.progress_file.write_text(text)
    later.drive()
    last = later.progress_file.read_text()
    assert "owner: Ann  # ask her" in last
    assert "# the order matters" in last


def test_a_note_pauses_and_another_goes_on(ground: Ground) -> None:
    ground.meddle = lambda loop: ground.note("paused", reason="lunch") if loop.state == "TEST" else None
    driven = ground.drive()
    assert not driven.ended
    assert driven.loop.paused is not None
    assert driven.loop.paused.reason == "lunch"
    later = ground.again()
    later.meddle = lambda loop: None
    assert not later.drive().ended
    later.note("resumed")
    assert later.drive().ended


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("limits", "reason", "runs"),
    [
        (Limits(iterations=2), "2 iterations are used up", 2),
        (Limits(loop_usd=1.0), "the money for the loop is used up", 2),
        (Limits(loop_usd=1.2), "the money for the loop is used up", 2),
        (Limits(task_usd=1.0), "the money for the task is used up", 2),
        (Limits(day_usd=1.0), "the money for the day is used up", 2),
        (Limits(day_iterations=2), "2 iterations of the day are used up", 2),
        (Limits(loop_tokens=4), "the tokens for the loop are used up", 2),
        (Limits(loop_tokens=5), "the tokens for the loop are used up", 2),
        (Limits(task_tokens=4), "the tokens for the task are used up", 2),
        (Limits(day_tokens=4), "the tokens for the day are used up", 2),
        (Limits(loop_seconds=0.001), "the time for the loop is used up", 1),
        (Limits(task_seconds=0.001), "the time for the task is used up", 1),
        (Limits(day_seconds=0.001), "the time for the day is used up", 1),
    ],
    ids=lambda one: "" if isinstance(one, Limits | int) else one.replace(" ", "-"),
)
def test_a_loop_that_has_used_up_its_budget_pauses_and_a_restart_resets_nothing(
    ground: Ground, limits: Limits, reason: str, runs: int
) -> None:
    paid = ground.agent([{"usage": {"input": 1, "output": 1, "cached": 0}}, *PAID])
    driven = ground.drive(agents=[paid], limits=limits)
    assert driven.loop.paused is not None
    assert driven.loop.paused.reason == reason
    assert ground.runs_of() == runs
    assert not ground.again().drive(agents=[paid], limits=limits).ended
    ground.note("resumed")
    again = ground.again().drive(agents=[paid], limits=limits).loop.paused
    assert again is not None
    assert again.reason == reason
    assert ground.runs_of() == runs
    assert ground.story().retry_count == runs


def test_a_limit_that_is_raised_lets_the_loop_go_on(ground: Ground) -> None:
    ground.drive(limits=Limits(iterations=1))
    ground.note("limit_changed", name="iterations", value=9)
    ground.note("resumed")
    assert ground.again().drive(limits=Limits(iterations=1)).ended


def test_a_new_loop_does_not_forget_the_attempts_that_the_file_knows_of(ground: Ground) -> None:
    text = ground.progress_file.read_text()
    line = "status: in_progress\n    current_task: '1'\n    retry_count: 2"
    ground.progress_file.write_text(text.replace("status: not_started", line, 1))
    ground.drive(agents=[ground.agent(IDLE, WORK)])
    assert ground.moves().count("attempt_failed") == 1
    assert ground.story().status == "blocked"
    assert ground.story().retry_count == 3


@pytest.mark.requirement("story:context:injected")
def test_what_a_person_adds_is_told_to_the_next_agent_that_works_and_to_no_other(ground: Ground) -> None:
    reads = "n=$(git rev-list --count HEAD); cat > prompt-$n"
    reader = CommandAgent(("/bin/sh", "-c", reads), "reader")
    ground.meddle = lambda loop: ground.stop.set()
    ground.drive()
    ground.note("context_added", text="Use the blue one.")
    later = ground.again()
    later.meddle = lambda loop: None
    limited: Steps = [{"limit": {"kind": "session", "until": 1_800_000_000, "said": ""}}, {"exit": 1}]
    later.drive(agents=[later.agent(limited), reader])
    told = ["Use the blue one." in path.read_text() for path in sorted(later.root.glob("prompt-*"))]
    assert told == [True, False]
