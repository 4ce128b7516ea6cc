"""Markdown, made so that no cell can break its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["code", "codes", "fence", "fill", "listed", "prose", "table"]

_WIDE = frozenset(
    {
        "after",
        "because",
        "before",
        "codes",
        "description",
        "ends because",
        "meaning",
        "needs, requires",
        "on entry",
        "why",
    }
)
"""Columns of sentences, which the style sheet keeps from being squeezed."""
_CODE = re.compile(r"(`[^`]*`)")


def code(text: object) -> str:
    """Text as code, and nothing for nothing."""
    return f"`{text}`" if text not in (None, "") else ""


def codes(texts: Iterable[object]) -> str:
    return ", ".join(code(text) for text in texts)


def listed(texts: Iterable[str]) -> str:
    """Several sentences in one cell."""
    return "; ".join(texts)


def prose(text: str | None) -> str:
    """Text from a definition: what looks like a tag or a link is shown as it is, what is code stays code."""
    parts = _CODE.split(text or "")
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return re.sub(r"([\[\]*_])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table with a column for each key; a column that is empty in every row is left out."""
    columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    heads = [f'<span class="wide">{name}</span>' if name in _WIDE else name for name in columns]
    lines = [heads, ["---"] * len(columns), *([_cell(row[name]) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def fence(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def fill(page: str, name: str, body: str) -> str:
    """A page with its generated block `name` made anew."""
    before, begin, rest = page.partition(f"<!-- generated: {name} -->\n")
    _, end, after = rest.partition("<!-- end -->\n")
    if not begin or not end:
        raise LookupError(f"the page has no block {name!r}")
    return f"{before}{begin}\n{body.strip()}\n\n{end}{after}"
