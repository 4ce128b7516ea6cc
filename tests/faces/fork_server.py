"""A process that has imported what `ralph` imports, and becomes one `ralph` after the other by forking.

    python fork_server.py CONTROL [MODULE...]
    python fork_server.py CONTROL --hook
    python fork_server.py CONTROL --module MODULE

Orders come in over the socket CONTROL, one a message: how to begin, and four descriptors, which are the new process's
stdin, stdout and stderr and where this one writes the pid and later the exit status. The modules named are imported by
the children, if they need them. With `--hook` it becomes `ralph-hook`, with `--module` a module of the tests.
`faces.forking` is the other end. This module is a program of its own: nothing of the tests is imported here, so
nothing of them is in a `ralph`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["MOST"]

MOST = 100_000
"""The largest order, in bytes."""
_OF_THE_HOOK = (
    "interlock.faces.hook",
    "interlock.journal.peek",
    "interlock.work.sessions.policy",
    "interlock.work.sessions.shell",
    "interlock.work.sessions.writers",
    "interlock.work.tickets.policy",
    "interlock.world.ancestry",
    "interlock.world.inbox",
    "interlock.world.repository",
)
"""All that it imports of ours for most calls."""


def main() -> None:
    """Serve until the other end is closed; in each child, run the program and exit as it does."""
    sys.path[0] = str(Path(sys.executable).parent)  # where the program `ralph` is
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for those that were forked
    module = sys.argv[3] if sys.argv[2:3] == ["--module"] else None
    is_hook = sys.argv[2:] == ["--hook"]
    if is_hook:
        for name in _OF_THE_HOOK:
            import_module(name)
    elif module is None:
        preload(tuple(sys.argv[2:]))
    else:
        sys.path[0] = str(Path(__file__).parents[1])
        import_module(module)
        del sys.modules[module]  # each child runs it again, as a program; what it imported stays
    gc.collect()
    gc.freeze()
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        sys.exit("a module of Interlock starts a thread when it is imported: a fork would lose it")
    control.send(b"!")
    begin(*serve(control))
    try:
        if is_hook:
            from interlock.faces.hook import main as hook

            hook()
        elif module is None:
            from interlock.faces.cli import main as ralph

            ralph()
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        leave(0)
    except SystemExit as ending:
        if isinstance(ending.code, int):
            leave(ending.code)
        raise


def leave(code: int) -> None:
    """Exit as the interpreter does, but free nothing: that would copy every page that is shared with the server.

    Comes back where the streams cannot be written to the end, which the interpreter has its own words for.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def preload(left_out: tuple[str, ...]) -> None:
    """Import every module of Interlock but these; what needs an extra that is not installed is left out too."""
    package = import_module("interlock")
    for found in pkgutil.walk_packages(package.__path__, "interlock."):
        if not found.name.startswith(left_out) and not found.name.endswith(".__main__"):
            with suppress(ImportError):
                import_module(found.name)


def serve(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each order, and tell how each child ended; comes back in the children only."""
    children: dict[int, tuple[int, int]] = {}  # the pid, and where its status is awaited, by what tells its end
    watch = select.poll()
    watch.register(control, select.POLLIN)
    while True:
        for ready, _ in watch.poll():
            if ready != control.fileno():
                pid, status = children.pop(ready)
                watch.unregister(ready)
                os.close(ready)
                _tell(status, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(status)
                continue
            message, given, _, _ = socket.recv_fds(control, MOST, 4)
            if not message:
                sys.exit()
            pid = os.fork()
            if pid == 0:
                control.detach()
                return json.loads(message), given
            for descriptor in given[:3]:
                os.close(descriptor)
            ended = os.pidfd_open(pid)
            children[ended] = pid, given[3]
            watch.register(ended, select.POLLIN)
            _tell(given[3], pid)


def _tell(place: int, number: int) -> None:
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(place, b"%d\n" % number)


def begin(order: dict[str, Any], streams: list[int]) -> None:
    """Be what the order asks for: arguments, place, environment, session, streams, name, and nothing else open."""
    if order["terminal"]:
        os.setsid()
    for number, given in enumerate(streams[:3]):
        os.dup2(given, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if order["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.umask(order["umask"])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    Path("/proc/self/comm").write_text(Path(order["words"][0]).name)
    sys.argv = order["words"]
    sys.orig_argv = [sys.executable, *sys.argv]
    for number, (name, mode) in enumerate([("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb")]):
        _reopen(number, name, mode)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _reopen(number: int, name: str, mode: str) -> None:
    """A standard stream as Python makes it at its start."""
    before = getattr(sys, name)
    buffer: Any = io.open(number, mode, closefd=False)  # noqa: SIM115, UP020
    buffer.raw.name = f"<{name}>"
    lines = number == 2 or buffer.isatty()
    made = io.TextIOWrapper(buffer, before.encoding, before.errors, newline="\n", line_buffering=lines)
    setattr(sys, name, made)
    setattr(sys, f"__{name}__", made)


if __name__ == "__main__":
    main()
