"""The journals that this user trusts, and the key that they trust for each: small files in their own state directory.

A journal says which commands are run, and a clone or an archive can bring one along with settings that another
person accepted. So a journal counts only for the user who trusted it, at the path where they did.
Plain text paths and few imports: the hook asks before it believes a journal.
"""

from __future__ import annotations

import os
import stat
from binascii import crc32

from interlock.world.user_state import user_state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_trusted", "remember_key", "remembered_key", "trust"]

_DIRECTORY = "trusted"
_KEYS = "keys"
_MOST = 16_384


def is_trusted(environment: Mapping[str, str], state_directory: str, journal: str) -> bool:
    """True if this user trusts the journal with this id in this state directory."""
    name, wanted = _entry(state_directory, journal)
    return _read(environment, _DIRECTORY, name) == wanted


def trust(environment: Mapping[str, str], state_directory: str, journal: str) -> None:
    """Remember that this user trusts a journal. Raises OSError if that cannot be stored."""
    _store(environment, _DIRECTORY, *_entry(state_directory, journal))


def remembered_key(environment: Mapping[str, str], state_directory: str, journal: str) -> str | None:
    """Return the fingerprint of the first key that this user trusted in a journal; None if there was none."""
    name, entry = _entry(state_directory, journal)
    found = _read(environment, _KEYS, name)
    return found[len(entry) :].decode("ascii", "replace").strip() or None if found.startswith(entry) else None


def remember_key(environment: Mapping[str, str], state_directory: str, journal: str, fingerprint: str) -> None:
    """Remember the first key that this user trusts in a journal; later ones are vouched for by it. Raises OSError."""
    if remembered_key(environment, state_directory, journal) is None:
        name, entry = _entry(state_directory, journal)
        _store(environment, _KEYS, name, entry + fingerprint.encode("ascii") + b"\n")


def _read(environment: Mapping[str, str], directory: str, name: str) -> bytes:
    """The content of a file of the user's own; empty if there is none."""
    path = os.path.join(user_state_directory(environment), directory, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(descriptor)
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        return os.read(descriptor, _MOST) if is_own else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _store(environment: Mapping[str, str], kind: str, name: str, content: bytes) -> None:
    base = user_state_directory(environment)
    directory = os.path.join(base, kind)
    for one in (base, directory):
        os.makedirs(one, mode=0o700, exist_ok=True)
        os.chmod(one, 0o700)
    scratch = os.path.join(directory, f".{name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
        os.rename(scratch, os.path.join(directory, name))
    except OSError:
        os.unlink(scratch)
        raise
    finally:
        os.close(descriptor)


def _entry(state_directory: str, journal: str) -> tuple[str, bytes]:
    """The name and the content of a file: the whole content is compared, the name only has to differ."""
    path = os.fsencode(os.path.realpath(state_directory))
    if not (journal.isalnum() and journal.isascii()) or len(journal) > 64:
        raise ValueError(f"{journal[:80]!r} is not the id of a journal")
    return f"{journal}-{crc32(path):08x}", b"%s\n%s\n" % (journal.encode(), path)
