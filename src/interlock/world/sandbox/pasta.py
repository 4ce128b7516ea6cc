"""pasta, which connects a network namespace with the network of the machine, without rights."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from interlock.world.sandbox import attach as attach_program
from interlock.world.sandbox.network import METADATA, is_closed, own_networks

__all__ = ["NAMESERVERS", "Pasta", "attaching", "find", "nameservers"]

_PROGRAMS: Final = ("/usr/bin/pasta", "/usr/local/bin/pasta", "/run/current-system/sw/bin/pasta")
_RESOLVER: Final = "192.0.0.53"
"""An unused address; pasta passes questions to it on to the resolver of the machine."""
_NOTHING_OF_THIS_MACHINE: Final = (
    *("--foreground", "--quiet", "--config-net", "--no-map-gw"),
    *("-t", "none", "-u", "none", "-T", "none", "-U", "none"),
)
_READY: Final = ("--pid", "/dev/stdout")
"""pasta says its number once the network is there."""
_SECONDS: Final = 20.0
NAMESERVERS: Final = Path("/etc/resolv.conf")
_IPV6: Final = Path("/proc/net/if_inet6")


def find() -> str:
    """Return the path of pasta; nothing where it is not installed."""
    found = next((one for one in _PROGRAMS if os.access(one, os.X_OK)), None) or shutil.which("pasta") or ""
    return found if found.startswith("/") else ""


class Pasta(msgspec.Struct, frozen=True):
    """The program, and the interpreter that starts it."""

    program: str
    python: str


@contextmanager
def attaching(pasta: Pasta) -> Iterator[Callable[[int], bool]]:
    """Give what connects a network namespace while the block runs, by the thread that began it; False if that fails."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with ours:
        try:
            process = _start(pasta, theirs)
        except OSError:
            yield lambda _: False
            return
        finally:
            theirs.close()

        def attach(namespace: int) -> bool:
            closed = (one for one in (*own_networks(), *METADATA) if ":" not in one or _IPV6.exists())
            try:
                socket.send_fds(ours, [",".join(closed).encode()], [namespace])
                return _is_ready(process)
            except OSError:
                return False
            finally:
                ours.close()

        try:
            yield attach
        finally:
            process.kill()
            # Its interface takes the kernel 40 ms to remove, in which nothing of it runs.
            threading.Thread(target=process.communicate, name="pasta", daemon=True).start()


def _start(pasta: Pasta, stdin: socket.socket) -> subprocess.Popen[bytes]:
    # Answers of the machine's first resolver come from this address then, so it is only for what cannot be reached.
    resolver = ("--dns-forward", _RESOLVER) if _RESOLVER in (nameservers() or "") else ()
    user = ("--runas", "0:0") if os.geteuid() == 0 else ()  # whose namespace it is; it would become another
    return subprocess.Popen(
        (
            *(pasta.python, "-I", "-S", "-B", attach_program.__file__),
            *(pasta.program, *_NOTHING_OF_THIS_MACHINE, *resolver, *user, *_READY),
        ),
        stdin=stdin.fileno(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
    )


def _is_ready(process: subprocess.Popen[bytes]) -> bool:
    assert process.stdout is not None
    poll = select.poll()
    poll.register(process.stdout)
    return bool(poll.poll(_SECONDS * 1000)) and bool(os.read(process.stdout.fileno(), 64))


def nameservers() -> str | None:
    """Return what /etc/resolv.conf must say inside; None where it can stay as it is.

    Many systems have a resolver on the machine itself. It is asked through pasta, at no other port.
    """
    try:
        lines = NAMESERVERS.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = [line for line in lines if line.split()[:1] == ["nameserver"]]
    closed = [line for line in found if is_closed(line.split()[-1])]
    if not closed:
        return None
    first = [f"nameserver {_RESOLVER}"] if found[0] in closed else []
    return "\n".join([*first, *(line for line in lines if line not in closed), ""])
