"""SHA-256 without `hashlib`, which loads OpenSSL: that takes a third of the time of starting Python.

It is for what every command hashes, such as definitions; `hashlib` is faster where much is hashed.
"""

from __future__ import annotations

try:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # since Python 3.12
    except ImportError:
        from hashlib import sha256

__all__ = ["sha256_hex"]


def sha256_hex(content: bytes) -> str:
    """The SHA-256 of some bytes in hexadecimal digits."""
    return str(sha256(content).hexdigest())
