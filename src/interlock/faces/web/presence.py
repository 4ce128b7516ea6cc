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
from interlock.work.threads.verbs import Confirmation
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
        self.codes.take(self.purpose, about(Confirmation(shown, question, word)), self.typed)
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        """Signed at the terminal of the server, as its person would there."""
        return self.terminal.sign(statement, keys)


def web_actor(actor: Actor) -> Actor:
    return Actor(ActorKind.HUMAN, actor.id, Channel.WEB)


def about(question: Confirmation) -> str:
    """What a code is bound to: the choice, the hash of what is approved, and every byte that was shown."""
    parts = (question.word, question.text, digest_of(question.shown))
    return digest_of("\0".join(parts))


def ask(codes: Codes, tell: Callable[[str], bool], purpose: tuple[str, str], question: Confirmation) -> bool:
    """Print what is asked with a new code for it; whether there is a terminal to print it on."""
    code = codes.issue(purpose, about(question))
    last = f"To {question.word}, type this code into the page, once, within ten minutes: {code}"
    return tell(f"{framed(question.shown)}{question.text}\nshown {digest_of(question.shown)}\n{last}\n")
