"""What agents print, as people read it: their words and the tools they use, out of the log of a run.

The log has all that was printed, in each agent's own form. Whoever reads it in its middle begins at the next line.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Instance, Journal
from interlock.world.agents.agent import Reader, Reply
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.catalogue import AGENTS, find_agent
from interlock.world.agents.happenings import Failure, Finished, Happening, Said, UsedTool, Warned
from interlock.world.folder import Folder

__all__ = ["TAIL", "RunLog", "Spoken", "newest_log", "spoken", "tail_of"]

TAIL: Final = 64 * 1024
"""How much of the end of a log is looked at."""
_MOST_LINES: Final = 200
_TEST: Final = "test-"
_LONGEST: Final = 2000
_ANYTHING: Final = {"command": "true", "script": "none"}
"""What agents are made of that are only read, and never started."""


class Spoken(msgspec.Struct, frozen=True):
    """A line of what an agent said or did."""

    kind: str
    """`said`, `tool`, `warned` or `ended`; `printed` is what nobody understood."""
    text: str


class RunLog(msgspec.Struct, frozen=True):
    """A log of what was run for a loop."""

    name: str
    """Relative to the state directory."""
    said_by: str
    """The role of the agent, or the name of the test."""
    agent: str | None
    """The agent in whose form it is written; None for a test."""


def newest_log(journal: Journal, state_directory: Path, instance: Instance) -> RunLog | None:
    """Return the newest log of a story loop or a run; None if there is none.

    The session of the last run names its log. The logs of tests are beside it.
    """
    latest = [one.id for one in journal.recent("session", 1, parent=instance.id)]
    begun = [one.decoded_evidence().data for one in journal.first_entries(latest).values()]
    stored = next((str(one["log"]) for one in begun if one.get("log")), "")
    directory = stored.rpartition("/")[0] if stored else _earlier_directory(instance)
    names = [name for name in Folder(state_directory).names(directory) if name.endswith(".log")]
    if not names:
        return None
    said_by = max(names).removesuffix(".log").partition("-")[2]
    agent = None if said_by.startswith(_TEST) else next((str(one.get("agent") or "") for one in begun), None)
    return RunLog(f"{directory}/{max(names)}", said_by, agent)


def _earlier_directory(instance: Instance) -> str:
    """The directory of the logs of a version that did not store their names."""
    return f"runs/{instance.id}" if instance.machine == "story" else f"runs/orchestrate-{instance.id[-8:]}"


def tail_of(state_directory: Path, name: str) -> bytes:
    """The end of a log; nothing where it cannot be read."""
    try:
        return Folder(state_directory).tail(name, TAIL) or b""
    except InterlockError:
        return b""


def spoken(tail: bytes, agent: str | None) -> list[Spoken]:
    """The last lines of what an agent said, by the end of its log."""
    if len(tail) >= TAIL:
        tail = tail.partition(b"\n")[2] or tail
    reader = _reader(agent)
    found = [one for line in tail.splitlines() for one in _line(reader, line)]
    return found[-_MOST_LINES:]


def _reader(agent: str | None) -> Reader | None:
    name = (agent or "").partition(":")[0]
    if name not in AGENTS:
        return None
    nowhere = Assignment(prompt="", directory=Path(), log=Path(), environment={})
    return find_agent(name, _ANYTHING).reader(nowhere, lambda: datetime.now(UTC))


def _line(reader: Reader | None, line: bytes) -> Iterator[Spoken]:
    told = [one for one in reader.read(line) if not isinstance(one, Reply)] if reader is not None else []
    known = [words for one in told for words in _words(one)]
    if known:
        for kind, text in known:
            yield from (Spoken(kind, part[:_LONGEST]) for part in text.splitlines() or [""])
    elif not told and line.strip() and (reader is None or not line.lstrip().startswith(b"{")):
        yield Spoken("printed", line.decode("utf-8", "replace")[:_LONGEST])


def _words(happening: Happening) -> Iterator[tuple[str, str]]:
    match happening:
        case Said(text):
            yield "said", text
        case UsedTool(name, about):
            yield "tool", " ".join(f"{name} {about}".split())
        case Warned(text):
            yield "warned", text
        case Failure(said=said):
            yield "warned", f"a limit is reached: {said}"
        case Finished(is_ok, said):
            yield "ended", "it has ended" if is_ok else f"it failed: {said}"
