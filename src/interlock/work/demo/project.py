"""The small project that the demo works on: a real repository, real tests, and an agent that plays a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from interlock.work.settings.values import Settings

__all__ = ["Project", "Steps"]

_GREET = '''"""Greets people."""


def greet() -> str:
    return "Hello!"
'''
_TESTS = """import unittest

from greet import greet


class Greeting(unittest.TestCase):
    def test_it_greets(self) -> None:
        self.assertTrue(greet().startswith("Hello"))


if __name__ == "__main__":
    unittest.main()
"""

Steps = list[dict[str, Any]]


class Project(msgspec.Struct, frozen=True):
    """A repository that was made for the demo."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """What agents and verifiers are given; nothing of the user's git reaches in."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("RALPH_", "GIT_"))}
        return {**ours, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    @property
    def tests(self) -> str:
        """The command that runs the tests."""
        return f"{sys.executable} -m unittest -q"

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def make(self) -> None:
        """The first commit."""
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.write("greet.py", _GREET)
        self.write("test_greet.py", _TESTS)
        self.git("add", "-A")
        self.git("commit", "-qm", "A greeting")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def script(self, name: str, iterations: Sequence[Steps]) -> str:
        """What an agent plays, run by run; the path of it, in the repository."""
        path = f".ralf/{name}.json"
        self.write(path, json.dumps({"state": f"{name}.count", "iterations": list(iterations)}))
        return path

    def settings(self, **given: Any) -> Settings:
        """The settings of the demo, which nobody else has to accept: it made the repository itself.

        Its agents only play scripts, so they need no sandbox, and it works where there is none.
        """
        named = {key.replace("__", "."): value for key, value in given.items()}
        return Settings({**Settings().values, "agent.name": "scripted", "agent.sandbox": "none", **named})
