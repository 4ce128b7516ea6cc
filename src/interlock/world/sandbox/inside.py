"""The first program in a sandbox: fills the private directories, limits itself, and becomes the agent.

It is run with `-I -S`, so it imports nothing but the standard library. Its first argument says what to do,
by `packed`; the others are the command.

Each run waits for it, and most of what it takes is imports: those of `json`, `shutil`, `signal`, `contextlib` and
`array` would take longer than everything that is done here.
"""

from __future__ import annotations

import marshal
import os
import resource
import sys
from _socket import AF_INET, AF_INET6, AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any
else:
    import _signal as signal

__all__ = [
    "ON_TERMINAL",
    "SCOPES_SINCE",
    "WRITES_SINCE",
    "fill",
    "landlock_version",
    "main",
    "on_terminal",
    "packed",
    "restrict",
]

_MOST_BYTES = 64 << 20
_MOST_FILES = 20_000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABSTRACT_SOCKETS = 1
SCOPES_SINCE = 6
_WRITE, _REFER = 1 << 1, 1 << 13
_BENEATH = 1
WRITES_SINCE = 2
_OUT_OF_MEMORY = 500
"""What is added to the badness of the run when the kernel chooses, in thousandths of the memory."""
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
_JOIN_SESSION = 1
ON_TERMINAL = "--on-terminal"
"""The first word where there is no sandbox, and only a terminal is to control the command."""
_NETWORK_SECONDS = 60.0
_LOGIN_SECONDS = 90.0
"""Longer than the driver waits for a login to be refreshed."""
_BACKLOG = 128
_NO_NETWORK = 125
_CHUNK = 1 << 20
_FORMAT = 4
"""The form of `marshal` that each version of Python reads."""


class _NoNetwork(Exception):
    """The driver does not answer, or an address inside is taken."""


def packed(value: Any) -> str:
    """Return plain values as an argument for this program."""
    return marshal.dumps(value, _FORMAT).hex()


def main(words: Sequence[str]) -> int:
    """Prepare the sandbox and become the command, or run it where it has a terminal; give its exit status."""
    if words[0] == ON_TERMINAL:
        return on_terminal(words[1:])
    given = marshal.loads(bytes.fromhex(words[0]))
    try:
        asked = _ask_for_network(**given["network"]) if given["network"] else None
        _prepare(given)
        if given["logins"]:
            _ask_for_logins(**given["logins"])
        os.environ.update(given["environment"])
        os.environ.update(_answer(asked) if asked is not None else {})
    except _NoNetwork as error:
        _say(f"the network of the sandbox could not be made: {error}")
        return _NO_NETWORK
    os.closerange(3, 65536)
    return on_terminal(words[1:]) if os.isatty(0) else _become(words[1:])


def _prepare(given: Mapping[str, Any]) -> None:
    """Fill the private directories, and give up what the command must not have."""
    for directory in given["directories"]:
        fill(**directory)
    for name, most in given["limits"].items():
        _limit(getattr(resource, f"RLIMIT_{name}"), most)
    _die_first()
    _leave_keyring()
    restrict(given["writable"], is_scoped=given["scoped"])


