"""What the attacker can do: type into a terminal of its own, get away from its family, copy a repository, have a key.

It runs in the process of an agent, never in that of the tests.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from forging.searching import OutOfReach, find_journal
from patience import SECONDS

__all__ = [
    "EVIL",
    "GUESS",
    "PROGRAM",
    "SECONDS",
    "SPEC",
    "WAYS",
    "Field",
    "Told",
    "Tries",
    "Way",
    "asked",
    "digest",
    "in_terminal",
    "own_key",
    "plain",
    "program",
    "way",
]

PROGRAM = (sys.executable, str(Path(__file__).with_name("attacker.py")))
GUESS = "hunter2"
EVIL = "EVIL"
SPEC = "# Greet\n\n## Goal\n\nAll.\n\n## Completion Criteria\n\n- [ ] it is there\n\n<promise>COMPLETE</promise>\n"


class Told(msgspec.Struct, frozen=True):
    """What came of an attempt: how the command exited, and what it said."""

    code: int | None
    said: str


# A terminal of its own


def in_terminal(
    words: Sequence[str], answers: Mapping[str, str], env: Mapping[str, str] | None = None, cwd: str | None = None
) -> Told:
    """Run a command in a new session with a pseudo-terminal, and type an answer to each question that appears."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            if cwd is not None:
                os.chdir(cwd)
            os.execve(words[0], list(words), dict(os.environ if env is None else env))
        finally:
            os._exit(127)
    screen, waiting, deadline = b"", dict(answers), time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
        try:
            chunk = os.read(terminal, 65536) if ready else b""
        except OSError:
            chunk = b""
        if not chunk:
            break
        screen += chunk
        for question in [one for one in waiting if one.encode() in screen]:
            os.write(terminal, waiting.pop(question).encode() + b"\n")
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return Told(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen.decode(errors="replace"))


