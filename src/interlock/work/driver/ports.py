"""The effects of a driver, as one value: agents, commands, git, verifiers, processes, files and time.

Drivers reach the world only through `context.ports`, so a scheduler can replace all of it and decide what happens
between any two effects. `tests/test_layers.py` holds that the drivers import no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from interlock.journal import Holder, Journal
    from interlock.work.sessions.findings import WrittenFile
    from interlock.work.verification.receipt import Receipt
    from interlock.work.verification.request import Request
    from interlock.world.agents.agent import Agent, InteractiveAgent
    from interlock.world.agents.assignment import AgentTools, Assignment
    from interlock.world.agents.happenings import Happening
    from interlock.world.agents.interactive import InteractiveEnd
    from interlock.world.agents.result import Result
    from interlock.world.agents.running import StopSignal
    from interlock.world.commands import CommandResult, ShellCommand
    from interlock.world.files import FileMark
    from interlock.world.folder import Folder
    from interlock.world.git import (
        Commit,
        Diff,
        Identity,
        KeptWork,
        Looking,
        PathChange,
        Removed,
        Repository,
        StartingPoint,
        TakenTree,
        WorkTreeHash,
        WorkTreeStatus,
    )

__all__ = ["Addresses", "Files", "Git", "Ports", "SessionUpkeep", "Verification", "real_ports"]


class Git(Protocol):
    """The part of `world.git` that drivers use; the package itself is the real one."""

    def accept_filters(self, root: Path, names: Collection[str]) -> None: ...
    def add_work_tree(
        self, root: Path, path: Path, branch: str, at: str, *, leaving_out: Collection[str] = ()
    ) -> None: ...
    def adopt_commits(self, root: Path | Repository, branch: str) -> bool: ...
    def baseline(self, root: Path) -> StartingPoint: ...
    def begin_branch(self, root: Path, name: str, at: str) -> None: ...
    def checked_out(self, root: Path) -> str | None: ...
    def changed_between(self, root: Path | Repository, before: str, after: str) -> list[PathChange]: ...
    def changed_by(self, root: Path | Repository, commit: str) -> list[PathChange]: ...
    def commit(
        self,
        root: Path | Repository,
        message: str,
        *,
        author: Identity,
        paths: Sequence[str] | None = None,
        looking: Looking | None = None,
        branch: str | None = None,
        tree: str | None = None,
    ) -> str | None: ...
    def commit_approved(self, root: Path, branch: str, base: str, tree: str, message: str, keep: str) -> str: ...
    def contents(
        self, root: Path | Repository, revision: str, paths: Iterable[str], *, most: int = ...
    ) -> dict[str, bytes]: ...
    def delete_branch(self, root: Path, name: str, keep: str) -> None: ...
    def diff(
        self, root: Path | Repository, before: str | None = None, after: str | None = None, *, most: int = ...
    ) -> Diff: ...
    def files(self, root: Path | Repository) -> list[str]: ...
    def find_commit(self, root: Path | Repository, trailer: str, *, most: int = ...) -> str | None: ...
    def finished_trees(self, root: Path, trees: Path) -> list[str]: ...
    def fingerprint_of_settings(self, root: Path) -> str: ...
    def forward_branch(self, root: Path, branch: str, ours: str) -> str | None: ...
    def go_back(self, root: Path, base: StartingPoint, branch: str, keep: str) -> KeptWork | None: ...
    def identity(self, directory: Path | Repository) -> Identity: ...
    def keep(self, root: Path | Repository, name: str) -> KeptWork: ...
    def keep_commits(self, root: Path | Repository, name: str) -> str | None: ...
    def keep_tree(self, root: Path, name: str, tree: str, *, adds: bool = False) -> None: ...
    def log(self, root: Path | Repository, revision: str = "HEAD", *, most: int = 50) -> list[Commit]: ...
    def make_own_tree(self, root: Path, files: Path, branch: str, at: str, objects: Path) -> None: ...
    def merge_trees(self, root: Path, base: str, ours: str, theirs: str) -> str: ...
    def merged_at(self, directory: Path, commit: str, branch: str) -> float | None: ...
    def newly_ignored(self, root: Path, base: str, tree: str, ignored: Sequence[str]) -> tuple[str, ...]: ...
    def opened(self, place: Path | Repository) -> AbstractContextManager[Repository]: ...
    def park(self, root: Path | Repository, name: str) -> KeptWork | None: ...
    def put_tree(self, place: Path, tree: str, expected: str) -> bool: ...
    def remove_own_tree(self, root: Path, files: Path, keep: str | None, objects: Path) -> KeptWork | None: ...
    def remove_work_tree(self, root: Path, path: Path, keep: str) -> Removed: ...
    def show_commit(self, files: Path, commit: str) -> None: ...
    def squash(self, root: Path, branch: str, base: str, tree: str, message: str, keep: str) -> str: ...
    def state(self, root: Path | Repository) -> WorkTreeStatus: ...
    def tree_names(self, root: Path, trees: Path) -> list[str]: ...
    def tree_of_checkout(self, place: Path, branch: str) -> str | None: ...
    def tree_under(self, root: Path, name: str) -> str | None: ...
    def tree_hash(self, root: Path | Repository, *, exclude: Sequence[str] = ()) -> str: ...
    def undo(self, root: Path, keep: str) -> KeptWork: ...


class Verification(Protocol):
    """The part of `work.verification` that has effects; the module `verifying` is the real one."""

    def committed(self, root: Path) -> AbstractContextManager[Path]: ...
    def make_ready(
        self, request: Request, place: Path, tell: Callable[[object], None], stop: StopSignal
    ) -> Sequence[str]: ...
    def verify(self, request: Request, tell: Callable[[object], None], stop: StopSignal) -> Receipt | None: ...
    def rehearse(
        self, request: Request, tell: Callable[[object], None], stop: StopSignal
    ) -> tuple[str, ...] | None: ...
    def require_found(
        self, request: Request, receipt: Receipt, tell: Callable[[object], None], stop: StopSignal
    ) -> None: ...


class Files(Protocol):
    """Files that are read and written as a whole, and their changes; the module `world.files` is the real one."""

    def file_clock(self, directory: Path) -> int: ...
    def has_changed_since(self, root: Path, names: Iterable[str], moment: int) -> bool: ...
    def is_settled(self, mark: FileMark) -> bool: ...
    def mark(self, path: Path | str) -> FileMark | None: ...
    def read_below(self, root: Path, name: str, most: int) -> bytes | None: ...
    def read_file(self, path: Path | str) -> bytes | None: ...
    def remove_file(self, path: Path) -> None: ...
    def sweep(self, directory: Path) -> None: ...
    def write_bytes(self, path: Path, content: bytes, *, is_durable: bool = True) -> None: ...


class SessionUpkeep(Protocol):
    """The look at what agents did, by hooks and files; the module `work.sessions.upkeep` is the real one."""

    def take_in(self, journal: Journal, state_directory: Path) -> int: ...
    def written_since(
        self,
        journal: Journal,
        reference: str,
        state_directory: Path | None,
        repository: Repository | None = None,
        changed: Sequence[str] | None = None,
    ) -> list[WrittenFile]: ...
    def written_beside(self, journal: Journal, reference: str, main: Path) -> list[WrittenFile]: ...


class Addresses(Protocol):
    """The journal's address for the programs of a session; the module `world.journal_address` is the real one."""

    def keep_address(self, environment: Mapping[str, str], session: str, url: str) -> None: ...
    def remove_address(self, environment: Mapping[str, str], session: str) -> None: ...


