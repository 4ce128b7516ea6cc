"""The manifest of what the seeds require, `requirements.toml`, as values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

__all__ = ["ENTRIES", "REQUIREMENTS", "TRANSITIONS", "Requirement", "carried"]

Requirement = dict[str, Any]

_MANIFEST: dict[str, list[Requirement]] = tomllib.loads(Path(__file__).with_name("requirements.toml").read_text())

ENTRIES = _MANIFEST["entry"]
"""What stands at a path in a machine's file, as a whole (`is`) or in parts (`has`)."""
TRANSITIONS = _MANIFEST["transition"]
"""The moves of a machine: `from`, `to` and `on`, and `when`, of which the row may ask for more."""
REQUIREMENTS = [one for kind in _MANIFEST.values() for one in kind]
"""All of them; the others say what a system does, and are held by tests all over the tree that carry the id."""


def carried(requirements: list[Requirement]) -> list[ParameterSet]:
    """A case for each requirement, tagged with its id."""
    return [pytest.param(one, id=one["id"], marks=pytest.mark.requirement(one["id"])) for one in requirements]
