"""How everything stands and what it added up to, in Prometheus' text form. It costs the same in a long journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from interlock import __version__
from interlock.journal import Journal
from interlock.work.attention.overview import asking
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.telemetry.counters import counted
from interlock.work.telemetry.exposition import Labels, by, family, single, text

__all__ = ["metrics_text"]

_COUNTERS: Final[tuple[tuple[str, str, str, tuple[str, ...], float], ...]] = (
    ("moves", "ralph_moves_total", "Moves of instances into a state, by who made them.", ("machine", "to", "by"), 1),
    ("off_path", "ralph_off_path_total", "Moves that a machine only observed: its table lacks them.", ("machine",), 1),
    ("denied", "ralph_tool_denials_total", "Calls of tools that a hook denied.", (), 1),
    ("runs", "ralph_agent_runs_total", "Runs of agents by drivers, by how they ended.", ("agent", "ending"), 1),
    ("milliseconds", "ralph_agent_run_seconds_total", "How long those runs took.", ("agent",), 1000),
    (
        "tokens",
        "ralph_tokens_total",
        "Tokens of those runs; cached ones are not among the input.",
        ("agent", "type"),
        1,
    ),
    ("micro_usd", "ralph_cost_usd_total", "What agents say that those runs cost.", ("agent",), 1_000_000),
    ("calls", "ralph_tool_calls_total", "Calls of tools that those runs told of.", ("agent",), 1),
)
"""Each family of the counters: what it is called, what it counts, its labels, and how many make one."""


def metrics_text(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> str:
    """What a Prometheus server scrapes. `root` is the work tree, whose settings may wait to be accepted."""
    return text(_lines(journal, watch, settings, root))


def _lines(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> Iterator[str]:
    yield from family("ralph_build_info", "gauge", "The version that answers.", [({"version": __version__}, 1)])
    head = journal.head()
    yield from single("ralph_journal_entries_total", "counter", "Entries of the journal.", head)
    said = "Instances that have not ended, by where they stand."
    yield from family("ralph_instances", "gauge", said, _instances(journal))
    _, waiting = asking(journal, watch, settings, root)
    yield from single("ralph_waiting_for_a_person", "gauge", "What waits for a person.", waiting)
    yield from _outboxes(journal, head)
    known = counted(journal)
    for name, metric, said, labels, unit in _COUNTERS:
        yield from family(metric, "counter", said, _samples(known.get(name, {}), labels, unit))


def _instances(journal: Journal) -> Iterator[tuple[Labels, float]]:
    for machine, states in sorted(journal.counts_by_state().items()):
        for state, number in sorted(states.items()):
            yield {"machine": machine, "state": state}, number


def _outboxes(journal: Journal, head: int) -> Iterator[str]:
    boxes = journal.outboxes()
    for name, type_, said, values in (
        (
            "behind_entries",
            "gauge",
            "Entries not looked at yet.",
            {one.channel: max(0, head - one.seq) for one in boxes},
        ),
        ("failures", "gauge", "Failures since something went out.", {one.channel: one.tries for one in boxes}),
        ("sent_total", "counter", "What went out.", {one.channel: one.sent for one in boxes}),
        ("dropped_total", "counter", "What is lost: too old, or refused.", {one.channel: one.dropped for one in boxes}),
    ):
        yield from family(f"ralph_outbox_{name}", type_, f"By channel. {said}", by("channel", values))


def _samples(
    known: Mapping[tuple[str, ...], int], labels: tuple[str, ...], unit: float
) -> Iterable[tuple[Labels, float]]:
    if not labels and not known:
        return [({}, 0)]
    return [(dict(zip(labels, values, strict=True)), n if unit == 1 else n / unit) for values, n in known.items()]
