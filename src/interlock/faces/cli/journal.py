"""`ralph journal`: the journal as a whole."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn, TextIO

import msgspec
from msgspec.structs import asdict

from interlock.errors import JournalError, Tampered, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.entries import entry_data
from interlock.faces.cli.output import clean
from interlock.faces.cli.place import journal_path, opened
from interlock.journal import Journal, Problem
from interlock.work.budget import RUNS_OF_AGENTS
from interlock.work.orchestration.ledger import RUNS
from interlock.work.settings.journal_trust import remembered_key
from interlock.work.telemetry.counters import COUNTERS
from interlock.work.tickets.ticket_table import TICKETS
from interlock.world.repository import state_directory

__all__ = ["VERBS"]


def _verify(call: CommandCall) -> None:
    fingerprint: str | None = call.arguments.key
    with opened(call) as journal:
        if journal is None:
            _nothing_to_verify(call, fingerprint)
            return
        counters = [COUNTERS] if journal.is_begun(COUNTERS) else []  # only where metrics are or were on
        problems = journal.verify(TICKETS, RUNS, RUNS_OF_AGENTS, *counters)
        fingerprint = fingerprint or remembered_key(journal, state_directory(call.directory), call.environment)
        forged = _forged(journal, fingerprint, is_sound=not problems)
        if problems or forged:
            _refuse(call, problems, forged)
        counts = {"entries": journal.head(), "instances": len(journal.instances()), **_gates(journal)}
    said = "✓ {entries} entries of {instances} instances: the chain holds and every move is in its table.\n"
    if counts["gates"]:
        said += "✓ {gates} times a gate or a key was approved, {signed} of them signed: every approval holds.\n"
    if fingerprint:
        said += f"✓ {fingerprint} vouches for all of them since it was enrolled.\n"
    call.output.result(counts, lambda: call.output.text(said.format(**counts)))


def _nothing_to_verify(call: CommandCall, fingerprint: str | None) -> None:
    if fingerprint is not None:
        _refuse(call, [], [Problem("key_unknown", f"there is no journal, and {fingerprint[:80]} is enrolled nowhere")])
    said = f"There is no journal yet; {journal_path(call)} is made by the first command that writes."
    call.output.result({"entries": 0, "instances": 0, "gates": 0, "signed": 0}, lambda: call.output.text(said))


def _forged(journal: Journal, fingerprint: str | None, *, is_sound: bool) -> list[Problem]:
    """What is wrong with the gates, as far as a journal that does not hold can be read."""
    from interlock.work.gates.audit import audit

    try:
        return audit(journal, fingerprint)
    except JournalError:
        if is_sound:
            raise
        return []


def _gates(journal: Journal) -> dict[str, int]:
    from interlock.work.gates.overview import overview

    passed = overview(journal).passed
    return {"gates": len(passed), "signed": sum(1 for one in passed if one.key)}


def _refuse(call: CommandCall, problems: list[Problem], forged: list[Problem]) -> NoReturn:
    found = problems + forged
    if not call.output.json:
        for problem in found:
            call.output.text(f"✗ {problem.code}: {clean(problem.message)}")
    plural = "one problem" if len(found) == 1 else f"{len(found)} problems"
    hint = "Keep the file as it is, and compare it with a backup or an export."
    details = {"problems": [asdict(problem) for problem in found]}
    message = f"The journal does not hold: {plural}, first: {found[0].message}."
    if problems:
        raise Tampered("journal_tampered", message, hint, details)
    raise Tampered("approval_invalid", message, hint, details)


def _export(call: CommandCall) -> None:
    target: Path | None = call.arguments.output
    with opened(call) as journal, _sink(call, target) as sink:
        lines = 0
        for entry in journal.all_entries() if journal else ():
            sink.write(msgspec.json.encode(entry_data(entry)).decode() + "\n")
            lines += 1
    if target:
        data = {"entries": lines, "file": str(target)}
        call.output.result(data, lambda: call.output.text(f"✓ {lines} entries in {target}"))


def _sink(call: CommandCall, target: Path | None) -> AbstractContextManager[TextIO]:
    if target is None:
        return nullcontext(call.output.stdout)
    try:
        made = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        return os.fdopen(made, "w", encoding="utf-8")
    except FileExistsError:
        raise UsageError("file_exists", f"{target} exists already.", "Name a new file.") from None
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}."
        raise UsageError("invalid_argument", message, "Name a file in a directory that you may write to.") from None


def _rebuild(call: CommandCall) -> None:
    with opened(call) as journal:
        count = journal.rebuild() if journal else 0
    said = f"✓ {count} instances made anew from their entries." if journal else "There is no journal yet."
    call.output.result({"instances": count}, lambda: call.output.text(said))


def _verify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        metavar="FINGERPRINT",
        help="your own key, SHA256:…: whatever comes after its enrolling must be signed by it or by one it vouched for",
    )


def _export_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to a new file instead of stdout")


VERBS = (
    Verb(
        "verify",
        "check everything again, from the entries alone",
        _verify,
        _verify_arguments,
    ),
    Verb(
        "export",
        "write every entry as a line of JSON",
        _export,
        _export_arguments,
    ),
    Verb("rebuild", "make all projections anew from the entries", _rebuild),
)
