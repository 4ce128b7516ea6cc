"""A journal on a server: no agent is told where it is, and its hook and `ralph mcp` work for its session."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faces.journals import trusting
from faces.programs import HOOK, RALPH, run
from interlock.journal import Journal, open_journal
from interlock.work.driver.agent_run import AgentRequest, run_agent
from interlock.work.orchestration.beginning import begin, roles_of
from interlock.world.agents.result import Ending
from work.threads.benches import Bench

_AGENT = """
import json, os, subprocess, sys
from pathlib import Path
told = {"environment": dict(os.environ), "arguments": sys.argv}
handed_on = {name: value for name, value in os.environ.items() if name != "RALPH_JOURNAL"}
def hook(tool, given):
    said = json.dumps({"tool_name": tool, "tool_input": given, "tool_use_id": "c", "cwd": os.getcwd()})
    done = subprocess.run([os.environ["HOOK"], "pre-tool-use"], input=said.encode(), capture_output=True)
    return [done.returncode, done.stderr.decode()]
def mcp(*calls):
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines += [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": tool, "arguments": given}}
              for n, (tool, given) in enumerate(calls, 1)]
    words, pipes = [os.environ["RALPH"], "mcp"], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = subprocess.Popen(words, env=handed_on, **pipes)
    answers = []
    for line in lines:
        server.stdin.write(json.dumps(line).encode() + b"\\n"); server.stdin.flush()
        if "id" in line:
            answers.append(json.loads(server.stdout.readline()))
    server.stdin.close(); server.wait()
    return answers
session = os.environ["RALPH_SESSION_ID"]
told["before"] = hook("Write", {"file_path": os.path.join(os.getcwd(), "x"), "content": ""})
told["mcp"] = mcp(("update_session_state", {"sessionId": session, "state": "analyzing"}))
told["after"] = hook("Write", {"file_path": os.path.join(os.getcwd(), "x"), "content": ""})
listed = subprocess.run([os.environ["RALPH"], "session", "list", "--json"], capture_output=True)
told["cli"] = listed.stdout.decode()
Path(os.environ["DUMP"]).write_text(json.dumps(told))
print("done")
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


@pytest.fixture
def journal(bench: Bench, postgres_address: str) -> Iterator[Journal]:
    opened = open_journal(postgres_address, created=trusting(bench.root))
    yield opened
    opened.close()


def test_an_agent_finds_no_address_and_its_programs_find_the_journal(
    bench: Bench, journal: Journal, postgres_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.py").write_text(_AGENT)
    bench.settings |= {"agent.command": shlex.join([sys.executable, str(tmp_path / "agent.py")])}
    environment = {
        **bench.environment,
        "RALPH_DATABASE_URL": postgres_address,
        "PGPASSWORD": "hunter2",
        "HOOK": str(HOOK),
        "RALPH": str(RALPH),
        "DUMP": str(tmp_path / "dump"),
    }
    monkeypatch.setattr(Bench, "environment", property(lambda self: environment))
    context = bench.context(journal)
    parent = begin(context, "Answer", "261115-120000", roles_of(context, {}))
    log = bench.state_directory / "runs" / "log"
    heard = run_agent(context, AgentRequest(context.agent("command"), "planner", "Answer.", parent, log))
    assert heard.result.ending is Ending.FINISHED, heard.said
    told = json.loads((tmp_path / "dump").read_text())
    found = json.dumps([told["environment"], told["arguments"]])
    for part in (postgres_address, postgres_address.rpartition("/")[2], "hunter2", "postgresql:"):
        assert part not in found
    session = told["environment"]["RALPH_SESSION_ID"]
    assert told["environment"]["RALPH_JOURNAL"] == "session"
    assert told["before"][0] == 2, "the hook knows the state of the session"
    assert session in told["before"][1]
    assert told["mcp"][-1]["result"]["structuredContent"]["newState"] == "analyzing", told["mcp"]
    assert session in told["cli"]
    states = [entry.to_state for entry in journal.history(session)]
    assert "analyzing" in states, "what was reported is in the journal on the server"
    assert not (bench.state_directory / "journal.db").exists(), "nobody made another journal"
    kept = Path(environment["XDG_STATE_HOME"], "interlock", "sessions")
    assert list(kept.iterdir()) == [], "the address is gone with the run"


def test_after_its_run_a_session_reaches_no_journal_and_makes_none(bench: Bench) -> None:
    left = {**bench.environment, "RALPH_JOURNAL": "session", "RALPH_SESSION_ID": "01abc"}
    refused = run("ticket", "create", "x", "--json", cwd=bench.root, env=left)
    assert refused.error["code"] == "journal_unreachable"
    call = {"tool_name": "Write", "tool_input": {"file_path": str(bench.root / "x")}, "cwd": str(bench.root)}
    blocked = run("pre-tool-use", cwd=bench.root, env=left, program=HOOK, stdin=json.dumps(call).encode())
    assert blocked.code == 2
    assert "the driver of this session has ended" in blocked.err
    assert not (bench.state_directory / "journal.db").exists()
