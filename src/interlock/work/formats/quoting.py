"""PURE. What others wrote, made fit to be shown: it cannot end the block that it is in, nor move a cursor."""

from __future__ import annotations

import re

from interlock.world.characters import is_hidden

__all__ = ["fenced", "sayable", "shown"]


def fenced(kind: str, text: str) -> str:
    """A block of code that nothing in the text can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def shown(path: str, most: int = 500) -> str:
    """A path as a text can hold it: git gives every byte of a name, and an agent chooses its names."""
    whole = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join("\ufffd" if is_hidden(one) else one for one in whole)[:most]


def sayable(text: str, most: int = 9000) -> str:
    """What agents and programs said, as a reason: its beginning, without what a terminal would obey."""
    return "".join(one if one in "\n\t" or not is_hidden(one) else " " for one in text[:most])
