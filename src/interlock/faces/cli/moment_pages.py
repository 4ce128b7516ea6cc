"""How one moment of an instance looks in a terminal, and as data: where it stood, what brought it there, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from interlock.faces.cli.entries import entry_data
from interlock.faces.cli.looks import named, set_off, state_text
from interlock.faces.cli.output import one_line
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from interlock.journal import Entry
    from interlock.work.inspection.causes import Basis
    from interlock.work.inspection.time_travel import FieldChange, Moment

__all__ = [
    "basis_data",
    "basis_lines",
    "change_lines",
    "counter_lines",
    "entry_lines",
    "moment_data",
    "proof_lines",
    "way_lines",
]

_HASH = 12
_ACTOR = {"human": "bold green", "agent": "yellow", "system": "cyan"}


def moment_data(moment: Moment) -> dict[str, Any]:
    """A moment as plain data."""
    snapshot, limits = moment.snapshot, {**moment.machine.settings, **moment.snapshot.settings}
    return {
        "machine": moment.instance.machine,
        "id": moment.instance.id,
        "version": moment.entry.version,
        "versions": moment.instance.version,
        "state": snapshot.state,
        "outcome": snapshot.outcome,
        "since": moment.came.time,
        "counters": {
            name: {"value": value, "limit": limits.get(f"{name}.limit")} for name, value in snapshot.counters.items()
        },
        "proofs": [
            {
                "name": one.name,
                "hash": one.hash,
                "version": one.entry.version,
                "seq": one.entry.seq,
                "actor": f"{one.entry.actor_kind} {one.entry.actor_id}",
                "channel": one.entry.channel,
            }
            for one in moment.proofs
        ],
        "subjects": dict(snapshot.subjects),
        "holder": snapshot.holder,
        "task": snapshot.task,
        "awaiting": snapshot.awaiting,
        "came": entry_data(moment.came),
        "way": [entry_data(one) for one in moment.way],
    }


def basis_data(basis: Basis) -> dict[str, Any]:
    """What an entry rests on, as plain data."""
    receipt, led = basis.receipt, basis.led
    return {
        "approval": basis.approval,
        "receipt": None
        if receipt is None
        else {"sha256": receipt.sha256, "tree": receipt.tree, "passed": receipt.passed},
        "led_by": None
        if led is None
        else {"machine": led.of.machine, "id": led.of.id, "number": led.of.number, "entry": entry_data(led.entry)},
        "commit": basis.commit,
    }


def entry_lines(moment: Moment, entry: Entry, width: int | None) -> Iterator[Text]:
    """One entry: what it moved, who made it, and what they said."""
    yield Text("  ").append_text(_way(moment, entry)).append(f"  {one_line(entry.event)}", "bold")
    yield Text.assemble("  by ", _who(entry), (f", {_when(entry)}, entry {entry.version} of its own", "dim"))
    for line in set_off(entry.reason or "", "  │ ", width):
        yield Text(line, "italic dim")
    if entry.off_path:
        yield Text("  ⚠ off path: the machine's table does not have this move", "bold red")


def basis_lines(basis: Basis) -> Iterator[Text]:
    """What an entry rests on."""
    if basis.approval is not None:
        said = basis.approval.statement
        signed = f"signed with {basis.approval.key}" if basis.approval.key else "not signed"
        words = f"the gate {said.gate}: {said.subject} {said.hash[:_HASH]} over {said.channel}, {signed}"
        yield Text(f"  approved  {one_line(words)}", "green")
    if basis.receipt is not None:
        met, all_ = sum(one.met for one in basis.receipt.criteria), len(basis.receipt.criteria)
        verdict, style = ("passed", "green") if basis.receipt.passed else ("failed", "red")
        tree, own = basis.receipt.tree[:_HASH], basis.receipt.sha256[:_HASH]
        yield Text(f"  receipt   {verdict}: {met} of {all_} criteria met, tree {tree}, sha256 {own}", style)
    if basis.led is not None:
        moved = basis.led.entry
        way = f"{moved.from_state or '·'} → {moved.to_state}, {moved.event}"
        yield Text(f"  because   {named(basis.led.of)}: {one_line(way)} (entry {moved.version} of its own)")
    if basis.commit is not None:
        yield Text(f"  commit    {one_line(basis.commit)}", "green")


def proof_lines(moment: Moment) -> Iterator[Text]:
    """The gates and receipts that are valid, each with the entry that gave it."""
    names = max((len(one.name) for one in moment.proofs), default=0)
    for one in moment.proofs:
        line = Text(
            f"  {one_line(one.name).ljust(names)}  {one_line(one.hash)[:_HASH]}  entry {one.entry.version}  by "
        )
        yield line.append_text(_who(one.entry))


def counter_lines(moment: Moment) -> Iterator[Text]:
    """Each counter and its limit, the holder, the task, and what is under way."""
    snapshot, limits = moment.snapshot, {**moment.machine.settings, **moment.snapshot.settings}
    rows = [
        (name, f"{value}{f' of {limit}' if (limit := limits.get(f'{name}.limit')) else ''}")
        for name, value in snapshot.counters.items()
    ]
    rows += [("task", snapshot.task or ""), ("held by", snapshot.holder or ""), ("waits for", snapshot.awaiting or "")]
    shown = [(name, value) for name, value in rows if value]
    names = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        yield Text(f"  {one_line(name).ljust(names)}  {one_line(value)}")


def change_lines(changes: Sequence[FieldChange]) -> Iterator[Text]:
    """What an entry changed besides the state."""
    for one in changes:
        after = one.after if one.after is not None else "void" if one.kind == "gate or receipt" else "–"
        yield Text(f"  {one.kind} {one_line(one.name)}: {_short(one.before)} → {_short(after)}")


def way_lines(moment: Moment, entries: Sequence[Entry]) -> Iterator[Text]:
    """Moves, a line each, with the numbers that `ralph log --at` takes."""
    for one in entries:
        line = Text(f"  {one.version:>5}  {_when(one)}  ", "dim")
        line.append_text(_way(moment, one)).append(f"  {one_line(one.event)}  ", "bold")
        yield line.append_text(_who(one))


def _way(moment: Moment, entry: Entry) -> Text:
    target = state_text(moment.machine, entry.to_state)
    if entry.from_state == entry.to_state:
        return Text("in ").append_text(target)
    return Text(f"{one_line(entry.from_state or '·')} → ").append_text(target)


def _who(entry: Entry) -> Text:
    who = Text(f"{one_line(entry.actor_kind)} {one_line(entry.actor_id)}", _ACTOR.get(entry.actor_kind, ""))
    who.append(f" ({one_line(entry.channel)})", "dim")
    return who.append(f" {one_line(entry.command)}", "blue") if entry.command else who


def _when(entry: Entry) -> str:
    return f"{one_line(entry.time[:10])} {one_line(entry.time[11:19])}"


def _short(text: str | None) -> str:
    return "–" if text is None else one_line(text)[:60]
