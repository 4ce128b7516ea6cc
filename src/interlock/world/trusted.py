"""The journals that this user trusts: one small file for each, in the user's own state directory.

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

__all__ = ["is_trusted", "trust"]

_DIRECTORY = "trusted"
_MOST = 16_384


def is_trusted(environment: Mapping[str, str], state_directory: str, journal: str) -> bool:
    """True if this user trusts the journal with this id in this state directory."""
    name, wanted = _entry(state_directory, journal)
    path = os.path.join(user_state_directory(environment), _DIRECTORY, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        found = os.fstat(descriptor)
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        return is_own and os.read(descriptor, _MOST) == wanted
    except OSError:
        return False
    finally:
        os.close(descriptor)


def trust(environment: Mapping[str, str], state_directory: str, journal: str) -> None:
    """Remember that this user trusts a journal. Raises OSError if that cannot be stored."""
    name, content = _entry(state_directory, journal)
    base = user_state_directory(environment)
    directory = os.path.join(base, _DIRECTORY)
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
