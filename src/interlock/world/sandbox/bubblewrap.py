"""A sandbox of namespaces, made by bubblewrap: for ordinary users and for root.

    cover    /tmp, /run, /dev and /proc; the state directory, secrets and sockets; as root, what only root may read
    show     what the run needs of that, the objects of the repository, and the tree at the repository's own path
    enter    `inside` fills the private directories, sets the limits, and becomes the agent

All namespaces are its own, except that of the network with `host`. So everything that an agent
started ends with it, and with the process that started it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.errors import InterlockError
from interlock.world.sandbox import hidden, inside
from interlock.world.sandbox.connecting import SOCKET, connected, listening
from interlock.world.sandbox.environment import allowed, is_of_the_loader
from interlock.world.sandbox.homes import PrivateDirectory, logins
from interlock.world.sandbox.logins import Login, lent
from interlock.world.sandbox.mounts import Mounts, whole, wholes
from interlock.world.sandbox.network import Opening
from interlock.world.sandbox.pasta import NAMESERVERS, Pasta
from interlock.world.sandbox.policy import Confined, Network, SandboxPolicy

__all__ = ["Bubblewrap"]

_OURS: Final = Path("/run/ralph")
"""Where the private directories and the sockets are inside: outside of /tmp, where Codex would not take them."""
_HOME: Final = _OURS / "home"
_GIVEN: Final = _OURS / "given"
_SOCKETS: Final = _OURS / "sockets"
_NETWORK: Final = _OURS / "network"
_PROGRAMS: Final = _OURS / "programs"
_INSIDE: Final = "import sys; sys.path.append(sys.argv[1]); from inside import main; sys.exit(main(sys.argv[2:]))"
"""Imports `inside`, so that it needs not be compiled each time."""
_TEMPORARY: Final = (Path("/tmp"), Path("/var/tmp"))
_RUNTIME: Final = (Path("/run"), Path("/var/run"))
_CLOSED_PROC: Final = tuple("sys sysrq-trigger irq bus fs acpi scsi driver mtrr pressure".split())
_NEEDED_IN_RUN: Final = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
_USER: Final = "1000"
"""Whom root is inside: agents refuse to work unattended as root."""
_NAMESPACES: Final = (
    *("--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--new-session", "--die-with-parent"),
)


class Bubblewrap(msgspec.Struct, frozen=True):
    """bubblewrap, version 0.8 or newer."""

    program: str
    version: str = ""
    is_root: bool = False
    pasta: str = ""
    """The path of pasta, which makes an open network; without it, that is for HTTP alone."""
    python: str = ""
    """The interpreter for `inside`; by default the one that runs now."""
    name: str = "bubblewrap"

    @contextmanager
    def confine(self, command: Sequence[str], policy: SandboxPolicy) -> Iterator[Confined]:
        """Give what is to be started. Nothing of the machine is changed, so there is nothing to clean up.

        Everything ends when the **thread** that started it ends, even if its process lives on: the thread must wait for
        the run. SIGTERM to the process that was started ends everything at once; a run that is to end by itself gets
        its signals at the processes below, of which the first ignores them. stdin, stdout and stderr must be pipes, or
        one terminal that was made for this run, which then controls it; no other descriptor may be handed on.
        """
        _refuse_overlaps(policy, self._python)
        opening = Opening.of(policy.network)
        pasta = Pasta(self.pasta, str(self._python)) if self.pasta else None
        with (
            connected(opening, policy, pasta) if opening else nullcontext() as network,
            lent(list(_logins(policy)), policy) as asking,
        ):
            yield self._confined(command, policy, network, listening(opening) if opening else [], asking)

    def _confined(
        self,
        command: Sequence[str],
        policy: SandboxPolicy,
        network: Path | None,
        listeners: Sequence[tuple[str, int]],
        asking: dict[str, Any] | None,
    ) -> Confined:
        mounts, directories = self._mounts(policy, network)
        arguments = [*_NAMESPACES, *(("--uid", _USER, "--gid", _USER) if self.is_root else ())]
        arguments += [] if policy.network == "host" else ["--unshare-net"]
        arguments += mounts.arguments
        variables = _environment(policy)
        later = {name: value for name, value in variables.items() if is_of_the_loader(name)}
        given = inside.packed(
            {
                "directories": directories,
                "limits": _limits(policy),
                "scoped": policy.network == "host",
                "writable": _writable(policy, mounts),
                "environment": later,
                "network": {"path": str(_NETWORK / SOCKET), "listening": listeners} if network else None,
                "logins": {**asking, "path": str(_SOCKETS / asking["path"])} if asking else None,
            }
        )
        started = [str(self._python), "-I", "-S", "-B", "-c", _INSIDE, str(_PROGRAMS), given, *command]
        return Confined(
            (self.program, *arguments, "--chdir", str(policy.directory or policy.shown_at), "--", *started),
            {name: value for name, value in variables.items() if name not in later},
            Path("/"),
            _SOCKETS if policy.sockets else None,
            tuple(mounts.in_memory),
        )

    def _mounts(self, policy: SandboxPolicy, network: Path | None) -> tuple[Mounts, list[dict[str, Any]]]:
        mounts = Mounts()
        _add_system(mounts, policy)
        covered = self._hidden(policy)
        for directory in _rebuilt(whole(policy.home), covered):
            mounts.rebuild(directory, set(covered))
        for path in covered:
            mounts.hide(path)
        _add_readable(mounts, policy, covered)
        _add_ours(mounts, policy, self._python.parent.parent)
        if network is not None:
            _add_network(mounts, network)
        directories = list(_add_private(mounts, policy))
        for source, target in policy.objects:
            _add_objects(mounts, source, target)
        mounts.show(policy.tree, whole(policy.shown_at), is_writable=not policy.is_read_only)
        mounts.close()
        return mounts, directories

    def _hidden(self, policy: SandboxPolicy) -> list[Path]:
        """What is covered, with each directory before what is in it."""
        found = [policy.state, *policy.hidden, *hidden.secrets(policy.home), *hidden.listening()]
        found += logins(policy.home, policy.environment)  # of its own, the agent has copies
        runtime = policy.environment.get("XDG_RUNTIME_DIR", "")
        found += [Path(runtime)] if runtime.startswith("/") else []
        found += hidden.root_only(policy.home) if self.is_root else []
        return wholes(found)

    @property
    def _python(self) -> Path:
        return whole(Path(self.python or sys.executable))

    def protections(self, network: Network) -> Iterator[tuple[str, str]]:
        from interlock.world.sandbox.describing import of_bubblewrap

        return of_bubblewrap(is_root=self.is_root, network=network)


def _refuse_overlaps(policy: SandboxPolicy, python: Path) -> None:
    """Refuse a repository that contains what is shown apart from it: the mount points would be made in its tree."""
    shown = whole(policy.shown_at)
    apart = [whole(policy.state), python, Path("/proc"), Path("/dev"), _OURS]
    for path in (*apart, *(whole(target.parent) for _, target in policy.objects)):
        if path.is_relative_to(shown):
            message = f"An agent's tree cannot be shown at {shown}, because {path} is in it."
            raise InterlockError("invalid_argument", message, "Use a repository that does not contain it.")


def _rebuilt(home: Path, covered: Sequence[Path]) -> list[Path]:
    """Return the home and the directories in it with hidden files, each before what is in it.

    Not more than these: bubblewrap reads the list of all mounts for each that it adds.
    """
    files = (path for path in covered if path.is_relative_to(home) and path.exists() and not path.is_dir())
    return sorted({home, *(path.parent for path in files)})


def _add_system(mounts: Mounts, policy: SandboxPolicy) -> None:
    """The machine, read-only, with directories of its own for what is temporary."""
    mounts.add("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for path in (Path("/proc") / name for name in _CLOSED_PROC):
        if path.exists():
            mounts.show(path, path)
    mounts.temporary(Path("/dev/shm"), policy.limits.shared_memory, "1777")
    mounts.add("--remount-ro", "/dev")
    for path in dict.fromkeys(map(whole, _TEMPORARY)):
        if path.is_dir() and mounts.is_visible(path):
            mounts.temporary(path, policy.limits.temporary, "1777")
    for path in dict.fromkeys(map(whole, _RUNTIME)):
        if path.is_dir() and mounts.is_visible(path):
            mounts.empty(path)
    settings = (one.source_in(policy.home, policy.environment) for one in policy.agent.directories if one.is_filled)
    for path in map(whole, (policy.home, *settings, Path("/etc/resolv.conf"), *map(Path, _NEEDED_IN_RUN))):
        if not mounts.is_visible(path) and path.exists():
            mounts.show(path, path)


def _add_readable(mounts: Mounts, policy: SandboxPolicy, covered: Sequence[Path]) -> None:
    """Show what the policy names; what is hidden below it stays hidden."""
    readable = {whole(path) for path in policy.readable if path.exists()}
    for path in sorted(one for one in readable if not _is_below(one, (whole(policy.shown_at),))):
        mounts.show(path, path)
        for secret in covered:
            if secret not in readable and secret.is_relative_to(path):
                mounts.hide(secret)


def _add_ours(mounts: Mounts, policy: SandboxPolicy, python: Path) -> None:
    """Show Python, programs below /tmp and /run, and our own directory."""
    if not mounts.is_visible(python):
        mounts.show(python, python)
    temporary = tuple(map(whole, (*_TEMPORARY, *_RUNTIME)))
    for path in map(Path, policy.environment.get("PATH", "").split(os.pathsep)):
        if not path.is_relative_to("/") or mounts.is_visible(path) or not _is_below(path, temporary):
            continue
        if os.path.isdir(path):  # noqa: PTH112 Path raises where we may not look
            mounts.show(whole(path), path)
    mounts.show(Path(inside.__file__).parent, _PROGRAMS)
    mounts.temporary(_HOME, policy.limits.temporary, "0700")
    if policy.sockets:
        mounts.show(policy.sockets, _SOCKETS)


def _add_network(mounts: Mounts, network: Path) -> None:
    """Show where the network is asked for, and the resolvers that it reaches."""
    mounts.show(network, _NETWORK)
    servers, place = network / NAMESERVERS.name, whole(NAMESERVERS)
    if servers.exists() and place.is_file():
        mounts.show(servers, place)


def _is_below(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(one) for one in places)


def _add_private(mounts: Mounts, policy: SandboxPolicy) -> Iterator[dict[str, Any]]:
    """The private directories of the agent; gives what `inside` fills each of them with."""
    for one, source, target in _private(policy):
        given = source
        if not one.name:  # what is copied from the person's, which it covers, is shown beside it
            given = _GIVEN / source.name
            for name in one.copied:
                if (source / name).exists():
                    mounts.show(whole(source / name), given / name)
            mounts.temporary(target, policy.limits.temporary, "0700")
        yield {
            "target": str(target),
            "source": str(given),
            "made": [str(Path(login.name).parent) for login in one.logins],
            "copied": one.copied,
            "files": one.files_in(policy.home, policy.environment),
            "is_linked": one.is_linked,
        }


def _private(policy: SandboxPolicy) -> Iterator[tuple[PrivateDirectory, Path, Path]]:
    """The private directories of the agent, each with the person's and its own path inside."""
    for one in policy.agent.directories:
        source = whole(one.source_in(policy.home, policy.environment))
        if one.name or source.is_dir():
            yield one, source, _HOME / one.name if one.name else source


