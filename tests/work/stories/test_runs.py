"""Each run of an agent is a session: what the loop starts it with, and what it starts a judge with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from faces.programs import HOOK
from interlock.work.sessions.record import record_of
from interlock.world.agents.claude import Claude
from interlock.world.agents.command import CommandAgent
from interlock.world.repository import own_tree
from work.stories.yards import Ground

AGENT = """#!{python}
import json, os, pathlib, subprocess, sys

place = pathlib.Path({place!r})
told = {{"argv": sys.argv[1:], "environment": dict(os.environ), "prompt": sys.stdin.read()}}
said, works = "AC-1: it - ✓ a.txt:1", "RED" in told["prompt"]
(place / ("implementer" if works else "judge")).write_text(json.dumps(told))
if works:
    call = {{"tool_name": "Write", "tool_input": {{"file_path": "a.txt"}}, "cwd": os.getcwd()}}
    for event in ("pre-tool-use", "post-tool-use"):
        subprocess.run([{hook!r}, event], input=json.dumps(call).encode(), check=True)
    pathlib.Path("a.txt").write_text("done")
print(json.dumps({{"type": "assistant", "message": {{"content": [{{"type": "text", "text": said}}]}}}}))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": said}}))
"""
"""A program that is started like Claude Code, and that its hook lets write a file before it has reported anything."""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, uses_clock=False).made()  # hooks look at the real one


def _program(ground: Ground) -> str:
    path = ground.directory / "claude"
    path.write_text(AGENT.format(python=sys.executable, place=str(ground.directory), hook=str(HOOK)))
    path.chmod(0o755)
    return str(path)


def _started(ground: Ground, role: str) -> dict[str, Any]:
    """What a run of the program was started with."""
    told: dict[str, Any] = json.loads((ground.directory / role).read_text())
    return told


def test_an_implementer_gets_our_server_hooks_prompt_and_session_and_a_judge_only_its_session(ground: Ground) -> None:
    claude = Claude(_program(ground))
    assert ground.drive(agents=[claude], judge=claude).ended
    worker, judge = _started(ground, "implementer"), _started(ground, "judge")
    assert {"--mcp-config", "--settings"} <= set(worker["argv"])
    assert not {"--mcp-config", "--settings"} & set(judge["argv"])
    session = worker["environment"]["RALPH_SESSION_ID"]
    assert f"Your session id is `{session}`" in worker["prompt"]
    assert "Progress Reporting" not in judge["prompt"]
    assert judge["environment"]["RALPH_SESSION_ID"] not in ("", session)
    reporting = [one["environment"]["RALPH_REPORTING"] for one in (worker, judge)]
    assert reporting == ["optional", "expected"]
    for started in (worker, judge):
        assert started["environment"]["RALPH_ROOT"] == str(own_tree(ground.root / ".ralf", ground.loop().id))


def test_what_the_hooks_saw_is_in_the_journal_before_the_session_ends(ground: Ground) -> None:
    claude = Claude(_program(ground))
    ground.drive(agents=[claude], judge=claude)
    journal = ground.journal()
    try:
        record = record_of(journal.history(_started(ground, "implementer")["environment"]["RALPH_SESSION_ID"]))
    finally:
        journal.close()
    assert record.files == ["a.txt"]
    assert [one.data["code"] for one in record.findings] == ["write_outside_state"], (
        "a hook saw it, so it is not unseen"
    )


@pytest.mark.parametrize("has_init", [False, True])
def test_a_command_of_ones_own_is_told_to_report_where_init_has_run(ground: Ground, has_init: bool) -> None:
    if has_init:
        (ground.root / ".ralf").mkdir()
        (ground.root / ".ralf" / "init.json").write_text("{}")
    ground.drive(agents=[CommandAgent((_program(ground),))])
    started = _started(ground, "implementer")
    assert ("Progress Reporting" in started["prompt"]) is has_init
    assert started["argv"] == []


def test_a_run_leaves_a_persons_files_alone(ground: Ground) -> None:
    before = {path.name for path in ground.root.iterdir()}
    ground.drive(agents=[Claude(_program(ground))])
    assert {path.name for path in ground.root.iterdir()} == {*before, ".ralf", "a.txt"}
