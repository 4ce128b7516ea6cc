"""Pid namespaces for tests, where this machine lets us make them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from patience import SECONDS

__all__ = ["UNSHARE", "needs_namespaces"]

UNSHARE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""What comes before a command that is to be the first process of a pid namespace of its own."""


def _can_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, timeout=SECONDS, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not _can_unshare(), reason="no pid namespace can be made on this machine")
