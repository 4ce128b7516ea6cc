"""The third channel of the gates: a person who types into a page a code that only their terminal shows.

`ralph serve` runs at the person's terminal, which is found out anew each time. A request proves nothing, so a gate
needs the code, and where keys are enrolled the signature as well, which is made at that terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from interlock.faces.web.codes import Codes
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.gates.display import framed
from interlock.work.gates.presence import Presence
from interlock.work.gates.statement import digest_of
from interlock.work.gates.trust import Key
from interlock.work.views.gate import GateView
from interlock.world.ssh import Signature

__all__ = ["ByCode", "about", "ask", "web_actor"]


class ByCode(msgspec.Struct, frozen=True):
    """Somebody with a code for one event of one instance."""

    terminal: Presence
    """Who is at the terminal of the server."""
    codes: Codes
    purpose: tuple[str, str]
    """The instance and the event."""
    typed: str

    @property
    def actor(self) -> Actor:
        return web_actor(self.terminal.actor)

    def enter(self, journal: Journal) -> None:
        self.terminal.enter(journal)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        """Whether the code was made for exactly this text, question and word; refuses with why where it was not."""
        self.codes.take(self.purpose, about(word, question, shown), self.typed)
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        """Signed at the terminal of the server, as its person would there."""
        return self.terminal.sign(statement, keys)


def web_actor(actor: Actor) -> Actor:
    return Actor(ActorKind.HUMAN, actor.id, Channel.WEB)


def about(word: str, question: str, shown: str) -> str:
    """Return what a code is bound to: the choice, the hash of what is approved, and every byte that was shown."""
    return digest_of("\0".join((word, question, digest_of(shown))))


def ask(codes: Codes, tell: Callable[[str], bool], id_: str, gate: GateView) -> bool:
    """Print what is asked with a new code for it; False if there is no terminal to print it on."""
    code = codes.issue((id_, gate.event), about(gate.word, gate.question, gate.shown))
    last = f"To {gate.word}, type this code into the page, once, within ten minutes: {code}"
    return tell(f"{framed(gate.shown)}{gate.question}\nshown {digest_of(gate.shown)}\n{last}\n")
