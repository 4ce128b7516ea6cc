"""`ralph stats`, seen from outside: in a terminal, in a pipe, as JSON and as Prometheus reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from faces.journals import PERSON, journal_file, trusting
from faces.programs import run, run_here, run_in_terminal
from interlock.faces.amounts import count_text, span_text
from interlock.faces.cli.plots import bar, shares, sparkline
from interlock.journal import Transaction, open_journal
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from journal.histories import Clock
from work.orchestration.runs_made import Made

COLOUR = re.compile(r"\x1b\[([0-9]+;)*(3[0-8]|9[0-7])[0-9;]*m")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def ids(repository: Path, clock: Clock) -> list[str]:
    """Three runs: one that met its goal, one that failed, and the one on its directory that rests."""
    journal = open_journal(journal_file(repository), now=clock, created=trusting(repository))
    try:
        good = Made(journal, clock, "Greet people in every language that they may speak, and in Welsh", "260131-144400")
        good.plan(120, ["task-1", "task-2"], cycles=1)
        good.attempt(600, "task-1", "Failed")
        good.attempt(600, "task-1")
        good.attempt(600, "task-2")
        good.finish(60)
        bad = Made(journal, clock, "Greet\x1b[31m nobody", "260131-150000")
        bad.plan(60, ["task-1"])
        for _ in range(3):
            bad.attempt(60, "task-1", "Failed")
        bad.leave()
        clock.forward(3600)
        again = Made(journal, clock, "Greet nobody", "260131-150000")
        again.plan(60, ["task-1"])
        again.leave()
        return [good.id, bad.id, again.id]
    finally:
        journal.close()


def _screen(text: str) -> str:
    return STYLE.sub("", text).replace("\r", "")


def test_everything_is_told_in_a_pipe_without_colours(
    ids: list[str], repository: Path, environment: dict[str, str]
) -> None:
    told = run("stats", cwd=repository, env=environment)
    assert (told.code, told.err) == (0, "")
    assert "\x1b" not in told.out
    assert "3 runs in 2 sessions" in told.out
    assert re.search(r"◑ Executing +█+\S* +33 min ", told.out)
    assert re.search(r"^Tasks +█+░+  100% of 2$", told.out, re.MULTILINE)
    assert re.search(r"^Attempts +█+▓+  33% of 6$", told.out, re.MULTILINE)
    assert "3 attempts █" in told.out
    assert re.search(r"^3× task-1  260131-150000, open$", told.out.replace(" " * 10, ""), re.MULTILINE)
    assert "1 cycle, 0.3 a run" in told.out
    assert all(len(line) <= 80 or "Greet" in line for line in told.out.splitlines())


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("which", [None, 0, 2])
def test_it_fits_the_terminal(
    ids: list[str], repository: Path, environment: dict[str, str], columns: int, which: int | None
) -> None:
    words = [] if which is None else [ids[which][-8:]]
    code, screen = run_in_terminal("stats", *words, cwd=repository, env=environment, columns=columns)
    assert code == 0, screen
    assert COLOUR.search(screen)
    lines = _screen(screen).splitlines()
    assert max(map(len, lines)) <= max(columns, 32)
    assert any(line.startswith("Rework") for line in lines)


def test_no_colours_where_none_are_wanted(ids: list[str], repository: Path, environment: dict[str, str]) -> None:
    _, screen = run_in_terminal("stats", cwd=repository, env={**environment, "NO_COLOR": "1"}, columns=80)
    assert "█" in screen
    assert not COLOUR.search(screen)


def test_one_run_is_told_with_its_session(ids: list[str], repository: Path, environment: dict[str, str]) -> None:
    told = run("stats", ids[2][-8:], cwd=repository, env=environment).out
    assert "resting" in told.splitlines()[1]
    assert re.search(r"^Session +\S.* end to end in 2 runs, 1 h 00 min of it between runs$", told, re.MULTILINE)


def test_json_says_the_same_to_programs(ids: list[str], repository: Path, environment: dict[str, str]) -> None:
    data = run("stats", "--json", cwd=repository, env=environment).data
    assert data["runs"] == {"total": 3, "success": 1, "failure": 1, "superseded": 0, "open": 1}
    assert data["tasks"] == {"qualified": 2, "failed": 0, "closed": 0, "open": 1, "success_rate": 1.0}
    assert data["attempts"] == {"qualified": 2, "failed": 4, "blocked": 0, "success_rate": 0.3333}
    assert (data["rework"]["attempts"], data["rework"]["tasks"], data["rework"]["frequency"]) == (3, 2, 0.6667)
    assert data["rework"]["tasks_by_attempts"] == {"1": 1, "2": 1, "3": 1}
    assert data["cycles"] == {"total": 1, "runs_by_cycles": {"0": 2, "1": 1}}
    assert [one["id"] for one in data["recent"]] == ids[::-1]
    for one in data["recent"]:
        assert one["seconds"] == pytest.approx(one["working_seconds"] + one["resting_seconds"])
    one = run("stats", ids[0], "--json", cwd=repository, env=environment).data
    assert one["run"]["outcome"] == "success"
    assert [(task["task"], task["attempts"]) for task in one["run"]["tasks"]] == [("task-1", 2), ("task-2", 1)]
    assert one["session"]["runs"] == [ids[0]]
    states = sum(state["seconds"] for state in one["time"]["states"].values())
    assert states + one["time"]["resting_seconds"] == pytest.approx(one["run"]["seconds"])


def test_prometheus_reads_it(ids: list[str], repository: Path, environment: dict[str, str]) -> None:
    told = run("stats", "--prometheus", cwd=repository, env=environment)
    assert told.out.endswith("\n")
    found = {family.name: family for family in text_string_to_metric_families(told.out)}
    assert [one.value for one in found["ralph_attempts"].samples] == [2, 4, 0]
    one = run("stats", ids[0], "--prometheus", cwd=repository, env=environment).out
    assert 'ralph_runs_total{outcome="failure"} 0\n' in one


def test_without_a_run_it_says_how_to_begin_one(repository: Path, environment: dict[str, str]) -> None:
    told = run("stats", cwd=repository, env=environment)
    assert told.code == 0
    assert 'ralph orchestrate "GOAL"' in told.out
    assert run("stats", "--json", cwd=repository, env=environment).data["runs"]["total"] == 0
    assert "ralph_runs_open 0\n" in run("stats", "--prometheus", cwd=repository, env=environment).out
    assert not journal_file(repository).exists()
    refused = run("stats", "3azdq", "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "unknown_instance"


def test_two_forms_at_once_are_refused(repository: Path, environment: dict[str, str]) -> None:
    assert run("stats", "--json", "--prometheus", cwd=repository, env=environment).error["code"] == "usage"


# Plots


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 60))
def test_a_bar_is_as_long_as_its_value(value: int, most: int, width: int) -> None:
    drawn = bar(value, most, width)
    assert len(drawn) <= width
    assert bool(drawn) == bool(value)
    assert len(bar(most, most, width)) == width
    assert len(drawn) <= len(bar(value + 1, most, width))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), st.integers(5, 60))
def test_parts_of_a_bar_fill_it_and_none_is_lost(values: list[int], width: int) -> None:
    given_ = shares(values, width)
    assert sum(given_) == (width if sum(values) else 0)
    assert all(bool(share) == bool(value) for share, value in zip(given_, values, strict=True))


@given(st.lists(st.integers(0, 10**6), max_size=80), st.integers(1, 60))
def test_a_sparkline_shows_the_last_values(values: list[int], width: int) -> None:
    assert len(sparkline(values, width)) == min(len(values), width)


def test_numbers_are_told_in_few_words() -> None:
    day = 86_400_000
    spans = [span_text(one) for one in (0, 4200, 59_000, 180_000, 3_600_000, day, 2 * day, 3 * day + 7_200_000)]
    assert spans == ["0.0 s", "4.2 s", "59 s", "3 min", "1 h 00 min", "24 h 00 min", "2 d 0 h", "3 d 2 h"]
    assert [count_text(one) for one in (0, 999, 1500, 86_000, 2_166_000)] == ["0", "999", "1.5 k", "86 k", "2.2 M"]


def test_runs_that_no_orchestrator_began_are_counted(repository: Path, environment: dict[str, str]) -> None:
    used = {"day": "2026-01-31", "milliseconds": 60_000, "tokens": 100, "microdollars": 250_000}

    def write(transaction: Transaction) -> None:
        for machine, runs in (("thread", 15), ("story", 1)):
            parent = transaction.create(machine, Event("created", PERSON)).entry.instance
            for _ in range(runs):
                began = Event("created", DRIVER, evidence=Evidence(data={"reserved": used}))
                transaction.create("session", began, parent=parent)

    journal = open_journal(journal_file(repository))
    journal.transact(write)
    journal.close()
    told = run_here("stats", cwd=repository, env=environment).out
    assert "16 runs of agents" in told
    assert re.search(r"^threads +15 runs +15 min +\$3\.75 +1\.5 k tokens$", told, re.MULTILINE), told
    assert "The orchestrator has not run yet." in told
    assert "nothing to count" not in told
    data = run_here("stats", "--json", cwd=repository, env=environment).data
    assert {one["driver"]: (one["runs"], one["seconds"], one["usd"]) for one in data["agent_runs"]} == {
        "thread": (15, 900.0, 3.75),
        "story": (1, 60.0, 0.25),
    }
