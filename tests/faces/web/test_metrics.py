"""Metrics at /metrics of a real server, read by Prometheus' own parser; none where they are off."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from faces.journals import AGENT, settle
from faces.programs import SECONDS, clean_environment
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.agent_run import DRIVER
from interlock.work.sessions.runs import RUN, RunSummary, data_of
from interlock.work.sessions.verbs import Caller, complete, create, note
from interlock.work.telemetry.counters import COUNTERS
from work.attention.standings import thread_in

from .sites import Site, site_of

HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
PROMISED = """
ralph_build_info ralph_journal_entries ralph_instances ralph_waiting_for_a_person ralph_outbox_behind_entries
ralph_outbox_failures ralph_outbox_sent ralph_outbox_dropped ralph_moves ralph_off_path ralph_tool_denials
ralph_agent_runs ralph_agent_run_seconds ralph_tokens ralph_cost_usd ralph_tool_calls
""".split()
"""What there is, as the parser calls it: a counter's name without its end."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = clean_environment(tmp_path_factory.mktemp("home"))
    directory = tmp_path_factory.mktemp("site") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    settle(directory, '[telemetry]\nmetrics = "on"\n')
    with site_of(directory, home) as found:
        yield found


def _scraped(site: Site) -> dict[str, dict[tuple[str, ...], float]]:
    """Each family's samples by the values of their labels."""
    answer = site.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = list(text_string_to_metric_families(answer.text))
    assert all(one.documentation and one.type in ("counter", "gauge") for one in families)
    return {one.name: {tuple(it.labels.values()): it.value for it in one.samples} for one in families}


def test_all_that_is_promised_is_counted(measured: Site) -> None:
    journal = measured.journal
    journal.begin_outbox("webhook")
    before = _scraped(measured)
    assert sorted(before) == sorted(PROMISED)
    caller = Caller(DRIVER, "claude", None, None)
    session = journal.transact(create(caller, role="implementer")).session_id
    journal.transact(note(session, "denied", HOOK, {"tool": "Write", "call": "a"}))
    ran = RunSummary("claude", "finished", seconds=2.5, input=10, output=3, cached=4, cost_usd=0.125, calls=6)
    journal.transact(note(session, RUN, DRIVER, data_of(ran)))
    forged = RunSummary('cla"ude\n', "finished", input=10**9)
    journal.transact(note(session, RUN, AGENT, data_of(forged)))  # an agent's word counts nothing
    journal.transact(complete(session, "success", DRIVER))
    thread_in(journal, "Stuck")
    now = _scraped(measured)
    assert now["ralph_agent_runs"] == {("claude", "finished"): 1.0}
    assert now["ralph_agent_run_seconds"] == {("claude",): 2.5}
    assert now["ralph_tokens"] == {("claude", "cached"): 4.0, ("claude", "input"): 10.0, ("claude", "output"): 3.0}
    assert now["ralph_cost_usd"] == {("claude",): 0.125}
    assert now["ralph_tool_calls"] == {("claude",): 6.0}
    assert now["ralph_tool_denials"] == {(): 1.0}
    assert now["ralph_instances"]["thread", "Stuck"] == 1.0
    assert now["ralph_moves"]["thread", "Stuck", "system"] == 1.0
    assert now["ralph_waiting_for_a_person"][()] == before["ralph_waiting_for_a_person"][()] + 1
    written = journal.head() - before["ralph_journal_entries"][()]
    assert now["ralph_journal_entries"][()] == journal.head()
    assert now["ralph_outbox_behind_entries"][("webhook",)] == written
    assert _scraped(measured) == now, "what is counted is counted once"
    assert journal.verify(COUNTERS) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 400),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
    ],
)
def test_only_who_may_see_the_dashboard_sees_them(measured: Site, headers: dict[str, str], status: int) -> None:
    assert httpx.get(f"{measured.url}/metrics", headers=headers, verify=False, timeout=SECONDS).status_code == status


def test_where_they_are_off_there_are_none(site: Site) -> None:
    assert site.get("/metrics").status_code == 404
