"""Entries of the journal as people and programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from rich.text import Text

from interlock.faces.cli.output import clean

if TYPE_CHECKING:
    from rich.console import Console

    from interlock.journal import Entry

__all__ = ["entry_data", "show_entry"]

_ACTOR = {"human": "bold green", "agent": "yellow", "system": "cyan"}


def entry_data(entry: Entry) -> dict[str, Any]:
    """An entry as plain data, with its evidence decoded."""
    return {**msgspec.structs.asdict(entry), "evidence": msgspec.json.decode(entry.evidence)}


def show_entry(console: Console, entry: Entry) -> None:
    """One line for one entry, and its reason below it."""
    line = Text.assemble(
        (f"{entry.seq:>6} ", "dim"),
        (f"{entry.time[:10]} {entry.time[11:19]} ", "dim"),
        (f"…{entry.instance[-6:]} ", "magenta"),
        (clean(entry.event), "bold"),
        " ",
    )
    if entry.from_state == entry.to_state:
        line.append(f"in {clean(entry.to_state)}", "default")
    else:
        line.append(f"{clean(entry.from_state or '·')} → {clean(entry.to_state)}", "default")
    line.append(f"  {entry.actor_kind} {clean(entry.actor_id)}", _ACTOR.get(entry.actor_kind, ""))
    line.append(f" ({entry.channel})", "dim")
    if entry.command:
        line.append(f" {clean(entry.command)}", "blue")
    if entry.off_path:
        line.append("  ⚠ off path", "bold red")
    console.print(line, soft_wrap=True)
    if entry.reason:
        console.print(Text(f"       {clean(entry.reason)}", "italic dim"), soft_wrap=True)
