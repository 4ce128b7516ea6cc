"""The orchestrator: what a task costs beyond its agents and verifiers, in a short plan and in a long one."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bench.beside import SAMPLE, Laps, Times, compared
from bench.project import begun, environment
from bench.timing import Comparison, Effort
from interlock.journal import open_journal
from interlock.work.driver.context import DriverContext
from interlock.work.orchestration.beginning import begin, session_name
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.record import Run
from interlock.work.settings.values import Settings

__all__ = ["measure"]

_FEW = 35
_MANY = {"full": 300, "quick": 150}
_AIM_MILLISECONDS = 150.0
_VERIFIER = "grep -q . work.txt"
_AGENT = """\
task=; reviews=; holistic=; plans=
while read -r line; do case "$line" in
"TASK_ID: "*) task=${line#TASK_ID: } ;;
"REPORT_PATH: "*) reviews=yes ;;
"MODE: SESSION_REVIEW") holistic=yes ;;
"MODE: INITIALIZE") plans=yes ;;
"# What is known") break ;;
esac; done
if [ $plans ]; then cat "${0%/*}/plan.json"
elif [ $holistic ]; then echo '{"met": true, "summary": "It is met.", "gaps": []}'
elif [ $reviews ]; then printf '{"status": "completed", "task_id": "%s", "verdict": "Qualified", "criteria_results": \
[{"criterion": "It is there", "met": true, "evidence": "work.txt", "finding": "seen"}], "reasoning": "Seen"}\\n' "$task"
else echo "$task" >> work.txt
printf '{"status": "completed", "task_id": "%s", "success_criteria_met": true, "summary_of_changes": "Written"}\\n' \
"$task"
fi
"""
"""Plays all four roles: it reads its input, does the work where it is the executor, and answers."""


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """A plan of a few tasks; one of many, at its beginning and at its end."""
    if shutil.which("git") is None:
        return
    place = directory.resolve() / "orchestrations"
    place.mkdir()
    many = _MANY["full" if effort.sizes[-1] > 10_000 else "quick"]
    yield from compared("a task", _timed(_Ground(place / "few", _FEW)), _AIM_MILLISECONDS)
    lot = _timed(_Ground(place / "many", many))
    yield from compared(f"a task of {many:,}", lot.first(SAMPLE), _AIM_MILLISECONDS)
    yield from compared(f"a task of {many:,}, the others done", lot.last(SAMPLE), _AIM_MILLISECONDS)


def _timed(ground: _Ground) -> Times:
    """Drive a run; each task that counts has its bare one right after it."""
    laps = Laps(ground.tasks, ground.bare)
    at = None

    def look(run: Run) -> None:
        nonlocal at
        if run.task is not None and run.task != at:
            at = run.task
            laps.begin()

    ground.drive(look)
    return laps.times


class _Ground(msgspec.Struct, frozen=True):
    """A repository, a plan, and agents that follow it."""

    root: Path
    tasks: int

    def drive(self, look: Callable[[Run], None]) -> None:
        """Drive a run over it to its end, and take everything away."""
        self._make()
        given: dict[str, str | tuple[str, ...]] = {
            "agent.sandbox": "none",
            "agent.command": f"sh {self.root}/.ralf/agent.sh",
            "verify.commands": (_VERIFIER,),
        }
        journal = open_journal(self.root / ".ralf" / "journal.db")
        context = DriverContext(
            journal=journal,
            root=self.root,
            state_directory=self.root / ".ralf",
            settings=Settings({**Settings().values, **given}),
            environment=environment(),
            report=lambda what: look(what) if isinstance(what, Run) else None,
            stop=threading.Event(),
            pausing=threading.Event(),
            wait=lambda seconds: None,
        )
        roles = dict.fromkeys(("planner", "questioner", "executor", "reviewer"), "command")
        run = drive(context, begin(context, "All of it is there", session_name(context), roles))
        journal.close()
        assert run.outcome == "success", run.reason
        shutil.rmtree(self.root)

    def bare(self) -> float:
        """How many milliseconds both agents and the verifier take in a directory beside."""
        beside = self.root.with_name(f"{self.root.name}-bare")
        beside.mkdir(exist_ok=True)
        agent, asked = self.root / ".ralf" / "agent.sh", "TASK_ID: task-1\n# What is known\n"
        began = time.perf_counter()
        for words, given in (
            (["sh", str(agent)], asked),
            (["/bin/sh", "-c", _VERIFIER], ""),
            (["sh", str(agent)], f"REPORT_PATH: x\n{asked}"),
        ):
            subprocess.run(
                words, cwd=beside, env=environment(), check=True, input=given.encode(), stdout=subprocess.DEVNULL
            )
        return (time.perf_counter() - began) * 1000

    def _make(self) -> None:
        self.root.mkdir(parents=True)
        begun(self.root)
        tasks = [
            {"id": f"task-{number}", "description": f"Write part {number}", "criteria": ["It is there"]}
            for number in range(1, self.tasks + 1)
        ]
        plan = {"status": "completed", "goal": "All of it is there", "plan": "# Plan\n\nWrite it.", "tasks": tasks}
        (self.root / ".ralf" / "plan.json").write_text(json.dumps(plan))
        (self.root / ".ralf" / "agent.sh").write_text(_AGENT)
