"""How threads look in a terminal: the phase bar, the criteria, the menus, the diff, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interlock.faces.cli.looks import shade
from interlock.faces.cli.output import Output, clean, one_line
from interlock.faces.cli.styled import Text
from interlock.work.threads.choices import next_commands

if TYPE_CHECKING:
    from interlock.machine import Machine
    from interlock.work.threads.children import ChildView
    from interlock.work.threads.record import Diagnosis, Thread
    from interlock.work.views.thread import ThreadView

__all__ = ["diagnosis_text", "show_list", "show_review", "show_thread"]

_BOX = 53
_SHOWN_CRITERIA = 40
_SHOWN_PARTS = 40


def _phases(machine: Machine) -> list[str]:
    """The phases in their order; their names begin with their numbers."""
    return sorted({one.phase for one in machine.states.values() if one.phase})


def _bar(machine: Machine, state: str) -> Text:
    """The phases as a bar: those behind, the one it is in, those ahead."""
    phases = _phases(machine)
    here = phases.index(machine.states[state].phase or phases[0])
    bar = Text()
    for place, phase in enumerate(phases):
        mark, style = ("●", "green") if place < here else ("○", "dim")
        if place == here:
            mark, style = machine.states[state].icon or "◑", f"bold {shade(machine.states[state])}"
        bar.append("" if not place else " ── ", "dim").append(f"{mark} {phase}", style)
    return bar


def show_thread(output: Output, view: ThreadView, machine: Machine) -> None:
    """The page of one thread."""
    say = output.print
    title = Text(one_line(view.title), "bold")
    say(title.append(f"   {view.id[-8:]}  {view.mode}", "dim"))
    say(_bar(machine, view.state))
    for line in (*_summary(view, machine), *_details(view), *_child(view.child)):
        say(line)
    for row in menu_lines(view, machine) if view.heading else ():
        say(Text(row))
    say()
    for one in next_commands(view.state, is_driven=view.driver is not None):
        say(Text.assemble(("→ ", "green"), (one.command.replace(" {id}", ""), "bold"), f"  {one.does}"))
    if view.outcome is None:
        say(Text("  ralph thread abandon  ends it, touches no file", "dim"))


def _summary(view: ThreadView, machine: Machine) -> Iterator[Text]:
    """The state that it is in, whether it is driven, its ticket, and why it is there."""
    where = Text(view.label, f"bold {shade(machine.states.get(view.state))}")
    where.append(f"  {machine.states[view.state].description}", "dim")
    if view.counts_iterations:
        where.append(f"  iteration {view.iteration}/{view.iterations or '∞'}")
    yield where
    if view.needs_driver:
        yield Text("nobody drives it: `ralph thread resume` goes on", "yellow")
    above = view.ticket
    if above is not None:
        yield Text(f"for ticket #{above.number}, {above.state}", "dim")
    if above is not None and above.differs is not None:
        yield Text(f"{above.differs}: `ralph ticket handoff {above.number} --to STATE` settles it", "yellow")
    if view.reason:
        yield Text(clean(view.reason.strip()))


def _details(view: ThreadView) -> Iterator[Text]:
    if view.spec_sha256 is not None:
        yield Text(f"spec v{view.spec_revision}  sha256 {view.spec_sha256[:12]}", "dim")
    if view.baseline is not None and view.branch:
        base = f"{one_line(view.baseline.branch)} {view.baseline.commit[:10]}"
        yield Text(f"branch {view.branch}  from {base}", "dim")
    yield from _criteria(view)
    if view.spent:
        yield Text(f"spent: {view.spent.text}", "dim")
    for one in view.tries[-5:]:
        yield Text(f"  #{one.number} {one.role} {one.agent}: {one.ending}, {one.seconds:.0f} s", "dim")
    for refused in view.refused[-3:]:
        line = f"refused at the gate {one_line(str(refused.get('gate', '')))}: {one_line(str(refused.get('why', '')))}"
        yield Text(f"! {line} ({one_line(str(refused['who']))}, {refused['at']})", "red")
    if view.outcome == "abandoned" and view.baseline is not None:
        yield Text(f"No file was touched. `git switch {one_line(view.baseline.branch)}` goes back to where it began")
    if view.commit:
        yield Text(f"commit {view.commit}", "green")
        if view.branch:
            yield Text(f"`git merge {view.branch}` on your branch takes it over", "dim")


def _child(child: ChildView | None) -> Iterator[Text]:
    """The story loop or the run that drives the thread, and its stories or tasks."""
    if child is None:
        return
    yield Text(f"{child.machine} {child.id[-8:]}  {child.state}{f', {child.outcome}' if child.outcome else ''}", "dim")
    for one in child.parts[:_SHOWN_PARTS]:
        yield Text(f"  {one.mark} {one_line(one.id)}  {one_line(one.text)}".rstrip(), "dim")
    if len(child.parts) > _SHOWN_PARTS:
        yield Text(f"  and {len(child.parts) - _SHOWN_PARTS} more", "dim")


def _criteria(view: ThreadView) -> Iterator[Text]:
    for one in view.criteria[:_SHOWN_CRITERIA] if view.is_judged else ():
        mark, style = ("☑", "green") if one.met else ("✗", "red")
        line = Text(f"{mark} {one.number}. {one_line(one.text)}", style)
        if one.why and not one.met:
            line.append(f"  {one_line(one.why)}", "dim")
        yield line


def menu_lines(view: ThreadView, machine: Machine) -> list[str]:
    """The choices that a person has, in the box of the seed."""
    rows = list(_paused(view)) if view.paused is not None else []
    rows += [f"[{one.key}] {one.label:<15} → {one.does}" for one in machine.states[view.state].menu]
    edge = "─" * _BOX
    inner = [f"│  {row:<{_BOX - 2}}│" for row in (view.heading, *rows)]
    return [f"┌{edge}┐", inner[0], f"├{edge}┤", *inner[1:], f"└{edge}┘"]


def _paused(view: ThreadView) -> Iterator[str]:
    yield f"Iteration: {view.iteration}/{view.iterations or '∞'}"
    yield f"Current model: {view.agent or 'none yet'}"
    yield f"Criteria: {view.met}/{len(view.criteria)} passing" if view.is_judged else "Criteria: not verified yet"
    yield ""


def diagnosis_text(known: Diagnosis | None) -> str:
    """All that is known of why it is stuck."""
    if known is None:
        return "Nothing is known of a failure."
    lines = [
        f"Stuck: {known.summary}",
        f"Reason: {known.reason.strip() or 'none was given'}",
        f"Spec version: v{known.spec_revision}",
        f"Iterations: {known.iterations_attempted}, by {', '.join(known.models_tried) or 'nobody'}",
        *(f"  ✓ {one}" for one in known.passed),
        *(f"  ✗ {one}" for one in known.failed),
        "Changed since the baseline:",
        *(f"  {line}" for line in known.stat.splitlines() or ["nothing"]),
        "Closest output:",
        *(f"  │ {line}" for line in known.closest.strip().splitlines()[-20:] or ["none"]),
    ]
    return "\n".join(clean(line) for line in lines)


def show_review(output: Output, thread: Thread, receipt: str, diff: str, *, recommend: bool) -> None:
    """What a reviewer needs: what was proven, what is not, and what changed."""
    say = output.print
    if recommend:
        say(Text(" Recommend Approve ", "bold black on green"))
    say(Text(clean(receipt)))
    _show_diff(output, diff)
    if thread.refused:
        say(Text(f"attempts at a gate that were refused: {len(thread.refused)}; `ralph thread show` has them", "red"))


def _show_diff(output: Output, diff: str) -> None:
    """A patch with its colours."""
    for line in clean(diff).splitlines():  # once it is clean, nothing but a line feed ends a line
        output.print(Text(line, _diff_style(line)))


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def show_list(output: Output, rows: Sequence[dict[str, Any]], machine: Machine) -> None:
    """The threads, a line each; what cannot be read is said so."""
    states = {name: (f"{machine.label(name):<16}", shade(state)) for name, state in machine.states.items()}
    output.print_all(_row(row, states) for row in rows)


def _row(row: dict[str, Any], states: Mapping[str, tuple[str, str]]) -> Text:
    if row.get("corrupt"):
        return Text(f"✗ {one_line(row['id'])}  {one_line(row['corrupt'])}", "red")
    line = Text(f"{'▸' if row['is_active'] else ' '} {row['id'][-8:]}  ")
    return line.append(*states[row["state"]]).append(f"  {one_line(row['title'])}")
