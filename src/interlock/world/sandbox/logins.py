"""The logins of an agent in its sandbox: copies without refresh tokens, kept as new as the person's own files.

    inside    sends its private directories, before it becomes the agent (`inside._ask_for_logins`)
    outside   writes the logins there, and again whenever the person's change; nothing is ever read there
    refresh   if a token is about to expire, by the agent's own program, outside, in the person's configuration

So an agent can change or replace its copy as it likes, and nothing of that reaches the person.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.world.child_environment import child_environment
from interlock.world.run_socket import bind
from interlock.world.sandbox.login_files import LoginFile
from interlock.world.sandbox.mounts import whole
from interlock.world.sandbox.policy import SandboxPolicy

__all__ = ["SOCKET", "Login", "lent"]

SOCKET: Final = "logins"
_MOST_BYTES: Final = 1 << 20
_INTERVAL: Final = 0.5
_SECONDS: Final = 30.0
_DUE: Final = 290.0
"""Seconds before the end of a token at which it is refreshed: agents do it when less than 300 are left."""
_BETWEEN: Final = 60.0
"""Seconds between two attempts to refresh a login."""
_REFRESHING: Final = 60.0
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Login(msgspec.Struct, frozen=True):
    """A login of the person, and where the agent has its copy."""

    file: LoginFile
    source: Path
    place: Path
    """Its path inside."""


@contextmanager
def lent(logins: Sequence[Login], policy: SandboxPolicy) -> Iterator[dict[str, Any] | None]:
    """Write logins into the sandbox that asks at the run's own directory, until the block ends.

    Gives what `inside` needs for that; None if there is no login, or no directory of sockets.
    """
    if not logins or policy.sockets is None:
        yield None
        return
    path = policy.sockets / SOCKET
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    over = threading.Event()
    try:
        bind(listener, path)
        listener.listen(1)
        thread = threading.Thread(target=_serve, args=(listener, path, logins, policy, over), daemon=True)
        thread.start()
        try:
            yield {"path": SOCKET, "places": [str(one.place) for one in logins]}
        finally:
            over.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def _serve(
    listener: socket.socket, path: Path, logins: Sequence[Login], policy: SandboxPolicy, over: threading.Event
) -> None:
    """Serve the first that connects: it does so before it becomes the agent."""
    try:
        connection, _ = listener.accept()
    except OSError:
        return
    with ExitStack() as stack, suppress(OSError):
        with connection:
            path.unlink(missing_ok=True)
            connection.settimeout(_SECONDS)
            _, places, _, _ = socket.recv_fds(connection, 1, len(logins), socket.MSG_CMSG_CLOEXEC)
            for place in places:
                stack.callback(os.close, place)
            copies = [_Copy(login, place, policy) for login, place in zip(logins, places, strict=True)]
            for copy in copies:
                copy.update()
        while not over.wait(_INTERVAL):
            for copy in copies:
                copy.update()


class _Copy:
    """The copy of a login in a directory of the agent."""

    def __init__(self, login: Login, place: int, policy: SandboxPolicy) -> None:
        self._login = login
        self._place = place
        self._policy = policy
        self._content: bytes | None = None
        self._tried: float | None = None

    def update(self) -> None:
        """Write the person's login again if it has changed, refreshed if its token is about to expire."""
        content = _read(self._login.source)
        if content is not None and self._is_due(content):
            self._tried = time.monotonic()
            _refresh(self._login.file.refreshing, self._policy)
            content = _read(self._login.source)
        if content is None or content == self._content:
            return
        shown = self._login.file.shown(content)
        with suppress(OSError):  # such as no space, which the agent can use up: tried again
            if shown is not None:
                _write(self._place, self._login.place.name, shown)
            self._content = content

    def _is_due(self, content: bytes) -> bool:
        if self._tried is not None and time.monotonic() - self._tried < _BETWEEN:
            return False
        expires = self._login.file.expires(content)
        return expires is not None and expires - time.time() < _DUE


def _read(path: Path) -> bytes | None:
    with suppress(OSError), path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
        return content if len(content) <= _MOST_BYTES else None
    return None


def _write(place: int, name: str, content: bytes) -> None:
    """Replace a file in a directory of the agent's, in which anything may be: nothing there is opened or followed."""
    scratch = f"{name}.{os.urandom(8).hex()}"
    try:
        with os.fdopen(os.open(scratch, _NEW, 0o600, dir_fd=place), "wb") as file:
            file.write(content)
        os.replace(scratch, name, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        with suppress(OSError):
            os.unlink(scratch, dir_fd=place)
        raise


def _refresh(command: Sequence[str], policy: SandboxPolicy) -> None:
    """Let the agent's own program refresh a login. It is not ended if it takes long: a new token could be lost."""
    person = {name: value for name, value in policy.environment.items() if name not in policy.names}
    environment = child_environment({**person, "PATH": _programs(policy)})
    program = shutil.which(command[0], path=environment["PATH"]) if command else None
    if program is None or _is_of_agents(program, policy):
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        _started([program, *command[1:]], environment).wait(_REFRESHING)


def _started(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        env=environment,
        cwd="/",  # where no project's settings are
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _programs(policy: SandboxPolicy) -> str:
    """The person's PATH without what agents can write: programs in the repository may come from commits of theirs."""
    words = policy.environment.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(one for one in words if one.startswith("/") and not _is_of_agents(one, policy))


def _is_of_agents(path: str, policy: SandboxPolicy) -> bool:
    return any(whole(Path(path)).is_relative_to(whole(one)) for one in (policy.shown_at, policy.tree))
