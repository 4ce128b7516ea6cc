"""The shipped files beside the definitions, read without loading a machine."""

from __future__ import annotations

import json
import os.path
from typing import Any

__all__ = ["schema_text", "summaries"]

# Not pathlib: `ralph machine list` reads one file and should not spend half its time on importing.
_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "machine", "definitions")


def summaries() -> list[dict[str, Any]]:
    """The machines that come with Interlock, in a line each; generated, and tested to be current."""
    found: list[dict[str, Any]] = json.loads(_read("index.json"))
    return found


def schema_text() -> str:
    """The JSON Schema of a machine file."""
    return _read("machine.schema.json")


def _read(name: str) -> str:
    with open(os.path.join(_DIRECTORY, name), encoding="utf-8") as file:
        return file.read()
