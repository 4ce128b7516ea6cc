"""Starting an agent: its files, its sandbox if it has one, and the watch over what it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.world.agents import tree
from interlock.world.agents.agent import Launch
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.confinement import PRIVATE
from interlock.world.agents.resources import ResourceWatch

__all__ = ["Prepared", "as_seen", "prepared"]


class Prepared(msgspec.Struct, frozen=True):
    """What is started for an agent: `Popen(words, cwd=directory, env=environment)`."""

    words: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    in_memory: tuple[tuple[Path, int], ...] = ()
    """The file systems in memory of its sandbox."""

    def watch(self, root: int, assignment: Assignment) -> ResourceWatch | None:
        """Return the watch over what the run uses. In a sandbox nothing leaves the descendants of its first process."""
        if assignment.confinement is None:
            limits = assignment.limits
            return None if limits is None else ResourceWatch(limits, root, assignment.marker, assignment.directory)
        policy = assignment.confinement.policy
        directory = None if policy.is_read_only else policy.tree
        return ResourceWatch(policy.limits, root, "", directory, self.in_memory)


def as_seen(assignment: Assignment) -> Assignment:
    """The assignment as the agent sees it: with the paths of its sandbox, if it is in one."""
    if assignment.confinement is None:
        return assignment
    policy = assignment.confinement.policy
    return replace(
        assignment,
        directory=policy.directory or policy.shown_at,
        log=PRIVATE / assignment.log.name,
        confinement=None,
        is_confined=True,
    )


@contextmanager
def prepared(agent: str, launch: Launch, assignment: Assignment) -> Iterator[Prepared]:
    """Write the files of a launch and give what is started for it; the files are taken away afterwards."""
    paths = {_outside(assignment, name): text for name, text in launch.files.items()}
    own = {**launch.environment, **({tree.MARKER: assignment.marker} if assignment.marker else {})}
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.touch(0o600, exist_ok=False)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if assignment.confinement is None:
            yield Prepared(launch.argv, assignment.directory, {**assignment.environment, **own})
            return
        with assignment.confinement.started(agent, launch.argv, assignment.environment, own) as confined:
            yield Prepared(confined.argv, confined.directory, confined.environment, confined.in_memory)
    finally:
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _outside(assignment: Assignment, path: Path) -> Path:
    return path if assignment.confinement is None else assignment.confinement.outside(path)
