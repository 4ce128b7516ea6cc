"""The inside of a run's socket: what `ralph mcp` and `ralph-hook` do in a sandbox, where there is no journal.

They pass on what they read to the driver outside, which knows by the socket whose session it is (`run_socket`). The
hook runs before every tool call, so this imports next to nothing.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

__all__ = ["ask", "pass_on"]

_CHUNK = 1 << 16
_MOST = 1 << 24
_SECONDS = 9.0
"""Seconds for an answer: agents give up after ten."""


def ask(path: str, words: list[str], content: bytes) -> tuple[int, str, str]:
    """Have the event of a hook judged outside; its exit status, and what it prints and complains.

    Raises `OSError` if there is no answer.
    """
    from _socket import SHUT_WR

    connection = _connected(path, {"program": "hook", "words": words}, _SECONDS)
    try:
        connection.sendall(content)
        connection.shutdown(SHUT_WR)
        answer = b""
        while part := connection.recv(_CHUNK):
            answer += part
            if len(answer) > _MOST:
                raise OSError("the answer is too long")
    finally:
        connection.close()
    try:
        told = json.loads(answer)
        return int(told["status"]), str(told["printed"]), str(told["said"])
    except (ValueError, TypeError, KeyError):
        raise OSError("the answer cannot be read") from None


def pass_on(path: str, source: int = 0, target: int = 1) -> None:
    """Pass on what is read to the server outside, and what it answers, until that ends. Raises `OSError`."""
    import select
    from _socket import SHUT_WR

    connection = _connected(path, {"program": "mcp", "words": []}, None)
    try:
        ends = [source, connection.fileno()]
        while connection.fileno() in ends:
            for one in select.select(ends, [], [])[0]:
                part = os.read(one, _CHUNK)
                if part:
                    connection.sendall(part) if one == source else _write_all(target, part)
                    continue
                ends.remove(one)
                if one == source:
                    connection.shutdown(SHUT_WR)
    finally:
        connection.close()


def _connected(path: str, first: dict[str, object], seconds: float | None) -> socket:
    from _socket import AF_UNIX, SOCK_STREAM, socket

    connection = socket(AF_UNIX, SOCK_STREAM, 0)
    try:
        connection.connect(path)
        connection.settimeout(seconds)
        connection.sendall(json.dumps(first).encode() + b"\n")
    except OSError:
        connection.close()
        raise
    return connection


def _write_all(target: int, content: bytes) -> None:
    while content:
        content = content[os.write(target, content) :]
