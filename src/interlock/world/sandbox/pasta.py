"""pasta, which connects a network namespace with the network of the machine, without rights."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from interlock.world.sandbox import attach
from interlock.world.sandbox.network import METADATA, is_closed, own_networks

__all__ = ["NAMESERVERS", "Pasta", "attached", "find", "nameservers"]

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


def find() -> str:
    """Return the path of pasta; nothing where it is not installed."""
    found = next((one for one in _PROGRAMS if os.access(one, os.X_OK)), None) or shutil.which("pasta") or ""
    return found if found.startswith("/") else ""


class Pasta(msgspec.Struct, frozen=True):
    """The program, and the interpreter that starts it."""

    program: str
    python: str


@contextmanager
def attached(pasta: Pasta, namespace: int) -> Iterator[bool]:
    """Connect a network namespace while the block runs, by the thread that began it; False where that fails."""
    held, hold = os.pipe()
    with os.fdopen(hold, "wb") as holding:
        try:
            process = _start(pasta, namespace, held)
        except OSError:
            yield False
            return
        finally:
            os.close(held)
        try:
            is_ready = _is_ready(process)
            holding.close()
            yield is_ready
        finally:
            process.kill()
            process.communicate()


def _start(pasta: Pasta, namespace: int, held: int) -> subprocess.Popen[bytes]:
    closed = ",".join(
        one for one in (*own_networks(), *METADATA) if ":" not in one or Path("/proc/net/if_inet6").exists()
    )
    # Answers of the machine's first resolver come from this address then, so it is only for what cannot be reached.
    resolver = ("--dns-forward", _RESOLVER) if _RESOLVER in (nameservers() or "") else ()
    user = ("--runas", "0:0") if os.geteuid() == 0 else ()  # whose namespace it is; it would become another
    return subprocess.Popen(
        (
            *(pasta.python, "-I", "-S", "-B", attach.__file__, str(namespace), str(held), closed),
            *(pasta.program, *_NOTHING_OF_THIS_MACHINE, *resolver, *user, *_READY),
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(namespace, held),
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
