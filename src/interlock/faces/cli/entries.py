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
    evidence = msgspec.json.decode(entry.evidence)
    return {**msgspec.structs.asdict(entry), "evidence": evidence, "off_path": bool(entry.off_path)}


def show_entry(console: Console, entry: Entry, machine: str) -> None:
    """One line for one entry, and its reason below it."""
    stays = entry.from_state == entry.to_state
    way = f"in {entry.to_state}" if stays else f"{entry.from_state or '·'} → {entry.to_state}"
    line = Text.assemble(
        (f"{entry.seq:>6}  {entry.time[:10]} {entry.time[11:19]}  ", "dim"),
        (f"{clean(machine)} …{entry.instance[-6:]}", "magenta"),
        f"  {clean(way)}  ",
        (clean(entry.event), "bold"),
    )
    line.append(f"  {entry.actor_kind} {clean(entry.actor_id)}", _ACTOR.get(entry.actor_kind, ""))
    line.append(f" ({entry.channel})", "dim")
    if entry.command:
        line.append(f" {clean(entry.command)}", "blue")
    if entry.off_path:
        line.append("  ⚠ off path", "bold red")
    console.print(line, soft_wrap=True)
    if entry.reason:
        console.print(Text(f"        {clean(entry.reason)}", "italic dim"), soft_wrap=True)
