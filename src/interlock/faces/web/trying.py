"""The program that checks a machine of somebody's own, in a process of its own: text on stdin, JSON on stdout.

Text can be made so that reading, checking or drawing it takes forever, or all memory. A process can be ended, and the
system holds it to its limits; a thread cannot be and is not.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from typing import Any, Final

import msgspec

from interlock.errors import InterlockError, InvalidMachine
from interlock.faces.drawing.svg import svg
from interlock.faces.web.portraits import portrait_of, report_of
from interlock.machine import Machine, load_shipped
from interlock.machine.check import check
from interlock.machine.compile import compile_machine
from interlock.machine.load import parse
from interlock.machine.override import WARNINGS, parse_override

__all__ = ["main", "tried"]

_BYTES: Final = 1 << 30
_CPU_SECONDS: Final = 10
_MOST_CONFIGURATIONS: Final = 20_000
_MOST_DRAWN: Final = 150
"""A machine of more states is told in tables only: nobody could read the picture."""
_MOST_TRANSITIONS: Final = 3_000


def main() -> None:
    """Check what is on stdin."""
    for limit, most in ((resource.RLIMIT_AS, _BYTES), (resource.RLIMIT_CPU, _CPU_SECONDS)):
        with suppress(ValueError, OSError):  # a system that knows it not, or allows less
            resource.setrlimit(limit, (most, most))
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(msgspec.json.encode(tried(text)))


def tried(text: str) -> dict[str, Any]:
    """A machine's tables, picture and report; or why it is none."""
    try:
        machine, warnings = _read(text)
        if len(machine.transitions) > _MOST_TRANSITIONS:
            message = f"It has {len(machine.transitions):,} transitions, and {_MOST_TRANSITIONS:,} are checked here."
            raise InvalidMachine("machine_invalid", message, "`ralph machine check FILE` has the time for it.")
        report = report_of(check(machine, _MOST_CONFIGURATIONS), warnings)
        drawing = svg(machine, is_styled=False) if len(machine.states) <= _MOST_DRAWN else ""
        return {"machine": portrait_of(machine), "report": report, "drawing": drawing}
    except InterlockError as error:
        return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    except (MemoryError, RecursionError):
        message = "It takes more memory than there is for it here."
        hint = "`ralph machine check FILE` takes as much as it needs."
        return {"error": {"code": "machine_invalid", "message": message, "hint": hint}}


def _read(text: str) -> tuple[Machine, frozenset[str]]:
    """The machine, and which findings are only warnings: those that are in the nature of the source system's form."""
    if text.lstrip()[:1] == "{":
        return parse_override(text, "the text", load_shipped("ticket").form), frozenset(WARNINGS)
    return compile_machine(parse(text, "the text")), frozenset()


if __name__ == "__main__":
    main()
