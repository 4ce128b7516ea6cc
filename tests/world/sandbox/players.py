"""An agent in a sandbox that does what a test asks it, line by line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from interlock.world.sandbox.policy import SandboxPolicy
from patience import SECONDS
from world.sandbox.places import Place, as_user

__all__ = ["Ask", "playing"]

PLAYER = """
import ctypes, json, os, subprocess, sys
held = {}
libc = ctypes.CDLL(None, use_errno=True)
def write(name="a"):
    with open(name, "a") as file:
        file.write("x")
def call(done):
    return 0 if done == 0 else ctypes.get_errno()
for line in sys.stdin:
    try:
        said = eval(line)
    except OSError as error:
        said = error.errno
    print(json.dumps(said), flush=True)
"""
"""Says what came of each expression: an error by its number."""

Ask = Callable[[str], object]


@contextmanager
def playing(place: Place, policy: SandboxPolicy | None = None) -> Iterator[tuple[Ask, int]]:
    """Give how an agent in a sandbox is asked, and the first process of the sandbox."""
    with place.sandbox.confine(("/usr/bin/python3", "-c", PLAYER), policy or place.policy) as confined:
        process = subprocess.Popen(
            as_user(place.user, confined.argv),
            env=confined.environment,
            cwd=confined.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

        def ask(what: str) -> object:
            print(what, file=process.stdin, flush=True)
            assert process.stdout is not None
            return json.loads(process.stdout.readline())

        try:
            assert ask("0") == 0
            yield ask, process.pid
        finally:
            process.kill()
            process.communicate(timeout=SECONDS)
