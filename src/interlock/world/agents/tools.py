"""What a call of a tool is about, in a few words, whichever agent's tool it is."""

from __future__ import annotations

from typing import Any

from interlock.world.agents.wire import words

__all__ = ["about"]

_TELLING = "command cmd file_path filePath path absolute_path pattern query url description prompt".split()
_WIDTH = 200


def about(arguments: Any) -> str:
    """The argument that tells most: a command, a path, a pattern; else the first text."""
    if not isinstance(arguments, dict):
        return ""
    told = [words(arguments.get(name)) for name in _TELLING] + [words(value) for value in arguments.values()]
    return " ".join(next((text for text in told if text), "").split())[:_WIDTH]
