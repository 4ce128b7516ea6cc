"""The stats' page: the five metrics over time, what agents cost, and plots that can be read without seeing them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faces.journals import journal_file, trusting
from faces.programs import clean_environment
from interlock.faces.amounts import count_text, span_text
from interlock.faces.web.plots import HEIGHT, WIDTH, ColumnPart, plot_of
from interlock.journal import open_journal
from interlock.work.orchestration.ledger import all_runs, recent_runs
from interlock.work.orchestration.metrics import over
from interlock.work.orchestration.trends import by_day
from journal.histories import Clock
from work.orchestration.runs_made import Made

from .sites import HOSTILE, Site, site_of

DAY = 86_400


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three runs on two days: one that met its goal, one that failed, and the one on its directory that rests."""
    home = clean_environment(tmp_path_factory.mktemp("home"))
    repository = tmp_path_factory.mktemp("site") / "repository"
    subprocess.run(["git", "init", "-q", repository], env=home, check=True, timeout=60)
    _write(repository)
    with site_of(repository, home) as site:
        yield site


def _write(repository: Path) -> None:
    clock = Clock()
    journal = open_journal(journal_file(repository), now=clock, created=trusting(repository))
    good = Made(journal, clock, HOSTILE, "260131-144400")
    good.plan(120, ["task-1", "<b>task-2"], cycles=1)
    good.attempt(600, "task-1", "Failed")
    good.attempt(600, "task-1")
    good.execute(600, "<b>task-2", agent='<i>"agent"')
    good.review(600, "<b>task-2")
    good.finish(60)
    clock.forward(DAY)
    bad = Made(journal, clock, "Greet nobody", "<script>s")
    bad.plan(60, ["task-1"])
    for _ in range(3):
        bad.attempt(60, "task-1", "Failed")
    bad.leave()
    clock.forward(3600)
    again = Made(journal, clock, "Greet nobody", "<script>s")
    again.plan(60, ["task-1"])
    again.leave()
    journal.close()


def test_without_a_run_it_says_what_to_do(site: Site) -> None:
    page = site.page("/stats")
    assert "ralph orchestrate" in page
    assert '<svg class="plot"' not in page


def test_the_five_metrics_are_told(counted: Site) -> None:
    page = counted.page("/stats")
    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd><b>([^<]+)</b>", page))
    overall = over(all_runs(counted.journal))
    assert facts["Runs"] == "3"
    assert facts["Tasks that succeed"] == "100%"
    assert facts["Rework"] == "67%"
    assert facts["Q&amp;A cycles"] == str(overall.all_cycles) == "1"
    assert facts["End to end"] == "1 h 07 min"
    for state in ("Planning", "Executing", "Reviewing"):
        assert state in page.split("<h2>Time in each state")[1].split("</table>")[0]


def test_every_plot_has_words_and_a_table(counted: Site) -> None:
    page = counted.page("/stats")
    plots = page.split('<svg class="plot"')[1:]
    assert len(plots) == 9
    for plot in plots:
        drawing, rest = plot.split("</svg>", 1)
        assert re.search(r"<title id=\"plot\d\">[^<]+</title><desc id=\"said\d\">[^<]+</desc>", drawing)
        assert "2023-11-14" in rest.split("</table>")[0]
        assert "2023-11-15" in rest.split("</table>")[0]


def test_cost_is_told_by_role_and_agent(counted: Site) -> None:
    table = counted.page("/stats").split("<h2>What agents used")[1].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table.split("<tr>")[2:]]
    by_role = {(row[0], row[1]): row[2:] for row in rows}
    assert by_role["executor", "&lt;i&gt;&#34;agent&#34;"] == ["1", "10 min", "$0.25", "100"]
    assert by_role["questioner", "scripted"][0] == "1"


def test_what_others_wrote_is_only_words(counted: Site) -> None:
    page = counted.page("/stats")
    assert "<script>alert" not in page
    assert "<b>task-2" not in page
    assert "<script>s" not in page


def test_older_runs_are_on_a_page_of_their_own(counted: Site) -> None:
    newest, has_older = recent_runs(counted.journal, 2)
    assert has_older
    assert [one.id for one in newest] == [one.id for one in all_runs(counted.journal)][1:]
    rest, more = recent_runs(counted.journal, 2, newest[0].id)
    assert (len(rest), more) == (1, False)
    page = counted.page(f"/stats?before={newest[0].id}")
    assert "<dt>Runs</dt><dd><b>1</b>" in page
    assert "The newest" in page


@pytest.mark.parametrize("before", ["x", "%00", "0" * 26, "z" * 5000, "%3Cscript%3E"])
def test_whatever_is_asked_is_answered(counted: Site, before: str) -> None:
    counted.page(f"/stats?before={before}")


def test_days_add_up_to_everything(counted: Site) -> None:
    runs = all_runs(counted.journal, is_settled=True)
    days = by_day(runs)
    assert [day.date for day in days] == ["2023-11-14", "2023-11-15"]
    whole = over(runs)
    assert sum(day.overall.runs for day in days) == whole.runs
    assert sum(day.overall.worked for day in days) == whole.worked
    assert sum(day.overall.rework for day in days) == whole.rework
    assert sum(day.tokens for day in days) == sum(one.tokens for one in whole.used.values())
    assert [day.success for day in days] == [1.0, None]


@given(st.lists(st.lists(st.floats(0, 1e12), min_size=2, max_size=2), max_size=80))
def test_every_column_is_within_its_plot_and_as_high_as_its_value(values: list[list[float]]) -> None:
    days = [f"day {number}" for number in range(len(values))]
    stacks = [[ColumnPart(one, "good", "a"), ColumnPart(other, "bad", "b")] for one, other in values]
    plot = plot_of("Something", days, stacks, lambda value: f"{value:.0f}")
    assert len(plot.pieces) == sum(value > 0 for both in values for value in both)
    assert len(plot.rows) == len(days)
    for piece in plot.pieces:
        assert 0 <= piece.x <= piece.x + piece.width <= WIDTH
        assert 0 <= piece.y <= piece.y + piece.height <= HEIGHT
        assert piece.height >= 1


@given(st.integers(0, 10**13))
def test_numbers_are_short(number: int) -> None:
    assert len(count_text(number)) <= 9
    assert len(span_text(number)) <= 14
