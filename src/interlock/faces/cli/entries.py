"""Entries of the journal as people and programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from interlock.errors import Tampered
from interlock.faces.cli.looks import quoted
from interlock.faces.cli.output import Output, one_line
from interlock.faces.cli.styled import Text
from interlock.machine.model import NOTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interlock.journal import Entry

__all__ = ["entry_data", "show_entry"]

_LONGEST = 100
_BELOW = " " * 10
_NARROWEST = 20
_ACTOR = {"human": "bold green", "agent": "yellow", "system": "cyan"}


def entry_data(entry: Entry) -> dict[str, Any]:
    """An entry as plain data, with its evidence decoded."""
    try:
        evidence = msgspec.json.decode(entry.evidence)
    except msgspec.DecodeError:
        message = f"The evidence of entry {entry.seq} is no JSON."
        raise Tampered("journal_tampered", message, "`ralph journal verify` shows all that is wrong.") from None
    return {**msgspec.structs.asdict(entry), "evidence": evidence, "off_path": bool(entry.off_path)}


def _told(entry: Entry) -> str:
    """What a note says, in a few words."""
    data = entry_data(entry)["evidence"].get("data", {})
    said = data.get("message") or data.get("about") or data.get("file") or ""
    words = [str(word) for word in (data.get("type"), data.get("tool"), said) if word]
    return one_line(": ".join(words))[:_LONGEST]


def _folded(line: Text, width: int | None) -> Iterable[Text]:
    """A line within the terminal where there is one; what does not fit goes on below, between words."""
    if width is None or line.cell_len <= width:
        return [line]
    return line.wrapped(max(_NARROWEST, width - len(_BELOW)))


def show_entry(output: Output, entry: Entry, machine: str) -> None:
    """One line for one entry, and its reason below it."""
    stays = entry.from_state == entry.to_state
    way = f"in {entry.to_state}" if stays else f"{entry.from_state or '·'} → {entry.to_state}"
    line = Text.assemble(
        (f"{entry.seq:>6}  {one_line(entry.time[:10])} {one_line(entry.time[11:19])}  ", "dim"),
        (f"{one_line(machine)} …{one_line(entry.instance[-6:])}", "magenta"),
        f"  {one_line(way)}  ",
        (one_line(entry.event), "bold"),
        (f"  {one_line(entry.actor_kind)} {one_line(entry.actor_id)}", _ACTOR.get(entry.actor_kind, "")),
        (f" ({one_line(entry.channel)})", "dim"),
    )
    if entry.command:
        line.append(f" {one_line(entry.command)}", "blue")
    if entry.event == NOTED:
        line.append(f"  {_told(entry)}", "dim")
    if entry.off_path:
        line.append("  ⚠ off path", "bold red")
    for place, part in enumerate(_folded(line, output.width)):
        output.print(Text.assemble(_BELOW if place else "", part))
    # Every line of a reason is set off, so that none can be taken for an entry.
    for said in quoted(entry.reason or "", "        │ ", output.width):
        output.print(Text(said, "italic dim"))
