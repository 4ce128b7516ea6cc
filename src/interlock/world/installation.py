"""The random id of this user's installation: it tells machines apart that were copied from one image.

It is not a secret and opens nothing. Containers with one mounted home share it, so it counts only together with the
machine's id, its boot and the pid namespace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from interlock.world.user_state import user_state_directory

__all__ = ["installation_id"]

_FILE = "installation"
_LENGTH = 32


def installation_id(environment: Mapping[str, str]) -> str:
    """Return the id, made where there is none yet; empty where it can be neither read nor kept."""
    path = Path(user_state_directory(environment)) / _FILE
    return _read(path) or _made(path)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
    return text if len(text) == _LENGTH and text.isalnum() else ""


def _made(path: Path) -> str:
    """Make the id under another name first, so that nobody reads half of it; the first of several stays."""
    scratch = path.with_name(f"{_FILE}.{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123 with its mode
            file.write(f"{os.urandom(_LENGTH // 2).hex()}\n")
        with suppress(FileExistsError):
            path.hardlink_to(scratch)
    except OSError:
        return ""
    finally:
        with suppress(OSError):
            scratch.unlink()
    return _read(path)
