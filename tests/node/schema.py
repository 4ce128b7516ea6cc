"""GitHub's published GraphQL schema, asked through its own implementation in a process of Node.js."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from node.tools import NODE, environment, packages

__all__ = ["Schema"]

_BESIDE = Path(__file__).parent / "github"


class Schema:
    """Called with a request and its answer it says what about them is against the schema; for any thread."""

    def __init__(self) -> None:
        modules = packages(_BESIDE).parent
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [f"{NODE}/bin/node", _BESIDE / "check.mjs", modules],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        """It is read before the first request: that takes longer than a client waits for an answer."""
        self({"document": "{ viewer { login } }", "variables": {}, "data": {"viewer": {"login": "ann"}}})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(request) + "\n")
            answer: Mapping[str, Any] = json.loads(self._process.stdout.readline())
        return answer
