"""Whether an agent could not begin because of the schema that its answer should have."""

from __future__ import annotations

from typing import Final

from interlock.world.agents.result import Ending, Result

__all__ = ["refuses_schema"]

_ABOUT: Final = ("json-schema", "json_schema", "output-schema", "output_schema", "response_format", "text.format")
_REFUSALS: Final = ("unknown", "unexpected", "unrecognized", "unsupported", "not support", "invalid", "not a valid")


def refuses_schema(result: Result) -> bool:
    """Whether a run that did nothing failed because its agent, or the service behind it, takes no such schema.

    An older version does not know the option, a newer one may read schemas more strictly, and not every service has
    what the option needs. Whoever asks in the prompt as well can do without.
    """
    if result.ending not in (Ending.FAILED, Ending.NEEDS_PERSON):
        return False
    lines = [line.casefold() for line in result.last_lines]
    return any(any(name in line for name in _ABOUT) and any(word in line for word in _REFUSALS) for line in lines)
