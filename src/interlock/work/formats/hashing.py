"""PURE. The hash by which a file, or a text that is written into one, is known again."""

from __future__ import annotations

import hashlib

__all__ = ["sha256_of"]


def sha256_of(content: str | bytes) -> str:
    """The hash of a file's bytes; a text that was read of them has the same, whatever they were."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    return hashlib.sha256(data).hexdigest()
