"""The cases that `make test` leaves out: always the same, never all of a test, and none in `make test-exhaustive`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import scratch
from patience import SECONDS

TESTS = Path(__file__).parent


def _collected(exhaustive: str) -> list[str]:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "journal/test_input.py"]
    environment = {**os.environ, "RALPH_TEST_EXHAUSTIVE": exhaustive}
    done = subprocess.run(
        words, cwd=TESTS, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout
    return [line for line in done.stdout.splitlines() if "::" in line]


def _functions(cases: list[str], database: str) -> Counter[str]:
    return Counter(case.partition("[")[0] for case in cases if f"[{database}" in case)


def test_a_table_is_sampled_on_postgresql_and_whole_in_the_exhaustive_run() -> None:
    sample, everything = _collected("0"), _collected("1")
    assert set(sample) < set(everything)
    assert _functions(sample, "sqlite") == _functions(everything, "sqlite") == _functions(everything, "postgresql")
    on_postgresql = _functions(sample, "postgresql")
    assert on_postgresql.keys() == _functions(everything, "postgresql").keys()
    assert max(on_postgresql.values()) == 2
    assert _collected("0") == sample


@pytest.mark.parametrize("name", ["TMPDIR", "RALPH_TEST_ON_DISK"])
def test_whoever_names_a_place_for_temporary_files_gets_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    assert scratch.in_memory() is None


def test_memory_without_room_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TMPDIR", "RALPH_TEST_ON_DISK"):
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as small:
        small.setattr(scratch, "_ROOM", 1 << 60)
        assert scratch.in_memory() is None
    monkeypatch.setattr(scratch, "_SHARED_MEMORY", tmp_path / "missing")
    assert scratch.in_memory() is None
