"""`ralph log`: what happened, and what happens."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from interlock.errors import UsageError
from interlock.faces.cli.command import CommandCall, Verb, positive
from interlock.faces.cli.entries import entry_data, show_entry
from interlock.faces.cli.place import DATABASE_URL, journal_path, opened, readable
from interlock.faces.cli.styled import Text
from interlock.journal import unknown_instance
from interlock.work.inspection.references import meant

if TYPE_CHECKING:
    from interlock.journal import Entry, Journal
    from interlock.work.inspection.causes import Basis
    from interlock.work.inspection.time_travel import Moment

__all__ = ["VERBS"]

_TAIL = 50
_MOST = 10**9
_POLL_SECONDS = 0.2


def _log(call: CommandCall) -> None:
    if call.arguments.at is not None:
        _at(call)
        return
    if call.arguments.follow:
        _follow(call)
        return
    with opened(call) as journal:
        if journal is None and call.arguments.instance:
            raise unknown_instance(call.arguments.instance)
        entries = _last(journal, call) if journal else []
        machines = journal.machine_names(list({one.instance for one in entries})) if journal else {}
    call.output.result([entry_data(entry) for entry in entries], lambda: _show(call, entries, machines))


def _last(journal: Journal, call: CommandCall) -> list[Entry]:
    most: int = call.arguments.number
    if call.arguments.instance:
        return journal.history(meant(journal, call.arguments.instance).id)[-most:]
    return journal.entries(max(0, journal.head() - most), most=most)


def _show(call: CommandCall, entries: list[Entry], machines: dict[str, str]) -> None:
    if not entries:
        call.output.message("Nothing has happened here yet.")
        return
    for entry in entries:
        show_entry(call.output, entry, machines.get(entry.instance, "?"))


# One of them, as it stood


def _at(call: CommandCall) -> None:
    from interlock.faces.cli.moment_pages import basis_data, moment_data
    from interlock.work.inspection.causes import basis_of
    from interlock.work.inspection.record_caches import RecordCaches
    from interlock.work.inspection.time_travel import moment_of

    if call.arguments.follow:
        message = "`--at` looks at what was, and `-f` at what happens."
        raise UsageError("usage", message, "Give one of them.")
    if not call.arguments.instance:
        message = "`--at` counts the entries of one instance, and none was named."
        raise UsageError("usage", message, "Name it: `ralph log INSTANCE --at N`; `ralph status` shows what there is.")
    with readable(call) as place:
        moment = moment_of(place.journal, meant(place.journal, call.arguments.instance).id, call.arguments.at)
        basis = basis_of(place.journal, RecordCaches(), moment.entry)
    changes = [asdict(one) for one in moment.changes]
    data = {**moment_data(moment), "entry": entry_data(moment.entry), "changes": changes, "basis": basis_data(basis)}
    call.output.result(data, lambda: _show_moment(call, moment, basis))


def _show_moment(call: CommandCall, moment: Moment, basis: Basis) -> None:
    from interlock.faces.cli.looks import state_text
    from interlock.faces.cli.moment_pages import (
        basis_lines,
        change_lines,
        counter_lines,
        entry_lines,
        proof_lines,
        way_lines,
    )

    instance, entry = moment.instance, moment.entry
    say = call.output.print
    say(Text(f"{instance.machine} …{instance.id[-6:]} after entry {entry.version} of {instance.version}", "bold"))
    outcome = f"  ended as {moment.snapshot.outcome}" if moment.snapshot.outcome else ""
    say(state_text(moment.machine, moment.snapshot.state).append(outcome))
    sections = (
        ("", counter_lines(moment)),
        ("What this entry said", chain(entry_lines(moment, entry, call.output.width), basis_lines(basis))),
        ("What it changed besides", change_lines(moment.changes)),
        ("Valid then", proof_lines(moment)),
        ("The way there, newest first", way_lines(moment, moment.way[::-1][: call.arguments.number])),
    )
    for heading, lines in sections:
        for place, line in enumerate(lines):
            if not place and heading:
                say(Text(f"\n{heading}", "bold"))
            say(line)


def _follow(call: CommandCall) -> None:
    _wait_for_journal(call)
    with opened(call) as journal:
        assert journal is not None  # it was waited for
        instance = meant(journal, call.arguments.instance).id if call.arguments.instance else None
        shown = _last(journal, call)
        after = shown[-1].seq if shown else 0
        machine_of = cache(lambda reference: journal.instance(reference).machine)
        for entry in chain(shown, journal.follow(after, instance=instance)):
            if call.output.json:
                call.output.line(entry_data(entry))
            else:
                show_entry(call.output, entry, machine_of(entry.instance))
            call.output.stdout.flush()


def _wait_for_journal(call: CommandCall) -> None:
    """Following begins before anything has happened: wait for the first command that writes."""
    path = journal_path(call)
    while not path.exists() and not call.environment.get(DATABASE_URL):
        time.sleep(_POLL_SECONDS)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "instance", nargs="?", type=_reference, help="an id, the last 4 or more characters of one, or a ticket's number"
    )
    parser.add_argument("--at", type=positive, metavar="N", help="the instance as it stood after its entry N, and why")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what happens, until Ctrl+C")
    parser.add_argument("-n", "--number", metavar="N", type=_positive, default=_TAIL, help="how many of the last ones")


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        raise ArgumentTypeError(f"{text[:20]!r} is no number of entries")
    return int(text) if len(text) < len(str(_MOST)) else _MOST


def _reference(text: str) -> str:
    """An id as people paste it: with the dots that `ralph log` shortens it by, or in capitals."""
    return text.removeprefix("…").lower()


VERBS = (Verb("", "what happened, oldest first, and with -f what happens", _log, _arguments),)
