"""`ralph doctor`: is everything here that Interlock needs?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faces.journals import journal_file, opened, settle, write_session
from faces.programs import run_here
from work.tickets.places import circled


def _checks(found: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    assert all(one.keys() == {"check", "status", "detail"} for one in found)
    return {one["check"]: (one["status"], one["detail"]) for one in found}


def test_a_healthy_place_has_no_fault(repository: Path, environment: dict[str, str]) -> None:
    checks = _checks(run_here("doctor", "--json", cwd=repository, env=environment).data)
    assert {status for status, _ in checks.values()} <= {"ok", "note"}
    assert checks["journal"][0] == "note"
    assert str(journal_file(repository)) in checks["journal"][1]
    assert not (repository / ".ralf").exists()
    result = run_here("doctor", cwd=repository, env=environment)
    assert [line.split()[1] for line in result.out.splitlines()] == list(checks)


def test_a_journal_is_counted(repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        write_session(journal)
    checks = _checks(run_here("doctor", "--json", cwd=repository, env=environment).data)
    assert checks["journal"] == ("ok", "4 entries, 1 instances")


def test_the_networks_in_force_are_listed_with_what_they_expose(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, '[agent]\nsandbox = "none"\n')
    status, said = _checks(run_here("doctor", "--json", cwd=repository, env=environment).data)["network"]
    assert status == "note"
    assert said.startswith("agent.sandbox is none, verify.sandbox is none: not protected")
    text = '[agent]\nsandbox = "auto"\nnetwork = ["example.org"]\n[verify]\nsandbox = "auto"\nnetwork = "host"\n'
    settle(repository, text)
    status, said = _checks(run_here("doctor", "--json", cwd=repository, env=environment).data)["network"]
    assert status == "note"
    assert said.startswith("agent.network: its own, which reaches example.org; verify.network: not protected")
    settle(repository, '[agent]\nsandbox = "auto"\n')
    status, said = _checks(run_here("doctor", "--json", cwd=repository, env=environment).data)["network"]
    assert (status, said.partition(";")[0]) == ("ok", "agent.network, verify.network: everything but this machine")


def test_tickets_that_wait_for_each_other_are_a_fault_with_the_way_out(
    repository: Path, environment: dict[str, str]
) -> None:
    with opened(repository) as journal:
        circled(journal)
    result = run_here("doctor", "--json", cwd=repository, env=environment)
    checks = _checks(result.error["details"]["checks"])
    assert [name for name, (status, _) in checks.items() if status == "fault"] == ["tickets"]
    assert "`ralph ticket deps 2 --blocked-by 1 --remove`" in checks["tickets"][1]


def test_a_file_that_is_no_journal_is_a_fault_and_the_rest_is_looked_at_all_the_same(
    repository: Path, environment: dict[str, str]
) -> None:
    file = journal_file(repository)
    file.parent.mkdir()
    file.write_text("my notes\n" * 200, encoding="utf-8")
    result = run_here("doctor", "--json", cwd=repository, env=environment)
    assert result.error["code"] == "unhealthy"
    checks = _checks(result.error["details"]["checks"])
    assert [name for name, (status, _) in checks.items() if status == "fault"] == ["journal"]
    assert checks["git"][0] == "ok"
    shown = run_here("doctor", cwd=repository, env=environment)
    assert shown.code == 1
    assert f"✗  journal     {file}" in shown.out
    assert "journal. [unhealthy]" in shown.err


def test_without_git_it_says_what_to_do(outside: Path, environment: dict[str, str]) -> None:
    result = run_here("doctor", "--json", cwd=outside, env={**environment, "PATH": str(outside)})
    checks = _checks(result.error["details"]["checks"])
    assert checks["git"][0] == "fault"
    assert "install" in checks["git"][1]


@pytest.mark.parametrize("url", ["mysql://somewhere/else", "nonsense"])
def test_an_address_that_can_be_none_is_a_fault_wherever_it_is_asked(
    url: str, repository: Path, outside: Path, environment: dict[str, str]
) -> None:
    for place in (repository, outside):
        result = run_here("doctor", "--json", cwd=place, env={**environment, "RALPH_DATABASE_URL": url})
        assert result.error["code"] == "unhealthy"


def test_a_password_in_the_address_of_the_database_is_never_shown(
    repository: Path, environment: dict[str, str]
) -> None:
    url = "postgresql://ada:s3cret@127.0.0.1:1/none?connect_timeout=2"
    env = {**environment, "RALPH_DATABASE_URL": url}
    for words in (["doctor"], ["log"], ["doctor", "--json"], ["journal", "verify", "--json"]):
        result = run_here(*words, cwd=repository, env=env)
        assert result.code != 0
        assert "s3cret" not in result.out + result.err


def test_another_tool_called_ralph_that_comes_first_is_a_fault_with_the_way_out(
    repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "bin" / "ralph"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho another tool\n", encoding="utf-8")
    other.chmod(0o755)
    first = {**environment, "PATH": f"{other.parent}:{environment['PATH']}"}
    result = run_here("doctor", "--json", cwd=repository, env=first)
    status, detail = _checks(result.error["details"]["checks"])["command"]
    assert (status, str(other) in detail, "`interlock`" in detail) == ("fault", True, True)
    other.write_text("#!/usr/bin/python3\nfrom interlock.faces.cli import main\nmain()\n", encoding="utf-8")
    checks = _checks(run_here("doctor", "--json", cwd=repository, env=first).data)
    assert checks["command"] == ("ok", str(other))
