"""What a person does through the dashboard. Only where `ralph serve` itself was started by a person at a terminal.

A browser becomes the person's by a code; each gate needs another, printed next to what is approved. `moves` has what
can be done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import NotFound, Refusal
from interlock.faces.web.browsers import Browsers
from interlock.faces.web.codes import Codes
from interlock.faces.web.presence import ByCode, about, ask, web_actor
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.context import DriverContext
from interlock.work.driver.spawn import Drivers
from interlock.work.gates.approval import refused_attempt
from interlock.work.gates.presence import AtTerminal, Person
from interlock.work.settings.values import Settings
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import gate_at
from interlock.work.views.gate import GateView

__all__ = ["Acting", "ActionResult", "Hands", "offered"]

_LOGIN: Final = "login"
_MOST_KEPT: Final = 100
_NOBODY: Final = Actor(ActorKind.AGENT, "unknown", Channel.WEB)
"""Who sends a form without being known: for all that a request shows, an agent."""


class ActionResult(msgspec.Struct, frozen=True):
    """What came of a move: the page that shows it, and a sentence."""

    where: str
    message: str


class Acting(msgspec.Struct):
    """Whether this server acts for a person, and for which browsers."""

    terminal: Callable[[], AtTerminal]
    """Who is at the terminal now; raises where nobody is."""
    tell: Callable[[str], bool]
    """Says something on that terminal."""
    logins: Codes
    codes: Codes
    browsers: Browsers
    refusal: Refusal | None
    """Why it is not offered."""
    url: str = ""
    _kept: int = 0
    gate: threading.Lock = msgspec.field(default_factory=threading.Lock)
    """One gate at a time: there is one terminal to sign at."""

    @property
    def is_offered(self) -> bool:
        return self.refusal is None

    def greet(self, url: str) -> None:
        """Say where it is served, with the first code."""
        self.url = url
        if self.is_offered:
            self.print_login()

    def print_login(self) -> None:
        """Print a new code that makes a browser the person's; the one before it is void."""
        self.must_be_offered()
        code = self.logins.issue(_LOGIN, "")
        self.tell(f"To act from a browser: open {self.url}/login and type, once, within ten minutes: {code}\n")

    def log_in(self, typed: str) -> str:
        """The secret of a browser whose person knows the code."""
        self.must_be_offered()
        self.logins.take(_LOGIN, "", typed)
        self.tell("A browser is yours now. If it was not you, end this with Ctrl+C.\n")
        return self.browsers.admit()

    def must_be_offered(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def waits(self, id_: str, gate: GateView) -> bool:
        """Whether a code was printed for exactly this."""
        return self.codes.waits((id_, gate.event), about(gate.word, gate.question, gate.shown))

    def keep(self, journal: Journal, id_: str, event: str, why: str) -> None:
        """Keep that somebody unknown tried something; not without an end, for they may try forever."""
        self._kept += 1
        if self._kept <= _MOST_KEPT:
            last = " (further attempts are not kept before the server is started anew)"
            refused_attempt(journal, id_, _NOBODY, event, why + (last if self._kept == _MOST_KEPT else ""))


def offered(
    terminal: Callable[[], AtTerminal],
    tell: Callable[[str], bool],
    clock: Callable[[], float],
    randomness: Callable[[int], bytes],
) -> Acting:
    """Acting for whoever is at the terminal; where nobody is, it is not offered, and says why."""
    try:
        why = terminal().doubt  # a code on a terminal that an agent can build proves nobody
    except Refusal as error:
        why = error.message
    message = f"The dashboard shows, and does nothing: {why[:1].lower()}{why[1:]}"
    hint = "To act here, a person starts `ralph serve` in a terminal of their own, outside of any container."
    refusal = Refusal("person_needed", message, hint) if why else None
    logins, codes = Codes(clock, randomness, most=6, tries=5), Codes(clock, randomness, most=60)
    return Acting(terminal, tell, logins, codes, Browsers(clock, randomness), refusal)


class Hands(msgspec.Struct, frozen=True):
    """What the moves need: the repository, who the person is, and drivers."""

    acting: Acting
    journal: Journal
    state_directory: Path
    work_tree: Path | None
    settings: Settings
    environment: Mapping[str, str]
    drivers: Drivers

    @property
    def root(self) -> Path:
        if self.work_tree is None:
            raise NotFound("no_repository", "This repository has no work tree.", "Serve a clone of it.")
        return self.work_tree

    @property
    def actor(self) -> Actor:
        """The person whose terminal it is; refuses where nobody is there any more."""
        return web_actor(self.acting.terminal().actor)

    def context(self) -> DriverContext:
        """Where moves are made; nothing is driven in it."""
        never = threading.Event()
        return DriverContext(
            journal=self.journal,
            root=self.root,
            state_directory=self.state_directory,
            settings=self.settings,
            environment=dict(self.environment),
            report=lambda what: None,
            stop=never,
            pausing=never,
            wait=lambda seconds: None,
        )

    def directory_of(self, thread: Thread) -> Path:
        """Where a thread works."""
        return thread.directory(self.state_directory.parent, self.root)

    def gate(self, id_: str, event: str) -> GateView | None:
        """Return what would be asked for a move of a thread now; it writes nothing."""
        return gate_at(self.context(), id_, event)

    def person(self, id_: str, event: str, typed: str) -> Person:
        """The person, with what they typed to pass a gate."""
        acting = self.acting
        return Person(self.actor, lambda: ByCode(acting.terminal(), acting.codes, (id_, event), typed), lambda: True)

    def ask(self, id_: str, gate: GateView) -> None:
        """Print a code for exactly this on the person's terminal."""
        self.acting.terminal()
        if not ask(self.acting.codes, self.acting.tell, id_, gate):
            raise Refusal("person_needed", "There is no terminal to print a code on.", "Start `ralph serve` anew.")
