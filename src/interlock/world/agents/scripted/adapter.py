"""How the player of scripts is started and read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from interlock.world.agents.agent import Launch, Now, Reader
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import (
    ContextUsed,
    Cost,
    Failure,
    FailureKind,
    Finished,
    Happening,
    Said,
    Usage,
    UsedTool,
)
from interlock.world.agents.scripted.__main__ import steps_of_run
from interlock.world.agents.wire import amount, count, decoded, words

__all__ = ["Scripted", "ScriptedReader"]

_PLAYER = str(Path(__file__).with_name("__main__.py"))


class Scripted(msgspec.Struct, frozen=True):
    """The agent that plays a script."""

    script: Path
    name: str = "scripted"

    def launch(self, assignment: Assignment) -> Launch:
        """A sandbox gets the steps of this run alone: the script may lie where nothing of it is shown."""
        script, files = self.script, dict[Path, str]()
        if assignment.is_confined:
            with suppress(OSError, ValueError, LookupError, TypeError):  # the player says what is wrong
                steps = steps_of_run(str(script))
                script = assignment.log.with_name("script.json")
                files[script] = json.dumps({"iterations": [steps]})
        argv = (sys.executable, "-I", "-S", _PLAYER, str(script), *assignment.arguments)
        return Launch(argv, assignment.prompt.encode("utf-8", "replace"), files=files)

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return ScriptedReader()


class ScriptedReader:
    """Reads the player's own lines: objects with one key."""

    def read(self, line: bytes) -> Iterator[Happening]:
        match decoded(line):
            case {"said": str(text)}:
                yield Said(text)
            case {"tool": dict(tool)}:
                yield UsedTool(words(tool.get("name")), words(tool.get("about")))
            case {"usage": dict(used)}:
                yield Usage(*(count(used.get(name)) for name in ("input", "output", "cached")))
            case {"cost": cost} if (usd := amount(cost)) is not None:
                yield Cost(usd)
            case {"context": context} if (percent := amount(context)) is not None:
                yield ContextUsed(percent)
            case {"limit": {"kind": str(kind), **more}} if kind in set(FailureKind):
                yield Failure(FailureKind(kind), amount(more.get("until")), words(more.get("said")))
            case {"finished": bool(ok)}:
                yield Finished(ok)

    def end(self, exit_code: int | None) -> Iterator[Happening]:
        return iter(())
