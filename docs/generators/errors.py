"""The catalogue of errors and the exit statuses, from `interlock.errors` and the manual."""

from __future__ import annotations

from docs.generators.markdown import codes, prose, table
from interlock.errors import CODES, Exit
from interlock.faces.cli.manual import EXITS

__all__ = ["catalogue", "exits"]


def catalogue() -> str:
    """A heading for each code, with its exit status and its meaning."""
    parts: list[str] = []
    for name, (status, meaning) in CODES.items():
        parts += [f"## {name}", f"{prose(meaning)} Exit status {int(status)}."]
    return "\n\n".join(parts)


def exits() -> str:
    """Every exit status, and the codes that lead to it."""
    return table(
        [
            {
                "status": f"`{int(status)}`",
                "name": status.name.lower().replace("_", " "),
                "meaning": EXITS[status],
                "codes": codes(name for name, (leads_to, _) in CODES.items() if leads_to is status),
            }
            for status in Exit
        ]
    )
