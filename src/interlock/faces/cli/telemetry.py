"""`ralph telemetry`: try the collector of traces, see how they stand, and send what waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import clean, columns
from interlock.faces.cli.place import Workspace, readable, writable

if TYPE_CHECKING:
    from interlock.work.telemetry.exporting import Export

__all__ = ["VERBS"]


def _export(call: CommandCall, place: Workspace) -> Export:
    from interlock.work.telemetry.exporting import export_of

    found = export_of(place.journal, place.settings, call.environment)
    if found is None:
        hint = 'Set telemetry.traces = "on" in ralph.toml, then `ralph config accept`; and unset OTEL_SDK_DISABLED.'
        raise UsageError("telemetry_off", "Traces are off.", hint)
    return found


def _test(call: CommandCall) -> None:
    from interlock.world.notices.notice import DeliveryFailure
    from interlock.world.telemetry.span import Span, span_id, trace_id

    with readable(call) as place:
        export, now = _export(call, place), int(place.journal.now() * 1e9)
        own = os.urandom(16).hex()
        span = Span(trace_id(own), span_id(own), "", "ralph telemetry test", now, now, {"ralph.test": True})
        answer = export.collector.send([span])
    if isinstance(answer, DeliveryFailure) or answer.rejected:
        why = answer.why if isinstance(answer, DeliveryFailure) else f"it refused the span: {answer.said}"
        raise InterlockError("telemetry_failed", f"{clean(why)}.", "Mend what it names, then try it again.")
    data = {"trace": span.trace}
    call.output.result(data, lambda: call.output.text(f"The collector took a span of the trace {span.trace}."))


def _status(call: CommandCall) -> None:
    from interlock.work.telemetry.exporting import export_of

    with readable(call) as place:
        export = export_of(place.journal, place.settings, call.environment)
        box = next((one for one in place.journal.outboxes() if export is not None and one.channel == export.name), None)
        waiting = export.waiting() if export is not None and box is not None else 0
        content, metrics = (place.settings.text(f"telemetry.{one}") == "on" for one in ("content", "metrics"))
    data: dict[str, Any] = {"traces": export is not None, "content": content, "metrics": metrics, "waiting": waiting}
    data |= {"sent": 0, "dropped": 0, "told": None, "tries": 0, "trouble": None, "due": None}
    if box is not None:
        from interlock.journal.ids import time_text

        due = time_text(box.due * 1_000_000) if box.due else None
        data |= {"sent": box.sent, "dropped": box.dropped, "told": box.told or None}
        data |= {"tries": box.tries, "trouble": box.trouble or None, "due": due}
    call.output.result(data, lambda: call.output.text(clean(columns(_lines(data)))))


def _lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    content = "with what was asked and said" if data["content"] else "without content"
    off = "off; telemetry.{} in ralph.toml turns them on"
    lines = [("traces", f"on, {content}" if data["traces"] else off.format("traces"))]
    lines += [("metrics", "on: /metrics of `ralph serve`" if data["metrics"] else off.format("metrics"))]
    if data["traces"]:
        last = f", the last at {data['told']}" if data["told"] else ""
        lines += [("spans", f"{data['waiting']} wait, {data['sent']} sent{last}, {data['dropped']} lost")]
    if data["trouble"]:
        tries = f"failed {data['tries']}×: " if data["tries"] else ""
        again = f"; again after {data['due']}" if data["due"] else ""
        lines += [("trouble", f"{tries}{data['trouble']}{again}")]
    return lines


def _send(call: CommandCall) -> None:
    with writable(call) as place:
        export = _export(call, place)
        sent = export.turn()
        box = export.begin()
    data = {"sent": sent, "dropped": box.dropped, "trouble": box.trouble or None}
    if box.trouble:
        hint = "`ralph telemetry status` says when it is tried again, and what was lost."
        raise InterlockError("telemetry_failed", f"{clean(box.trouble)}.", hint, data)
    call.output.result(data, lambda: call.output.text(f"{sent} spans sent."))


VERBS = (
    Verb("test", "send one span to the collector, to see that it arrives", _test),
    Verb("status", "whether it is on; what waits, was sent, and was lost", _status),
    Verb("send", "send what waits now; for cron", _send),
)