def _become(words: Sequence[str]) -> int:
    """Become a command; returns only if there is no such program."""
    # Python ignores these two, and what it starts would as well.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(words[0], list(words))
    except OSError as error:
        _say(f"{words[0]} cannot be started in the sandbox: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126


def on_terminal(words: Sequence[str]) -> int:
    """Run a command on the terminal that is our stdin, which controls it then; give its exit status.

    One that suspends itself continues at once: no shell is there to do it. A terminal that controls another session
    already does not control it.
    """
    import fcntl
    import termios

    try:
        os.setsid()
    except PermissionError:  # the first process of a session has one
        pass
    try:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    except OSError:
        return _become(words)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os._exit(_become(words))
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # they are for the command
    while True:
        _, told = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(told):
            status = os.waitstatus_to_exitcode(told)
            return status if status >= 0 else 128 - status
        os.killpg(child, signal.SIGCONT)


def _ask_for_network(path: str, listening: Sequence[Sequence[Any]]) -> socket:
    """Send our namespace to the driver, with sockets that listen in it and at which the driver waits."""
    sent = [os.open("/proc/self/ns/net", os.O_RDONLY)]
    try:
        for host, port in listening:
            listener = _listener(host, port)
            if listener is not None:
                sent.append(listener.detach())
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.settimeout(_NETWORK_SECONDS)
        connection.connect(path)
        connection.sendmsg([b"."], [(SOL_SOCKET, SCM_RIGHTS, _numbers(sent))])
    except OSError as error:
        raise _NoNetwork(error) from None
    return connection


def _ask_for_logins(path: str, places: Sequence[str]) -> None:
    """Send the directories of the logins to the driver, which writes them there, and wait for that."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        sent = [os.open(os.path.dirname(place), os.O_RDONLY | os.O_DIRECTORY) for place in places]
        connection.settimeout(_LOGIN_SECONDS)
        connection.connect(path)
        connection.sendmsg([b"."], [(SOL_SOCKET, SCM_RIGHTS, _numbers(sent))])
        connection.recv(1)
    except OSError as error:
        _say(f"there is no login in the sandbox: {error}")


def _numbers(descriptors: Sequence[int]) -> bytes:
    return b"".join(one.to_bytes(4, sys.byteorder) for one in descriptors)


def _listener(host: str, port: int) -> socket | None:
    """Listen at an address of our own loopback; None where the system has no IPv6."""
    try:
        listener = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError:
        if ":" in host:
            return None
        raise
    return listener


def _answer(connection: socket) -> dict[str, str]:
    """Wait for the network; gives the variables that lead to it."""
    answer = b""
    try:
        while part := connection.recv(4096):
            answer += part
        found: dict[str, str] = marshal.loads(bytes.fromhex(answer.decode()))
    except (OSError, ValueError, EOFError) as error:
        raise _NoNetwork(error) from None
    return found


def fill(
    target: str, source: str, made: Sequence[str], copied: Sequence[str], files: Mapping[str, str], is_linked: bool
) -> None:
    """Copy names of a directory into another; what is too large, and with `is_linked` all the rest, become links.

    What is there already stays: a login that is shown read-only.
    """
    for name in ("", *made):
        os.makedirs(os.path.join(target, name), mode=0o700, exist_ok=True)
    left = [_MOST_BYTES, _MOST_FILES]
    for name in copied:
        _copy(os.path.join(source, name), os.path.join(target, name), left)
    for name, path in files.items():
        _copy(path, os.path.join(target, name), left)
    if is_linked and os.path.isdir(source):
        for name in os.listdir(source):
            if not os.path.lexists(os.path.join(target, name)):
                os.symlink(os.path.join(source, name), os.path.join(target, name))


def _copy(source: str, target: str, left: list[int]) -> None:
    """Copy a file or directory while there is room for it."""
    try:
        if not os.path.exists(source):
            return
        if os.path.isdir(source):
            size, files = _size(source, left)
            if size <= left[0] and files <= left[1]:
                left[0], left[1] = left[0] - size, left[1] - files
                _copy_directory(source, target)
                return
        elif os.path.isfile(source) and os.path.getsize(source) <= left[0]:
            left[0], left[1] = left[0] - os.path.getsize(source), left[1] - 1
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _copy_file(source, target)
            return
        if not os.path.lexists(target):
            os.symlink(source, target)
    except OSError as error:
        _say(f"{source} was not copied: {error}")


def _copy_directory(source: str, target: str) -> None:
    os.makedirs(target, mode=0o700, exist_ok=True)
    for entry in os.scandir(source):
        place = os.path.join(target, entry.name)
        if entry.is_symlink():
            if not os.path.lexists(place):
                os.symlink(os.path.realpath(entry.path), place)
        elif entry.is_dir():
            _copy_directory(entry.path, place)
        else:
            _copy_file(entry.path, place)


def _copy_file(source: str, target: str) -> None:
    """Copy a regular file unless there is one; sockets and the like are left out."""
    if os.path.isfile(source) and not os.path.lexists(target):
        with open(source, "rb") as read, open(target, "xb") as write:
            while part := read.read(_CHUNK):
                write.write(part)
        os.chmod(target, os.stat(source).st_mode & 0o700 | 0o600)


def _size(directory: str, left: Sequence[int]) -> tuple[int, int]:
    """The bytes and the files of a directory; it is counted no further than there is room."""
    size = files = 0
    for where, _, names in os.walk(directory):
        for name in names:
            files += 1
            size += os.lstat(os.path.join(where, name)).st_size
        if size > left[0] or files > left[1]:
            break
    return size, files


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (most, most))


def _die_first() -> None:
    """Have the kernel end this run rather than the person's programs when the machine has no memory left."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(_OUT_OF_MEMORY))
    except OSError:
        pass


def _leave_keyring() -> None:
    """Leave the person's keyring of the kernel for an empty one."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        _libc().syscall(number, _JOIN_SESSION, None)


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 where it has none."""
    import ctypes

    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def restrict(writable: Sequence[str], *, is_scoped: bool) -> bool:
    """Let files be opened for writing only below these paths; False where the kernel cannot.

    A read-only mount does that too, but not for pipes with a name, at which programs of the person may listen. If it
    `is_scoped`, abstract sockets that were made outside are closed as well. Both are one set of rules: Landlock refuses
    moves between directories wherever two sets meet of which one does not allow them.
    """
    version = landlock_version()
    if version < WRITES_SINCE:
        return False
    scopes = (0, _ABSTRACT_SOCKETS if is_scoped else 0) if version >= SCOPES_SINCE else ()
    made = _ruleset(_WRITE | _REFER, *scopes)
    if made < 0:
        return False
    _allow(made, "/", _REFER)
    for path in writable:
        _allow(made, path, _WRITE | _REFER)
    is_done: bool = _libc().syscall(_RESTRICT_SELF, made, 0) == 0
    os.close(made)
    return is_done


def _ruleset(*handled: int) -> int:
    import ctypes

    rules = (ctypes.c_uint64 * len(handled))(*handled)
    return int(_libc().syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0))


def _allow(made: int, path: str, rights: int) -> None:
    import ctypes

    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there cannot be written either
    rule = ctypes.create_string_buffer(rights.to_bytes(8, sys.byteorder) + _numbers((place,)))
    _libc().syscall(_ADD_RULE, made, _BENEATH, rule, 0)
    os.close(place)


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _say(text: str) -> None:
    sys.stderr.write(f"ralph: {text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
