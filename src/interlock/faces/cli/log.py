"""`ralph log`: what happened, and what happens."""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from interlock.faces.cli.command import Call, Verb
from interlock.faces.cli.entries import entry_data, show_entry
from interlock.faces.cli.place import DATABASE_URL, journal_path, opened
from interlock.journal import unknown_instance

if TYPE_CHECKING:
    from interlock.journal import Entry, Journal

__all__ = ["VERBS"]

_TAIL = 50
_MOST = 10**9
_POLL_SECONDS = 0.2


def _log(call: Call) -> None:
    if call.arguments.follow:
        _follow(call)
        return
    with opened(call) as journal:
        if journal is None and call.arguments.instance:
            raise unknown_instance(call.arguments.instance)
        entries = _last(journal, call) if journal else []
        machines = {one.id: one.machine for one in journal.instances()} if journal else {}
    call.output.result([entry_data(entry) for entry in entries], lambda: _show(call, entries, machines))


def _last(journal: Journal, call: Call) -> list[Entry]:
    most: int = call.arguments.number
    if call.arguments.instance:
        return journal.history(call.arguments.instance)[-most:]
    return journal.entries(max(0, journal.head() - most), most=most)


def _show(call: Call, entries: list[Entry], machines: dict[str, str]) -> None:
    if not entries:
        call.output.message("Nothing has happened here yet.")
        return
    console = call.output.console()
    for entry in entries:
        show_entry(console, entry, machines.get(entry.instance, "?"))


def _follow(call: Call) -> None:
    _wait_for_journal(call)
    with opened(call) as journal:
        assert journal is not None  # it was waited for
        instance = journal.instance(call.arguments.instance).id if call.arguments.instance else None
        shown = _last(journal, call)
        after = shown[-1].seq if shown else 0
        console = call.output.console()
        machine_of = cache(lambda reference: journal.instance(reference).machine)
        for entry in chain(shown, journal.follow(after, instance=instance)):
            if call.output.json:
                call.output.line(entry_data(entry))
            else:
                show_entry(console, entry, machine_of(entry.instance))
            call.output.stdout.flush()


def _wait_for_journal(call: Call) -> None:
    """Following begins before anything has happened: wait for the first command that writes."""
    path = journal_path(call)
    while not path.exists() and not call.environment.get(DATABASE_URL):
        time.sleep(_POLL_SECONDS)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "instance", nargs="?", type=_reference, help="an instance's id, or the last 4 or more characters of it"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what happens, until Ctrl+C")
    parser.add_argument("-n", "--number", type=_positive, default=_TAIL, help=f"how many of the last ones ({_TAIL})")


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and text.strip("0")):
        raise ArgumentTypeError(f"{text[:20]!r} is no number of entries")
    return int(text) if len(text) < len(str(_MOST)) else _MOST


def _reference(text: str) -> str:
    """An id as people paste it: with the dots that `ralph log` shortens it by, or in capitals."""
    return text.removeprefix("…").lower()


_EXAMPLES = ("ralph log", "ralph log -f", "ralph log 3azdq -n 5")
VERBS = (Verb("", "what happened, oldest first, and with -f what happens", _log, _arguments, _EXAMPLES),)
