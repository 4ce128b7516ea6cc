"""`ralph demo`: a whole ticket through the five machines, in a temporary directory."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, Tampered
from interlock.faces.cli.command import Call, Verb
from interlock.faces.cli.output import clean
from interlock.journal import Journal, open_journal
from interlock.work.demo import Heading, Move, Refused, play
from interlock.world.repository import STATE_DIRECTORY, exclude_state

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["VERBS"]

_WHO = {"human": ("person", "green"), "agent": ("agent", "yellow"), "system": ("system", "cyan")}


def _demo(call: Call) -> None:
    if shutil.which("git") is None:
        raise InterlockError("git_missing", "The demo needs git, and there is none.", "Install git, then try again.")
    directory = Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    subprocess.run(["git", "init", "-q", str(directory)], check=True, capture_output=True)
    exclude_state(directory)
    journal = open_journal(directory / STATE_DIRECTORY / "journal.db")
    try:
        data = _perform(call, journal, directory)
    finally:
        journal.close()
    if call.output.json:
        call.output.result(data, lambda: None)


def _perform(call: Call, journal: Journal, directory: Path) -> dict[str, Any]:
    console = call.output.console()
    moves, refusals = 0, []
    began = time.perf_counter()
    for scene in play(journal):
        moves += isinstance(scene, Move)
        if isinstance(scene, Refused):
            refusals.append({"event": scene.event.name, "code": scene.error.code, **scene.error.details})
        if not call.output.json:
            _show(console, scene)
    spent = time.perf_counter() - began
    problems = journal.verify()
    if problems:
        raise Tampered("journal_tampered", problems[0].message, f"Look at {directory}.")
    if not call.output.json:
        _close(console, moves, len(refusals), spent, directory)
    ends = {one.machine: {"state": one.state, "outcome": one.outcome} for one in journal.instances()}
    return {"moves": moves, "refused": refusals, "ends": ends, "verified": True, "directory": str(directory)}


def _show(console: Console, scene: Heading | Move | Refused) -> None:
    from rich.text import Text

    if isinstance(scene, Heading):
        console.print()
        console.print(Text(scene.text, "bold"))
    elif isinstance(scene, Move):
        _show_move(console, scene)
    else:
        _show_refused(console, scene)


def _show_move(console: Console, scene: Move) -> None:
    from rich.text import Text

    entry = scene.recorded.entry
    word, color = _WHO[entry.actor_kind]
    way = (
        f"in {entry.to_state}"
        if entry.from_state == entry.to_state
        else f"{entry.from_state or '·'} → {entry.to_state}"
    )
    line = Text.assemble(
        (f"  {scene.machine:<13}", "magenta"), f"{way:<46}", (f"{entry.event:<23}", "bold"), (word, color)
    )
    if scene.recorded.snapshot.outcome:
        line.append(f"  ends: {scene.recorded.snapshot.outcome}", "bold")
    console.print(line)
    if scene.recorded.warning or entry.off_path:
        console.print(Text(f"  {'':<13}⚠ {clean(scene.recorded.warning or 'off the path')}", "yellow"))


def _show_refused(console: Console, scene: Refused) -> None:
    from rich.text import Text

    told = Text.assemble((f"  {scene.machine:<13}", "magenta"), ("✗ refused ", "bold red"), scene.error.message)
    console.print(told, soft_wrap=True)
    options: dict[str, list[str]] = {}
    for one in scene.error.details["allowed"]:
        options.setdefault(f"{one['event']} → {one['to']}", []).extend(one["by"])
    listed = ", ".join(
        f"{option} ({', '.join(dict.fromkeys(_WHO[kind][0] for kind in by))})" for option, by in options.items()
    )
    console.print(Text(f"  {'':<13}  allowed instead: {listed}", "dim"), soft_wrap=True)


def _close(console: Console, moves: int, refused: int, spent: float, directory: Path) -> None:
    from rich.text import Text

    console.print()
    said = f"✓ {moves} moves in {spent:.2f} s, each on disk before the next; {refused} refused; the journal verifies."
    console.print(Text(said, "bold green"))
    console.print(Text(f"  Look at it: cd {directory} && ralph log", "dim"), soft_wrap=True)
    console.print(Text("  The directory is only for looking at, and can be deleted.", "dim"))


VERBS = (Verb("", "play a whole ticket through the five machines, in a temporary directory", _demo),)