def _logins(policy: SandboxPolicy) -> Iterator[Login]:
    """The logins of the agent that are there."""
    for one, source, target in _private(policy):
        for file in one.logins:
            if (source / file.name).is_file():
                yield Login(file, source / file.name, target / file.name)


def _add_objects(mounts: Mounts, source: Path, target: Path) -> None:
    """Show objects at the path of a link, in whose place nothing can be mounted: the directory around it is covered."""
    place = whole(target.parent) / target.name
    if place.is_symlink() and mounts.is_visible(place.parent):
        mounts.empty(place.parent)
    mounts.show(source, place)


def _writable(policy: SandboxPolicy, mounts: Mounts) -> list[str]:
    """The paths below which the run may write, as it sees them."""
    tree = [] if policy.is_read_only else [whole(policy.shown_at)]
    return [str(path) for path in (Path("/dev"), Path("/proc"), *tree, *(path for path, _ in mounts.in_memory))]


def _environment(policy: SandboxPolicy) -> dict[str, str]:
    """What comes along, and where everything is inside."""
    private = {one.variable: str(_HOME / one.name) for one in policy.agent.directories if one.name}
    return {
        **allowed(policy.environment, policy.names | policy.agent.names),
        **private,
        "HOME": str(policy.home),
        "TMPDIR": "/tmp",
        "npm_config_cache": str(_HOME / "cache" / "npm"),
    }


def _limits(policy: SandboxPolicy) -> dict[str, int]:
    """The limits of each process, by the names of the system."""
    limits = policy.limits
    # A run with more than it may have is ended and says so; the kernel stops what is faster than that.
    processes = 2 * limits.processes if limits.processes is not None else None
    wanted = {"CORE": 0, "NPROC": processes, "FSIZE": limits.disk}
    return {name: most for name, most in wanted.items() if most is not None}
