"""`ralph demo`: a ticket from Backlog to a merged commit, in a temporary repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from interlock.errors import InterlockError, Refusal, Tampered
from interlock.faces.cli.board import show_board
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import Output, clean
from interlock.faces.cli.styled import Text
from interlock.journal import Journal, open_journal
from interlock.machine import load_shipped
from interlock.work.demo import (
    Hook,
    Hooked,
    Lookup,
    Project,
    Saw,
    Scene,
    SceneHeading,
    SceneMove,
    SceneRefusal,
    Showed,
    play,
)
from interlock.work.gates.audit import audit
from interlock.work.gates.presence import Presence, at_terminal
from interlock.work.gates.stage import stage, staged
from interlock.work.sessions.upkeep import take_in
from interlock.work.settings.journal_trust import truster
from interlock.work.tickets.dashboard import dashboard
from interlock.work.tickets.ticket_table import TICKETS
from interlock.world.repository import STATE_DIRECTORY, exclude_state

__all__ = ["VERBS"]

_WHO = {"human": ("person", "green"), "agent": ("agent", "yellow"), "system": ("system", "cyan")}


def _demo(call: CommandCall) -> None:
    if shutil.which("git") is None:
        raise InterlockError("git_missing", "The demo needs git, and there is none.", "Install git, then try again.")
    directory = stage(Path(tempfile.mkdtemp(prefix="interlock-demo-")))
    Project(directory).make()
    exclude_state(directory)
    state = directory / STATE_DIRECTORY
    journal = open_journal(state / "journal.db", created=truster(state, call.environment))
    try:
        data = _perform(call, journal, directory, _presence(call, directory))
    except Refusal as refusal:
        if refusal.code != "gate_declined":
            raise
        hint = f"Everything up to there is in {directory}; `ralph demo` plays it anew."
        raise Refusal("gate_declined", f"You did not pass the gate: {refusal.message}", hint) from None
    finally:
        journal.close()
    if call.output.json:
        call.output.result(data, lambda: None)
    if call.arguments.serve:
        os.chdir(directory)
        _serve(call)


def _presence(call: CommandCall, directory: Path) -> Presence:
    """The person at the terminal, who passes the gates; where there is none, a key to be thrown away signs."""
    if not call.output.json:
        with suppress(Refusal):
            person = at_terminal(call.environment, directory)
            if not person.doubt:  # in a container only an enrolled key proves a person, and the demo has none
                return person
    return staged(directory, "demo")


def _serve(call: CommandCall) -> None:
    from interlock.faces.cli.main import run

    run(["serve", "--port", str(call.arguments.port)], call.output)


def _perform(call: CommandCall, journal: Journal, directory: Path, presence: Presence) -> dict[str, Any]:
    moves, refusals, blocked = 0, [], 0
    began = time.perf_counter()
    for scene in play(journal, Project(directory), _hook(journal, directory), presence):
        moves += isinstance(scene, SceneMove)
        blocked += isinstance(scene, Hooked) and scene.said is not None
        if isinstance(scene, SceneRefusal):
            refusals.append({"event": scene.event.name, "code": scene.error.code, **scene.error.details})
        if not call.output.json:
            _show(call.output, scene)
            call.output.stdout.flush()
    spent = time.perf_counter() - began
    problems = journal.verify(TICKETS) + audit(journal)
    if problems:
        raise Tampered("journal_tampered", problems[0].message, f"Look at {directory}.")
    if not call.output.json:
        call.output.print(Text("\nWhere everything stands: ralph ticket board", "bold"))
        show_board(call.output, dashboard(journal, load_shipped("ticket")), load_shipped("ticket"))
        _close(call.output, f"{moves} moves in {spent:.2f} s", f"{len(refusals)} refused, {blocked} blocked", directory)
    ends = [{"machine": one.machine, "state": one.state, "outcome": one.outcome} for one in journal.instances()]
    told = {"noted": journal.head() - moves, "blocked": blocked}
    return {"moves": moves, "refused": refusals, **told, "ends": ends, "verified": True, "directory": str(directory)}


def _hook(journal: Journal, directory: Path) -> Hook:
    """The real hook, in a process of its own, as an agent's runner would call it before a tool."""
    program = "from interlock.faces.hook import main; main()"

    def ask(session: str, tool: str, given: dict[str, str]) -> str | None:
        said = json.dumps({"tool_name": tool, "tool_input": given, "cwd": str(directory)})
        done = subprocess.run(
            [sys.executable, "-c", program, "pre-tool-use"],
            input=said,
            cwd=directory,
            env={**os.environ, "RALPH_SESSION_ID": session, "RALPH_ROOT": str(directory)},
            capture_output=True,
            text=True,
            check=False,
        )
        take_in(journal, directory / STATE_DIRECTORY)
        return done.stderr.strip() if done.returncode else None

    return ask


