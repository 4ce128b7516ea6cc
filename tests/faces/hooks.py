"""The real `ralph-hook`, called as agents call it: with what they send, in a process tree, on a journal of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faces.journals import AGENT, opened
from faces.programs import HOOK, SECONDS, Result, run
from interlock.journal import Entry, Journal, open_journal
from interlock.machine import load_shipped
from interlock.work.sessions.upkeep import take_in
from interlock.work.sessions.verbs import Caller, create
from interlock.world.ancestry import started
from interlock.world.inbox import pending, waiting
from interlock.world.place import Place
from interlock.world.processes import Process, process_here
from journal.databases import Address
from journal.histories import paths

__all__ = [
    "CLAUDE",
    "CODEX",
    "RECORDED",
    "AgentProcess",
    "agent_process",
    "begun",
    "called",
    "hooked",
    "notes",
    "recorded",
    "seen",
    "taken_in",
]

RECORDED = Path(__file__).parent.parent / "agents" / "recorded"
CLAUDE = {"transcript_path": "/home/user/.claude/projects/x.jsonl", "prompt_id": "p", "permission_mode": "default"}
CODEX = {"transcript_path": "/home/user/.codex/x.jsonl", "turn_id": "t", "model": "gpt-5.5"}
"""What tells the one agent's input from the other's."""

_PARENT = """
import json, subprocess, sys
for line in sys.stdin:
    told = json.loads(line)
    done = subprocess.run(told["command"], input=told["stdin"].encode(), capture_output=True, cwd=told["cwd"],
                          env=told["env"], timeout=180)
    print(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]), flush=True)
"""


def recorded(name: str, repository: Path) -> dict[str, Any]:
    """What a real agent sent to a hook once, as if it had been in this repository."""
    text = (RECORDED / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.replace('"/repo', f'"{repository}'))
    return found


def called(tool: str, given: Mapping[str, Any], agent: Mapping[str, Any] = CLAUDE, **more: Any) -> dict[str, Any]:
    """A call of a tool as an agent tells of it."""
    return {"tool_name": tool, "tool_input": given, "tool_use_id": "call-1", **agent, **more}


def hooked(
    event: str, said: object, cwd: Path, env: Mapping[str, str], session: str | None = None, **more: str
) -> Result:
    """What the hook says to an event; in a driven agent, where it is given a session."""
    stdin = said if isinstance(said, bytes) else json.dumps(said).encode()
    driven = {"RALPH_SESSION_ID": session} if session is not None else {}
    return run(event, cwd=cwd, env={**env, **driven, **more}, program=HOOK, stdin=stdin)


def begun(
    place: Path | Journal, state: str = "idle", process: Process | None = None, work_tree: Path | None = None
) -> str:
    """A session in a state, reached by a way through the machine's table; its id."""
    if isinstance(place, Path):
        with opened(place) as journal:
            return begun(journal, state, process, work_tree)
    tree = None if work_tree is None else Place(str(work_tree))
    session = place.transact(create(Caller(AGENT, "claude", process, tree))).session_id
    for event in paths(load_shipped("session"))[state]:
        place.append(session, event)
    return session


def notes(repository: Path) -> list[dict[str, Any]]:
    """What waits in the inbox, oldest first."""
    found = [pending(path) for path in waiting(str(repository / ".ralf"))]
    return [dict(one[2]) for one in found if one is not None]


def taken_in(repository: Path, address: Address | None = None) -> int:
    """Take in what waits; how many files there were."""
    journal = open_journal(address if address is not None else repository / ".ralf" / "journal.db")
    try:
        return take_in(journal, repository / ".ralf")
    finally:
        journal.close()


def seen(repository: Path, session: str) -> list[dict[str, Any]]:
    """What the journal holds of what was told or seen in a session."""
    with opened(repository) as journal:
        return [_data(entry) for entry in journal.history(session) if entry.event == "noted"]


def _data(entry: Entry) -> dict[str, Any]:
    return dict(entry.decoded_evidence().data)


class AgentProcess:
    """A process that stands for an agent: it starts commands, and they are its children."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-S", "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        began = started(self._child.pid)
        assert began is not None
        self.process = process_here(self._child.pid, began)

    def run(self, command: Sequence[str | Path], cwd: Path, env: Mapping[str, str], said: object = None) -> Result:
        """Run a command as a child of the agent."""
        words = [os.fspath(word) for word in command]
        told = {"command": words, "stdin": json.dumps(said), "cwd": str(cwd), "env": dict(env)}
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(told) + "\n")
        self._child.stdin.flush()
        assert select.select([self._child.stdout], [], [], SECONDS)[0], "the agent says nothing"
        code, out, err = json.loads(self._child.stdout.readline())
        return Result(code, out, err)

    def hook(self, event: str, said: object, cwd: Path, env: Mapping[str, str]) -> Result:
        """Call the hook, as this agent's runner would."""
        return self.run([HOOK, event], cwd, env, said)

    def close(self) -> None:
        self._child.kill()
        self._child.communicate(timeout=SECONDS)


@contextmanager
def agent_process() -> Iterator[AgentProcess]:
    """An agent's process, gone afterwards."""
    process = AgentProcess()
    try:
        yield process
    finally:
        process.close()
