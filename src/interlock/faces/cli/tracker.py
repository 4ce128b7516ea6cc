"""A tracker's board from the command line: shown after each change, brought in step by `ralph ticket sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from interlock.errors import TrackerError
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import Workspace, caller_of, person_of, writable

if TYPE_CHECKING:
    from interlock.world.github import GitHub

__all__ = ["board_of", "show_outside", "sync"]


def show_outside(call: CommandCall, place: Workspace) -> None:
    """The tracker's board shows it too, if there is one; where it is away, the next sync does it."""
    from interlock.work.tickets.showing import show

    for trouble in show(place.journal, place.settings, call.environment):
        call.output.message(f"ralph: {one_line(trouble)}")


def sync(call: CommandCall) -> None:
    """`ralph ticket sync`: settle what a person says, set up what is missing, and bring both in step."""
    from interlock.faces.cli.board import show_report
    from interlock.work.tickets.sync import set_up, synchronise

    given = call.arguments
    with writable(call) as place, board_of(call, place) as board:
        settled = _settle(call, place)
        made = set_up(board, place.machines("ticket")) if given.setup else None
        report = synchronise(place.journal, board, place.machines("ticket"))
    data = {"set_up": made, **settled, **asdict(report)}
    if not report.trouble:
        call.output.result(data, lambda: show_report(call.output, report, made))
        return
    if not call.output.json:
        show_report(call.output, report, made)
    first = report.trouble[0]
    message = f"Not every ticket could be brought in step, first #{first.number}: {first.message}"
    code = first.code if first.code.startswith("tracker_") else "tracker_failed"
    raise TrackerError(code, message, "The next `ralph ticket sync` tries them again.", {"report": data})


def _settle(call: CommandCall, place: Workspace) -> dict[str, list[int]]:
    """Do what a person says about tickets that stand elsewhere on the board; it holds, whatever GitHub does next."""
    from interlock.work.tickets.settle import accept, may_settle, restore

    given, caller, person = call.arguments, caller_of(call, place), person_of(call, place)
    for number in [*given.accept, *given.restore]:
        may_settle(place.journal, person, number)
    plan_review = place.settings.text("ticket.plan_review")
    accepted, restored = [], []
    for number in given.accept:
        handed = accept(place.journal, caller, number, plan_review=plan_review)
        call.output.message(f"#{handed.number} is now in {handed.new_state} here, too.")
        accepted.append(handed.number)
    for number in given.restore:
        restored.append(restore(place.journal, number, caller.actor))
        call.output.message(f"#{restored[-1]} is to be put right on the board.")
    return {"accepted": accepted, "restored": restored}


def board_of(call: CommandCall, place: Workspace) -> GitHub:
    """The board that tickets are shown on."""
    from interlock.work.tickets.sync import tracker_of

    board = tracker_of(place.settings, call.environment)
    if board is None:
        message = "Tickets are shown nowhere else: the setting ticket.tracker is local."
        hint = 'Set [ticket] tracker = "github" in ralph.toml, and github.repository and github.project.'
        raise TrackerError("tracker_unconfigured", message, hint)
    return board
