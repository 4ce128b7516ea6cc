"""A loop over stories: an agent that fails first and then mends it, real tests, and a commit for each subtask."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from interlock.journal import Journal
from interlock.work.demo.project import Project, Steps
from interlock.work.demo.scenes import Saw, Scene, SceneHeading, moves_since
from interlock.work.driver.context import DriverContext
from interlock.work.formats.times import text_of
from interlock.work.stories.context import known_stories
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.opening import LoopOptions, make_story_context
from interlock.work.stories.progress import FILE
from interlock.work.stories.progress_file import template
from interlock.world.repository import STATE_DIRECTORY

__all__ = ["play_stories"]

_STORY = """\
# Story 1.1: Languages

## Acceptance Criteria

1. greet("Ada", "fr") says "Bonjour, Ada!"

## Tasks / Subtasks

- [ ] Greet in French (AC: 1)
- [ ] Test it (AC: 1)
"""
_BROKEN = "def greet(name=None, language=None):\n    return 'Bonjour'\n"
_MENDED = '''"""Greets people, by name where they give one, in their language."""

HELLO = {"en": "Hello", "fr": "Bonjour"}


def greet(name: str | None = None, language: str = "en") -> str:
    hello = HELLO[language]
    return f"{hello}, {name}!" if name else f"{hello}!"
'''
_TEST = """import unittest

from greet import greet


class French(unittest.TestCase):
    def test_it_speaks_french(self) -> None:
        self.assertEqual(greet("Ada", "fr"), "Bonjour, Ada!")
"""


def _writes(path: str, text: str) -> Steps:
    return [{"write": {"path": path, "text": text}}, {"finish": True}]


def play_stories(journal: Journal, project: Project) -> Iterator[Scene]:
    """One story of two subtasks, from its file to its commits."""
    yield SceneHeading(
        "A loop over stories: the first attempt fails its tests, the second passes; one commit a subtask"
    )
    project.write("stories/1-1-languages.md", _STORY)
    project.write(FILE, template("demo", known_stories(project.root), text_of(journal.now())))
    project.git("add", "-A")
    project.git("commit", "-qm", "A story")
    agent = project.script(
        "writer",
        [_writes("greet.py", _BROKEN), _writes("greet.py", _MENDED), _writes("test_french.py", _TEST)],
    )
    judge = project.script("critic", [[{"say": "AC-1: French - ✓ greet.py:7"}, {"finish": True}]])
    settings = project.settings(agent__script=agent, agent__judge_script=judge, story__tests=(project.tests,))
    before, head = project.git("rev-parse", "HEAD"), journal.head()
    state = project.root / STATE_DIRECTORY
    nobody = threading.Event()
    driver = DriverContext(
        journal=journal,
        root=project.root,
        state_directory=state,
        settings=settings,
        environment=project.environment,
        report=lambda what: None,
        stop=nobody,
        pausing=nobody,
        wait=lambda seconds: None,
    )
    context = make_story_context(driver, LoopOptions())
    drive(context, begin(context))
    for move in moves_since(journal, head):
        if move.machine == "story":
            yield move
            data = move.recorded.entry.decoded_evidence().data
            if move.recorded.entry.event == "tests_failed":
                yield Saw("tests", str(data["failure"]).splitlines()[0], is_good=False)
    for line in project.git("log", "--reverse", "--format=%h %s", f"{before}..HEAD").splitlines():
        yield Saw("git", line, is_good=True)
