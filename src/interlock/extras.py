"""What an extra would bring, and how it is installed where this runs."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

__all__ = ["how_to_install"]

_NAME = "interlock"


def how_to_install(extra: str) -> str:
    """The line that installs what an extra brings, into the environment that this runs in."""
    wanted = " ".join(f"'{one}'" for one in _requirements(extra)) or f"'{_NAME}[{extra}]'"
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"pipx inject {_NAME} {wanted}"
    if find_spec("pip") is None:
        return f"uv pip install --python {sys.executable} {wanted}"
    return f"{sys.executable} -m pip install {wanted}"


def _requirements(extra: str) -> list[str]:
    """What the extra has, as this installation says; its own name could be another project's in an index."""
    try:
        listed = requires(_NAME) or []
    except PackageNotFoundError:
        return []
    parts = [one.partition(";") for one in listed]
    return [what.strip() for what, _, when in parts if f"extra == '{extra}'" in when.replace('"', "'")]
