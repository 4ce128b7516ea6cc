"""A sandbox made by podman, for machines where bubblewrap does not work: what bubblewrap would get, as one container.

    root        directories to mount at, in a directory of the run that is removed with the container
    mounts      those of bubblewrap, each at most once: a container has no order, so what would be covered is left out
    variables   in a file that only the user may read, because arguments can be read by everyone

podman leaves the container to a process of its own. So the container is removed at the end, and lives on if that is
not reached: `protections` says so. docker is not used: whoever reaches its daemon is root on the machine.
"""

from __future__ import annotations

import csv
import io
import os
import resource
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.world.sandbox.bubblewrap import Bubblewrap
from interlock.world.sandbox.describing import of_container
from interlock.world.sandbox.policy import Confined, Network, SandboxPolicy

__all__ = ["Container", "mounts_of"]

_PREFIX: Final = "ralph-container-"
_SECONDS: Final = 60.0
_ROOT: Final = Path("/")
_CLIENT: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "XDG_RUNTIME_DIR")
"""What podman itself needs to know."""
_WRITABLE: Final = "tmpfs-mode=1777"
"""Of a directory that is written: it belongs to user 0, who is not the agent."""
_WAIT: Final = ("/bin/sh", "-c", 'test -t 0 && exec "$@"; "$@"; exit $?', "sh")
"""The first process of a container ignores signals, which an agent must not. On a terminal `inside` is that process."""
_AS_USER_1000: Final = "--uidmap 0:1:1 --uidmap 1000:0:1 --gidmap 0:1:1 --gidmap 1000:0:1 --user 1000:1000".split()
"""Root is user 1000 inside, as with bubblewrap; user 0, which a container must have, is one who owns nothing."""
_RUN: Final = """
    --rm --interactive --log-driver none --cgroups disabled --no-hosts --read-only --read-only-tmpfs=false
    --cap-drop all --security-opt no-new-privileges --security-opt label=disable --security-opt mask=/proc/pressure
""".split()


class Container(msgspec.Struct, frozen=True):
    """podman, with the files of this machine instead of an image."""

    program: str
    version: str = ""
    is_root: bool = False
    name: str = "container"

    @contextmanager
    def confine(self, command: Sequence[str], policy: SandboxPolicy) -> Iterator[Confined]:
        """Give what is to be started; the container has ended and is removed when the context ends."""
        place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp")).resolve()  # which no sandbox sees
        store = ("--root", f"{place}/store", "--runroot", f"{place}/run", "--storage-driver", "vfs")
        podman = (self.program, *store, "--cgroup-manager", "cgroupfs")
        client = {name: policy.environment[name] for name in _CLIENT if name in policy.environment}
        name = f"ralph-{secrets.token_hex(8)}"
        try:
            with Bubblewrap("", is_root=self.is_root).confine(command, policy) as inner:
                at = inner.argv.index("--")
                _make_root(place / "root")
                variables = (f"{one}={value}\n" for one, value in inner.environment.items() if "\n" not in value)
                (place / "environment").write_text("".join(variables), encoding="utf-8", errors="surrogateescape")
                network = "host" if policy.network == "host" else "none"
                words = [*_RUN, "--name", name, "--network", network, *self._user(), *_limits(policy)]
                words += ["--env-file", f"{place}/environment", "--workdir", inner.argv[at - 1]]
                words += [f"--mount={one}" for one in mounts_of(inner.argv[:at], _machine())]
                words += ["--rootfs", f"{place}/root", *_WAIT, *inner.argv[at + 1 :]]
                start = f'test -t 0 && set -- --tty "$@"; exec {shlex.join([*podman, "run"])} "$@"'
                argv = ("/bin/sh", "-c", start, "sh", *words)
                yield replace(inner, argv=argv, environment=client, directory=_ROOT)
        finally:
            _remove(podman, name, client)
            shutil.rmtree(place, ignore_errors=True)

    def _user(self) -> list[str]:
        own = f"--userns keep-id --user {os.getuid()}:{os.getgid()}"
        return _AS_USER_1000 if self.is_root else own.split()

    def protections(self, network: Network) -> Iterator[tuple[str, str]]:
        return of_container(is_root=self.is_root, network=network)


