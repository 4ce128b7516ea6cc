"""A real repository with a small program and its tests, work done on it, and its verification."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from interlock.work.settings.values import Settings
from interlock.work.verification.receipt import Receipt
from interlock.work.verification.request import Request, VerificationPlan, plan_of
from interlock.work.verification.verifying import verify
from interlock.world.agents.scripted.adapter import Scripted
from work.verification.asking import Asking
from world.git.repositories import git, made, write

__all__ = ["HONEST", "PYTEST", "START", "Ground", "Wanted", "saying"]

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
START: Mapping[str, str | bytes] = {
    "sums.py": "def add(a, b):\n    return 0\n",
    "tests/test_sums.py": "from sums import add\n\n\ndef test_nothing():\n    assert add(0, 0) == 0\n",
    "pyproject.toml": '[project]\nname = "sums"\n\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "ralph.toml": "",
    ".gitignore": ".venv/\n__pycache__/\n",
}
HONEST: Mapping[str, str] = {
    "sums.py": "def add(a, b):\n    return a + b\n",
    "tests/test_more.py": "from sums import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n",
}


class Wanted(msgspec.Struct, frozen=True):
    """A criterion."""

    number: int
    text: str = "it adds"
    command: str | None = None


def saying(*lines: str) -> list[dict[str, Any]]:
    """What a judge does that only says something."""
    return [{"say": "\n".join(lines)}, {"finish": True}]


class Ground(msgspec.Struct):
    """A repository, the commit that the work began on, and what was told while it was verified."""

    directory: Path
    files: Mapping[str, str | bytes] = msgspec.field(default_factory=lambda: START)
    told: list[object] = msgspec.field(default_factory=list)
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    baseline: str = ""
    hear: Callable[[object], None] = lambda said: None

    def __post_init__(self) -> None:
        made(self.root, self.files)
        self.baseline = git("rev-parse", "HEAD", cwd=self.root)

    @property
    def root(self) -> Path:
        return self.directory / "repository"

    @property
    def marker(self) -> str:
        """One of its own: what carries the marker of another test is not ours to end."""
        return f"thr-{self.directory}"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory), "LANG": "C.UTF-8"}

    def work(self, files: Mapping[str, str | bytes] = HONEST, *, without: Sequence[str] = ()) -> Ground:
        """Somebody does something."""
        write(self.root, files)
        for name in without:
            (self.root / name).unlink()
        return self

    def judge(self, *steps: dict[str, Any]) -> Asking:
        path = self.directory / "judge.json"
        path.write_text(json.dumps({"iterations": [list(steps)]}))
        log = self.logs / "judge.log"
        return Asking(Scripted(path, "judge"), log, self.environment, self.marker, self.tell, self.stop)

    def tell(self, said: object) -> None:
        self.told.append(said)
        self.hear(said)

    def plan(self, *commands: str, settings: str = "", **more: Any) -> VerificationPlan:
        whole = Settings.of(settings)
        return plan_of(whole, commands=commands or (PYTEST,), **more)

    def request(
        self, *commands: str, criteria: Sequence[Wanted] = (Wanted(1, command="true"),), **more: Any
    ) -> Request:
        judge, plan = more.pop("judge", None), more.pop("plan", None)
        vouched = more.pop("vouched", {})
        return Request(
            root=self.root,
            spec="5" * 64,
            baseline=self.baseline,
            criteria=criteria,
            plan=plan or self.plan(*commands, **more),
            logs=self.logs,
            environment=self.environment,
            marker=self.marker,
            confine=lambda place: None,
            judge=judge,
            title="Sums",
            vouched=vouched,
        )

    def verify(self, *commands: str, **more: Any) -> Receipt:
        receipt = verify(self.request(*commands, **more), self.tell, self.stop)
        assert receipt is not None
        return receipt
