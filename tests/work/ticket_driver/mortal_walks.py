"""A whole walk in a process of its own, which is killed at the n-th moment at which it would change the world.

    python -m work.ticket_driver.mortal_walks ROOT OPTIONS

Options are JSON: `settings`, `outside` (what the environment has besides), `asks` (whether somebody is there to be
asked), and `dies`, the number of the moment or null. A request to the board is a moment, before it is sent and after it
was answered. Where the ticket waits to be merged, somebody merges it, and it is walked on. It prints every moment that
it lived through, a line each.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from interlock.journal.journal import Journal
from interlock.work.ticket_driver.loop import drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from mortality import LIVED, Fate, MortalStore, say, watch
from work.threads.mortal_verbs import PERSON, READING
from work.ticket_driver.ways import NUMBER, Way

_MERGES = "fetch"
"""What git does for whoever merges: not ours, and nobody kills it."""


def _watch_requests(fate: Fate) -> None:
    from interlock.world.github.transport import Transport  # where there is no board, it is not needed

    post = Transport._post

    def watched(self: Transport, content: bytes) -> Any:
        fate.moment("request")
        answer = post(self, content)
        fate.moment("answered")
        return answer

    Transport._post = watched  # type: ignore[method-assign]


def main(root: Path, options: dict[str, Any]) -> None:
    fate = Fate(root, options["dies"], READING | {_MERGES})
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options["settings"].items()}
    way = Way(root, settings=given, hear=_tell, outside=options["outside"])
    journal = Journal(MortalStore(way.state_directory / "journal.db", time.time_ns, fate))
    watch(fate)
    if options["outside"]:
        _watch_requests(fate)
    context = way.context(journal)
    choices = Choices(asks=options["asks"])
    walked = drive_ticket(context, NUMBER, PERSON, choices)
    if walked.ticket.state == "In Review":
        [thread] = journal.instances("thread")
        way.git(_MERGES, "-q", ".", f"ralf/{thread.id}:main")
        walked = drive_ticket(context, NUMBER, PERSON, choices)
    journal.close()
    say(walked.stop.why)
    for one in fate.lived:
        say(f"{LIVED}{one}")


def _tell(what: object) -> None:
    if isinstance(what, str):
        sys.stderr.write(f"{what}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
