"""`ralph journal`: the journal as a whole."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn, TextIO

import msgspec

from interlock.errors import Tampered, UsageError
from interlock.faces.cli.command import Call, Verb
from interlock.faces.cli.entries import entry_data
from interlock.faces.cli.output import clean
from interlock.faces.cli.place import journal_path, opened
from interlock.journal import Problem
from interlock.work.tickets.shelf import TICKETS

__all__ = ["VERBS"]


def _verify(call: Call) -> None:
    with opened(call) as journal:
        problems = journal.verify(TICKETS) if journal else []
        entries = journal.head() if journal else 0
        instances = len(journal.instances()) if journal else 0
    if problems:
        _refuse(call, problems)
    said = f"✓ {entries} entries of {instances} instances: the chain holds and every move is in its table."
    if journal is None:
        said = f"There is no journal yet; {journal_path(call)} is made by the first command that writes."
    call.output.result({"entries": entries, "instances": instances}, lambda: call.output.text(said))


def _refuse(call: Call, problems: list[Problem]) -> NoReturn:
    if not call.output.json:
        for problem in problems:
            call.output.text(f"✗ {problem.code}: {clean(problem.message)}")
    plural = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    hint = "Keep the file as it is, and compare it with a backup or an export."
    details = {"problems": [asdict(problem) for problem in problems]}
    raise Tampered(
        "journal_tampered", f"The journal does not hold: {plural}, first: {problems[0].message}.", hint, details
    )


def _export(call: Call) -> None:
    target: Path | None = call.arguments.output
    with opened(call) as journal, _sink(call, target) as sink:
        lines = 0
        for entry in journal.all_entries() if journal else ():
            sink.write(msgspec.json.encode(entry_data(entry)).decode() + "\n")
            lines += 1
    if target:
        data = {"entries": lines, "file": str(target)}
        call.output.result(data, lambda: call.output.text(f"✓ {lines} entries in {target}"))


def _sink(call: Call, target: Path | None) -> AbstractContextManager[TextIO]:
    if target is None:
        return nullcontext(call.output.stdout)
    try:
        return target.open("x", encoding="utf-8")
    except FileExistsError:
        raise UsageError("file_exists", f"{target} exists already.", "Name a new file.") from None
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}."
        raise UsageError("invalid_argument", message, "Name a file in a directory that you may write to.") from None


def _rebuild(call: Call) -> None:
    with opened(call) as journal:
        count = journal.rebuild() if journal else 0
    said = f"✓ {count} instances made anew from their entries." if journal else "There is no journal yet."
    call.output.result({"instances": count}, lambda: call.output.text(said))


def _export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to a new file instead of stdout")


VERBS = (
    Verb("verify", "check the chain and every rule again, from the entries alone; exit 7 where they fail", _verify),
    Verb(
        "export",
        "write every entry as a line of JSON",
        _export,
        _export_arguments,
        ("ralph journal export --output all.jsonl",),
    ),
    Verb("rebuild", "make all projections anew from the entries", _rebuild),
)