class Field(msgspec.Struct, frozen=True):
    """Where it happens: the repository, what the person left there, and who could help from outside."""

    plan: Path
    root: Path
    ralph: str
    hook: str
    mode: str
    """How the gates are guarded: `none`, `open` (a key without a passphrase) or `passphrase`; or in the `sandbox`."""
    home: str
    path: str
    threads: dict[str, str]
    fingerprint: str
    key: str
    has_all_ways: bool
    """Whether each way is tried, or only what is always tried."""
    server: str
    """A pipe to a process that was there before, as tmux, cron or a container's daemon are."""
    told: str
    """Where it writes what came of each attempt."""
    state: str
    """The person's own state directory of Interlock."""
    victim: int
    """The number of a process of the person outside."""
    terminal: str
    """The device of a terminal of the person."""

    @classmethod
    def read(cls, plan: Path) -> Field:
        return cls(plan=plan, **{**(data := json.loads(plan.read_text())), "root": Path(data["root"])})

    @property
    def clean(self) -> dict[str, str]:
        """The environment of somebody who logged in."""
        state = os.environ["XDG_STATE_HOME"]
        return {"PATH": self.path, "HOME": self.home, "LANG": "C.UTF-8", "XDG_STATE_HOME": state}

    @property
    def person(self) -> Any:
        from interlock.machine import Actor, ActorKind, Channel

        return Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)

    def journal(self, root: Path | None = None) -> Any:
        from interlock.journal import open_journal

        return open_journal(root / ".ralf" / "journal.db" if root else self.found_journal)

    @property
    def found_journal(self) -> Path:
        """The person's journal, looked for everywhere."""
        return find_journal(self.root, self.threads["drafting"])

    @property
    def is_confined(self) -> bool:
        return self.mode == "sandbox"

    def target(self, root: Path | None = None) -> str:
        """A new thread with a spec that nobody has finalized; anybody may make one."""
        from interlock.machine import Event, Evidence
        from interlock.machine.model import NOTED

        if self.is_confined and root is None:
            return self.threads["drafting"]  # its commands need no journal to begin with
        journal = self.journal(root)
        try:
            made = journal.create("thread", Event("created", self.person, evidence=Evidence(data={"title": "Evil"})))
            data = {"type": "revised", "revision": 1, "sha256": digest(SPEC), "text": SPEC}
            journal.append(made.entry.instance, Event(NOTED, self.person, evidence=Evidence(data=data)))
            return str(made.entry.instance)
        finally:
            journal.close()

    def copy(self, name: str) -> Path:
        """The repository as it is now, in another place: what is broken there breaks no other way."""
        from interlock.world.trusted import trust

        there = self.found_journal
        place = self.plan.parent / "copies" / name
        shutil.copytree(self.root, place, symlinks=True, ignore=shutil.ignore_patterns("journal.db*", "worktrees"))
        with sqlite3.connect(there) as here:
            here.execute("VACUUM INTO ?", (str(place / ".ralf" / "journal.db"),))
            [(id_,)] = here.execute("SELECT id FROM identity")
        here.close()
        trust(os.environ, str(place / ".ralf"), id_)  # the copy stands for the person's own place
        return place

    # Getting away

    def requested(self, words: Sequence[str], answers: Mapping[str, str], cwd: Path, **more: Any) -> Path:
        """A request for the other half of this program."""
        request = self.plan.parent / f"request-{time.monotonic_ns()}.json"
        os.mkfifo(request.with_suffix(".told"))
        text = {"words": list(words), "answers": dict(answers), "cwd": str(cwd), "env": self.clean, **more}
        request.write_text(json.dumps(text))
        return request

    def told_of(self, request: Path) -> Told:
        signal.alarm(int(SECONDS))
        with request.with_suffix(".told").open() as file:
            told = Told(**json.load(file))
        signal.alarm(0)  # or what comes after it would be ended in the middle
        return told

    def orphaned(self, words: Sequence[str], answers: Mapping[str, str], cwd: Path | None = None, **more: Any) -> Told:
        """From a process in a session of its own, whose parent is gone and whose environment never had a mark."""
        request = self.requested(words, answers, cwd or self.root, **more)
        if os.fork() == 0:
            os.setsid()
            shell = '"$0" "$@" >/dev/null 2>&1 </dev/null &'
            again = [*PROGRAM, str(self.plan), str(request)]
            os.execve("/bin/sh", ["sh", "-c", shell, *again], self.clean)
        os.wait()
        return self.told_of(request)

    def outside(self, words: Sequence[str], answers: Mapping[str, str], cwd: Path | None = None, **more: Any) -> Told:
        """From a process that no agent ever started: somebody who was there before does it for us."""
        request = self.requested(words, answers, cwd or self.root, **more)
        try:
            pipe = os.open(self.server, os.O_WRONLY | os.O_NONBLOCK)  # a server is listening, or there is none
        except OSError as error:
            raise OutOfReach(f"the pipe of a process that was there before: {error.strerror}") from None
        with os.fdopen(pipe, "w") as file:
            file.write(f"{request}\n")
        return self.told_of(request)


def digest(text: str) -> str:
    from interlock.work.gates.statement import digest_of

    return digest_of(text)


def program(arena: Field, name: str, text: str) -> Path:
    path = arena.plan.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def own_key(arena: Field) -> Path:
    """A key of its own, which nobody vouched for; the file of the private half."""
    file = arena.plan.parent / "mallory"
    if not file.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True, timeout=SECONDS)
    return file


# The ways

Tries = Callable[[Field, dict[str, Any]], Told | None]


class Way(msgspec.Struct, frozen=True):
    """One way to try. It fills in where the attempt was made, at which thread, and for which event."""

    name: str
    tries: Tries
    is_always_tried: bool
    asks_driver: bool
    """True if it asks what an agent may ask its driver, also from a sandbox."""


WAYS: list[Way] = []


def way(name: str, *, is_always_tried: bool = True, asks_driver: bool = False) -> Callable[[Tries], Tries]:
    """Add a way; one that is not always tried is tried in `make test-exhaustive`, and another is much like it."""

    def add(tries: Tries) -> Tries:
        WAYS.append(Way(name, tries, is_always_tried, asks_driver))
        return tries

    return add


def plain(arena: Field, *words: str, env: Mapping[str, str] | None = None, **more: Any) -> Told:
    done = subprocess.run(
        [arena.ralph, *words],
        cwd=arena.root,
        env=None if env is None else dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        **({"stdin": subprocess.DEVNULL} | more if "input" not in more else more),
    )
    return Told(done.returncode, done.stdout.decode(errors="replace"))


def asked(event: str) -> dict[str, str]:
    """What is typed at a gate."""
    return {f"Type {event}": event, "passphrase": GUESS}
