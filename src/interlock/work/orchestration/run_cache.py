"""The cache of a driver from one step to the next. All of it can be made again from the journal and the files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from interlock.journal import Entry, Journal
from interlock.machine import Machine
from interlock.machine.model import NOTED
from interlock.work.driver.context import DriverContext
from interlock.work.driver.fold import Fold
from interlock.work.driver.open_repository import OpenRepository
from interlock.work.driver.target_branch import TargetBranch
from interlock.work.orchestration.projected_files import ProjectedFiles
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of, take
from interlock.work.orchestration.run_files.transitions import TransitionLog, transitions
from interlock.work.orchestration.store import SessionFiles
from interlock.world.git import Repository

__all__ = ["RunCache", "opened"]


class RunCache(msgspec.Struct):
    """A run with its files, as they are known so far."""

    context: Final[DriverContext]
    """Its root is the tree of the agents."""
    home: Final[Path]
    """The work tree with the session's files."""
    target: Final[TargetBranch | None]
    """The person's branch that the work goes to; None if a thread drives the run."""
    files: Final[ProjectedFiles]
    fold: Final[Fold[Run]]
    moves: Final[_Moves]
    """The lines of its moves, kept by the fold."""
    before: Final[str]
    """The lines of the runs before it on the same directory."""
    git: Final[OpenRepository] = msgspec.field(default_factory=OpenRepository)

    @property
    def run(self) -> Run:
        return self.fold.record

    @property
    def log(self) -> str:
        """The text of the moves so far."""
        return self.before + "".join(self.moves.lines)

    def last_projected(self) -> Run:
        """The run as it was when its files were last noted."""
        entries = self.context.journal.history(self.run.id)
        notes = [one.version for one in entries if _is_projection(one)]
        return run_of(entries[: notes[-1]] if notes else entries)

    @property
    def tree(self) -> str:
        """The tree of the work as it is now."""
        return self.git.look(self.context).tree

    @property
    def repository(self) -> Repository:
        return self.git.repository(self.context)


def _is_projection(entry: Entry) -> bool:
    return entry.event == NOTED and entry.decoded_evidence().data.get("type") == "projected"


def opened(
    context: DriverContext, id_: str, machine: Machine, home: Path | None = None, target: TargetBranch | None = None
) -> RunCache:
    """The cache of a driver that begins or continues a run; its session's files are in `home`, or in the root."""
    home = home or context.root
    moves = _Moves(machine)
    fold = Fold(id_, moves.reset, moves.take)
    run = fold.read(context.journal)
    files = ProjectedFiles(SessionFiles(context.ports, home, context.state_directory), run.session)
    return RunCache(context, home, target, files, fold, moves, _log_before(context.journal, run))


class _Moves(msgspec.Struct):
    """Takes the entries of a run in, and keeps the line of each move."""

    machine: Machine
    lines: list[str] = msgspec.field(default_factory=list)
    _log: TransitionLog | None = None

    def reset(self) -> Run:
        self.lines, self._log = [], None
        return Run()

    def take(self, run: Run, entry: Entry) -> None:
        take(run, entry)
        self._log = self._log or TransitionLog(self.machine, run.session)
        line = self._log.take(entry)
        if line is not None:
            self.lines.append(line)


def _log_before(journal: Journal, run: Run) -> str:
    """The moves of the runs before this one on the same directory."""
    parts: list[str] = []
    follows = run.follows
    while follows:
        entries = journal.history(follows)
        machine = journal.machine_of(journal.instance(follows))
        parts.append("".join(transitions(machine, run.session, entries)))
        follows = run_of(entries[:1]).follows
    return "".join(reversed(parts))