def _machine() -> list[str]:
    """Return what is mounted for the whole machine: the directories at its top, and each mount below them."""
    found = [one.path for one in os.scandir(_ROOT) if one.is_dir(follow_symlinks=False)]
    with suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
        places = (line.split()[4].decode("unicode_escape").encode("latin-1") for line in lines)
        found += [one for one in map(os.fsdecode, places) if one != "/" and Path(one).exists()]
    return sorted({one for one in found if not _is_made_by_podman(one)})


def _is_made_by_podman(place: str) -> bool:
    return any(Path(place).is_relative_to(one) for one in ("/proc", "/sys", "/dev"))


def _make_root(root: Path) -> None:
    """Make what is at the top of the machine: a mount point for each directory, and the links."""
    root.mkdir()
    for one in _ROOT.iterdir():
        if one.is_symlink():
            (root / one.name).symlink_to(one.readlink())
        elif one.is_dir():
            (root / one.name).mkdir()


def mounts_of(arguments: Sequence[str], machine: Sequence[str]) -> list[str]:
    """Return the mounts of bubblewrap's arguments as those of podman."""
    mounts = _Mounts()
    words = iter(arguments)
    for word in words:
        if word in ("--ro-bind", "--ro-bind-try", "--bind", "--dev-bind"):
            source, place = next(words), next(words)
            for one in machine if place == "/" else ():
                mounts.bind(one, one)
            if place != "/":
                mounts.bind(source, place, is_writable=word == "--bind")
        elif word == "--symlink":  # there can be none in a directory in memory
            target, place = next(words), next(words)
            mounts.bind(os.path.realpath(Path(place).parent / target), place)
        elif word == "--perms":
            mode, _, size, _, place = (next(words) for _ in range(5))
            written = f"tmpfs-mode={mode}" if mode == "0755" else _WRITABLE
            mounts.put(place, ("type=tmpfs", f"tmpfs-size={size}", written, "notmpcopyup"))
        elif word == "--remount-ro":
            mounts.close(next(words))
    return mounts.written()


class _Mounts:
    """Mounts by their places, each of which covers what was at its place and below."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, ...]] = {}

    def put(self, place: str, options: tuple[str, ...]) -> None:
        for one in [one for one in self._found if Path(one).is_relative_to(place)]:
            del self._found[one]
        if not _is_made_by_podman(place) or Path(place).is_relative_to("/dev/shm"):
            self._found[place] = options

    def bind(self, source: str, place: str, *, is_writable: bool = False) -> None:
        """Show something, without the mounts below it: those would stay writable."""
        if not os.path.lexists(source):
            return
        above = [one for one in map(str, Path(place).parents) if one in self._found][:1]
        if above and _WRITABLE in self._found[above[0]]:  # podman would make directories of its own between them
            for one in reversed(Path(place).parents):
                if Path(one).is_relative_to(above[0]) and str(one) not in self._found:
                    self.put(str(one), self._found[above[0]])
        self.put(place, ("type=bind", f"source={source}", f"ro={not is_writable}".lower(), "bind-nonrecursive"))

    def close(self, place: str) -> None:
        if place in self._found:
            self._found[place] += ("ro",)

    def written(self) -> list[str]:
        lines = []
        for place in sorted(self._found, key=Path):
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow((*self._found[place], f"destination={place}"))
            lines.append(line.getvalue())
        return lines


def _limits(policy: SandboxPolicy) -> list[str]:
    """Return limits that need no rights: those of podman can be higher than this process may set."""
    files, processes = (resource.getrlimit(one)[1] for one in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    most = 2 * (policy.limits.processes or 1 << 14)
    most = min(most, processes) if processes != resource.RLIM_INFINITY else most
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={most}:{most}"]


def _remove(podman: Sequence[str], name: str, environment: Mapping[str, str]) -> None:
    """Remove a container with everything in it; one that has ended is removed already."""
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            (*podman, "rm", "--force", "--ignore", "--time", "0", name),
            env=environment,
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
