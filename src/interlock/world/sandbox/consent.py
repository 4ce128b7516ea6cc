"""The person's consent that agents may run without a sandbox on this machine, in their own state directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from interlock.world.ancestry import host
from interlock.world.files import read_file, write_bytes
from interlock.world.user_state import user_state_directory

__all__ = ["agree", "consent_file", "has_agreed"]

_NAME: Final = "unconfined"


def consent_file(environment: Mapping[str, str]) -> Path:
    """Return the file of the consent; removing it withdraws the consent."""
    return Path(user_state_directory(environment)) / _NAME


def has_agreed(environment: Mapping[str, str]) -> bool:
    """True if this user has agreed on this machine; a home directory may be shared with others."""
    return read_file(consent_file(environment)) == _content()


def agree(environment: Mapping[str, str]) -> None:
    """Remember that this user agrees. Raises OSError if that cannot be stored."""
    path = consent_file(environment)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_bytes(path, _content())


def _content() -> bytes:
    return f"{host()}\n".encode()
