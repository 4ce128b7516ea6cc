"""The socket of one confined run: a peer there counts as that run's session, because only its sandbox has it.

A sandbox hides the journal. So `ralph mcp` and `ralph-hook` inside pass on what they read (`relay`), and the driver
starts the same programs outside for them, with the session that it began itself. A connection says first, in a line of
JSON, which of the two it wants; it cannot say whose session it is.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

__all__ = ["Programs", "bind", "served"]

_MOST_LINE = 4096
_MOST_INPUT = 1 << 23
_SECONDS = 8.0
"""Seconds for a hook: the agent inside gives up after ten."""
_MOST_CONNECTIONS = 64
"""More are closed at once, so that an agent cannot use up the driver's threads."""
_MOST_SERVERS, _MOST_HOOKS = 8, 8
"""Programs that run outside at the same time. A further server is refused, a further hook waits for its turn."""
_MOST_MESSAGE, _MOST_MESSAGES = 1 << 22, 1 << 28
"""Bytes of one message to a server, and of all messages of a run: each is read as a whole, and may be kept."""


class Programs(msgspec.Struct, frozen=True):
    """The programs that are started outside for a run, and their environment."""

    server: Sequence[str]
    hook: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    before_answer: Callable[[], None] = lambda: None
    """Called before anything is answered. Each answer waits for it, so what was reported is in force by then."""


@contextmanager
def served(directory: Path, programs: Programs) -> Iterator[Path]:
    """Serve a socket in a new directory while the block runs; gives its path. Every program has ended afterwards.

    The directory is for one sandbox alone, and only the user may enter it.
    """
    directory.mkdir(parents=True, mode=0o700)
    path = directory / "s"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bind(listener, path)
        listener.listen(_MOST_CONNECTIONS)
        serving = _Serving(listener, programs)
        thread = threading.Thread(target=serving.accept, name="run-socket", daemon=True)
        thread.start()
        try:
            yield path
        finally:
            serving.end()
            thread.join()
    finally:
        listener.close()
        path.unlink(missing_ok=True)
        with suppress(OSError):
            directory.rmdir()


def bind(listener: socket.socket, path: Path) -> None:
    """Bind to a path of any length: the system takes about a hundred bytes."""
    place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{place}/{path.name}" if os.path.isdir("/proc/self/fd") else str(path))  # noqa: PTH112
    finally:
        os.close(place)


class _Serving:
    """The connections of a socket, a thread each."""

    def __init__(self, listener: socket.socket, programs: Programs) -> None:
        self._listener = listener
        self._programs = programs
        self._lock = threading.Lock()
        self._is_over = False
        self._open: dict[threading.Thread, socket.socket] = {}
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._servers = threading.BoundedSemaphore(_MOST_SERVERS)
        self._hooks = threading.BoundedSemaphore(_MOST_HOOKS)
        self._left = _MOST_MESSAGES

    def accept(self) -> None:
        """Take connections until the end."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._is_over or len(self._open) >= _MOST_CONNECTIONS or not _is_inside(connection):
                    connection.close()
                    continue
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._open[thread] = connection
                thread.start()

    def end(self) -> None:
        """Take no more connections, and end those that are open with what runs for them."""
        with self._lock:
            self._is_over = True
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            for connection in self._open.values():
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for process in self._processes:
                process.kill()
            threads = list(self._open)
        for thread in threads:
            thread.join()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError, ValueError):
                self._answer(connection)
        finally:
            with self._lock:
                self._open.pop(threading.current_thread(), None)

    def _answer(self, connection: socket.socket) -> None:
        until = time.monotonic() + _SECONDS
        wanted = json.loads(_line(connection, until))
        program, words = (wanted.get("program"), wanted.get("words")) if isinstance(wanted, dict) else (None, None)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return
        if program == "mcp" and self._servers.acquire(blocking=False):
            try:
                self._serve_messages(connection)
            finally:
                self._servers.release()
        elif program == "hook":
            content = _rest(connection, until)
            if not self._hooks.acquire(timeout=max(0.0, until - time.monotonic())):
                return  # the hook inside blocks its call without an answer
            try:
                done = self._judge([*self._programs.hook, *words], content, until)
            finally:
                self._hooks.release()
            self._programs.before_answer()
            connection.settimeout(_SECONDS)
            connection.sendall(json.dumps(done).encode())

    def _serve_messages(self, connection: socket.socket) -> None:
        """Run a server until it ends; it gets only messages of bounded size."""
        connection.settimeout(None)
        process = self._start([*self._programs.server], subprocess.DEVNULL)
        if process is None:
            return
        assert process.stdout is not None
        reading = threading.Thread(target=self._pass_on, args=(connection, process), daemon=True)
        reading.start()
        try:
            with suppress(OSError), process.stdout as answers:
                while part := os.read(answers.fileno(), 1 << 16):
                    self._programs.before_answer()
                    connection.sendall(part)
            process.wait()
        finally:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            reading.join()
            self._forget(process)

    def _pass_on(self, connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
        """Pass on what comes until one message, or all of the run, is too long."""
        assert process.stdin is not None
        size = 0
        with suppress(OSError, ValueError), process.stdin as target:
            while part := connection.recv(1 << 16):
                with self._lock:
                    self._left -= len(part)
                end = part.rfind(b"\n")
                size = size + len(part) if end < 0 else len(part) - end - 1
                if size > _MOST_MESSAGE or self._left < 0:
                    process.kill()
                    return
                target.write(part)
                target.flush()

    def _judge(self, words: list[str], content: bytes, until: float) -> dict[str, object]:
        """Run the hook; give its exit status, and what it printed and complained."""
        process = self._start(words, subprocess.PIPE)
        if process is None:
            return _blocked("The run has ended.")
        try:
            printed, said = process.communicate(content, timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return _blocked("Interlock: this call could not be judged in time, so it is not made.")
        finally:
            self._forget(process)
        return {
            "status": process.returncode,
            "printed": printed.decode("utf-8", "replace"),
            "said": said.decode("utf-8", "replace"),
        }

    def _start(self, words: list[str], complaints: int) -> subprocess.Popen[bytes] | None:
        """Start a program with pipes to and from it; None once the run has ended."""
        with self._lock:
            if self._is_over:
                return None
            process = subprocess.Popen(
                words,
                cwd=self._programs.directory,
                env=dict(self._programs.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
            self._processes.add(process)
            return process

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)


def _blocked(why: str) -> dict[str, object]:
    return {"status": 2, "printed": "", "said": why}


def _line(connection: socket.socket, until: float) -> bytes:
    """The first line, and not a byte more: what follows is for the program."""
    line = b""
    while not line.endswith(b"\n"):
        part = _received(connection, 1, until)
        if not part or len(line) > _MOST_LINE:
            raise OSError("no line came")
        line += part
    return line


def _rest(connection: socket.socket, until: float) -> bytes:
    content = bytearray()
    while part := _received(connection, 1 << 16, until):
        content += part
        if len(content) > _MOST_INPUT:
            raise OSError("too much came")
    return bytes(content)


def _received(connection: socket.socket, most: int, until: float) -> bytes:
    connection.settimeout(max(0.001, until - time.monotonic()))
    return connection.recv(most)


def _is_inside(connection: socket.socket) -> bool:
    """False if the peer is certainly in our own pid namespace: then it is in no sandbox of ours."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", credentials)
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return True  # it has ended already, or cannot be seen
