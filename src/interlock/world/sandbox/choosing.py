"""The strongest sandbox that works on this machine, found by trying it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from interlock.world.sandbox.bubblewrap import Bubblewrap
from interlock.world.sandbox.container import Container
from interlock.world.sandbox.pasta import find
from interlock.world.sandbox.policy import Limits, Network, Sandbox, SandboxPolicy
from interlock.world.sandbox.seatbelt import Seatbelt
from interlock.world.sandbox.unconfined import Unavailable, Unconfined

__all__ = ["Wanted", "choose", "explain", "has_direct_network", "try_sandbox"]

Wanted = Literal["auto", "bubblewrap", "seatbelt", "container", "none"]
_SECONDS: Final = 30.0
_OLDEST: Final = (0, 8)
_PROGRAMS: Final = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_INSTALL: Final = "Install it, for example with `apt-get install bubblewrap` or `dnf install bubblewrap`."
_SYSCTLS: Final = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
)
_APPARMOR: Final = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_MAC_ONLY: Final = Unavailable("Seatbelt is part of macOS.", "Use bubblewrap on Linux.")


@cache
def choose(wanted: Wanted) -> Sandbox | Unavailable:
    """Return the sandbox that is wanted, if a command runs in it; the answer is kept for this process.

    `auto` is never unavailable: where nothing works it is `Unconfined`, which says why in `instead`.
    """
    if wanted == "none":
        return Unconfined()
    if wanted == "auto":
        found = choose("seatbelt" if sys.platform == "darwin" else "bubblewrap")
        if not isinstance(found, Unavailable):
            return found
        instead = choose("container")
        return Unconfined(instead=found) if isinstance(instead, Unavailable) else instead
    return {"bubblewrap": _bubblewrap, "seatbelt": _seatbelt, "container": _container}[wanted]()


def _bubblewrap() -> Sandbox | Unavailable:
    if sys.platform != "linux":
        return Unavailable("bubblewrap needs Linux.", "On macOS, use seatbelt.")
    program = next((one for one in _PROGRAMS if os.access(one, os.X_OK)), None) or shutil.which("bwrap")
    if program is None or not program.startswith("/"):
        return Unavailable("bubblewrap is not installed.", _INSTALL)
    version = _version(program)
    if version is None:
        return Unavailable(f"{program} does not say its version.", "Install bubblewrap 0.8 or newer.")
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        return Unavailable(f"bubblewrap {version} is too old.", "Install version 0.8 or newer.")
    found = Bubblewrap(program, version, is_root=os.geteuid() == 0, pasta=find())
    said = try_sandbox(found)
    return found if said is None else explain(said, _read)


def _seatbelt() -> Sandbox | Unavailable:
    if sys.platform != "darwin":
        return _MAC_ONLY
    found = Seatbelt()
    said = try_sandbox(found)
    return found if said is None else Unavailable(f"`sandbox-exec` does not work: {said}", "Use no sandbox.")


def _container() -> Sandbox | Unavailable:
    if sys.platform != "linux":
        return Unavailable("A container needs Linux.", "On macOS, use seatbelt.")
    program = shutil.which("podman")
    if program is None or not program.startswith("/"):
        return Unavailable("podman is not installed.", "Install it, for example with `apt-get install podman`.")
    found = Container(program, _version(program) or "", is_root=os.geteuid() == 0)
    said = try_sandbox(found)
    if said is None:
        return found
    return Unavailable(f"podman does not work: {said}", "Run `podman run --rm --rootfs /:O true` to look at it.")


def _version(program: str) -> str | None:
    try:
        done = subprocess.run(
            (program, "--version"), capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
    return found[0] if found else None


def try_sandbox(
    sandbox: Sandbox,
    environment: Mapping[str, str] | None = None,
    network: Network = "none",
    script: str = "echo works",
) -> str | None:
    """Run a small script in a sandbox: None if it worked, or what was said instead."""
    with tempfile.TemporaryDirectory(prefix="ralph-sandbox-") as name:
        place = Path(name).resolve()
        policy = SandboxPolicy(
            tree=place,
            shown_at=place,
            home=Path.home(),
            state=place.with_name(f"{place.name}-none"),
            environment=environment if environment is not None else os.environ,
            network=network,
            limits=Limits(temporary=1 << 20, shared_memory=1 << 20),
        )
        with sandbox.confine(("/bin/sh", "-c", script), policy) as confined:
            try:
                done = subprocess.run(
                    confined.argv,
                    env=confined.environment,
                    cwd=confined.directory,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return str(error)
    if done.returncode == 0 and done.stdout == "works\n":
        return None
    return done.stderr.strip() or f"it ended with status {done.returncode}"


def has_direct_network(sandbox: Sandbox) -> bool:
    """True if an open network needs no proxy: pasta is installed, and connects a sandbox."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return try_sandbox(sandbox, environment, "open", 'test -z "$HTTPS_PROXY" && echo works') is None


def explain(said: str, read: Callable[[str], str | None]) -> Unavailable:
    """Return why bubblewrap does not work, from what it said and the settings of the kernel that `read` gives."""
    if read(_APPARMOR) == "1" and re.search(r"uid map|Permission denied|Operation not permitted", said):
        how = (
            "Install the profile that lets it (`apt-get install apparmor-profiles`, then link `bwrap-userns-restrict` "
            "into /etc/apparmor.d), or set `sysctl kernel.apparmor_restrict_unprivileged_userns=0`."
        )
        return Unavailable("AppArmor keeps bubblewrap from making user namespaces.", how)
    for path, off, setting in _SYSCTLS:
        if read(path) == off:
            return Unavailable("User namespaces are off.", f"Turn them on: `sysctl -w {setting}`.")
    if "ENOSPC" in said or "No space left" in said:
        how = "End some containers, or raise `sysctl user.max_user_namespaces`; in a sandbox, they may be forbidden."
        return Unavailable("No more user namespaces can be made.", how)
    if "mount proc" in said:
        how = "Run the container with its own /proc unmasked (`--security-opt systempaths=unconfined`)."
        return Unavailable("A container around us does not allow /proc to be mounted.", how)
    if "Operation not permitted" in said or "Permission denied" in said:
        how = "Allow user namespaces in it (for Docker: `--security-opt seccomp=unconfined`)."
        return Unavailable(f"The system or a container around us does not allow namespaces ({said}).", how)
    return Unavailable(f"bubblewrap does not work: {said}", "Run `bwrap --ro-bind / / true` to look at it.")


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None
