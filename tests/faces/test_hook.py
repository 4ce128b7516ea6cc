"""`ralph-hook`: it lets everything pass, whatever it is given, and is there at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faces.programs import HOOK, SECONDS, run

INPUTS = {
    "nothing": b"",
    "an object": json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}}).encode(),
    "half an object": b'{"tool_name": "Ba',
    "no text": bytes(range(256)),
    "five megabytes": b"x" * 5_000_000,
    "deep nesting": b"[" * 100_000,
}


@pytest.mark.parametrize("stdin", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "Stop", "no such event"])
def test_everything_passes(event: str, stdin: bytes, outside: Path, environment: dict[str, str]) -> None:
    result = run(event, cwd=outside, env=environment, program=HOOK, stdin=stdin)
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("words", [[], ["PreToolUse", "PostToolUse"], ["a", "b", "c"]], ids=str)
def test_a_wrong_call_is_a_usage_error_and_never_blocks(
    words: list[str], outside: Path, environment: dict[str, str]
) -> None:
    result = run(*words, cwd=outside, env=environment, program=HOOK, stdin=b"{}")
    assert result.code == 64
    assert result.out == ""
    assert result.err.startswith("usage: ralph-hook EVENT")


def test_it_passes_also_without_a_stdin(outside: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["/bin/bash", "-c", f"{HOOK} PreToolUse <&-"],
        cwd=outside,
        env=environment,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_reads_all_that_it_is_given_so_that_no_runner_gets_a_broken_pipe(
    outside: Path, environment: dict[str, str]
) -> None:
    script = f"set -o pipefail; head -c 5000000 /dev/zero | {HOOK} PreToolUse"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=outside, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_imports_nothing_of_interlock_but_itself() -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import interlock.faces.hook\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {_source()!r})\n{program}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert set(done.stdout.split()) <= {"__future__", "interlock", "interlock.faces", "interlock.faces.hook"}


def _source() -> str:
    import interlock

    [directory] = interlock.__path__
    return str(Path(directory).parent)
