"""The browsers that are known: the person's, by secrets in memory only, and those that brought the token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response

__all__ = ["Browsers", "FlashMessage", "Passes", "cookie_name"]

_LIFE_SECONDS: Final = 12 * 3600.0
_MOST: Final = 100


class FlashMessage(msgspec.Struct, frozen=True):
    """What came of something that was done in a browser; its next page shows it, once."""

    message: str
    hint: str = ""
    is_error: bool = True


class _Browser(msgspec.Struct):
    until: float
    told: FlashMessage | None = None


class Browsers(msgspec.Struct):
    """The browsers that were let in since the server began."""

    clock: Callable[[], float]
    randomness: Callable[[int], bytes]
    _known: dict[bytes, _Browser] = msgspec.field(default_factory=dict)

    def admit(self) -> str:
        """A secret for one more browser; the oldest is forgotten where there are very many."""
        secret = self.randomness(32).hex()
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[_name(secret)] = _Browser(self.clock() + _LIFE_SECONDS)
        return secret

    def knows(self, secret: str | None) -> bool:
        return self._find(secret) is not None

    def forget(self, secret: str | None) -> None:
        if secret is not None:
            self._known.pop(_name(secret), None)

    def tell(self, secret: str | None, told: FlashMessage) -> None:
        """Keep something for the next page of a browser; nobody else sees it."""
        found = self._find(secret)
        if found is not None:
            found.told = told

    def told(self, secret: str | None) -> FlashMessage | None:
        """What a browser is to be told, once."""
        found = self._find(secret)
        if found is None:
            return None
        told, found.told = found.told, None
        return told

    def _find(self, secret: str | None) -> _Browser | None:
        found = self._known.get(_name(secret)) if secret else None
        return found if found is not None and found.until > self.clock() else None


class Passes(msgspec.Struct, frozen=True):
    """Cookies that stand for the token: made from it, so that a server which is started again still knows them.

    They let a browser look and nothing more, so they are sent with links from other sites, too.
    """

    token: str
    clock: Callable[[], float]
    """Seconds since 1970."""

    def holds(self, given: str) -> bool:
        """True if this is the token itself."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8", "replace"))

    def give(self, answer: Response, scope: Mapping[str, Any]) -> Response:
        """The answer with the cookie for a browser that brought the token."""
        until = str(int(self.clock() + _LIFE_SECONDS))
        value = f"{until}.{self._seal(scope, until)}"
        answer.set_cookie(cookie_name(scope, "token"), value, path="/", httponly=True, samesite="lax")
        return answer

    def knows(self, cookies: Mapping[str, str], scope: Mapping[str, Any]) -> bool:
        """True if a browser brought the token to this server before, and not too long ago."""
        until, _, seal = cookies.get(cookie_name(scope, "token"), "").partition(".")
        if not (until.isascii() and until.isdigit() and len(until) < 16 and seal.isascii()):
            return False
        return hmac.compare_digest(seal, self._seal(scope, until)) and int(until) > self.clock()

    def _seal(self, scope: Mapping[str, Any], until: str) -> str:
        said = f"{cookie_name(scope, 'token')} until {until}"
        return hmac.new(self.token.encode("utf-8", "replace"), said.encode(), hashlib.sha256).hexdigest()


def _name(secret: str) -> bytes:
    """Looked up by its hash, so that how long it takes says nothing of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def cookie_name(scope: Mapping[str, Any], what: str) -> str:
    """The name of a cookie: browsers keep them by host alone, and several servers may be on one.

    The port is the one that the browser asked for, which a forwarded port may differ from.
    """
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    port = host.rpartition(":")[2]
    return f"interlock-{what}-{port if port.isascii() and port.isdigit() else 80}"
