"""How tickets look in a terminal: a line, one with everything on it, and the board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from interlock.faces.cli.looks import quoted, shade
from interlock.faces.cli.output import Output, clean, one_line
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from interlock.machine import Machine
    from interlock.work.tickets.dashboard import Dashboard, PipelineStage
    from interlock.work.tickets.groups import Group
    from interlock.work.tickets.handoff import Handed
    from interlock.work.tickets.pipeline import Position
    from interlock.work.tickets.queries import TicketSummary
    from interlock.work.tickets.sync import SyncReport
    from interlock.work.tickets.upcoming import Next
    from interlock.work.views.ticket import Related, TicketView
    from interlock.world.github import SetUp

__all__ = [
    "show_board",
    "show_group",
    "show_handed",
    "show_lines",
    "show_links",
    "show_next",
    "show_report",
    "show_ticket",
]

_PRIORITIES = {"P0": "bold red", "P1": "dark_orange", "P2": "yellow"}
_SEVERITIES = {"critical": ("✗", "bold red"), "warning": ("!", "yellow"), "info": ("·", "dim")}
_STATUS = {"ON_TRACK": "bold green", "AT_RISK": "bold yellow", "OFF_TRACK": "bold red"}
_WIDEST_BAR = 12


def _state(machine: Machine, name: str) -> Text:
    state = machine.states.get(name)
    return Text(f"{state.icon if state and state.icon else '·'} {one_line(name)}", shade(state))


def age(hours: float) -> str:
    """How long ago, in the unit that says it best."""
    if hours < 1:
        return f"{int(hours * 60)} min"
    return f"{int(hours)} h" if hours < 48 else f"{int(hours / 24)} d"


def _marks(one: TicketSummary) -> Text:
    found = Text()
    if one.held_by:
        found.append(f" held by {one_line(one.held_by)}", "cyan")
    if one.open_blockers:
        found.append(f" waits for {one.open_blockers}", "red")
    if one.open_sub_tickets:
        found.append(f" {one.open_sub_tickets} parts open", "magenta")
    if one.outside:
        found.append(f" elsewhere: {one_line(one.outside)}", "bold yellow")
    return found


def _cells(widths: Sequence[int], *cells: Text) -> Text:
    """Cells beside each other, each as wide as its column; the last one is as long as it is."""
    line = Text()
    for cell, width in zip(cells, widths, strict=False):
        line.append_text(cell)
        line.append(" " * (max(0, width - cell.cell_len) + 2))
    return line.append_text(cells[-1])


def _say(output: Output, line: Text) -> None:
    """One line, cut where the terminal ends; whole where there is none."""
    if output.width is not None:
        line.truncate(output.width)
    output.print(line)


def show_lines(output: Output, tickets: Sequence[TicketSummary], machine: Machine) -> None:
    """A line for each ticket."""
    states = max(len(one.state) for one in tickets) + 2
    widths = (max(len(str(one.number)) for one in tickets) + 1, states, 2, 2, 6)
    for one in tickets:
        line = _cells(
            widths,
            Text(f"#{one.number}", "bold"),
            _state(machine, one.state),
            Text(one.priority or "", _PRIORITIES.get(one.priority or "", "dim")),
            Text(one.estimate or "", "dim"),
            Text(age(one.age_hours), "dim"),
            Text.assemble(one_line(one.title), _marks(one)),
        )
        _say(output, line)


def show_board(output: Output, board: Dashboard, machine: Machine) -> None:
    """The pipeline, state by state, and what is wrong with it."""
    output.print(
        Text.assemble(
            (board.status.replace("_", " "), _STATUS[board.status]),
            f"  {board.open} open, {board.velocity} finished in 7 days, risk {board.risk_score}",
        )
    )
    output.print()
    most = max((phase.count for phase in board.phases), default=1) or 1
    bar = min(_WIDEST_BAR, most)
    widths = (2 + max(len(phase.state) for phase in board.phases), len(str(most)), bar)
    for phase in board.phases:
        for line in _phase(phase, machine, most, widths):
            _say(output, line)
    if board.health:
        output.print()
    for one in board.health:
        mark, style = _SEVERITIES[one.severity]
        named = ", ".join(f"#{number}" for number in one.tickets)
        more = f" ({named})" if named else ""
        output.print(Text.assemble((f"{mark} {one.code}", style), f"  {one_line(one.message)}{more}"))


def _phase(phase: PipelineStage, machine: Machine, most: int, widths: tuple[int, int, int]) -> Iterator[Text]:
    filled = max(1, round(phase.count * widths[2] / most)) if phase.count else 0
    bar = Text("█" * filled, shade(machine.states.get(phase.state)))
    number = str(phase.count) if phase.count else "·"
    count = Text(number.rjust(widths[1]), "bold" if phase.count else "dim")
    cards = [_card(one) for one in phase.tickets]
    if phase.count > len(cards) > 0:
        cards.append(Text(f"… and {phase.count - len(cards)} more", "dim"))
    yield _cells(widths, _state(machine, phase.state), count, bar, cards[0] if cards else Text())
    for card in cards[1:]:
        yield _cells(widths, Text(), Text(), Text(), card)


def _card(one: TicketSummary) -> Text:
    return Text.assemble(
        (f"#{one.number} ", "bold"),
        (f"{one.priority} " if one.priority else "", _PRIORITIES.get(one.priority or "", "dim")),
        (f"{one.estimate} " if one.estimate else "", "dim"),
        one_line(one.title),
        (f" {age(one.age_hours)}", "dim"),
        _marks(one),
    )


def show_ticket(output: Output, found: TicketView, machine: Machine) -> None:
    """One ticket with everything on it."""
    output.print(Text.assemble((f"#{found.number} ", "bold"), (one_line(found.title), "bold")))
    stands = Text.assemble(_state(machine, found.state), (f"  for {age(found.age_hours)}", "dim"))
    if found.held_by:
        stands.append(f"  held by {one_line(found.held_by)}", "cyan")
    output.print(stands)
    rows = {
        "estimate": found.estimate,
        "priority": found.priority,
        "labels": ", ".join(found.labels),
        "assignees": ", ".join(found.assignees),
        "rework": str(found.rework) if found.rework else "",
        "tracker": found.url,
        "thread": found.thread and f"{found.thread.id[-6:]}, in {found.thread.state}",
        "differs": found.thread and found.thread.differs,
        "outside": found.outside and f"the board there says {found.outside}; `ralph ticket sync` says what to do",
        **{one.kind: one.path for one in found.artifacts},
        "commits": ", ".join(found.commits),
        "pull requests": ", ".join(found.pull_requests),
    }
    for name, value in rows.items():
        if value:
            output.print(Text.assemble((f"  {name:<14}", "dim"), one_line(value)))
    _show_relations(output, found, machine)
    if found.body:
        output.print()
        output.print(Text(clean(found.body)))
    _show_comments(output, found)
    _show_guidance(output, found.guidance.allowed_next_transitions, found.guidance.expected_by_commands)


def _show_comments(output: Output, found: TicketView) -> None:
    hidden = found.comment_count - len(found.comments)
    if found.comments:
        output.print()
    if hidden:
        output.print(Text(f"… {hidden} older comments", "dim"))
    for one in found.comments:
        output.print(Text(f"{one.at[:10]} {one.at[11:19]}  {one_line(one.author)}", "dim"))
        # Every line is set off, so that none can be taken for something that the program says.
        body = "\n".join(line for line in clean(one.body).splitlines() if not line.startswith("<!--"))
        for line in quoted(body.replace("**", "") if one.is_audit else body, "  │ ", output.width):
            output.print(Text(line))


def _show_guidance(output: Output, states: Sequence[str], commands: Sequence[str]) -> None:
    if states:
        by = f"  (expected by {', '.join(commands)})" if commands else ""
        output.print(Text(f"\nnext: {', '.join(states)}{by}", "dim"))


def show_links(output: Output, found: TicketView, machine: Machine) -> None:
    """What a ticket is linked with."""
    output.print(Text.assemble((f"#{found.number} ", "bold"), one_line(found.title)))
    if not _show_relations(output, found, machine):
        output.print(Text("  it is linked with no other ticket", "dim"))


def _show_relations(output: Output, found: TicketView, machine: Machine) -> bool:
    kinds: dict[str, list[Related]] = {
        "part of": [found.parent] if found.parent else [],
        "parts": found.sub_tickets,
        "waits for": found.blocked_by,
        "blocks": found.blocking,
    }
    for name, others in kinds.items():
        for other in others:
            line = Text.assemble((f"  {name:<14}", "dim"), (f"#{other.number} ", "bold"), one_line(other.title), "  ")
            output.print(line + _state(machine, other.state))
    return any(kinds.values())


def show_next(output: Output, found: Next, machine: Machine) -> None:
    """The next ticket, and what could be done instead."""
    if found.ticket is None:
        output.message(f"There is nothing to do: {found.reason}.")
        return
    show_lines(output, [found.ticket], machine)
    if found.expected_by_commands:
        output.print(Text(f"  expected by {', '.join(found.expected_by_commands)}", "dim"))
    if found.group is not None and found.group.is_group:
        numbers = " → ".join(f"#{one.number}" for one in found.group.tickets)
        output.print(Text(f"  its group, in order: {numbers}", "dim"))
    if found.alternatives:
        output.print(Text("\nor:", "dim"))
        show_lines(output, found.alternatives, machine)


def show_group(output: Output, group: Group, stands: Position, machine: Machine) -> None:
    """A group in its order, and where it stands."""
    widths = (3, 5, 2 + max(len(one.state) for one in group.tickets))
    for one in group.tickets:
        waits = ", ".join(f"#{number}" for number in one.blocked_by)
        line = _cells(
            widths,
            Text(f"{one.order}.", "dim"),
            Text(f"#{one.number}", "bold"),
            _state(machine, one.state),
            Text.assemble(one_line(one.title), (f"  waits for {waits}" if waits else "", "red")),
        )
        _say(output, line)
    rest = f"; then {', '.join(stands.remaining_phases)}" if stands.remaining_phases else ""
    output.print(Text.assemble((f"\n{stands.phase}", "bold"), f"  {stands.reason}{rest}"))


def show_handed(output: Output, handed: Handed, machine: Machine) -> None:
    """What became of a ticket that was handed on."""
    line = Text.assemble((f"#{handed.number} ", "bold"), _state(machine, handed.previous_state), " → ")
    output.print(line + _state(machine, handed.new_state))
    if handed.guidance.note:
        output.print(Text(f"  {one_line(handed.guidance.note)}"))
    told = handed.guidance
    _show_guidance(output, told.allowed_next_transitions, told.expected_by_commands)


def show_report(output: Output, report: SyncReport, made: SetUp | None) -> None:
    """What a synchronisation did, and what waits for a person."""
    if made is not None:
        added = [f"{field}: {', '.join(options)}" for field, options in made.added.items()]
        what = "; ".join([f"made {name}" for name in made.created] + added) or "everything was there"
        output.text(f"{made.project_url}: {one_line(what)}.")
    done = {
        "came from the board": report.made,
        "moved as their cards were": report.moved,
        "changed as they were there": report.edited,
        "now shown as they are here": report.shown,
    }
    for what, numbers in done.items():
        if numbers:
            output.text(f"{len(numbers)} {what}: {', '.join(f'#{number}' for number in numbers)}")
    for one in report.waiting:
        output.text(f"#{one.number} is in {one.here} here and in {one_line(one.there)} there: {one_line(one.verdict)}")
    for trouble in report.trouble:
        output.text(f"#{trouble.number} could not be brought in step: {one_line(trouble.message)}")
    if not (any(done.values()) or report.waiting or report.trouble):
        output.text("The tickets and the board are in step.")
