"""The shipped files beside the definitions, read without loading a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["DIRECTORY", "schema_text", "summaries"]

DIRECTORY = Path(__file__).parent.parent / "machine" / "definitions"


def summaries() -> list[dict[str, Any]]:
    """The machines that come with Interlock, in a line each; generated, and tested to be current."""
    found: list[dict[str, Any]] = json.loads((DIRECTORY / "index.json").read_text(encoding="utf-8"))
    return found


def schema_text() -> str:
    """The JSON Schema of a machine file."""
    return (DIRECTORY / "machine.schema.json").read_text(encoding="utf-8")
