"""How everything at work looks in a terminal: what waits for a person first and loudest, then the tree of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.faces.amounts import count_text, span_text
from interlock.faces.cli.looks import lasting, named, set_off, state_text
from interlock.faces.cli.output import Output, one_line
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from interlock.machine import Machine
    from interlock.work.attention.tree import Tree, WorkNode
    from interlock.work.attention.values import Attention, Spending, StuckItem, WaitingItem

__all__ = ["StatusPage"]

_WIDTH: Final = 120
_LEAST_NAME: Final = 16
_BESIDE_NAME: Final = 34
"""What a line needs besides the name: the state, and how long."""
_MOST_LINES: Final = 6
"""So many lines of why something waits are shown; `ralph why` has all of it."""
_DOING: Final = 60
Machines = Callable[[str], "Machine"]


class _Row(msgspec.Struct, frozen=True):
    """A line of the tree, before its columns are aligned."""

    name: str
    state: Text
    age: str
    more: Text


class StatusPage:
    """The whole page: the sections that have something to tell, with a line between them."""

    def __init__(self, machines: Machines, now: float, width: int | None, *, is_new: bool) -> None:
        self._machines = machines
        self._now = now
        self._width = width
        self._is_new = is_new

    def show(self, output: Output, seen: Attention, under_way: Tree, advice: Sequence[tuple[str, str]]) -> None:
        sections = (
            self._waiting(seen),
            self._tree(under_way),
            self._stuck(seen.stuck),
            self._spending(seen.spending),
            self._advice(advice),
            self._rest(under_way.rest),
        )
        told = [lines for section in sections if (lines := list(section))]
        for place, lines in enumerate(told):
            output.print_all([Text(), *lines] if place else lines)

    # What waits

    def _waiting(self, seen: Attention) -> Iterator[Text]:
        gates = [one for one in seen.waiting if one.is_gate]
        resting = [one for one in seen.waiting if not one.is_gate]
        count = len(gates) + seen.more
        if count:
            yield Text(f" {count} {'waits' if count == 1 else 'wait'} for you ", "bold black on yellow")
        for one in gates:
            yield from self._wait(one, "bold")
        if seen.more:
            yield Text(f"  and {seen.more} more", "dim")
        if resting:
            yield Text(f"{len(resting)} {'rests' if len(resting) == 1 else 'rest'} until somebody goes on", "bold")
        for one in resting:
            yield from self._wait(one, "")

    def _wait(self, one: WaitingItem, style: str) -> Iterator[Text]:
        if one.of is None:
            yield Text.assemble(("  ▲ the settings", "bold red"), (f"  {one.state}", "red"))
        else:
            state = state_text(self._machines(one.of.machine), one.state)
            since = lasting(one.since, self._now)
            line = Text.assemble("  ", state, "  ", (named(one.of), style), (f"  {since}", "dim"))
            yield self._fitted(line)
        yield from self._why(one.why)
        yield _typed(f"    → {one_line(one.command)}")

    def _why(self, why: str) -> Iterator[Text]:
        for line in set_off(why, "    ", self._width, _MOST_LINES):
            yield Text(line, "dim")

    # Who is at work

    def _tree(self, under_way: Tree) -> Iterator[Text]:
        rows = [row for root in under_way.roots for row in self._rows(root, "  ", "  ", "")]
        if not rows:
            return
        yield Text("Under way", "bold")
        room = max(_LEAST_NAME, (self._width or _WIDTH) - _BESIDE_NAME)
        names = min(room, max(len(row.name) for row in rows))
        states = max(row.state.cell_len for row in rows)
        ages = max(len(row.age) for row in rows)
        for row in rows:
            line = Text(_cut(row.name, names).ljust(names + 2)).append_text(row.state)
            line.append(" " * (states - row.state.cell_len + 2)).append(row.age.rjust(ages), "dim")
            if row.more:
                line.append("  ").append_text(row.more)
            yield self._fitted(line)

    def _rows(self, node: WorkNode, first: str, then: str, above: str) -> Iterator[_Row]:
        name = named(node.of, title=node.of.title != above)
        state = state_text(self._machines(node.of.machine), node.state)
        yield _Row(first + name, state, lasting(node.since, self._now), _beside(node))
        for place, one in enumerate(node.below, 1):
            is_last = place == len(node.below)
            branch, trunk = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            yield from self._rows(one, then + branch, then + trunk, node.of.title)

    # What does not move, and what it cost

    def _stuck(self, stuck: Sequence[StuckItem]) -> Iterator[Text]:
        if stuck:
            yield Text("Stuck", "bold red")
        for one in stuck:
            name = named(one.of) if one.of is not None else ""
            yield self._fitted(Text.assemble(f"  {name}", (f"  {lasting(one.since, self._now)}", "dim")))
            yield from self._why(one.why)
            yield _typed(f"    → {one_line(one.command)}")

    def _spending(self, spending: Sequence[Spending]) -> Iterator[Text]:
        if spending:
            yield Text("Today (UTC)", "bold")
        names = max((len(one.what) for one in spending), default=0)
        for one in spending:
            line = Text(f"  {one.what.ljust(names)}  {', '.join(_amounts(one))}")
            if one.share is not None:
                line.append(f"  {one.share:.0%} of the limit", "bold red" if one.share >= 1 else "")
            yield line

    # The rest

    def _rest(self, rest: Mapping[str, Mapping[str, int]]) -> Iterator[Text]:
        told = [f"{_count(machine, counts)} ({_states(counts)})" for machine, counts in rest.items()]
        if told:
            yield Text(f"Also open: {'; '.join(told)}", "dim")

    def _advice(self, advice: Sequence[tuple[str, str]]) -> Iterator[Text]:
        if advice:
            is_new = "Nothing has happened here yet."
            yield Text(is_new if self._is_new else "Nothing waits for you, and nobody is at work.")
        commands = max((len(command) for command, _ in advice), default=0)
        for command, does in advice:
            yield _typed(f"→ {command.ljust(commands)}").append(f"  {one_line(does)}", "not bold default")

    def _fitted(self, line: Text) -> Text:
        if self._width is not None:
            line.truncate(self._width)
        return line


def _typed(text: str) -> Text:
    """A line with something to type, which is never cut."""
    return Text(text, "bold green")


def _beside(node: WorkNode) -> Text:
    """Who is at it, and what they do; or that it waits."""
    found = Text()
    session = node.session
    if node.differs is not None:
        found.append(f"{node.differs}  ", "yellow")
    if session is not None:
        role = f" as {one_line(session.role)}" if session.role else ""
        found.append(f"{one_line(session.agent) or 'an agent'}{role}", "cyan")
        found.append("  silent" if session.is_silent else "", "bold red")
        found.append(f"  {_cut(one_line(' '.join(session.doing.split())), _DOING)}".rstrip(), "dim")
    elif node.waits:
        found.append(node.waits, "yellow")
    elif node.by:
        found.append(f"by {one_line(node.by)}", "cyan")
    elif node.is_waiting:
        found.append("waits for you", "yellow")
    return found


def _amounts(one: Spending) -> Iterator[str]:
    yield f"{one.runs} {'run' if one.runs == 1 else 'runs'}"
    yield span_text(int(one.seconds * 1000))
    yield f"${one.usd:.2f}"
    yield f"{count_text(one.tokens)} tokens"


def _count(machine: str, counts: Mapping[str, int]) -> str:
    number = sum(counts.values())
    what = {"story": "story loop", "orchestrator": "run"}.get(machine, machine)
    return f"{number} {what}{'' if number == 1 else 's'}"


def _states(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {one_line(state)}" for state, number in counts.items())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
