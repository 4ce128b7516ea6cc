"""What confinement adds to a run: a program that does nothing in a sandbox and without one, by turns, and its memory.

Processor time is of the driver and of everything that is started for the run, and is the same on a busy machine.
"""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from bench.project import begun
from bench.timing import Comparison, Effort, alone, at_most, compare, missing
from interlock.world.agents.tree import everyone
from interlock.world.git import baseline, make_own_tree
from interlock.world.repository import own_tree
from interlock.world.sandbox.choosing import choose, has_direct_network
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Confined, Network, Sandbox, SandboxPolicy
from interlock.world.sandbox.unconfined import Unavailable, Unconfined

__all__ = ["measure"]

_SUBJECT = "a program that does nothing, confined"
_NETWORKS: tuple[tuple[str, Network], ...] = (
    ("none", "none"),
    ("a list", ("example.org",)),
    ("open", "open"),
    ("host", "host"),
)
_AIM, _AIM_MEMORY = at_most(30), at_most(20)
_MEMORY_ROUNDS = 5
_REAP_ORPHANS = 36
_BARE = "bare"
_NOTHING, _WAITING = ("/bin/true",), ("/bin/cat",)
_HOME = {".claude.json": "{}", ".claude/settings.json": "{}", ".claude/CLAUDE.md": "Be brief.\n", ".ssh/id": "secret"}
_ENTRIES = 30
"""Files in the home: each is mounted on its own."""

Start = Callable[[Sequence[str]], AbstractContextManager[Confined]]


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """One sandbox with each network; all by turns."""
    sandbox = choose("auto")
    if isinstance(sandbox, (Unconfined, Unavailable)):
        yield missing(_SUBJECT, _BARE, "not run: no sandbox works here", _AIM)
        return
    starts = _starts(sandbox, _policy(directory.resolve() / "sandbox"))
    with _orphans_are_ours():
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
        for number in range(2 * effort.launches + 1):
            for name, start in starts.items():
                figures = _run(start)
                if number:
                    spent[name].append(figures)
        used = {
            name: statistics.median(_memory(start) for _ in range(_MEMORY_ROUNDS)) for name, start in starts.items()
        }
    bare, busy = map(list, zip(*spent[_BARE], strict=True))
    for name, _ in _NETWORKS:
        title = f"{_SUBJECT}, network: {name}"
        note = "by pasta" if name == "open" and has_direct_network(sandbox) else ""
        ours, times = map(list, zip(*spent[name], strict=True))
        yield compare(title, _BARE, ours, bare, unit=" ms", note=note)
        yield alone(f"{title}: added", _median(ours, bare), " ms", aim=_AIM, note=note)
        yield alone(f"{title}: added processor time", _median(times, busy), " ms", note=note)
        yield alone(f"{title}: added memory", used[name] - used[_BARE], " MB", aim=_AIM_MEMORY, note=note)


def _median(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(one - other for one, other in zip(ours, theirs, strict=True))


def _policy(place: Path) -> SandboxPolicy:
    """A run of Claude Code, in the tree of a small repository in a small home."""
    home, root = place / "home", place / "home" / "repository"
    for name, text in {**_HOME, **{f"file-{number}": "" for number in range(_ENTRIES)}}.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    root.mkdir()
    (root / "README.md").write_text("Hello.\n")
    begun(root)
    tree, state = own_tree(root / ".ralf", "bench"), home / ".local" / "state" / "interlock"
    objects = state / "objects" / "bench"
    make_own_tree(root, tree, "ralf/bench", baseline(root).commit, objects)
    return SandboxPolicy(
        tree=tree,
        shown_at=root,
        home=home,
        state=state,
        environment={"PATH": os.environ["PATH"], "HOME": str(home)},
        objects=((root / ".git" / "objects", objects),),
        agent=agent_home("claude"),
    )


def _starts(sandbox: Sandbox, policy: SandboxPolicy) -> dict[str, Start]:
    """The ways to start a command, by their names."""

    def bare(command: Sequence[str]) -> AbstractContextManager[Confined]:
        return nullcontext(Confined(tuple(command), policy.environment, policy.tree))

    def confined(network: Network, command: Sequence[str]) -> AbstractContextManager[Confined]:
        return sandbox.confine(command, replace(policy, network=network))

    return {_BARE: bare, **{name: partial(confined, network) for name, network in _NETWORKS}}


def _run(start: Start) -> tuple[float, float]:
    """Run nothing once; gives milliseconds of the clock and of all processors."""
    began, used = time.perf_counter(), _processor_seconds()
    with start(_NOTHING) as one:
        subprocess.run(
            one.argv, env=one.environment, cwd=one.directory, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
    took = time.perf_counter() - began
    _reap()
    return took * 1000, (_processor_seconds() - used) * 1000


@contextmanager
def _orphans_are_ours() -> Iterator[None]:
    """Become the parent of processes whose parent has ended, such as the first one in a sandbox: their time counts."""
    libc = ctypes.CDLL(None)
    libc.prctl(_REAP_ORPHANS, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_REAP_ORPHANS, 0, 0, 0, 0)


def _reap() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def _processor_seconds() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _memory(start: Start) -> float:
    """Megabytes of everything that is there while a program waits for its stdin, beyond what is there before."""
    before = _all_pss()
    with start(_WAITING) as one:
        pipe = subprocess.PIPE
        with subprocess.Popen(one.argv, env=one.environment, cwd=one.directory, stdin=pipe, stdout=pipe) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"there\n")
            process.stdin.flush()
            process.stdout.readline()
            used = _all_pss() - before
    _reap()
    return used


def _all_pss() -> float:
    """Megabytes of this process and all below it; what several share is divided among them."""
    seen = list(everyone())
    found = {os.getpid()}
    while more := {one.pid for one in seen if one.parent in found} - found:
        found |= more
    return sum(map(_pss, found))


def _pss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
