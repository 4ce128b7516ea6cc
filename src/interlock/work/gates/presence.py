"""The person at the terminal. A gate opens only to one, and that is checked before anything else.

Where the processes above the caller cannot be read up to the top of the machine, as in a container, the terminal proves
nothing: an agent can build the same. There a key has to sign that needs a passphrase or a touch.
"""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.gates.display import framed_lines, visible
from interlock.work.gates.trust import Key, Trust, trust_of
from interlock.world.lineage import Reach, is_namespace_of_root, is_proc_genuine, lineage
from interlock.world.people import is_at_terminal, who_calls
from interlock.world.processes import UNKNOWN, calling_agent
from interlock.world.ssh import Guard, Signature, private_half_of, read_public_key, sign

__all__ = ["AtTerminal", "Person", "Presence", "answered", "at_terminal", "must_be_person", "present", "tell_terminal"]

_TERMINAL = "/dev/tty"
_SECONDS = 600.0
_LOOKS_SECONDS = 0.5
_LONGEST_ANSWER = 4096
_LOWEST = 5


class Presence(Protocol):
    """Somebody who can be asked and who can sign."""

    @property
    def actor(self) -> Actor:
        """Who it is, and through which channel."""
        ...

    def enter(self, journal: Journal) -> None:
        """Called before anything is asked for this journal; raises where this presence has no say in it."""
        ...

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        """Show a text, ask, and say whether the answer was exactly that word. Silence and the end of input are no.

        A presence that can say more of a no refuses with why.
        """
        ...

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        """A signature by one of the keys; None where none was made."""
        ...


class AtTerminal(msgspec.Struct, frozen=True):
    """A person at the terminal that controls this process."""

    actor: Actor
    environment: Mapping[str, str]
    seconds: float = _SECONDS
    doubt: str = ""
    """Why the terminal alone does not prove that it is a person; then only a guarded key does."""
    is_enrolling: bool = False
    """The first key may be enrolled in a container that only root can have made."""

    def enter(self, journal: Journal) -> None:
        """A person may be asked about every journal; in doubt, it must know a key that can prove them."""
        trust = trust_of(journal) if self.doubt else Trust()
        if not self.doubt or any(key.guard is not Guard.NONE for key in trust.enrolled):
            return
        if not trust.enrolled and self.is_enrolling and is_namespace_of_root():
            return
        message = (
            f"Nobody can tell here whether a person types this or an agent: {self.doubt}. "
            "Only a key with a passphrase or a touch proves a person then, and none is enrolled"
        )
        hint = (
            "Enroll one where the whole machine is seen, outside the container: `ralph gate enroll FILE` in this "
            "repository, in a terminal. After that it signs here, too."
        )
        raise Refusal("person_needed", f"{message}.", hint)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        """Show the text and ask on the terminal itself, wherever stdout leads to."""
        last = f"Type {word} and press Enter; anything else is no: "
        return answered(f"{question}\n", last, self.seconds, about=shown) == word

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        """Sign with the first key whose private half is here, or else with one that the SSH agent has.

        In doubt a key counts only with its guard, and the SSH agent would take that away.
        """
        guarded = [key for key in keys if not self.doubt or key.guard is not Guard.NONE]
        files = [(key, self._file(key)) for key in guarded]
        here = [one for one in files if one[1] is not None]
        has_agent = bool(self.environment.get("SSH_AUTH_SOCK")) and not self.doubt
        for key, file in here or (files if has_agent else []):
            self._announce(key)
            try:
                return sign(statement, key.public, file, by_agent=not self.doubt)
            except InterlockError as error:
                if error.code == "ssh_missing":
                    raise
        return None

    def _file(self, key: Key) -> Path | None:
        """Where the public half of a key lies, with the private one beside it."""
        home = self.environment.get("HOME")
        elsewhere = sorted(Path(home, ".ssh").glob("*.pub")) if home else []
        for file in ([key.file] if key.file is not None else []) + elsewhere:
            with suppress(InterlockError, OSError):
                if private_half_of(file).exists() and read_public_key(file).line == key.public.line:
                    return file
        return None

    def _announce(self, key: Key) -> None:
        touch = "; touch the key when it blinks" if key.public.is_hardware else ""
        tell_terminal(f"Signing with {key.fingerprint} {key.public.comment}{touch}\n")


