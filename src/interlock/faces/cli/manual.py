"""What the help of each command says beyond its arguments: one TOML file a noun, read where help is asked for.

The keys at the top of a file are for the noun itself, its tables for its verbs. A test holds that each command has a
page, that each example parses, and that what is referred to is there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from interlock.errors import Exit

__all__ = ["EXITS", "ManualPage", "pages"]

_TEXTS: Final = Path(__file__).with_name("manual")

EXITS: Final[Mapping[Exit, str]] = {
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
"""What each exit status means, whichever command it is of."""
_ANYWHERE: Final = (Exit.OK, Exit.FAILURE, Exit.USAGE)


class ManualPage(NamedTuple):
    """What is told of one command."""

    about: tuple[str, ...]
    """Paragraphs."""
    examples: tuple[tuple[str, str], ...]
    """What to type, and what it does."""
    exits: Mapping[Exit, str]
    environment: Mapping[str, str]
    see: tuple[str, ...]
    """Commands that belong to it, without `ralph`."""
    document: str
    """The page of the docs that tells more; of a noun only."""


@cache
def pages(noun: str) -> Mapping[str, ManualPage]:
    """The pages of a noun by verb; its own has the empty name."""
    found = tomllib.loads((_TEXTS / f"{noun}.toml").read_text(encoding="utf-8"))
    verbs = {name: one for name, one in found.items() if isinstance(one, dict) and name not in ("exits", "environment")}
    return {"": _page(found)} | {name: _page(one) for name, one in verbs.items()}


def _page(found: Mapping[str, Any]) -> ManualPage:
    own = {Exit(int(status)): str(text) for status, text in found.get("exits", {}).items()}
    statuses = sorted({*_ANYWHERE, *own})
    return ManualPage(
        about=tuple(" ".join(one.split()) for one in found["about"].strip().split("\n\n")),
        examples=tuple((line, told) for line, told in found.get("examples", ())),
        exits={status: own.get(status, EXITS[status]) for status in statuses},
        environment=found.get("environment", {}),
        see=tuple(found.get("see", ())),
        document=found.get("document", ""),
    )
