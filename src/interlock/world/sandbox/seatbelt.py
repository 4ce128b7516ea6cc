"""A sandbox of macOS, made by `sandbox-exec`. UNTESTED: it was written without a Mac to try it on.

macOS has no mounts for one process: the tree stays at its own path, and nothing ends by itself with the run. What
would be written into the home goes to a directory of the run, which is removed after it.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from interlock.world.sandbox import hidden
from interlock.world.sandbox.connecting import variables
from interlock.world.sandbox.describing import of_seatbelt
from interlock.world.sandbox.environment import allowed
from interlock.world.sandbox.forwarder import Forwarder
from interlock.world.sandbox.inside import fill
from interlock.world.sandbox.mounts import whole
from interlock.world.sandbox.network import Opening
from interlock.world.sandbox.policy import Confined, Network, SandboxPolicy

__all__ = ["Seatbelt", "profile"]

_PRIVATE: Final = "private"
_PREFIX: Final = "run-"
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/dtracehelper", "/dev/tty", "/dev/random", "/dev/urandom")
_KEYCHAIN: Final = ("Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome")


class Seatbelt(msgspec.Struct, frozen=True):
    """`sandbox-exec`, which every macOS has."""

    program: str = "/usr/bin/sandbox-exec"
    name: str = "seatbelt"
    version: str = "(untested)"

    @contextmanager
    def confine(self, command: Sequence[str], policy: SandboxPolicy) -> Iterator[Confined]:
        """Give what is to be started; the directory of the run is there until the context ends."""
        with _run_directory(policy.state) as place, _network(policy) as (proxy, ports):
            private = _fill(policy, place)
            text = profile(policy, place, ports)
            environment = {
                **allowed(policy.environment, policy.names | policy.agent.names),
                **proxy,
                **private,
                "HOME": str(policy.home),
                "TMPDIR": str(place / "tmp"),
            }
            argv = (self.program, "-p", text, *command)
            yield Confined(argv, environment, policy.tree, policy.sockets)

    def protections(self, network: Network) -> Iterator[tuple[str, str]]:
        return of_seatbelt(network=network)


@contextmanager
def _run_directory(state: Path) -> Iterator[Path]:
    """A directory that only its owner may read, for one run."""
    above = state / _PRIVATE
    above.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = whole(Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above)))
    try:
        (place / "tmp").mkdir()
        yield place
    finally:
        for where, names, _ in os.walk(place):  # an agent may have taken rights away
            for name in names:
                if not (path := Path(where) / name).is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(place, ignore_errors=True)


def _fill(policy: SandboxPolicy, place: Path) -> Mapping[str, str]:
    """Fill the private directories, with links to the logins; gives the variables that name them."""
    variables = {}
    for one in policy.agent.directories:
        if not one.name:  # nothing can cover the person's directory here
            continue
        source, target = one.source_in(policy.home, policy.environment), place / one.name
        for login in one.logins:
            if (source / login.name).is_file():
                (target / login.name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                (target / login.name).symlink_to(source / login.name)
        files = one.files_in(policy.home, policy.environment)
        fill(
            str(target),
            str(source),
            [str(Path(login.name).parent) for login in one.logins],
            one.copied,
            files,
            one.is_linked,
        )
        variables[one.variable] = str(target)
    return variables


@contextmanager
def _network(policy: SandboxPolicy) -> Iterator[tuple[Mapping[str, str], tuple[int, ...]]]:
    """Forward what is allowed; gives the variables for it, and the ports of this machine that may be reached."""
    opening = Opening.of(policy.network)
    if opening is None:
        yield {}, ()
        return
    listener = socket.create_server(("127.0.0.1", 0))
    port, proxy = listener.getsockname()[1], variables(listener)
    forwarder = Forwarder([listener], opening, policy.environment, policy.network_setting)
    try:
        yield proxy, (port, *(one for _, one in opening.local))
    finally:
        forwarder.end()


def profile(policy: SandboxPolicy, place: Path, ports: Sequence[int] = ()) -> str:
    """Return the rules of a run; of those that fit, the last one counts."""
    writable = [place, *([] if policy.is_read_only else [whole(policy.tree)])]
    covered = [policy.state, *policy.hidden, *hidden.secrets(policy.home), *(policy.home / one for one in _KEYCHAIN)]
    covered += [] if whole(policy.tree) == whole(policy.shown_at) else [policy.shown_at]
    shown = [*policy.readable, *(source for source, _ in policy.objects), *(target for _, target in policy.objects)]
    shown += [policy.sockets] if policy.sockets else []
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        "(deny signal)",
        "(allow signal (target same-sandbox))",
    ]
    lines += [f"(deny file-read* file-write* network-outbound (subpath {_quoted(whole(path))}))" for path in covered]
    lines += [f"(allow file-read* (subpath {_quoted(whole(path))}))" for path in (*shown, policy.tree)]
    lines += [f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in writable]
    lines += [f"(allow file-write* (literal {_quoted(Path(path))}))" for path in _DEVICES]
    if policy.network != "host":
        lines.append("(deny network*)")
    lines += [f'(allow network-outbound (remote ip "localhost:{port}"))' for port in ports]
    if policy.sockets:
        lines.append(f"(allow network-outbound (subpath {_quoted(whole(policy.sockets))}))")
    return "\n".join(lines)


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
