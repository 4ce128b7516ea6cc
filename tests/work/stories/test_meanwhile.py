"""Somebody says something to a loop while its driver is at work on an older reading of it: no word is lost."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from interlock.machine import Actor, ActorKind, Channel
from interlock.work.stories.record import Loop
from interlock.work.stories.verbs import add_context, clear_context, unblock
from interlock.world.agents.happenings import Said
from work.stories.yards import IDLE, WORK, Ground, Steps

ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)
BEGINS: Steps = [{"say": "I begin."}, *WORK]


def test_what_is_said_instead_of_what_an_agent_was_told_is_told_to_the_next(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "leave")}).made()

    def speak(told: object) -> None:
        if isinstance(told, Said) and told.text == "I begin.":
            with closing(ground.journal()) as elsewhere:
                clear_context(elsewhere, ANN)
                add_context(elsewhere, ANN, "Greet the dog.")

    def begin(loop: Loop) -> None:
        if loop.state == "STORY_SELECT" and not loop.iteration:
            with closing(ground.journal()) as elsewhere:
                add_context(elsewhere, ANN, "Greet the cat.")

    ground.hear = lambda told: begin(told) if isinstance(told, Loop) else speak(told)
    agent = ground.agent(BEGINS, WORK)
    assert ground.drive(agents=[agent]).loop.outcome == "all_complete"
    first, second = agent.prompts
    assert ("the cat" in first, "the cat" in second) == (True, False)
    assert ("the dog" in first, "the dog" in second) == (False, True)


def test_a_story_that_is_unblocked_as_the_loop_is_about_to_end_is_tried_again(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()

    def free(loop: Loop) -> None:
        if loop.state == "STORY_SELECT" and loop.blocked_at:
            with closing(ground.journal()) as elsewhere:
                unblock(elsewhere, ANN, "story-1-1")

    ground.meddle = free
    driven = ground.drive(agents=[ground.agent(IDLE, IDLE, IDLE, WORK)])
    assert driven.loop.outcome == "all_complete", driven.loop.needs
    assert ground.story().status == "complete"
    assert ground.git("status", "--porcelain") == ""
