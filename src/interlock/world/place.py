"""The place of a run: a host, the ref and the commit that it builds on, and a path below the repository's base."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.decoding import convert

__all__ = ["Place"]


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something works. It holds no absolute path, so that a repository can be moved or cloned elsewhere."""

    path: str = "."
    """Relative to the base, the directory that holds the state directory; entries of earlier versions are absolute."""
    host: str = ""
    ref: str = ""
    commit: str = ""

    @classmethod
    def at(cls, base: Path, directory: Path, host: str, ref: str = "", commit: str = "") -> Place:
        """The place of a directory of this host."""
        return cls(os.path.relpath(directory, base), host, ref, commit)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Place | None:
        """The place that an entry names, also in the form of earlier versions; None if it names none."""
        if "place" in data:
            return convert(data["place"], cls)
        return cls(data["work_tree"]) if data.get("work_tree") else None

    def directory(self, base: Path) -> Path:
        """The directory here; of an entry of an earlier version, the path that it names."""
        return Path(os.path.normpath(base / self.path))
