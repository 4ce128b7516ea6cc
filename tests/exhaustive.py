"""Whether everything is tried that `make test` only samples: `make test-exhaustive` sets this.

A test of a large table or of many moments carries the mark `exhaustive`, draws from it with a seed, and goes through
all of it where this says so.
"""

from __future__ import annotations

import os

__all__ = ["EXHAUSTIVE", "examples"]

EXHAUSTIVE = os.environ.get("RALPH_TEST_EXHAUSTIVE") == "1"


def examples(many: int) -> int:
    """How many examples a property is tried with: all of them, or a tenth."""
    return many if EXHAUSTIVE else max(1, many // 10)
