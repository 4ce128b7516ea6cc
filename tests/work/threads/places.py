"""A thread in each of its states, in one real repository that is put back to that moment as often as it is needed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from interlock.journal import Journal
from interlock.machine import Snapshot
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import configure, pause
from work.threads.benches import DONE, FAIL, PASS, Bench

__all__ = ["Facts", "Places", "drive_until", "rest", "with_config"]

LIMIT = 2
"""How many iterations the threads of these places have."""


class _HaltedError(Exception):
    """The driver died at the beginning of a step."""


def drive_until(bench: Bench, id_: str, state: str) -> Thread:
    """Drive a thread; the driver dies as soon as it begins what is done in a state."""

    entered = bench.thread(id_).entered

    def halt(told: object) -> None:
        if isinstance(told, Thread) and told.state == state and told.entered > entered:
            raise _HaltedError

    bench.hear = halt
    try:
        with suppress(_HaltedError):
            bench.drive(id_)
    finally:
        bench.hear = lambda told: None
    return bench.thread(id_)


def rest(bench: Bench, id_: str) -> None:
    """Let a thread pause, as `ralph thread pause` does."""
    journal = bench.open()
    try:
        pause(bench.context(journal), id_, bench.person)
    finally:
        journal.close()


def with_config(bench: Bench, id_: str, **chosen: Any) -> None:
    """Choose how the loop runs, as `ralph thread configure` does."""
    from msgspec.structs import replace

    journal = bench.open()
    try:
        context = bench.context(journal)
        known = bench.thread(id_).config or default_config(context.settings)
        configure(context, id_, bench.person, replace(known, **chosen))
    finally:
        journal.close()


def _new(bench: Bench, id_: str) -> None:
    """The thread was made already."""


def _by(*events: str) -> Callable[[Bench, str], object]:
    return lambda bench, id_: bench.act(id_, *events, reason="because", drives=False)


def _fail_preflight(bench: Bench, id_: str) -> None:
    (bench.root / "unfinished.txt").write_text("half of it\n")
    bench.drive(id_)


def _get_stuck(bench: Bench, id_: str) -> None:
    bench.judge(FAIL)
    bench.drive(id_)
    bench.judge(PASS)


_WAYS: dict[str, tuple[str | None, Callable[[Bench, str], object]]] = {
    "Drafting": (None, _new),
    "Assessing": ("Drafting", _by("assess")),
    "Finalized": ("Drafting", _by("finalize")),
    "Preflight": ("Finalized", _by("run")),
    "PreflightFailed": ("Preflight", _fail_preflight),
    "Configuring": ("Preflight", lambda bench, id_: drive_until(bench, id_, "Configuring")),
    "Running": ("Configuring", _by("start")),
    "Paused": ("Running", rest),
    "Verifying": ("Running", lambda bench, id_: drive_until(bench, id_, "Verifying")),
    "Stuck": ("Running", _get_stuck),
    "Implemented": ("Verifying", lambda bench, id_: drive_until(bench, id_, "Implemented")),
    "Polishing": ("Implemented", _by("polish")),
    "PendingReview": ("Implemented", _by("ready")),
    "Approved": ("PendingReview", _by("approve")),
    "ReadyToCommit": ("Approved", lambda bench, id_: bench.drive(id_)),
    "Done": ("ReadyToCommit", lambda bench, id_: bench.act(id_, "commit")),
    "Abandoned": ("Running", _by("abandon")),
}
"""The way to each state: from which one, and by what."""


class Places(msgspec.Struct):
    """Goes to a state once, and is there at once from then on."""

    directory: Path
    ids: dict[str, str] = msgspec.field(default_factory=dict)
    benches: dict[str, Bench] = msgspec.field(default_factory=dict)

    def at(self, state: str, mode: str = "methodical") -> tuple[Bench, str]:
        """The repository with a thread that has just come to a state, whatever was done in it before."""
        bench = self._bench(mode)
        saved = self.directory / f"{mode}-{state}"
        if not saved.exists():
            before, way = _WAYS[state]
            if before is not None:
                self.at(before, mode)
            way(bench, self.ids[mode])
            found = bench.thread(self.ids[mode]).state
            assert found == state, (found, bench.told)
            shutil.copytree(bench.root, saved, symlinks=True)
        self._put_back(bench, saved)
        return bench, self.ids[mode]

    def _bench(self, mode: str) -> Bench:
        if mode not in self.benches:
            root = self.directory / f"{mode}-repository"
            bench = Bench.made(root)
            bench.settings["thread.iterations"] = LIMIT
            self.benches[mode] = bench
            self.ids[mode] = bench.new(mode=mode)
        bench = self.benches[mode]
        bench.stop.clear()
        bench.pausing.clear()
        bench.told.clear()
        bench.waited.clear()
        return bench

    def _put_back(self, bench: Bench, saved: Path) -> None:
        """The directory itself stays: it is the stage."""
        for one in bench.root.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        shutil.copytree(saved, bench.root, symlinks=True, dirs_exist_ok=True)
        bench.play(DONE)
        bench.judge(PASS)


class Facts(msgspec.Struct, frozen=True):
    """All that a move could have changed, read from the disk."""

    head: int
    branch: str
    refs: dict[str, str]
    kept: dict[str, str]
    files: dict[str, bytes]
    written: dict[str, bytes]
    snapshot: Snapshot

    @classmethod
    def of(cls, bench: Bench, id_: str) -> Facts:
        journal: Journal = bench.open()
        try:
            head, snapshot = journal.head(), journal.instance(id_).snapshot
        finally:
            journal.close()
        lines = [
            line.split(" ", 1) for line in bench.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        ]
        refs = {name: commit for name, commit in lines if not name.startswith("refs/ralf/")}
        kept = {name: commit for name, commit in lines if name.startswith("refs/ralf/threads/")}
        files = {str(one.relative_to(bench.root)): one.read_bytes() for one in _files(bench.root)}
        own = bench.state_directory / "threads"
        written = {str(one.relative_to(own)): one.read_bytes() for one in _files(own)}
        branch = (bench.root / ".git" / "HEAD").read_text().strip()
        return cls(head, branch, refs, kept, files, written, snapshot)


def _files(root: Path) -> Iterator[Path]:
    for one in sorted(root.iterdir()):
        if one.name in (".git", ".ralf"):
            continue
        if one.is_dir():
            yield from _files(one)
        elif one.is_file():
            yield one
