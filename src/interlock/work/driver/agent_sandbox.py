"""The sandbox of a run: what an agent in a tree of its own may see, and the socket by which it speaks with us."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import interlock
from interlock.errors import InterlockError
from interlock.work.driver.context import DriverContext
from interlock.work.settings.values import Settings
from interlock.world.agents.confinement import PRIVATE, Confinement
from interlock.world.relay import SOCKET
from interlock.world.repository import OWN_TREES
from interlock.world.run_socket import Programs, served
from interlock.world.sandbox.choosing import Wanted, choose
from interlock.world.sandbox.policy import Limits, Network, Sandbox, SandboxPolicy
from interlock.world.sandbox.unconfined import Unavailable, Unconfined
from interlock.world.user_state import user_state_directory

__all__ = ["confined_command", "confined_run", "run_limits"]

_INSTALLED = (Path(sys.prefix), Path(interlock.__file__).parent)
"""Our own programs, which agents call wherever they are installed."""
_ONLY_READ = frozenset({"judge", "reviewer"})
"""The roles that never write."""


def _sandbox(context: DriverContext, setting: str) -> Sandbox | None:
    """The sandbox that a setting asks for; None if it asks for none. Refuses with `sandbox_unavailable`."""
    found = choose(cast("Wanted", context.settings.text(setting)))
    missing = found if isinstance(found, Unavailable) else found.instead if isinstance(found, Unconfined) else None
    if missing is not None:
        hint = f'{missing.how} Or go without a sandbox: `{setting} = "none"` in ralph.toml.'
        raise InterlockError("sandbox_unavailable", f"{missing.why} Nothing was started.", hint)
    return None if isinstance(found, Unconfined | Unavailable) else found


@contextmanager
def confined_run(
    context: DriverContext,
    session: str,
    role: str,
    directory: Path,
    given: Mapping[str, str],
) -> Iterator[tuple[Confinement | None, dict[str, str]]]:
    """Give the confinement of a run, and its own variables; none if it works elsewhere than in a tree of its own."""
    from interlock.work.setup.surroundings import called

    trees = context.state_directory / OWN_TREES
    sandbox = _sandbox(context, "agent.sandbox") if directory.is_relative_to(trees) else None
    if sandbox is None:
        yield None, dict(given)
        return
    shown = {**given, "RALPH_ROOT": str(context.base)}
    state = Path(user_state_directory(context.environment))
    server, hook = (called(name, context.environment) for name in ("ralph", "ralph-hook"))
    outside = Programs((server, "mcp"), (hook,), {**context.environment, **shown}, context.base)
    with served(state / "runs" / session, outside) as path:
        policy = _policy(context, role, directory.relative_to(trees).parts[0], path.parent)
        yield Confinement(sandbox, policy), {**shown, SOCKET: str(PRIVATE / path.name)}


def confined_command(context: DriverContext, place: Path) -> Confinement | None:
    """The confinement of a verifier or a test in a place, which it sees at the path of the repository."""
    sandbox = _sandbox(context, "verify.sandbox")
    if sandbox is None:
        return None
    policy = SandboxPolicy(
        tree=place,
        shown_at=context.base,
        home=Path(context.environment.get("HOME") or Path.home()),
        state=Path(user_state_directory(context.environment)),
        environment=context.environment,
        readable=_INSTALLED,
        network=cast("Network", context.settings.text("verify.network")),
        limits=run_limits(context.settings),
    )
    return Confinement(sandbox, policy)


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


def _policy(context: DriverContext, role: str, tree: str, private: Path) -> SandboxPolicy:
    state = Path(user_state_directory(context.environment))
    link = state / "objects" / tree
    objects = link.resolve()
    return SandboxPolicy(
        tree=context.state_directory / OWN_TREES / tree / "files",
        shown_at=context.base,
        home=Path(context.environment.get("HOME") or Path.home()),
        state=state,
        environment=context.environment,
        is_read_only=role in _ONLY_READ,
        readable=_INSTALLED,
        objects=((objects, link),),
        hidden=() if objects.is_relative_to(context.base) else (objects.parent,),
        sockets=private,
        network=cast("Network", context.settings.text("agent.network")),
        limits=run_limits(context.settings),
    )