class Ports(msgspec.Struct, frozen=True):
    """Everything that a driver does to the world, or asks of it, besides the journal."""

    git: Git
    look: Callable[[Looking, Repository, Sequence[str]], WorkTreeHash]
    """Hashes a work tree that is looked at again and again."""
    take: Callable[[Path], TakenTree]
    """Takes the tree of an agent's files, and reads only those again that have changed since."""
    verification: Verification
    files: Files
    folder: Callable[[Path], Folder]
    """Opens a directory of ours."""
    sessions: SessionUpkeep
    addresses: Addresses
    tools_for: Callable[[str, Path, Mapping[str, str], Path], AgentTools | None]
    """Finds the server and hooks that a run of an agent is given in a work tree."""
    run_agent: Callable[[Agent, Assignment, Callable[[Happening], None], StopSignal], Result]
    run_interactive: Callable[[InteractiveAgent, Assignment], InteractiveEnd]
    """Lets a person speak with an agent, at this process's streams."""
    run_command: Callable[[ShellCommand, Callable[[Happening], None], StopSignal], CommandResult]
    end_processes: Callable[[str], object]
    """Ends the processes that carry a marker."""
    find_program: Callable[[str, str | None], str | None]
    """Finds a program on a PATH."""
    holder: Callable[[], Holder]
    """This process, as the holder of a lease."""
    is_present: Callable[[Holder], bool | None]
    """True if the holder of a lease lives; None if only time can tell."""
    monotonic: Callable[[], float]
    start_thread: Callable[[Callable[[], None]], Callable[[], None]]
    """Runs a function beside the driver; returns a function that waits for its end."""


def real_ports() -> Ports:
    """The world as it is."""
    import shutil
    import threading
    import time

    from interlock.work.driver.lease_holders import is_present, process_holder
    from interlock.work.sessions import upkeep
    from interlock.work.setup.agent_tools import tools_for
    from interlock.work.verification import verifying
    from interlock.world import files, git, journal_address
    from interlock.world.agents.interactive import run_interactive
    from interlock.world.agents.running import run
    from interlock.world.agents.tree import end_marked
    from interlock.world.commands import run_command
    from interlock.world.folder import Folder

    takings: dict[Path, git.TreeTaking] = {}

    def start_thread(function: Callable[[], None]) -> Callable[[], None]:
        thread = threading.Thread(target=function, daemon=True)
        thread.start()
        return thread.join

    return Ports(
        git=git,
        look=git.Looking.look,
        take=lambda files: takings.setdefault(files, git.TreeTaking()).take(files),
        verification=verifying,
        files=files,
        folder=Folder,
        sessions=upkeep,
        addresses=journal_address,
        tools_for=tools_for,
        run_agent=run,
        run_interactive=run_interactive,
        run_command=run_command,
        end_processes=end_marked,
        find_program=lambda name, path: shutil.which(name, path=path),
        holder=process_holder,
        is_present=is_present,
        monotonic=time.monotonic,
        start_thread=start_thread,
    )
