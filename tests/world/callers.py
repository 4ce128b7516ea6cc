"""A caller in a terminal of its own below processes of our choice, which says whether it counts as a person.

Started as a program it plays one of the parts: `driver` takes the name of a driver and goes on, `deep` goes on below
many processes, `person` is who calls.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["ask_presence", "deep", "driver"]


def ask_presence(*before: Sequence[str | Path], env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Call as a person would, below these commands, each of which runs the next one; what came of it."""
    words = [str(word) for command in (*before, _part("person")) for word in command]
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execve(_found(words[0]), words, {**(os.environ if env is None else env), "TOLD": str(theirs)})
        finally:
            os._exit(127)
    os.close(theirs)
    said = _read_to_the_end(ours)
    os.close(terminal)
    os.waitpid(pid, 0)
    assert said, words
    found: dict[str, str] = json.loads(said)
    return found


def _read_to_the_end(told: int) -> bytes:
    """Read until all writers are gone, as long as tests wait for anything."""
    from patience import SECONDS  # a caller that this starts as a program does not find it

    deadline, said = time.monotonic() + SECONDS, b""
    with os.fdopen(told, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = pipe.read(65536)
            if not chunk:
                return said
            said += chunk
    raise AssertionError(f"the caller, or what it started, does not end; it said {said!r}")


def _part(name: str, *more: str) -> list[str]:
    return [sys.executable, __file__, name, *more]


def driver() -> list[str]:
    """A command that runs the next one below a process with the name of a driver."""
    return _part("driver")


def deep(count: int) -> list[str]:
    """A command that runs the next one below so many processes."""
    return _part("deep", str(count))


def _found(word: str) -> str:
    return shutil.which(word) or word


def _go_on(words: Sequence[str]) -> None:
    pid = os.fork()
    if pid == 0:
        os.execv(_found(words[0]), list(words))
    os.waitpid(pid, 0)


def _tell() -> None:
    from interlock.errors import Refusal
    from interlock.work.gates.presence import at_terminal
    from interlock.world.people import who_calls

    environment = {"HOME": os.environ.get("HOME", "/")}
    said = {"code": "", "message": "", "doubt": "", "kind": str(who_calls(environment, Path.cwd()).kind)}
    try:
        said["doubt"] = at_terminal(environment, Path.cwd()).doubt
    except Refusal as error:
        said |= {"code": error.code, "message": error.message}
    os.write(int(os.environ["TOLD"]), json.dumps(said).encode())


def _main() -> None:
    part, *rest = sys.argv[1:]
    if part == "driver":
        Path("/proc/self/comm").write_text("ralph-driver")
        _go_on(rest)
    elif part == "deep":
        for _ in range(int(rest[0])):
            pid = os.fork()
            if pid:
                os.waitpid(pid, 0)
                os._exit(0)
        _go_on(rest[1:])
    else:
        _tell()


if __name__ == "__main__":
    _main()
