"""What a refusal or a failure must look like."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from interlock.errors import CODES, InterlockError

__all__ = ["code_of", "failed", "failed_to_open"]


def code_of(work: Callable[[], object]) -> str | None:
    """The code with which some work failed, or nothing where it did not."""
    try:
        work()
    except InterlockError as error:
        return error.code if error.hint else f"{error.code} without a hint"
    return None


def failed(work: Callable[[], object], *codes: str) -> InterlockError:
    """The error of work that must fail with one of some codes, and say what to do next."""
    with pytest.raises(InterlockError) as failure:
        work()
    error = failure.value
    assert error.code in CODES
    assert error.code in codes, f"{error.code}: {error.message}"
    assert error.message
    assert error.hint
    return error


def failed_to_open(opening: Callable[[], object], *codes: str) -> InterlockError:
    """The error of a journal that must not open; what was opened on the way must be closed again."""
    error = failed(opening, *codes).with_traceback(None)
    error.__cause__ = error.__context__ = None
    gc.collect()  # a connection that is left open warns when it is collected, and a warning is an error
    return error
