"""A `ralph` that was forked is what a started one is, in all that it and others can see of it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from faces import forking
from faces.journals import opened, write_session
from faces.programs import HOOK, SECONDS, Result, followed, run, run_in_terminal

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.environ.get("RALPH_TEST_REAL_STARTS") == "1", reason="nothing is forked"
)

SPY = """\
#!/bin/sh
cd /proc/$PPID && {
    cat comm
    readlink cwd exe
    for one in fd/*; do readlink $one; done | sed 's/[0-9][0-9]*/N/g' | sort
    grep -E '^(Umask|Threads|SigBlk|SigIgn|SigCgt):' status
    sed 's/.*) //' stat | { read state parent group session terminal rest
        [ $session = $PPID ] && echo leads its session
        [ $group = $PPID ] && echo leads its group
        [ $terminal = 0 ] || echo has a terminal
    }
    env | grep -v PWD= | sort
} > "$SEEN"
exec "$GIT" "$@"
"""
"""A git that writes down what it sees of the process that calls it."""


@pytest.fixture
def seen(tmp_path: Path, environment: dict[str, str]) -> Path:
    """Where what was seen of the last `ralph` is."""
    spy = tmp_path / "spies" / "git"
    spy.parent.mkdir()
    spy.write_text(SPY)
    spy.chmod(0o755)
    git = shutil.which("git")
    assert git is not None
    environment.update(PATH=f"{spy.parent}:{environment['PATH']}", GIT=git, SEEN=str(tmp_path / "seen"), TZ="UTC-3")
    return tmp_path / "seen"


@pytest.mark.parametrize("in_terminal", [False, True])
def test_it_is_what_a_started_one_is(
    *, in_terminal: bool, repository: Path, environment: dict[str, str], seen: Path
) -> None:
    def once() -> tuple[object, list[str]]:
        way = run_in_terminal if in_terminal else run
        return way("doctor", cwd=repository, env=environment), seen.read_text().splitlines()

    before = os.umask(0o027)
    try:
        forked = once()
        with forking.real_starts():
            assert once() == forked
    finally:
        os.umask(before)
    assert forked[1][0] == "ralph"
    assert "Umask:\t0027" in forked[1]
    assert ({"leads its session", "leads its group", "has a terminal"} <= set(forked[1])) == in_terminal


def test_nothing_is_forked_where_the_start_counts(outside: Path, environment: dict[str, str]) -> None:
    words = ("--version",)
    plain = forking.started(words, cwd=outside, env=environment)
    assert plain is not None
    assert plain.communicate(SECONDS) == (run(*words, cwd=outside, env=environment).out.encode(), b"")
    assert plain.returncode == 0
    for name in ("PYTHONHASHSEED", "LC_ALL", "LD_PRELOAD", "RALPH_RUN"):
        assert forking.started(words, cwd=outside, env={**environment, name: "1"}) is None
    assert forking.started(words, cwd=outside, env={**environment, "LANG": "C"}) is None
    assert forking.started(words, cwd=outside / "nowhere", env=environment) is None
    assert forking.started(words, cwd=outside, env=environment, stdin=bytes(100_000)) is None
    assert forking.started((*words, "x" * 200_000), cwd=outside, env=environment) is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_it_can_be_killed_and_interrupted(
    number: signal.Signals, code: int, repository: Path, environment: dict[str, str]
) -> None:
    with opened(repository) as journal:
        write_session(journal)
    with followed("log", "--follow", "--json", cwd=repository, env=environment) as stream:
        assert isinstance(stream.process, forking.Forked)
        stream.line()
        stream.process.send_signal(number)
        assert stream.process.wait(SECONDS) == code


def test_a_forked_hook_answers_as_a_started_one(repository: Path, environment: dict[str, str]) -> None:
    calls = [(event, said) for event in ("pre-tool-use", "stop", "no such event") for said in (b"{}", b"{", b"")]

    def answers() -> list[object]:
        driven = {**environment, "RALPH_SESSION_ID": "no such session"}
        return [run(event, cwd=repository, env=driven, program=HOOK, stdin=said) for event, said in calls]

    forked = answers()
    with forking.real_starts():
        assert answers() == forked
    assert {one.code for one in forked if isinstance(one, Result)} == {0, 2}


def test_a_forked_module_ends_as_a_started_one(tmp_path: Path) -> None:
    def once(*words: str) -> tuple[int, str]:
        code, out, _ = forking.run_module("world.git.dying", *words, env={**os.environ, "HOME": str(tmp_path)})
        return code, out

    forked = once("no such scenario", str(tmp_path), "0")
    with forking.real_starts():
        assert once("no such scenario", str(tmp_path), "0") == forked == (1, "")
