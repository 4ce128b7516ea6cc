"""The log of a run: everything that was printed, as it comes, without secrets, and never larger than its limit."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Self

from interlock.world.redaction import redacted

__all__ = ["Stretch", "Transcript"]

_HELD = 1024 * 1024
"""How much of a line without an end is held at the most."""
_OVERLAP = 4096
"""No secret is longer, so none is cut in two that begins within so much of the end."""
_STEPS = 8
_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY = 64 * 1024


class Stretch:
    """One stream's text, released in whole lines, each of them redacted.

    A line that does not end is released in pieces, and a private key of many lines in one.
    """

    def __init__(self, held: int = _HELD) -> None:
        self._most = held
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown of the text so far, and was not yet."""
        self._held += text
        whole, end, rest = self._held.rpartition("\n")
        key = whole.rfind("-----BEGIN ")
        if key >= 0 and self._is_open(key):
            whole, end, rest = whole[:key], "", self._held[key:]
        shown = redacted(whole) + end if whole or end else ""
        self._held = rest
        return shown + (self._cut() if len(rest) > self._most else "")

    def _is_open(self, key: int) -> bool:
        """Whether a private key begins here whose end has not come yet, and may still."""
        held = self._held
        return len(held) - key < _LONGEST_KEY and bool(_KEY.match(held, key)) and "-----END " not in held[key:]

    def end(self) -> str:
        """What was held to the end."""
        shown, self._held = redacted(self._held), ""
        return shown

    def _cut(self) -> str:
        """All but the end of what is held, cut where no secret is cut."""
        whole = redacted(self._held)
        for step in range(1, _STEPS + 1):
            tail = self._held[-_OVERLAP * step :]
            shown = redacted(tail)
            if whole.endswith(shown):
                self._held = tail
                return whole[: len(whole) - len(shown)]
        self._held = ""
        return whole


class Transcript:
    """A log file. Lines are only added: what other runs left in it stays, and is not counted against the limit.

    What does not fit is counted, and the log says once that it goes on.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._file: int | None = None
        self._written = 0
        self._sum = hashlib.sha256()
        self.is_full = False
        self.trouble = ""
        """Why the log ends early, where it does."""

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._file = os.open(self._path, flags, 0o600)
        except OSError as error:
            self._fail(error)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None

    @property
    def sha256(self) -> str:
        """The hash of what was added. What was there before may be of any size, and an agent's: it is not read."""
        return self._sum.hexdigest()

    def write(self, text: str) -> None:
        """Add to the log; where that cannot be done, the log ends and the run goes on."""
        if self.is_full or not text:
            return
        data = text.encode("utf-8", "replace")
        if self._written + len(data) > self._limit:
            self.is_full = True
            self.trouble = f"The log ends early: it has reached its limit of {self._limit} bytes."
            kept = data[: self._limit - self._written].decode("utf-8", "ignore")
            data = f"{kept}\n[{self.trouble}]\n".encode()
        try:
            self._put(data)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.is_full = True
        self.trouble = f"The log ends early: it cannot be written, {error.strerror}."

    def _put(self, data: bytes) -> None:
        assert self._file is not None
        rest = memoryview(data)
        while rest:
            written = os.write(self._file, rest)
            self._sum.update(rest[:written])
            self._written += written
            rest = rest[written:]
