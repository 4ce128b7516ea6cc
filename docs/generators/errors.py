"""The catalogue of errors and the exit statuses, from `interlock.errors`."""

from __future__ import annotations

from docs.generators.markdown import codes, prose, table
from interlock.errors import CODES, Exit

__all__ = ["catalogue", "exits"]

_STATUSES = {
    Exit.OK: "It was done.",
    Exit.FAILURE: "It failed, for a reason that none of the others names.",
    Exit.REFUSED: "A machine refused the move. Nothing was written.",
    Exit.AUTHENTICATION: "An agent or a service did not accept the credentials.",
    Exit.PERSON_NEEDED: "Only a person can go on.",
    Exit.HELD: "Somebody else holds the lock or the lease.",
    Exit.VERIFICATION_FAILED: "A machine is not sound, or the journal does not hold.",
    Exit.USAGE: "The call itself is wrong.",
    Exit.TRY_AGAIN: "The same call may succeed later.",
    Exit.INTERRUPTED: "It was stopped by Ctrl+C.",
}


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
                "meaning": _STATUSES[status],
                "codes": codes(name for name, (leads_to, _) in CODES.items() if leads_to is status),
            }
            for status in Exit
        ]
    )
