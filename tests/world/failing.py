"""An operating system that fails, for what keeps files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from interlock.world import files, folder

__all__ = ["FailingSystem", "failing"]

CALLS = (
    "open",
    "write",
    "fsync",
    "replace",
    "link",
    "mkdir",
    "fchmod",
    "rename",
    "unlink",
    "ftruncate",
    "pread",
    "stat",
)


class FailingSystem:
    """The operating system, whose n-th call of ours fails; with a full disk, a write takes half of its bytes first."""

    def __init__(self, fails_at: int, error: BaseException | Callable[[], None]) -> None:
        self._fails_at = fails_at
        self._error = error
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._counted(name, found) if name in CALLS else found

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls != self._fails_at:
                return call(*arguments, **options)
            if name == "write":
                call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if isinstance(self._error, BaseException):
                raise self._error
            return self._error()

        return counted


def failing(patch: pytest.MonkeyPatch, at: int, error: BaseException | Callable[[], None]) -> FailingSystem:
    """Let the n-th call fail that the modules which keep files make."""
    system = FailingSystem(at, error)
    patch.setattr(files, "os", system)
    patch.setattr(folder, "os", system)
    return system
