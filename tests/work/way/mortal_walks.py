"""A whole walk in a process of its own, which is killed at the n-th moment at which it would change the world.

    python -m work.way.mortal_walks ROOT OPTIONS

Options are JSON: `settings`, and `dies`, the number of the moment or null. It prints every moment that it lived
through, a line each.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from interlock.journal.journal import Journal
from interlock.work.way.building import Choices
from interlock.work.way.walking import walk
from mortality import LIVED, Fate, MortalStore, say, watch
from work.threads.benches import Bench
from work.threads.mortal_verbs import PERSON, READING


def main(root: Path, options: dict[str, Any]) -> None:
    fate = Fate(root, options["dies"], READING)
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options["settings"].items()}
    bench = Bench(root, settings=given)
    journal = Journal(MortalStore(bench.state_directory / "journal.db", time.time_ns, fate))
    watch(fate)
    walked = walk(bench.workshop(journal), 1, PERSON, Choices(asks=True))
    journal.close()
    say(walked.stop.why)
    for one in fate.lived:
        say(f"{LIVED}{one}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
