"""`ralph import`: what other tools keep of their work becomes tickets, once; shown before it is written."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, TrackerError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import ask, columns, one_line
from interlock.faces.cli.place import Workspace, caller_of, readable, writable
from interlock.faces.cli.tracker import board_of, show_outside

if TYPE_CHECKING:
    from interlock.work.importing.planning import ImportPlan

__all__ = ["VERBS"]

_FORMS = ("prd", "fix-plan", "spec-kit", "backlog", "beads", "github")
_SHOWN = 100
_TITLE = 60


def _import(call: CommandCall) -> None:
    given = call.arguments
    if given.path is None:
        if given.form != "github":
            hint = "`ralph import FILE`; without one, `--as github` brings in what is on the board on GitHub."
            raise UsageError("usage", "There is nothing named to import.", hint)
        _from_board(call)
        return
    from interlock.work.importing.forms import parsed
    from interlock.work.importing.planning import plan
    from interlock.work.importing.sources import sources_of

    form, sources = sources_of(Path(given.path), given.form)
    if given.to == "stories":
        _refer_to_stories(call, form.name)
        return
    batch = parsed(form, sources)
    with readable(call) as place:
        if form.name == "github":
            _refuse_tracked(place, [item.id for item in batch.items])
        planned = plan(place.journal, form, batch, with_done=given.with_done, drops_missing=given.drop_missing)
    if not call.output.json:
        _show(call, planned)
    if not planned.make or given.dry_run:
        said = "Nothing was written; without --dry-run, it is." if planned.make else "There is nothing new to import."
        call.output.result(_data(planned, {}), lambda: call.output.text(said))
        return
    _agree(call)
    _write(call, planned)


def _agree(call: CommandCall) -> None:
    if not call.arguments.yes and (declined := ask(call.output, "Make these tickets?")):
        raise InterlockError("import_declined", *declined)


def _write(call: CommandCall, planned: ImportPlan) -> None:
    from interlock.work.importing.writing import write

    with writable(call) as place:
        made = place.journal.transact(write(caller_of(call, place), planned))
        show_outside(call, place)
    numbers = sorted(made.values())
    span = f": #{numbers[0]} to #{numbers[-1]}" if len(numbers) > 1 else f": #{numbers[0]}" if numbers else ""
    said = f"{_tickets(len(numbers))} made{span}. `ralph ticket board` shows them."
    call.output.result(_data(planned, made), lambda: call.output.text(said))


def _refer_to_stories(call: CommandCall, form: str) -> None:
    """The story loop reads prd.json by itself, and nothing else of these."""
    if form != "prd":
        message = "The story loop takes story files and prd.json, and nothing else that can be imported."
        raise UsageError("invalid_argument", message, "Import it as tickets: leave `--to stories` out.")
    said = "The story loop reads prd.json where it is: `ralph story init` makes a progress.txt from it."
    call.output.result({"next": "ralph story init"}, lambda: call.output.text(said))


# What is shown


def _show(call: CommandCall, planned: ImportPlan) -> None:
    rows = [("make", one.id, _short(one.title), one.priority or "", _links(one)) for one in planned.make]
    rows += [("there", one.item.id, _short(one.item.title), "", _news(one)) for one in planned.known]
    rows += [("skip", one.id, _short(one.title), "", one.why) for one in planned.left]
    call.output.text(f"{planned.form.title}:")
    shown = [tuple(one_line(cell) for cell in row) for row in rows[:_SHOWN]]
    if shown:
        call.output.text(columns([(f"  {row[0]}", *row[1:]) for row in shown]))
    if len(rows) > _SHOWN:
        call.output.text(f"  … and {len(rows) - _SHOWN} more; --json shows all.")
    links = sum(len(one.blocked_by) + bool(one.parent) for one in planned.make)
    counts = f"{_tickets(len(planned.make))} to make with {links} {'link' if links == 1 else 'links'}"
    call.output.text(f"{counts}, {len(planned.known)} there already, {len(planned.left)} skipped.")


def _tickets(number: int) -> str:
    return f"{number} ticket" if number == 1 else f"{number} tickets"


def _short(title: str) -> str:
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"


def _links(item: Any) -> str:
    parts = [f"part of {item.parent}"] if item.parent else []
    parts += [f"waits for {', '.join(item.blocked_by)}"] if item.blocked_by else []
    return "; ".join(parts + (["done: closed at once"] if item.is_done else []))


def _news(known: Any) -> str:
    changed = f"; changed there, and left as it is here: {', '.join(known.changed)}" if known.changed else ""
    return f"#{known.number}{changed}"


def _data(planned: ImportPlan, made: dict[str, int]) -> dict[str, Any]:
    form = planned.form.name
    return {
        "form": form,
        "written": bool(made),
        "make": [
            {
                "id": one.id,
                "alias": f"{form}:{one.id}",
                "title": one.title,
                "priority": one.priority,
                "parent": one.parent,
                "blockedBy": list(one.blocked_by),
                "done": one.is_done,
                "number": made.get(one.id),
            }
            for one in planned.make
        ],
        "known": [{"id": one.item.id, "number": one.number, "changed": list(one.changed)} for one in planned.known],
        "skipped": [{"id": one.id, "title": one.title, "why": one.why} for one in planned.left],
    }


# The board on GitHub


def _refuse_tracked(place: Workspace, ids: list[str]) -> None:
    """Issues of the repository whose board is in step with the tickets would become tickets twice."""
    if place.settings.text("ticket.tracker") != "github":
        return
    ours = place.settings.text("github.repository").lower()
    if any(one.partition("#")[0].lower() == ours for one in ids):
        message = f"The board of {ours} is in step with the tickets here, and its issues come by that way."
        raise TrackerError("import_invalid", message, "`ralph import --as github` brings in what is on the board.")


def _from_board(call: CommandCall) -> None:
    """Bring in the issues on the tracker's board that are no tickets yet."""
    from msgspec.structs import asdict

    from interlock.work.tickets.sync import newcomers, synchronise

    given = call.arguments
    with readable(call) as place, board_of(call, place) as board:
        items = newcomers(place.journal, board)
    data = [{"number": item.number, "title": item.title, "url": item.url} for item in items]
    if not call.output.json:
        rows = [("  make", f"#{item.number}", one_line(_short(item.title))) for item in items[:_SHOWN]]
        call.output.text(f"GitHub issues on the board:\n{columns(rows)}{_tickets(len(items))} to make.")
    if not items or given.dry_run:
        said = "Nothing was written; without --dry-run, it is." if items else "There is nothing new to import."
        call.output.result({"form": "github", "written": False, "make": data}, lambda: call.output.text(said))
        return
    _agree(call)
    with writable(call) as place, board_of(call, place) as board:
        report = synchronise(place.journal, board, place.machines("ticket"), only_new=True)
    result = {"form": "github", "written": bool(report.made), "make": data, **asdict(report)}
    call.output.result(result, lambda: call.output.text(f"{_tickets(len(report.made))} made."))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", metavar="FILE", help="a file, or a directory with something known in it")
    parser.add_argument("--as", dest="form", choices=_FORMS, help="what it is, where that is not clear")
    parser.add_argument("--to", choices=("tickets", "stories"), default="tickets", help="what it becomes")
    parser.add_argument("--with-done", action="store_true", help="make closed tickets of what is done already")
    parser.add_argument("--drop-missing", action="store_true", help="leave out links to what is not there")
    parser.add_argument("--dry-run", action="store_true", help="show what would be made and write nothing")
    parser.add_argument("--yes", action="store_true", help="write without a question")


VERBS = (
    Verb(
        "",
        "make tickets of what another tool has; nothing twice",
        _import,
        _arguments,
    ),
)
