"""PURE. Which paths a glob means: `*` within a name, `**` across directories, a plain path also what is below it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["matching"]


def matching(path: str, globs: Iterable[str]) -> str | None:
    """The first of the globs that means a path, if one does."""
    return next((glob for glob in globs if _pattern(glob).fullmatch(path)), None)


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    whole = glob.strip().removeprefix("./").rstrip("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", whole)
    meant = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
