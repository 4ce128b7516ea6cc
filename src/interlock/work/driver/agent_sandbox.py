"""The sandbox of a run: what an agent in a tree of its own may see, and the socket by which it speaks with us."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from msgspec.structs import replace

import interlock
from interlock.errors import InterlockError
from interlock.work.driver.context import DriverContext
from interlock.work.driver.session_wall import SessionWall
from interlock.work.settings.sandbox_consent import no_sandbox
from interlock.work.settings.values import Settings
from interlock.world.agents.confinement import PRIVATE, Confinement
from interlock.world.journal_address import SOCKET
from interlock.world.repository import OWN_TREES
from interlock.world.run_socket import Programs, served
from interlock.world.sandbox.choosing import Wanted, choose
from interlock.world.sandbox.consent import has_agreed
from interlock.world.sandbox.environment import allowed
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Limits, Network, Sandbox, SandboxPolicy
from interlock.world.sandbox.unconfined import Unavailable, Unconfined
from interlock.world.user_state import user_state_directory

__all__ = ["confined_command", "confined_run", "run_limits", "sandbox_for", "sandbox_of"]

_INSTALLED = (Path(sys.prefix), Path(interlock.__file__).parent)
"""Our own programs, which agents call wherever they are installed."""


def sandbox_for(settings: Settings, key: str, environment: Mapping[str, str]) -> Sandbox | Unavailable | None:
    """Return the sandbox that a setting asks for, or why it does not work; None if nothing is to be confined.

    Where no sandbox works, `auto` goes without one if the person has agreed to that on this machine.
    """
    found = choose(cast("Wanted", settings.sandbox(key)))
    if not isinstance(found, Unconfined):
        return found
    return None if found.instead is None or has_agreed(environment) else found.instead


def sandbox_of(context: DriverContext, key: str) -> Sandbox | None:
    """The sandbox that a setting asks for; None for none. Refuses with `sandbox_unavailable`."""
    found = sandbox_for(context.settings, key, context.environment)
    if isinstance(found, Unavailable):
        raise no_sandbox(found)
    return found


@contextmanager
def confined_run(
    context: DriverContext,
    agent: str,
    session: str,
    directory: Path,
    given: Mapping[str, str],
    *,
    is_read_only: bool,
) -> Iterator[tuple[Confinement | None, dict[str, str]]]:
    """Give the confinement of a run, and its own variables; no confinement if the settings ask for none."""
    from interlock.work.setup.surroundings import called

    sandbox = sandbox_of(context, "agent.sandbox")
    if sandbox is None:
        yield None, dict(given)
        return
    _refuse_unreached(context, agent)
    shown = {**given, "RALPH_ROOT": str(context.base)}
    state = Path(user_state_directory(context.environment))
    server, hook = (called(name, context.environment) for name in ("ralph", "ralph-hook"))
    private = state / "runs" / session
    with _place(context, directory) as place:
        # What is written into a checkout of ours would be lost without a word.
        is_closed = is_read_only or place != directory
        policy = replace(_policy(context, place, who="agent"), is_read_only=is_closed, sockets=private)
        wall = SessionWall(context.journal, session, policy)
        outside = Programs(
            *((server, "mcp"), (hook, "--confined"), {**context.environment, **shown}, context.base), wall.follow
        )
        with served(private, outside) as path:
            confinement = Confinement(sandbox, policy)
            if sandbox.name == "bubblewrap":
                confinement = replace(confinement, on_start=wall.start)
            yield confinement, {**shown, SOCKET: str(PRIVATE / path.name)}


@contextmanager
def _place(context: DriverContext, directory: Path) -> Iterator[Path]:
    """Give the directory that an agent sees: its own tree, a checkout of ours, or one of what the person committed.

    The person's own checkout is never shown, because files that git does not have may be secrets.
    """
    if directory.is_relative_to(context.state_directory) or context.ports.files.mark(directory / ".git") is None:
        yield directory
        return
    with context.ports.verification.committed(directory) as place:
        yield place


def _refuse_unreached(context: DriverContext, agent: str) -> None:
    """Refuse a model on this machine that the agent would not reach, before it fails to."""
    from interlock.world.sandbox.network import unreached

    setting = context.settings.text_or_texts("agent.network")
    own = allowed(context.environment, agent_home(agent).names).keys() - allowed(context.environment, ()).keys()
    for name, address in unreached(cast("Network", setting), {one: context.environment[one] for one in own}):
        words = (setting,) if isinstance(setting, str) else setting
        wanted = ", ".join(f'"{one}"' for one in (*words, address) if one != "none")
        message = f"{name} leads to {address}, which agent.network does not reach. Nothing was started."
        hint = f"Set `agent.network = [{wanted}]` in ralph.toml: the sandbox then reaches that address of this machine."
        raise InterlockError("sandbox_unavailable", message, hint)


def confined_command(context: DriverContext, place: Path) -> Confinement | None:
    """The confinement of a verifier or a test in a place, which it sees at the path of the repository."""
    sandbox = sandbox_of(context, "verify.sandbox")
    return None if sandbox is None else Confinement(sandbox, _policy(context, place, who="verify"))


def run_limits(settings: Settings) -> Limits:
    """Return the limits of a run on this machine."""
    processes, memory, disk = (settings.number(f"agent.max_{name}") for name in ("processes", "memory_mib", "disk_mib"))
    # What is in memory counts, so no file system there needs to be larger than the limit.
    usual = Limits()
    temporary, shared = (min(size, memory << 20) if memory else size for size in (usual.temporary, usual.shared_memory))
    return Limits(
        temporary=temporary,
        shared_memory=shared,
        processes=processes or None,
        memory=memory << 20 or None,
        disk=disk << 20 or None,
    )


def _policy(context: DriverContext, place: Path, *, who: str) -> SandboxPolicy:
    """The policy for what runs in a place, which is seen at the path of the repository, by the settings of `who`."""
    settings = context.settings
    state = Path(user_state_directory(context.environment))
    trees = context.state_directory / OWN_TREES
    objects: tuple[tuple[Path, Path], ...] = ()
    if place.is_relative_to(trees):
        link = state / "objects" / place.relative_to(trees).parts[0]
        objects = ((link.resolve(), link),)
    git = [one.parent for one, _ in objects if not one.is_relative_to(context.base)]
    return SandboxPolicy(
        tree=place,
        shown_at=context.base,
        home=Path(context.environment.get("HOME") or Path.home()),
        state=state,
        environment=context.environment,
        names=frozenset(settings.texts(f"{who}.variables")),
        readable=_INSTALLED,
        objects=objects,
        hidden=tuple(git),
        network=cast("Network", settings.text_or_texts(f"{who}.network")),
        network_setting=f"{who}.network",
        limits=run_limits(settings),
    )