def at_terminal(
    environment: Mapping[str, str], directory: Path, *, batch: bool = False, is_enrolling: bool = False
) -> AtTerminal:
    """The person who calls, or a refusal: nobody who runs under an agent, without a terminal or in batch is one.

    It is the first check of every gate.
    """
    agent = calling_agent(environment)
    line = lineage()
    if agent is not None and agent.name == UNKNOWN:
        raise _refusal(f"The processes above this one cannot be read to the top ({line.why}), so it may be an agent")
    if agent is not None:
        name = "an agent" if agent.name == "agent" else agent.name
        raise _refusal(f"This runs under {name}, and a gate is for the person that it works for")
    if line.reach is Reach.BROKEN or not is_proc_genuine():
        raise _refusal(f"The processes above this one cannot be read to the top ({line.why or 'no /proc'})")
    if batch:
        raise _refusal("This runs in batch, and a gate is for a person at a terminal")
    if not is_at_terminal():
        raise _refusal("Standard input is not the terminal that controls this, so nobody is there to decide")
    actor = who_calls(environment, directory)
    doubt = "" if line.reach is Reach.TOP else line.why
    return AtTerminal(
        Actor(ActorKind.HUMAN, actor.id, Channel.CLI), environment, doubt=doubt, is_enrolling=is_enrolling
    )


def present(
    journal: Journal,
    instance: str,
    gate: str,
    environment: Mapping[str, str],
    directory: Path,
    *,
    batch: bool = False,
    is_enrolling: bool = False,
) -> Presence:
    """The person who calls; a refusal is kept as an attempt at the gate of the instance, and raised."""
    from interlock.work.gates.approval import refused_attempt

    try:
        person = at_terminal(environment, directory, batch=batch, is_enrolling=is_enrolling)
        person.enter(journal)
        return person
    except Refusal as refusal:
        refused_attempt(journal, instance, who_calls(environment, directory), gate, refusal.message)
        raise


def _refusal(why: str) -> Refusal:
    hint = "Ask the person to run the command in a terminal of their own."
    return Refusal("person_needed", f"{why}.", hint)


# The terminal


def answered(shown: str, question: str, seconds: float = _SECONDS, *, about: str | None = None) -> str | None:
    """What somebody types, who is asked on the terminal that controls this; None where nobody answers in time.

    `about` is shown first, in a frame and page by page; returns None if the person stops before its end. Call it only
    after `at_terminal` has found a person.
    """
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if about is not None and not _read_through(terminal, about, time.monotonic() + seconds):
            return None
        _tell(terminal, visible(shown))
        # What was typed, or put there, before the question is no answer to it.
        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
        _tell(terminal, visible(question))
        return _line(terminal, time.monotonic() + seconds)
    except OSError:
        return None
    finally:
        os.close(terminal)


def tell_terminal(text: str) -> bool:
    """Say something on the terminal that controls this, wherever stdout leads to; whether there is one."""
    try:
        terminal = os.open(_TERMINAL, os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        _tell(terminal, visible(text))
    except OSError:
        return False
    finally:
        os.close(terminal)
    return True


def _read_through(terminal: int, about: str, deadline: float) -> bool:
    """Show a text page by page; True once all of it was shown. Without a known height, it is one page."""
    try:
        width, height = os.get_terminal_size(terminal)
    except OSError:
        width, height = 0, 0
    lines = framed_lines(about, width) if width else framed_lines(about)
    page = max(height - 2, _LOWEST) if height else len(lines)
    _tell(terminal, "\n")
    for start in range(0, len(lines), page):
        end = start + page
        _tell(terminal, "".join(f"{line}\n" for line in lines[start:end]))
        if end >= len(lines):
            break
        _tell(
            terminal, f"{end} of {len(lines)} lines. Press Enter for more, type all to see everything, or q to stop: "
        )
        typed = _line(terminal, deadline)
        if typed == "all":
            _tell(terminal, "".join(f"{line}\n" for line in lines[end:]))
            break
        if typed != "":
            return False
    return True


def _tell(terminal: int, text: str) -> None:
    rest = text.encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(terminal, rest) :]


def _line(terminal: int, deadline: float) -> str | None:
    """What is typed up to Enter; None where the input ends, or nobody answers in time."""
    typed = b""
    while not typed.endswith(b"\n") and len(typed) < _LONGEST_ANSWER:
        left = deadline - time.monotonic()
        # A Ctrl+C that comes just before the call interrupts nothing, and is handled when the call returns.
        ready, _, _ = select.select([terminal], [], [], min(_LOOKS_SECONDS, max(0.0, left)))
        if not ready and left > 0:
            continue
        chunk = os.read(terminal, _LONGEST_ANSWER) if ready else b""
        if not chunk:
            return None
        typed += chunk
    return typed.decode("utf-8", "replace").removesuffix("\n")


class Person(msgspec.Struct, frozen=True):
    """The caller of a verb, and how they prove that they are there."""

    actor: Actor
    presence: Callable[[], Presence]
    """A proof of presence for a gate; raises where there is none."""
    is_at_terminal: Callable[[], bool]
    vouch: Callable[[str, str], None] = lambda id_, name: None
    """Proves the person for one move of one instance, where a terminal proves nothing; raises otherwise."""


def must_be_person(actor: Actor, does: str, instead: str) -> None:
    """Refuse what only people decide; `instead` is what an agent can do."""
    if actor.kind != ActorKind.HUMAN:
        raise Refusal("person_needed", f"Only a person {does}, and this is an agent.", instead)
