"""The player of scripts: a process of its own, with nothing but the standard library.

It is started thousands of times by the tests, so it imports what it needs where it needs it.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST = 600.0
"""How many seconds anything here lasts at the most: nothing of a test is left for ever."""
_POLL = 0.02
_BLOCK = 64 * 1024


def main(words: list[str]) -> int:
    """Play the iteration that has come, and exit as its script says."""
    try:
        steps = steps_of_run(words[0])
    except (OSError, ValueError, LookupError, TypeError) as error:
        _put(2, f"The script cannot be read: {error}\n".encode())
        return 64
    prompt = sys.stdin.buffer.read()
    plays: Mapping[str, Callable[[Any], int | None]] = {
        **_STEPS,
        "echo": lambda _: _put(1, prompt.removesuffix(b"\n") + b"\n"),
    }
    for step in steps:
        try:
            [(name, given)] = step.items()
            code = plays[name](given)
        except Exception as error:
            _put(2, f"The step {json.dumps(step)} failed: {error!r}\n".encode())
            return 70
        if code is not None:
            return code
    return 0


def steps_of_run(path: str) -> Any:
    """Return the steps of the run that has come, and count it."""
    script = json.loads(_read(path))
    iterations = script["iterations"]
    number = _count(script.get("state"), os.path.dirname(path))
    return iterations[min(number, len(iterations)) - 1]


def _count(name: str | None, beside: str) -> int:
    """Which run this is, from 1; the count is on disk before anything is done."""
    name = os.environ.get("RALPH_SCRIPT_STATE") or name
    if not name:
        return 1
    path = os.path.join(beside, name)
    number = (int(_read(path)) if os.path.exists(path) else 0) + 1
    _write({"path": f"{path}.new", "text": f"{number}\n"})
    os.replace(f"{path}.new", path)
    return number


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _put(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]


def _line(**said: object) -> None:
    _put(1, json.dumps(said).encode() + b"\n")


def _write(given: Mapping[str, Any], mode: str = "w") -> None:
    path, text = given["path"], given["text"]
    os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else "".join(f"{line}\n" for line in text))


def _run(command: list[str]) -> None:
    import subprocess

    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=_MOST, check=False)


def _commit(message: str) -> None:
    import subprocess

    for words in (("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", message)):
        subprocess.run(("git", *words), stdin=subprocess.DEVNULL, timeout=_MOST, check=True)


def _wait(name: str) -> None:
    deadline = time.monotonic() + _MOST
    while not os.path.exists(name) and time.monotonic() < deadline:
        time.sleep(_POLL)


def _ignore(names: list[str]) -> None:
    import signal

    for name in names:
        signal.signal(signal.Signals[name], signal.SIG_IGN)


def _fork(given: Mapping[str, Any]) -> None:
    """Leave processes behind; those that are detached have no parent of this run any more."""
    for _ in range(given.get("count", 1)):
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            if not given.get("detach") or os.fork() == 0:
                _leave(given, writing)
            os._exit(0)
        os.close(writing)
        pid = os.read(reading, 20).decode()  # it is ready: it ignores what it is to ignore
        os.close(reading)
        if given.get("detach"):
            os.waitpid(child, 0)
        if given.get("pids"):
            _write({"path": given["pids"], "text": f"{pid}\n"}, "a")


def _leave(given: Mapping[str, Any], writing: int) -> None:
    if given.get("detach"):
        os.setsid()
    _ignore(given.get("ignore", []))
    if given.get("quiet"):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
    os.write(writing, str(os.getpid()).encode())
    os.close(writing)
    deadline = time.monotonic() + _MOST
    while time.monotonic() < deadline:
        time.sleep(1)
    os._exit(0)


def _bytes(size: int, block: bytes = b"x" * _BLOCK) -> None:
    while size > 0:
        _put(1, block[:size])
        size -= len(block)


def _flood(size: int) -> None:
    _bytes(size, (b"y" * 99 + b"\n") * 640)


def _close(_: object) -> None:
    for stream in (1, 2):
        os.close(stream)


_STEPS: Mapping[str, Callable[[Any], int | None]] = {
    "say": lambda text: _line(said=text),
    "lie": lambda _: _line(said="All 42 tests pass."),
    "promise": lambda name: _line(said=f"<promise>{name}</promise>"),
    "print": lambda text: _put(1, f"{text}\n".encode()),
    "complain": lambda text: _put(2, f"{text}\n".encode()),
    "tool": lambda tool: _line(tool=tool),
    "usage": lambda usage: _line(usage=usage),
    "cost": lambda usd: _line(cost=usd),
    "context": lambda percent: _line(context=percent),
    "limit": lambda limit: _line(limit=limit),
    "finish": lambda ok: _line(finished=ok),
    "write": _write,
    "append": lambda given: _write(given, "a"),
    "delete": os.unlink,
    "run": _run,
    "commit": _commit,
    "sleep": lambda seconds: time.sleep(min(seconds, _MOST)),
    "wait": _wait,
    "ignore": _ignore,
    "fork": _fork,
    "bytes": _bytes,
    "flood": _flood,
    "close": _close,
    "exit": int,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
