"""What a driver has at hand is what the journal and the files say, at every step."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from interlock.work.stories.loop import begin, drive
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of
from work.stories.yards import IDLE, WORK, Ground

TESTS = ("test $(git rev-list --count HEAD) -ge 2 || grep -q 'retry_count: 1' progress.txt",)


def test_the_loop_at_hand_is_that_of_all_entries_at_every_step(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "wave"), "1-2": ("leave",)}).made()
    journal, other = ground.journal(), ground.journal()
    seen: list[str] = []

    def look(happening: object) -> None:
        if isinstance(happening, Loop):
            if len(seen) % 3 == 0:  # a person, by another process
                ground.note("context_added", text=f"hint {len(seen)}")
            assert happening == loop_of(other.history(happening.id, most=happening.version))
            seen.append(happening.state)

    ground.hear = look
    context = ground.context(journal, agents=[ground.agent(WORK, IDLE, WORK)], tests=TESTS)
    driven = drive(context, begin(context))
    assert driven.ended
    assert driven.loop == loop_of(other.history(driven.loop.id))
    assert len(driven.loop.context) + sum(one.role == "implementer" for one in driven.loop.attempts) > 2
    assert {"MEMORY_LOAD", "STORY_SELECT", "IMPLEMENT", "TEST", "VALIDATE", "COMMIT"} <= set(seen)
    journal.close()
    other.close()


def test_a_copy_of_a_loop_can_be_changed_without_harm(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    journal = ground.journal()
    context = ground.context(journal)
    loop = drive(context, begin(context)).loop
    copy = loop.copied()
    assert copy == loop
    for name in Loop.__struct_fields__:
        value = getattr(copy, name)
        if isinstance(value, dict | list | set):
            value.clear()
    assert loop == loop_of(journal.history(loop.id))
    journal.close()


def test_an_iteration_starts_few_git_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "wave", "leave")}).made()
    journal = ground.journal()
    started: list[str] = []
    iterations: list[list[str]] = []

    class Counted(subprocess.Popen[Any]):
        def __init__(self, words: Any, *rest: Any, **more: Any) -> None:
            started.extend(words[1:2] if words[0] == "git" else ())
            super().__init__(words, *rest, **more)

    def look(happening: object) -> None:
        if isinstance(happening, Loop) and happening.state == "MEMORY_LOAD":
            iterations.append(list(started))
            started.clear()

    monkeypatch.setattr(subprocess, "Popen", Counted)
    ground.hear = look
    context = ground.context(journal)
    assert drive(context, begin(context)).ended
    assert "update-ref" in iterations[2]
    assert "cat-file" not in iterations[2]  # new objects are files, which are read without git
    assert len(iterations[2]) <= 25, "with an agent, a test, a judge, a commit, and the person's checkout brought along"
    journal.close()
