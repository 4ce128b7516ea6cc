"""Drivers of runs, each in a process of its own, which is killed at the n-th moment at which it would change the world.

    python -m work.orchestration.mortal_runs

A line of JSON on stdin is one driver: `root`, `settings`, `verb` and `text` (what a person says), `since` (how often
they have said it before), `until` and `moves` (the state at which it rests, or how many moves it has made then),
`clock` (nanoseconds), `number` (of the line), and `dies`, the number of the moment or null. Said again after a death,
it is the verb again, as a person would say it again, or, where the journal has it, only the driver again. The answer is
a line of JSON: `code`, `moments`, `error`, and the `number`. Each driver is a child of this process: what they all
import is imported once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.context import DriverContext
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.reading import MACHINE, known_run
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import add, begin_goal, resume, resume_directory, roles_of, stop
from interlock.world.agents.happenings import Said
from mortality import Fate, MortalStore, watch
from work.threads.benches import Bench, somebody
from work.threads.mortal_verbs import READING

__all__ = ["AT_WORK"]

AT_WORK = "at work"
"""What an agent or a verifier says that waits to be killed; then the number of its driver is answered at once."""
PERSON = Actor(ActorKind.HUMAN, "ada@example.org", Channel.TEST)


def _said(journal: Journal, verb: str) -> int:
    """How often somebody has said something, as the journal has it."""
    runs = [journal.history(one.id) for one in journal.instances(MACHINE)]
    notes = [one.decoded_evidence().data.get("type") for run in runs for one in run if one.event == "noted"]
    if verb == "add":
        return sum(one.event == "requirements_added" for run in runs for one in run)
    return notes.count("stopped") if verb == "stop" else len(runs)


def _say(context: DriverContext, options: dict[str, Any]) -> str:
    """What a person says; gives the run that it is about."""
    journal, verb, text = context.journal, options["verb"], options["text"]
    is_said = _said(journal, verb) > options["since"]
    if verb == "begin" and not is_said:
        return begin_goal(context, text, roles_of(context, {}))
    if verb == "resume directory" and not is_said:
        return resume_directory(context, text, roles_of(context, {})) or ""
    run = known_run(journal)
    if verb == "add" and not is_said:
        add(journal, PERSON, run, text)
    elif verb == "stop" and not is_said:
        stop(journal, PERSON, run, text)
    elif verb == "resume" or (is_said and verb != "stop" and run.outcome != "failure"):
        return _resume(context, run, text if verb == "resume" and text not in run.wishes else "")
    return run.id


def _resume(context: DriverContext, run: Run, wish: str) -> str:
    """Go on with a run; that there is nothing to go on with is no fault here."""
    try:
        return resume(context, somebody(PERSON), run, wish)
    except Refusal as refusal:
        if refusal.code != "terminal":
            raise
        return ""


def _has_moved(journal: Journal, run: Run, often: int) -> bool:
    return 0 < often <= sum(one.event != "noted" for one in journal.history(run.id))


def _drive(options: dict[str, Any], fate: Fate) -> None:
    root, clock = Path(options["root"]), int(options["clock"])
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options["settings"].items()}
    bench = Bench(root, settings=given)
    bench.state_directory.mkdir(exist_ok=True)
    journal = Journal(MortalStore(bench.state_directory / "journal.db", lambda: clock, fate), now=lambda: clock)

    def hear(told: object) -> None:
        if isinstance(told, Said) and told.text.strip() == AT_WORK:
            _answer({AT_WORK: os.getpid(), "number": options["number"]})
        elif isinstance(told, Run) and (told.state == options["until"] or _has_moved(journal, told, options["moves"])):
            bench.pausing.set()

    bench.hear = hear
    context = bench.context(journal)
    watch(fate)
    id_ = _say(context, options)
    if id_ and options["verb"] != "stop":
        drive(replace(context, is_child=True), id_)  # that it is paused here and gone on with is not recorded


def _child(options: dict[str, Any], told: Path) -> None:
    fate = Fate(Path(options["root"]), options["dies"], READING)
    error = ""
    try:
        _drive(options, fate)
    except InterlockError as refused:
        error = f"{refused.code}: {refused.message} {refused.hint}"
    except BaseException:
        error = traceback.format_exc()
    told.write_text(json.dumps({"moments": fate.lived, "error": error}))
    os._exit(bool(error))


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        told = Path(directory) / "told"
        for line in sys.stdin:
            told.write_text('{"moments": [], "error": "killed"}')
            child = os.fork()
            if not child:
                os.setpgid(0, 0)
                _child(json.loads(line), told)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            _answer({**json.loads(told.read_text()), "code": code, "number": json.loads(line)["number"]})


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
