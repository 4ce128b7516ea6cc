"""Who is there. A gate opens to a person at a terminal, and that is found out before anything else."""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.gates.trust import Key
from interlock.world.people import is_at_terminal, who_calls
from interlock.world.processes import calling_agent
from interlock.world.ssh import Signature, private_half_of, read_public_key, sign

__all__ = ["AtTerminal", "Presence", "answered", "at_terminal", "framed", "present", "tell_terminal", "visible"]

_TERMINAL = "/dev/tty"
_SECONDS = 600.0
_MOST_LINES = 400
_MOST_WIDTH = 500
_LONGEST_ANSWER = 4096


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


@dataclass(frozen=True, slots=True)
class AtTerminal:
    """A person at the terminal that controls this process."""

    actor: Actor
    environment: Mapping[str, str]
    seconds: float = _SECONDS

    def enter(self, journal: Journal) -> None:
        """A person may be asked about every journal."""

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        """Ask on the terminal itself, wherever stdout leads to."""
        asked = f"{framed(shown)}{visible(question)}\n"
        return answered(asked, f"Type {word} and press Enter; anything else is no: ", self.seconds) == word

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        """Sign with the first key whose private half is here, or else with one that the SSH agent has."""
        files = [(key, self._file(key)) for key in keys]
        here = [one for one in files if one[1] is not None]
        for key, file in here or (files if self.environment.get("SSH_AUTH_SOCK") else []):
            self._announce(key)
            try:
                return sign(statement, key.public, file)
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


def at_terminal(environment: Mapping[str, str], directory: Path, *, batch: bool = False) -> Presence:
    """The person who calls, or a refusal: nobody who runs under an agent, without a terminal or in batch is one.

    It is the first check of every gate.
    """
    agent = calling_agent(environment)
    if agent is not None:
        name = "an agent" if agent.name == "agent" else agent.name
        raise _refusal(f"This runs under {name}, and a gate is for the person that it works for")
    if batch:
        raise _refusal("This runs in batch, and a gate is for a person at a terminal")
    if not is_at_terminal():
        raise _refusal("Standard input is not the terminal that controls this, so nobody is there to decide")
    actor = who_calls(environment, directory)
    return AtTerminal(Actor(ActorKind.HUMAN, actor.id, Channel.CLI), environment)


def present(
    journal: Journal,
    instance: str,
    gate: str,
    environment: Mapping[str, str],
    directory: Path,
    *,
    batch: bool = False,
) -> Presence:
    """The person who calls; a refusal is kept as an attempt at the gate of the instance, and raised."""
    from interlock.work.gates.approval import refused_attempt

    try:
        return at_terminal(environment, directory, batch=batch)
    except Refusal as refusal:
        refused_attempt(journal, instance, who_calls(environment, directory), gate, refusal.message)
        raise


def _refusal(why: str) -> Refusal:
    hint = "Ask the person to run the command in a terminal of their own."
    return Refusal("person_needed", f"{why}.", hint)


# The terminal


def answered(shown: str, question: str, seconds: float = _SECONDS) -> str | None:
    """What somebody types, who is asked on the terminal that controls this; None where nobody answers in time.

    It is for whoever `at_terminal` found to be a person.
    """
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
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


def visible(text: str) -> str:
    """Text that an agent may have written, made safe to show: what cannot be seen or turns text around is marked."""
    return "".join(one if one in "\n\t" or one.isprintable() else "\ufffd" for one in text)


def framed(shown: str) -> str:
    """A text as it is shown at a gate: between two lines, safe, and not without an end."""
    lines = [line if len(line) <= _MOST_WIDTH else f"{line[:_MOST_WIDTH]} …" for line in visible(shown).splitlines()]
    rule = "─" * 72
    more = len(lines) - _MOST_LINES
    cut = [f"… {more} more lines, which the hash covers"] if more > 0 else []
    return "\n".join(("", rule, *lines[:_MOST_LINES], *cut, rule, ""))


def _tell(terminal: int, text: str) -> None:
    rest = text.encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(terminal, rest) :]


def _line(terminal: int, deadline: float) -> str | None:
    """What is typed up to Enter; None where the input ends, or nobody answers in time."""
    typed = b""
    while not typed.endswith(b"\n") and len(typed) < _LONGEST_ANSWER:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(terminal, _LONGEST_ANSWER) if ready else b""
        if not chunk:
            return None
        typed += chunk
    return typed.decode("utf-8", "replace").removesuffix("\n")
