"""Whose browser it is: secrets that are kept in memory only, and end with the server; and what each is told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Browsers", "Told", "cookie_name"]

_LIFE_SECONDS: Final = 12 * 3600.0
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Told:
    """What came of something that was done in a browser; its next page shows it, once."""

    message: str
    hint: str = ""
    is_error: bool = True


@dataclass(slots=True)
class _Browser:
    until: float
    told: Told | None = None


@dataclass(slots=True)
class Browsers:
    """The browsers that were let in since the server began."""

    clock: Callable[[], float]
    randomness: Callable[[int], bytes]
    _known: dict[bytes, _Browser] = field(default_factory=dict)

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

    def tell(self, secret: str | None, told: Told) -> None:
        """Keep something for the next page of a browser; nobody else sees it."""
        found = self._find(secret)
        if found is not None:
            found.told = told

    def told(self, secret: str | None) -> Told | None:
        """What a browser is to be told, once."""
        found = self._find(secret)
        if found is None:
            return None
        told, found.told = found.told, None
        return told

    def _find(self, secret: str | None) -> _Browser | None:
        found = self._known.get(_name(secret)) if secret else None
        return found if found is not None and found.until > self.clock() else None


def _name(secret: str) -> bytes:
    """Looked up by its hash, so that how long it takes says nothing of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def cookie_name(scope: Mapping[str, Any], what: str) -> str:
    """The name of a cookie: browsers keep them by host alone, and several servers may be on one."""
    return f"interlock-{what}-{(scope.get('server') or ('', 0))[1]}"
