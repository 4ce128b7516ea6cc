"""Whole ways of a thread, leg by leg, each leg in a process that may be killed, and what is known after it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from exhaustive import EXHAUSTIVE
from faces.forking import run_module
from interlock.journal import Entry, Journal, open_journal
from interlock.work.driver.lease_holders import is_present
from interlock.work.gates.audit import audit
from interlock.work.threads.phases import load
from interlock.work.threads.reading import read_thread
from mortality import moments_in
from work.threads.benches import DONE, FAIL, PASS, Bench, Steps, shell

__all__ = ["JOURNEYS", "Leg", "Stage", "travelled"]

_COSTS: Steps = [{"usage": {"input": 70, "output": 7, "cached": 0}}, {"cost": 0.25}]
_SETTINGS: dict[str, Any] = {"thread.iterations": 2 if EXHAUSTIVE else 1, "verify.commands": ["true"]}
_TIMES = ("updated_at", "created_at", "captured_at", "at")


class Leg(msgspec.Struct, frozen=True):
    """What a person says, what the agent and the judge do then, and what somebody edits before."""

    verb: str
    state: str
    """Where the thread is at its end."""
    agent: Steps = msgspec.field(default_factory=lambda: DONE)
    judge: Steps = msgspec.field(default_factory=lambda: PASS)
    edit: str = ""
    rests: bool = False
    """Whether Ctrl+C was pressed before anything ran."""
    seldom: bool = False
    """Whether only `make test-exhaustive` goes this leg; the one after it begins where the one before it ends."""

    def __str__(self) -> str:
        return f"{self.verb} to {self.state}"


_POLISH: Steps = [shell("echo it greets > docs.txt"), {"finish": True}]
_RUDE: Steps = [shell("echo hello you > greeting.txt; echo more > more.txt; git add more.txt"), *DONE[1:]]
_COMMITS: Steps = [shell("echo hello > greeting.txt; git add -A; git commit -qm mine"), *DONE[1:]]

_WAYS: dict[str, tuple[Leg, ...]] = {
    "forward": (
        Leg("new", "Drafting"),
        Leg("finalize", "Finalized"),
        Leg("run", "PreflightFailed", edit="echo mine > mine.txt"),
        Leg("retry", "Configuring", edit="git add mine.txt && git commit -qm mine"),
        Leg("start", "Paused", rests=True),
        Leg("resume", "Implemented", agent=_COMMITS),
        Leg("polish", "Polishing", seldom=True),
        Leg("ask for polish", "Polishing", agent=_POLISH, seldom=True),
        Leg("polished", "Implemented", seldom=True),
        Leg("ready", "PendingReview"),
        Leg("approve", "ReadyToCommit"),
        Leg("drive", "PendingReview", edit="echo later > later.txt", seldom=True),
        Leg("reverify", "Implemented", seldom=True),
        Leg("ready", "PendingReview", seldom=True),
        Leg("approve", "ReadyToCommit", seldom=True),
        Leg("commit", "Done"),
    ),
    "backward": (
        Leg("new", "Drafting"),
        Leg("finalize", "Finalized"),
        Leg("run", "Configuring"),
        Leg("start", "Stuck", judge=FAIL, agent=_RUDE),
        Leg("assist", "Stuck", judge=FAIL, agent=_RUDE, edit="echo helped > helped.txt", seldom=True),
        Leg("reconfigure", "Configuring", seldom=True),
        Leg("start", "Stuck", judge=FAIL, agent=_COMMITS, seldom=True),
        Leg("revise", "Drafting", edit="echo staged > staged.txt; git add staged.txt; echo loose > 'lo ose'"),
        Leg("undo", "Drafting"),
        Leg("finalize", "Finalized"),
        Leg("run", "Configuring"),
        Leg("start", "Implemented", seldom=True),
        Leg("ready", "PendingReview", seldom=True),
        Leg("reject", "Implemented", agent=_RUDE, seldom=True),
        Leg("ready", "PendingReview", seldom=True),
        Leg("revise", "Drafting", edit="echo loose > loose.txt", seldom=True),
        Leg("finalize", "Finalized", seldom=True),
        Leg("run", "Configuring", seldom=True),
        Leg("abandon", "Abandoned"),
    ),
    "apart": (
        Leg("new", "Drafting"),
        Leg("finalize", "Finalized"),
        Leg("run", "Configuring", edit="echo mine > mine.txt"),
        Leg("start", "Stuck", judge=FAIL, agent=_COMMITS),
        Leg("edit", "Stuck"),
        Leg("assist", "Implemented", edit="cd .ralf/worktrees/*; echo helped > helped.txt; echo you >> greeting.txt"),
        Leg("ready", "PendingReview"),
        Leg("approve", "ReadyToCommit"),
        Leg("commit", "Done"),
    ),
}
_ISOLATION = {"apart": "own"}
"""Ways in which no checkout of the person is brought along, but for the one that they open."""
JOURNEYS = {name: tuple(leg for leg in legs if EXHAUSTIVE or not leg.seldom) for name, legs in _WAYS.items()}
"""Each way that a person can lead a thread; what Ctrl+C does while an agent works has tests of its own."""


class Stage(msgspec.Struct):
    """A repository at one path, a copy of it before every leg, and what came of each leg when nobody died."""

    directory: Path
    legs: tuple[Leg, ...]
    bench: Bench
    moments: list[list[str]] = msgspec.field(default_factory=list)
    results: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def every(self) -> list[tuple[int, int]]:
        """Every moment at which a process can die, as the number of its leg and its own."""
        return [(leg, one) for leg, moments in enumerate(self.moments) for one in range(len(moments))]

    def run(self, leg: int, dies: int | None = None) -> tuple[int, str, str]:
        """Say what a leg says, in a process of its own: how it ended, and what it told."""
        since = self.results[leg - 1]["version"] if leg else 0
        options = {"verb": self.legs[leg].verb, "since": since, "settings": self.bench.settings, "dies": dies}
        options["rests"] = self.legs[leg].rests
        words = (str(self.bench.root), json.dumps(options))
        return run_module("work.threads.mortal_verbs", *words, env={**os.environ, **self.bench.environment})

    def prepare(self, leg: int) -> None:
        """Have everything as it is before a leg, and keep a copy of that."""
        one = self.legs[leg]
        for name, steps in (("agent", one.agent), ("judge", one.judge)):
            steps = [shell(f"echo {name} >> {self.directory / 'runs'}"), *_COSTS, *steps]
            (self.bench.play if name == "agent" else self.bench.judge)(steps)
        if one.edit:
            subprocess.run(["sh", "-ec", one.edit], cwd=self.bench.root, env=self.bench.environment, check=True)
        (self.directory / "runs").write_text("")
        _copy(self.directory / "repository", self.directory / f"before-{leg}")

    def restore(self, leg: int) -> None:
        """Have everything as it was before a leg, at the same path."""
        shutil.rmtree(self.bench.root)
        (self.directory / "runs").write_text("")
        _copy(self.directory / f"before-{leg}", self.bench.root)

    def travel(self) -> None:
        """Go all the way, and remember it."""
        for number, leg in enumerate(self.legs):
            self.prepare(number)
            code, told, wrong = self.run(number)
            assert code == 0, (str(leg), wrong)
            self.moments.append(moments_in(told))
            self.results.append({**self.result(), "charged": self.charges()[0]})
            assert self.results[-1]["state"] == leg.state, (str(leg), self.results[-1], wrong)

    # What is known

    def at_death(self, leg: int) -> None:
        """What is so of a leg that was cut short: some of its moves were made, and the files are whole."""
        journal, expected = self.journal(), self.results[leg]
        try:
            assert not list(journal.verify())
            assert audit(journal) == []
            for one in journal.instances("thread"):
                moves = _moves(journal.history(one.id))
                assert moves == expected["moves"][: len(moves)], "before or after a move, never between"
                file = self.bench.state_directory / "threads" / one.id / "thread.json"
                if file.exists():  # the very first death may come before it
                    assert load(file.read_bytes()).id == one.id
        finally:
            journal.close()

    def contents(self) -> set[str]:
        """The hashes of whatever the files hold."""
        files = _tree_of(self.bench.root).values()
        return {hashlib.sha1(b"blob %d\0%b" % (len(one), one.encode())).hexdigest() for one in files}

    def kept(self) -> set[str]:
        """The hashes of everything that some ref leads to."""
        return {line.split()[0] for line in self.bench.git("rev-list", "--objects", "--all").splitlines()}

    def charges(self) -> tuple[Counter[str], Counter[str]]:
        """How many runs of agents and of judges are charged for, and how many there were since the leg began."""
        journal = self.journal()
        try:
            threads = [read_thread(journal, one.id) for one in journal.instances("thread")]
        finally:
            journal.close()
        charged = Counter("judge" if one.role == "judge" else "agent" for one in threads[0].iterations)
        return charged, Counter((self.directory / "runs").read_text().split())

    def journal(self) -> Journal:
        return open_journal(self.bench.state_directory / "journal.db")

    def result(self) -> dict[str, Any]:
        """What came of a leg, without times and what is made of them."""
        journal, git = self.journal(), self.bench.git
        try:
            instance = journal.instances("thread")[0]
            thread, entries = read_thread(journal, instance.id), journal.history(instance.id)
            assert not list(journal.verify()), "the chain holds"
            assert audit(journal) == [], "so do the gates"
            assert not journal.is_held(f"thread:{thread.id}", is_present), "nobody drives it"
            assert not [one for one in journal.open_instances("session") if one.parent == thread.id]
        finally:
            journal.close()
        shown = json.loads((self.bench.state_directory / "threads" / thread.id / "thread.json").read_text())
        assert (shown["phase"]["type"], shown["id"]) == (instance.state, thread.id)
        refs = git("for-each-ref", "--format=%(refname)", "refs/ralf").splitlines()
        found = {
            "version": thread.version,
            "state": instance.state,
            "proofs": sorted(instance.snapshot.proofs.items()),
            "pending": len(instance.snapshot.pending),
            "iteration": (thread.runs, thread.iteration),
            "moves": _moves(entries),
            "approvals": [
                (one.event, one.decoded_evidence().data["approval"]["statement"]["hash"])
                for one in entries
                if "approval" in one.decoded_evidence().data and one.event != "commit"
            ],
            "commits": sum(one.event == "commit" for one in entries),
            "spent": Counter((one.run, one.number, one.ending) for one in thread.iterations if one.role != "judge"),
            "thread.json": _timeless(shown),
            "kept": thread.kept,
            "message": [line for line in thread.message.splitlines() if not line.startswith("Receipt:")],
            "HEAD": git("symbolic-ref", "HEAD"),
            "main": git("rev-parse", "main"),
            "branches": _branches(self.bench),
            "status": git("status", "--porcelain"),
            "tree": _tree_of(self.bench.root),
            "left": _left(self.bench),
            "edited": [_tree_of(one) for one in (self.bench.state_directory / "worktrees").glob("*")],
        }
        return {**_nameless(found, thread.id), "refs": _nameless(refs, thread.id), "version": thread.version}


def _left(bench: Bench) -> list[str]:
    """Locks, stages and marks in the git directories, and everything beside the trees of agents."""
    trees = bench.state_directory / "trees"
    places = [bench.root / ".git", *trees.glob("*/git")]
    named = [f"{one.parent.name}/{one.name}" for place in places for one in place.iterdir()]
    beside = [one.name for one in (*trees.glob("*"), *trees.glob("*/*"))]
    return sorted([one for one in named if "ralph-" in one or one.endswith(".lock")] + beside)


def _moves(entries: Sequence[Entry]) -> list[str]:
    return [one.event for one in entries if one.from_state != one.to_state or one.event == "iteration_finished"]


def _branches(bench: Bench) -> list[tuple[str, int, str]]:
    """Each branch: how many commits it has, and their trees."""
    names = bench.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
    return [
        (name, int(bench.git("rev-list", "--count", name)), bench.git("log", "--format=%T %an %ae %s", name))
        for name in names
    ]


def _tree_of(root: Path) -> dict[str, str]:
    """What the files of the work tree hold."""
    names = {one: one.relative_to(root).parts for one in root.rglob("*") if one.is_file()}
    return {"/".join(parts): one.read_text() for one, parts in names.items() if parts[0] not in (".git", ".ralf")}


def _timeless(shown: Any) -> Any:
    if isinstance(shown, dict):
        return {key: _timeless(value) for key, value in shown.items() if key not in (*_TIMES, "commit_sha")}
    return shown


def _nameless(found: Any, id_: str) -> Any:
    """The same without the thread's own name, which no two threads share."""
    if isinstance(found, str):
        return found.replace(id_, "ID").replace(id_[-6:], "ID")
    if isinstance(found, Counter | dict):
        return {_nameless(key, id_): _nameless(value, id_) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return (
            [_nameless(one, id_) for one in found]
            if isinstance(found, list)
            else tuple(_nameless(one, id_) for one in found)
        )
    return found


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)


def travelled(directory: Path, name: str) -> Stage:
    """A stage on which a whole journey was made by somebody whom nobody killed."""
    settings = _SETTINGS | ({"thread.isolation": _ISOLATION[name]} if name in _ISOLATION else {})
    bench = Bench.made(directory / "repository", **settings)
    stage = Stage(directory, JOURNEYS[name], bench)
    stage.travel()
    return stage