def _show(output: Output, scene: Scene) -> None:
    if isinstance(scene, SceneHeading):
        output.print()
        output.print(Text(scene.text, "bold"))
    elif isinstance(scene, SceneMove):
        _show_move(output, scene)
    elif isinstance(scene, Hooked):
        _show_hooked(output, scene)
    elif isinstance(scene, Lookup):
        output.print(Text.assemble((f"  {'ticket':<13}", "magenta"), f"{scene.asked}: ", (scene.found, "bold")))
    elif isinstance(scene, Saw):
        _show_saw(output, scene)
    elif isinstance(scene, Showed):
        _show_text(output, scene)
    else:
        _show_refused(output, scene)


def _show_move(output: Output, scene: SceneMove) -> None:
    entry = scene.recorded.entry
    word, color = _WHO[entry.actor_kind]
    way = (
        f"in {entry.to_state}"
        if entry.from_state == entry.to_state
        else f"{entry.from_state or '·'} → {entry.to_state}"
    )
    line = Text.assemble(
        (f"  {scene.machine:<13}", "magenta"), f"{way:<40}", (f"{entry.event:<23}", "bold"), (word, color)
    )
    if scene.recorded.snapshot.outcome:
        line.append(f"  ends: {scene.recorded.snapshot.outcome}", "bold")
    output.print(line)
    if scene.recorded.warning or entry.off_path:
        output.print(Text(f"  {'':<13}⚠ {clean(scene.recorded.warning or 'off the path')}", "yellow"))


def _show_hooked(output: Output, scene: Hooked) -> None:
    mark = ("✗ blocked", "bold red") if scene.said else ("✓ passes ", "green")
    output.print(Text.assemble((f"  {'hook':<13}", "blue"), mark, f"  {scene.tool}: {scene.about}"))
    if scene.said:
        output.print(Text(f"  {'':<13}  {clean(scene.said)}", "dim"))


def _show_saw(output: Output, scene: Saw) -> None:
    mark, style = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("·", "dim")}[scene.is_good]
    told = Text.assemble((f"  {scene.who:<13}", "blue"), (f"{mark} ", style), clean(scene.text))
    output.print(told)


_OF_A_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def _show_text(output: Output, scene: Showed) -> None:
    for place, line in enumerate(clean(scene.text).splitlines()):
        margin = (f"  {scene.what if place == 0 else '':<13}", "blue")
        output.print(Text.assemble(margin, "│ ", (line, _OF_A_DIFF.get(line[:1], ""))))


def _show_refused(output: Output, scene: SceneRefusal) -> None:
    told = Text.assemble((f"  {scene.machine:<13}", "magenta"), ("✗ refused ", "bold red"), scene.error.message)
    output.print(told)
    if "allowed" not in scene.error.details or scene.machine == "ticket":  # the door says the calls that are possible
        output.print(Text(f"  {'':<13}  {clean(scene.error.hint)}", "dim"))
        return
    options: dict[str, list[str]] = {}
    for one in scene.error.details["allowed"]:
        options.setdefault(f"{one['event']} → {one['to']}", []).extend(one["by"])
    listed = ", ".join(
        f"{option} ({', '.join(dict.fromkeys(_WHO[kind][0] for kind in by))})" for option, by in options.items()
    )
    output.print(Text(f"  {'':<13}  allowed instead: {listed}", "dim"))


def _close(output: Output, made: str, stopped: str, directory: Path) -> None:
    output.print()
    said = f"✓ {made}, each on disk before the next; {stopped}; the journal verifies."
    output.print(Text(said, "bold green"))
    output.print(Text(f"  Look at it: cd {directory} && ralph log", "dim"))
    output.print(Text("  The directory is only for looking at, and can be deleted.", "dim"))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--serve", action="store_true", help="then show it all on the dashboard, until Ctrl+C")
    parser.add_argument("--port", type=int, default=0, help="the dashboard's port; 0 takes a free one")


VERBS = (
    Verb(
        "",
        "a ticket from Backlog to a merged commit, in a temporary repository",
        _demo,
        _arguments,
    ),
)
