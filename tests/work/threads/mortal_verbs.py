"""One verb of a person in a process of its own, which is killed at the n-th moment at which it would change the world.

    python -m work.threads.mortal_verbs ROOT OPTIONS

Options are JSON: `verb`, `since` (the version of the thread before the verb was first tried), `settings`, `rests`
(whether Ctrl+C was pressed), and `dies`, the number of the moment or null. Tried again after a death, it is the verb
again, as a person would say it again, or, where the journal has it, only the driver again. It prints every moment that
it lived through, a line each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interlock.errors import InterlockError
from interlock.journal.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person
from interlock.work.gates.trust import Key
from interlock.work.threads.dialogue import polish
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.verbs import act, new_thread, open_checkout, pause, revise_spec
from interlock.world.ssh import Signature
from mortality import LIVED, Fate, MortalStore, say, watch
from work.threads.benches import SPEC, Bench

__all__ = ["READING"]

READING = frozenset(
    (
        *("cat-file", "check-attr", "config", "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref", "log"),
        *("ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "show", "status", "var", "version"),
        *("check-ref-format", "update-index", "write-tree"),
    )
)
"""What git does without changing anything that another process reads: an index here is a private one, and an object
that nobody names is nothing."""


class Somebody:
    """Whoever says yes to everything: nobody can be staged in a repository that another process made."""

    actor = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)

    def enter(self, journal: Journal) -> None:
        """They may be asked about every journal."""

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return True

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        return None


PERSON = Person(Somebody.actor, Somebody, lambda: True)


def _begin(context: DriverContext) -> str:
    """The only thread of the journal, made where it is not there, with its spec."""
    there = context.journal.instances("thread")
    id_ = there[0].id if there else new_thread(context, PERSON.actor, "Greet people", "methodical").id
    revise_spec(context, id_, PERSON.actor, SPEC)
    return id_


def _say(context: DriverContext, id_: str, verb: str) -> None:
    match verb:
        case "drive":
            return
        case "pause":
            pause(context, id_, PERSON)
        case "ask for polish":
            polish(context, id_, "write down what it does")
        case "edit":
            open_checkout(context, id_, PERSON)
        case "undo":
            undo_reset(context, read_thread(context.journal, id_))
        case _:
            act(context, id_, PERSON, verb, reason="it was said so")


def _is_said(journal: Journal, id_: str, verb: str, since: int) -> bool:
    """Whether the journal has it that somebody said this."""
    later = [one for one in journal.history(id_) if one.version > since]
    if verb == "ask for polish":
        told = [one.decoded_evidence().data for one in later]
        return any((one.get("type"), one.get("role")) == ("iteration", "polisher") for one in told)
    return any(one.event == verb and one.actor_kind == "human" for one in later)


def _tell(what: object) -> None:
    if isinstance(what, str):
        sys.stderr.write(f"{what}\n")


def main(root: Path, options: dict[str, Any]) -> None:
    fate = Fate(root, options["dies"], READING)
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options["settings"].items()}
    bench = Bench(root, settings=given, hear=_tell)
    bench.state_directory.mkdir(exist_ok=True)
    if options["rests"]:
        bench.pausing.set()
    journal = Journal(MortalStore(bench.state_directory / "journal.db", time.time_ns, fate))
    context, verb = bench.context(journal), options["verb"]
    watch(fate)
    if verb == "new":
        _begin(context)
    else:
        id_ = journal.instances("thread")[0].id
        if not _is_said(journal, id_, verb, options["since"]):
            _say(context, id_, verb)
        if verb != "undo":
            drive(context, id_)
    for moment in fate.lived:
        say(f"{LIVED}{moment}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), json.loads(sys.argv[2]))
    except InterlockError as error:
        sys.exit(f"{error.code}: {error.message} {error.hint}")
