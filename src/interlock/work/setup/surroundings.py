"""What is around: the work tree, its files, the agents that work there, and how our own programs are called."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.work.sessions.prompt import progress_reporting
from interlock.work.settings.values import template
from interlock.work.setup.agents import FILES, SetupTarget, Supplies
from interlock.work.setup.plan import PlanFault
from interlock.work.tickets.skills import agent_files, skill_file, skill_path, skills
from interlock.world.machines import find_machine
from interlock.world.repository import find_root

__all__ = ["FileContent", "called", "find_agents", "look", "supplies", "work_tree"]

_LARGEST = 4_000_000


def work_tree(start: Path) -> Path:
    """The directory that the files are written to: the main work tree, or a submodule's own."""
    root, common = find_root(start)
    if root is not None:
        return root
    for directory in (start.absolute(), *start.absolute().parents):
        if (directory / ".git").is_file():
            return directory
    message = f"The repository at {common} has no work tree."
    raise InterlockError("no_repository", message, "Go to a clone of it.")


def find_agents(root: Path, environment: Mapping[str, str]) -> dict[SetupTarget, str]:
    """The agents that are installed or have files in the work tree, each with what shows it."""
    found: dict[SetupTarget, str] = {}
    for agent in SetupTarget:
        command = shutil.which(agent, path=environment.get("PATH", ""))
        files = [name for name in FILES[agent] if os.path.lexists(root / name)]
        if command:
            found[agent] = f"its command is {command}"
        elif files:
            found[agent] = f"{files[0]} is here"
    return found


def supplies(environment: Mapping[str, str]) -> Supplies:
    """What this installation brings."""
    ticket = find_machine("ticket", environment)
    return Supplies(
        called("ralph", environment),
        called("ralph-hook", environment),
        template(),
        progress_reporting(),
        {**{skill_path(one): skill_file(one) for one in skills(ticket)}, **agent_files(ticket)},
    )


def called(program: str, environment: Mapping[str, str]) -> str:
    """A program of ours by its name, if that finds this installation's own; else by its path."""
    own = Path(sys.executable).parent / program
    found = shutil.which(program, path=environment.get("PATH", ""))
    if not own.exists():
        return program
    return program if found and Path(found).resolve() == own.resolve() else str(own)


class FileContent(msgspec.Struct, frozen=True):
    """A file as it is: where it really is, behind links, and what is in it; None stands for no file."""

    real: Path
    text: str | None


def look(root: Path, file: str) -> FileContent:
    """A file of the work tree that may be edited. What is no text, or lies elsewhere, is a fault."""
    path = root / file
    try:
        real = path.resolve()
        base = root.resolve()
        if not real.is_relative_to(base) or real.relative_to(base).parts[:1] == (".git",):
            raise PlanFault(file, "it is a link that leaves the work tree")
        return FileContent(real, _read(file, real))
    except UnicodeDecodeError:
        raise PlanFault(file, "it is not UTF-8") from None
    except NotADirectoryError:
        raise PlanFault(file, "a file is where its directory should be") from None
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its links go round in a circle"
        raise PlanFault(file, f"it cannot be read: {why}") from None


def _read(file: str, real: Path) -> str | None:
    try:
        mode = real.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise PlanFault(file, "its links go round in a circle")
    if not stat.S_ISREG(mode):
        raise PlanFault(file, "it is a directory" if stat.S_ISDIR(mode) else "it is no file")
    if real.stat().st_size > _LARGEST:
        raise PlanFault(file, "it is too large")
    return real.read_bytes().decode("utf-8")
