"""PURE but for what it remembers: one-time codes. Each is for one thing, for a while, for a few tries, and once.

Whoever can read the terminal knows the code; a request alone proves nothing. Clock and randomness are passed in.
"""

from __future__ import annotations

import hmac
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final

import msgspec

from interlock.errors import Refusal

__all__ = ["LETTERS", "Codes", "made_of", "plain"]

LETTERS: Final = "23456789BCDFGHJKMNPQRSTVWXYZ"
"""What codes are made of: nothing that looks like something else, and no vowels, so that no word comes out."""
_LENGTH: Final = 8
_LIFE_SECONDS: Final = 600.0


class _Code(msgspec.Struct):
    text: str
    about: str
    until: float
    tries: int


class Codes(msgspec.Struct):
    """The codes of one server; each purpose has one at a time."""

    clock: Callable[[], float]
    """Seconds that only go forwards."""
    randomness: Callable[[int], bytes]
    most: int
    """How many are made in ten minutes, for all purposes together."""
    tries: int = 3
    _codes: dict[Hashable, _Code] = msgspec.field(default_factory=dict)
    _made: deque[float] = msgspec.field(default_factory=deque)
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def issue(self, purpose: Hashable, about: str) -> str:
        """A new code for a purpose and exactly this; the one before it is void."""
        with self._lock:
            now = self.clock()
            while self._made and self._made[0] <= now - _LIFE_SECONDS:
                self._made.popleft()
            if len(self._made) >= self.most:
                wait = int(self._made[0] + _LIFE_SECONDS - now) + 1
                message = f"{self.most} codes were asked for in the last ten minutes."
                raise Refusal("code_limited", message, f"Ask again in {wait} s.")
            self._made.append(now)
            self._codes = {key: one for key, one in self._codes.items() if one.until > now}
            code = made_of(self.randomness)
            self._codes[purpose] = _Code(code, about, now + _LIFE_SECONDS, self.tries)
            return code

    def waits(self, purpose: Hashable, about: str) -> bool:
        """Whether a code was made for exactly this that can still be used."""
        with self._lock:
            known = self._codes.get(purpose)
            return known is not None and known.about == about and known.until > self.clock()

    def take(self, purpose: Hashable, about: str, typed: str) -> None:
        """Use a code, which is then gone. Refuses what is wrong, used, too old, or was made for something else."""
        with self._lock:
            known = self._codes.get(purpose)
            if known is None or known.until <= self.clock():
                self._codes.pop(purpose, None)
                raise _refusal("no code is waited for: it was used, it is too old, or none was asked for")
            known.tries -= 1
            if known.tries <= 0:
                del self._codes[purpose]
            if not hmac.compare_digest(plain(typed).encode(), plain(known.text).encode()):
                left = f"{known.tries} tries are left" if known.tries > 0 else "that was the last try, and it is void"
                raise _refusal(f"the code is wrong; {left}")
            self._codes.pop(purpose, None)
            if known.about != about:
                raise _refusal("the code was made for something else: what it is about has changed since")


def made_of(randomness: Callable[[int], bytes]) -> str:
    """A code of letters that are equally likely, in two halves."""
    found = ""
    while len(found) < _LENGTH:
        # Bytes beyond the last whole run of the letters are thrown away: else the first letters came more often.
        found += "".join(LETTERS[one % len(LETTERS)] for one in randomness(16) if one < 256 - 256 % len(LETTERS))
    return f"{found[: _LENGTH // 2]}-{found[_LENGTH // 2 : _LENGTH]}"


def plain(typed: str) -> str:
    """A code as people type it, as it is compared."""
    return "".join(one for one in typed[:100].upper() if one.isalnum())


def _refusal(why: str) -> Refusal:
    return Refusal("code_refused", f"Not done: {why}.", "Ask for a new code; it is printed where `ralph serve` runs.")
