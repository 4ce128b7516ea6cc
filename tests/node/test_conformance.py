"""The MCP project's conformance suite against `ralph serve`: whatever applies to our server passes."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("conformance.toml")
NOT_APPLICABLE: Mapping[str, str] = tomllib.loads(LIST.read_text())["not_applicable"]
SCENARIO = re.compile(r"^server-(.+)-\d{4}-\d\d-\d\dT[-\dZ]+$")
MISSING = re.compile(r"MCP error -3260[12]|Tool '\w+' not found")
"""How our server says that it has no such fixture or method; nothing else is a reason to fail a scenario."""
Checks = dict[str, list[dict[str, str]]]
"""What each scenario of the suite checked."""


def _run(programs: Path, address: str, surroundings: Mapping[str, str], results: Path) -> Checks:
    done = subprocess.run(
        [programs / "conformance", "server", "--suite", "all", "--url", address, "--output-dir", results],
        env=dict(surroundings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    files = {SCENARIO.sub(r"\1", path.parent.name): path for path in results.glob("*/checks.json")}
    assert files, done.stdout + done.stderr
    return {name: json.loads(path.read_text()) for name, path in files.items()}


@pytest.mark.node
def test_whatever_applies_of_the_conformance_suite_passes(
    programs: Path, served: str, surroundings: dict[str, str], tmp_path: Path
) -> None:
    scenarios = _run(programs, served, surroundings, tmp_path / "results")
    states = {name: [check["status"] for check in checks] for name, checks in scenarios.items()}
    passed = {name for name, seen in states.items() if "SUCCESS" in seen and "FAILURE" not in seen}
    assert scenarios.keys() - passed == NOT_APPLICABLE.keys(), json.dumps(scenarios, indent=1)
    failed = [check for checks in scenarios.values() for check in checks if check["status"] == "FAILURE"]
    assert all(MISSING.search(check["errorMessage"]) for check in failed), json.dumps(failed, indent=1)


def test_each_scenario_that_does_not_apply_has_its_reason() -> None:
    assert all(reason.strip() for reason in NOT_APPLICABLE.values())
    assert list(NOT_APPLICABLE) == sorted(NOT_APPLICABLE)
