"""A projection of a session that dies: in a process of its own, at one call of the operating system after the other.

    python -m work.orchestration.mortal DIRECTORY

Each death leaves its files in a directory of its own, named by the number of the call. The last one died at none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.driver.ports import real_ports
from interlock.work.formats.hashing import sha256_of
from interlock.work.orchestration.order import PLANNING
from interlock.work.orchestration.session import SessionContent, rendered
from interlock.work.orchestration.store import SessionFiles
from interlock.work.orchestration.values import Cycle, Mark, Part1, Part2, Plan, Question, Task, TaskReport, Verdict
from world.failing import failing

__all__ = ["AFTER", "BEFORE", "ID", "MOST", "files_at", "is_ours", "project", "start"]

DIED = 86
MOST = 400
"""More calls than there are."""
ID = "260131-144400"
_TASK = Task("task-1", "Lay the ground", "A floor", ("It holds",), ("floor.py",), mark=Mark.PENDING)
_REPORT = TaskReport("task-1", 1, Part1("A floor"))
_DONE = dict.fromkeys(PLANNING, Mark.DONE)
_CYCLE = Cycle(1, (Question(1, "Which colour?"),))
BEFORE = rendered(
    SessionContent(ID, Plan("A house", "", (_TASK,)), _DONE, cycles=(_CYCLE,), reports=(_REPORT,), transitions="{}\n")
)
AFTER = rendered(
    SessionContent(
        ID,
        Plan("A house", "## Context & Analysis\nSand", (replace(_TASK, mark=Mark.DONE), Task("task-2", "Walls"))),
        _DONE,
        cycles=(_CYCLE,),
        reports=(replace(_REPORT, part2=Part2(Verdict.QUALIFIED)),),
        transitions="{}\n{}\n",
    )
)
_OURS = {sha256_of(text) for one in (BEFORE, AFTER) for text in one.values()}


def is_ours(sha256: str) -> bool:
    return sha256 in _OURS


def files_at(path: Path) -> SessionFiles:
    return SessionFiles(real_ports(), path, path / ".ralf")


def project(files: SessionFiles, texts: dict[str, str]) -> str | None:
    """Project, and give the code of the error, if there was one."""
    try:
        files.project(ID, texts, is_ours, lambda _: None)
    except InterlockError as error:
        return error.code
    return None


def start(path: Path) -> SessionFiles:
    """The files before a verdict, with an agent's edit in one, and one of them gone."""
    path.mkdir(parents=True, exist_ok=True)
    files = files_at(path)
    assert project(files, BEFORE) is None
    files.folder.write(f"{ID}/tasks.md", b"# Edited\n")
    files.folder.remove(f"{ID}/plan.md")
    return files


def _die(files: SessionFiles, at: int) -> int:
    """Project in a child that dies at the n-th call; gives its exit status."""
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patch:
            system = failing(patch, at, lambda: os._exit(DIED))
            failed = project(files, AFTER)
        os._exit(0 if system.calls < at and failed is None else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _main(directory: Path) -> None:
    for at in range(1, MOST):
        status = _die(start(directory / str(at)), at)
        if status != DIED:
            sys.exit(status)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
