"""Where no sandbox works, nothing is started without a person's consent.

The commands run where the kernel allows no further user namespaces, so that bubblewrap is there and cannot work.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from faces.journals import settle
from faces.programs import RALPH, run, run_in_terminal
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.consent import consent_file
from interlock.world.sandbox.unconfined import Unavailable

from .test_cli_work import git

pytestmark = pytest.mark.skipif(
    isinstance(choose("bubblewrap"), Unavailable), reason="not run: bubblewrap does not work here"
)

ASKED = "Type unconfined and press Enter"


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """`ralph` where no sandbox can be made."""
    path = tmp_path / "ralph-without"
    confined = f"{shutil.which('bwrap')} --unshare-user --disable-userns --dev-bind / /"
    path.write_text(f'#!/bin/sh\nexec {confined} {RALPH} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Path:
    """A repository with a ticket, and an agent that leaves a file when it is started."""
    settle(repository, '[agent]\nname = "scripted"\nscript = "agent.json"\n[verify]\ncommands = ["true"]\n')
    started = [{"run": ["/bin/sh", "-c", f"touch {repository}/started"]}, {"say": "No."}, {"finish": True}]
    (repository / "agent.json").write_text(json.dumps({"iterations": [started]}))
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(repository, environment, "config", name, value)
    git(repository, environment, "add", "-A")
    git(repository, environment, "commit", "-qm", "start")
    run("ticket", "create", "Greet people", "--estimate", "S", cwd=repository, env=environment)
    return repository


@pytest.mark.parametrize(
    "words", [("work", "1"), ("orchestrate", "Greet people"), ("Greet people", "--agent", "scripted")]
)
def test_without_a_terminal_nothing_is_started(
    project: Path, environment: dict[str, str], without: Path, words: tuple[str, ...]
) -> None:
    error = run(*words, "--json", cwd=project, env=environment, program=without).error
    assert error["code"] == "sandbox_unavailable"
    assert 'agent.sandbox = "none"' in error["hint"]
    assert not (project / "started").exists()


def test_a_person_who_does_not_agree_starts_nothing(project: Path, environment: dict[str, str], without: Path) -> None:
    answers = [(ASKED, "yes\n")]
    code, screen = run_in_terminal("work", "1", cwd=project, env=environment, answers=answers, program=without)
    assert (code, "sandbox_unavailable" in screen) == (5, True), screen
    assert not (project / "started").exists()
    assert not consent_file(environment).exists()


def test_a_person_is_asked_once_and_can_take_it_back(project: Path, environment: dict[str, str], without: Path) -> None:
    answers = [(ASKED, "unconfined\n")]
    _, screen = run_in_terminal("work", "1", cwd=project, env=environment, answers=answers, program=without)
    assert (project / "started").exists(), screen
    (project / "started").unlink()
    again = run("work", "1", "--json", cwd=project, env=environment, program=without)
    assert again.code != 0
    assert "sandbox" not in str(again.error["code"]), "and not asked again, not even for another run"
    consent_file(environment).unlink()
    assert run("work", "1", "--json", cwd=project, env=environment, program=without).error["code"] == (
        "sandbox_unavailable"
    )


def test_consent_of_another_machine_does_not_count(project: Path, environment: dict[str, str], without: Path) -> None:
    path = consent_file(environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("another-machine\n")
    assert run("work", "1", "--json", cwd=project, env=environment, program=without).error["code"] == (
        "sandbox_unavailable"
    )
    assert not (project / "started").exists()
