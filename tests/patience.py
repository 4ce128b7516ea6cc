"""How long a test waits for anything: only what hangs takes so long, however busy the machine is."""

from __future__ import annotations

__all__ = ["MILLISECONDS", "SECONDS"]

SECONDS = 180.0
MILLISECONDS = 1000 * SECONDS
"""The same for a browser."""
