"""The metrics as Prometheus reads them: with its own parser."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from interlock.journal import open_journal
from interlock.work.orchestration.ledger import all_runs
from interlock.work.orchestration.metrics import Overall, over
from interlock.work.orchestration.metrics_text import BUCKETS, prometheus_text
from interlock.work.orchestration.tally import RoleUsage
from journal.histories import Clock
from work.orchestration.runs_made import Made

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def _parsed(text: str) -> tuple[Samples, dict[str, str]]:
    """Every sample by its name and labels, and the type of each family."""
    families = list(text_string_to_metric_families(text))
    samples = [
        (one.name, tuple(sorted(one.labels.items())), one.value) for family in families for one in family.samples
    ]
    found = {(name, labels): value for name, labels, value in samples}
    assert len(found) == len(samples), "a sample is there twice"
    return found, {family.name: family.type for family in families}


def _of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def test_runs_are_told_as_they_were(tmp_path: Path, clock: Clock) -> None:
    journal = open_journal(tmp_path / "journal.db", now=clock)
    try:
        made = Made(journal, clock, session="one")
        made.plan(30, ["task-1", "task-2"], cycles=1)
        made.attempt(60, "task-1", "Failed")
        made.attempt(60, "task-1")
        made.execute(60, "task-2", agent='co"dex\\x\n2')
        made.review(60, "task-2")
        made.finish(60)
        Made(journal, clock, session="two").plan(30, ["task-1"])
        text = prometheus_text(over(all_runs(journal, is_settled=True)))
    finally:
        journal.close()
    samples, types = _parsed(text)
    assert _of(samples, "ralph_runs_total", outcome="success") == 1
    assert _of(samples, "ralph_runs_open") == 1
    assert round(_of(samples, "ralph_state_seconds_total", state="Planning")) == 4 * 30
    assert round(_of(samples, "ralph_state_seconds_total", state="Executing")) == 3 * 60
    assert _of(samples, "ralph_tasks", end="open") == 1
    assert _of(samples, "ralph_attempts_total", outcome="qualified") == 2
    assert _of(samples, "ralph_attempts_total", outcome="failed") == 1
    assert _of(samples, "ralph_rework_total") == 1
    assert _of(samples, "ralph_qa_cycles_total") == 1
    assert _of(samples, "ralph_invocations_total", role="executor", agent='co"dex\\x\n2') == 1
    assert _of(samples, "ralph_agent_cost_usd_total", role="executor", agent="scripted") == 0.5
    assert _of(samples, "ralph_session_duration_seconds_bucket", outcome="success", le="300") == 0
    assert _of(samples, "ralph_session_duration_seconds_bucket", outcome="success", le="900") == 1
    assert _of(samples, "ralph_session_duration_seconds_count", outcome="success") == 1
    assert 510 <= _of(samples, "ralph_session_duration_seconds_sum", outcome="success") < 520
    assert types["ralph_run_duration_seconds"] == "histogram"


def test_without_runs_every_family_is_there_all_the_same() -> None:
    samples, types = _parsed(prometheus_text(Overall()))
    assert _of(samples, "ralph_runs_total", outcome="failure") == 0
    assert {"ralph_state_seconds", "ralph_session_duration_seconds", "ralph_agent_tokens"} <= types.keys()


_DURATIONS = st.lists(st.tuples(st.sampled_from(["success", "failure"]), st.integers(0, 10**9)), max_size=20)
_NAMES = st.text(max_size=20)


@given(_DURATIONS, st.dictionaries(st.tuples(_NAMES, _NAMES), st.integers(0, 10**12), max_size=4))
def test_any_numbers_and_names_are_read_back(ends: list[tuple[str, int]], used: dict[tuple[str, str], int]) -> None:
    overall = Overall(run_ends=tuple(ends), used={key: RoleUsage(tokens=tokens) for key, tokens in used.items()})
    text = prometheus_text(overall)
    assert text.endswith("\n")
    samples, _ = _parsed(text)
    for (role, agent), tokens in used.items():
        assert _of(samples, "ralph_agent_tokens_total", role=role, agent=agent) == tokens
    for outcome in {outcome for outcome, _ in ends}:
        its = [duration for one, duration in ends if one == outcome]
        name = "ralph_run_duration_seconds"
        counts = [_of(samples, f"{name}_bucket", outcome=outcome, le=str(bound)) for bound in BUCKETS]
        counts.append(_of(samples, f"{name}_bucket", outcome=outcome, le="+Inf"))
        assert counts == sorted(counts)
        assert counts[-1] == _of(samples, f"{name}_count", outcome=outcome) == len(its)
        assert _of(samples, f"{name}_sum", outcome=outcome) == sum(its) / 1000
