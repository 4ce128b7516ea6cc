"""`ralph machine`: list, show, check and draw the machines."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from interlock.errors import InvalidMachine
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import columns

if TYPE_CHECKING:
    from interlock.machine.check import CheckReport

__all__ = ["VERBS"]

_FORMATS = ("mermaid", "svg", "xstate")


def _list(call: CommandCall) -> None:
    from interlock.world.definitions import summaries

    machines = [_in_force(one, call) for one in summaries()]
    rows = [
        (one["name"], f"{one['states']} states", f"{one['transitions']} transitions", one["description"])
        for one in machines
    ]
    call.output.result(machines, lambda: call.output.text(columns(rows, call.output.width)))


def _in_force(shipped: dict[str, Any], call: CommandCall) -> dict[str, Any]:
    """A machine's summary; that of the override where there is one, which has to be loaded for it."""
    if shipped["name"] != "ticket" or not call.environment.get("RALPH_STATE_MACHINE_CONFIG"):
        return shipped
    from interlock.machine.describe import summarise
    from interlock.world.machines import find_machine

    return summarise(find_machine("ticket", call.environment))


def _show(call: CommandCall) -> None:
    from interlock.machine.describe import describe
    from interlock.world.machines import find_machine

    machine = find_machine(call.arguments.machine, call.environment)

    def show() -> None:
        from interlock.faces.cli.portrait import show_machine

        show_machine(call.output.console(), machine)

    call.output.result(describe(machine), show)


def _check(call: CommandCall) -> None:
    from interlock.machine import SHIPPED
    from interlock.machine.check import check
    from interlock.world.machines import is_warning, load_unchecked

    reports: list[CheckReport] = []
    failed: list[str] = []
    for name in call.arguments.machine or SHIPPED:
        report = check(load_unchecked(name, call.environment))
        warnings = {one.code for one in report.findings if is_warning(name, one.code, call.environment)}
        reports.append(report)
        if any(one.code not in warnings for one in report.findings):
            failed.append(name)
        if not call.output.json:
            _show_report(call, report, warnings)
    data = [_report_data(report) for report in reports]
    if failed:
        message = f"The checker found faults in {', '.join(failed)}."
        raise InvalidMachine("machine_unsound", message, "Mend the file, then check it again.", {"reports": data})
    call.output.result(data, lambda: None)


def _report_data(report: CheckReport) -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(report)
    return data


def _show_report(call: CommandCall, report: CheckReport, warnings: set[str]) -> None:
    from interlock.faces.cli.portrait import show_report

    show_report(call.output.console(), report, warnings)


def _diagram(call: CommandCall) -> None:
    import json

    from interlock.world.machines import find_machine

    machine = find_machine(call.arguments.machine, call.environment)
    wanted: str = call.arguments.format
    if wanted == "svg":
        from interlock.faces.drawing.svg import svg

        drawn = svg(machine)
    else:
        from interlock.faces.drawing.diagram import mermaid, xstate

        drawn = mermaid(machine) if wanted == "mermaid" else json.dumps(xstate(machine), indent=2, ensure_ascii=False)
    data = {"machine": machine.name, "format": wanted, "diagram": drawn}
    call.output.result(data, lambda: call.output.text(drawn))


def _schema(call: CommandCall) -> None:
    from interlock.world.definitions import schema_text

    text = schema_text()

    def data() -> Any:
        import json

        return json.loads(text)

    call.output.result(data() if call.output.json else None, lambda: call.output.text(text))


def _one(parser: ArgumentParser) -> None:
    parser.add_argument("machine", metavar="NAME|FILE", help="a machine's name, or the path of a file of your own")


def _any(parser: ArgumentParser) -> None:
    parser.add_argument(
        "machine", metavar="NAME|FILE", nargs="*", help="which machines; none means all that are shipped"
    )


def _drawn(parser: ArgumentParser) -> None:
    _one(parser)
    parser.add_argument("--format", choices=_FORMATS, default="mermaid", help="how it is drawn")


VERBS = (
    Verb("list", "the machines that come with Interlock", _list),
    Verb(
        "show",
        "one machine: states, transitions, gates and commands",
        _show,
        _one,
    ),
    Verb(
        "check",
        "explore every configuration, and report every fault",
        _check,
        _any,
    ),
    Verb(
        "diagram",
        "draw a machine as Mermaid, SVG or XState JSON",
        _diagram,
        _drawn,
    ),
    Verb("schema", "the JSON Schema of a machine file", _schema),
)
