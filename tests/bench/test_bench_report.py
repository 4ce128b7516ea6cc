"""`python -m bench`: every benchmark gives lines of one shape, which become one table, on the screen and as a page."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bench.__main__ import RESULTS, parse
from bench.host import PACKAGES, load, machine
from bench.report import COLUMNS, as_json, as_markdown, as_text
from bench.timing import Comparison, alone, at_least, at_most, compare, grown, missing

from patience import SECONDS

ROOT = Path(__file__).parent.parent.parent
RATES = [90.0, 100.0, 110.0]
LINES = (
    compare("append", "a | bare one", RATES, [50.0, 50.0, 50.0], aim=at_least(1.9)),
    grown("read, many", "read, few", [20.0] * 3, [10.0] * 3, unit=" ms", aim=at_most(1.5)),
    alone("memory", 80.5, " MB", aim=at_most(100), note="the peak"),
    missing("append", "a peer", "not installed", at_least(1)),
)


def table(page: str) -> list[dict[str, str]]:
    """The last table of a page, a line each."""
    lines = page.rpartition("\n\n")[2].splitlines()
    names, _, *rows = (line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines)
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_a_page_has_each_line_in_the_same_columns_and_growth_apart_from_ratios() -> None:
    ratio, growth, figure, absent = table(as_markdown({"cores": "2"}, LINES))
    assert tuple(ratio) == COLUMNS
    assert (ratio["what"], ratio["compared with"]) == ("append", "a \\| bare one")
    assert (ratio["ours"], ratio["theirs"], ratio["ratio"], ratio["growth"]) == ("100/s", "50/s", "2.00", "")
    assert (ratio["half of the rounds"], ratio["aim"], ratio["met"]) == ("1.90 to 2.10", "≥ 1.9", "yes")
    assert (growth["ratio"], growth["growth"], growth["met"]) == ("", "2.00", "no")
    assert (figure["ours"], figure["aim"], figure["met"], figure["note"]) == ("80 MB", "≤ 100 MB", "yes", "the peak")
    assert (absent["ours"], absent["met"], absent["note"]) == ("", "", "not installed")


def test_the_screen_and_json_have_the_same_lines() -> None:
    text = as_text({"cores": "2"}, LINES).splitlines()
    assert text[0] == "cores  2"
    assert all(one.subject in line for one, line in zip(LINES, text[-len(LINES) :], strict=True))
    told = json.loads(as_json({"cores": "2"}, LINES))
    assert [(one["ratio"], one["is_growth"], one["met"]) for one in told["comparisons"]] == [
        (one.ratio, one.is_growth, one.met) for one in LINES
    ]


def test_an_aim_within_the_rounds_is_unclear() -> None:
    spread = compare("append", "bare", RATES, [50.0, 50.0, 50.0], aim=at_least(2))
    assert spread.met == "unclear"
    assert Comparison("append", "bare", ratio=1.5, aim=at_least(2)).met == "no"


def test_the_machine_is_told_without_its_name_or_a_path() -> None:
    told = {**machine(), "load": load()}
    assert {"CPU", "cores", "memory", "kernel", "Python", "SQLite", "git", "load"} <= {*told}
    assert all(told.values())
    assert not any(platform.node() in value.split() for value in told.values())
    assert not any("/" in value for value in told.values())


def test_a_benchmark_prints_its_table_and_writes_it_where_it_is_told(tmp_path: Path) -> None:
    before = RESULTS.read_bytes() if RESULTS.exists() else None
    file = tmp_path / "part.md"
    words = [sys.executable, "-m", "bench", "--quick", "--only", "steps", "--write", str(file)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert (RESULTS.read_bytes() if RESULTS.exists() else None) == before, "a part is not the whole"
    printed, page = done.stdout, file.read_text(encoding="utf-8")
    lines = table(page)
    assert {one["benchmark"] for one in lines} == {"steps"}
    assert all(one["what"] in printed and one["compared with"] in printed for one in lines)
    for name in ("date", "took", "load at the beginning", "load at the end"):
        assert f"| {name} |" in page
        assert f"\n{name} " in f"\n{printed}"
    assert str(ROOT) not in page


def test_only_a_whole_run_becomes_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse([]).write == RESULTS
    assert parse(["--quick"]).write is parse(["--only", "steps"]).write is None
    assert parse(["--quick", "--write", str(RESULTS)]).write == RESULTS
    assert parse(["--write", str(tmp_path / "elsewhere.md")]).write == tmp_path / "elsewhere.md"
    with pytest.raises(SystemExit):
        parse(["--only", "steps", "--write", str(RESULTS)])
    assert "leave out --only" in capsys.readouterr().err


def test_make_bench_installs_all_that_the_benchmarks_measure() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["dependency-groups"]["bench"], *(one for extra in extras.values() for one in extra)]
    installed = {re.split(r"[\[><=~!]", one)[0] for one in wanted}
    assert set(PACKAGES) <= installed
