"""An agent that plays its part among many at once: it goes by the environment that `ralph work` was called with.

    PLAY=good NUMBER=3 python crowd_player.py RALPH RALPH_HOOK

It is run by the scripted agent and speaks its lines. What a hostile one was told is in `told.json` in its home.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path.cwd()
HOME = Path(os.environ["HOME"])
NUMBER = os.environ["NUMBER"]
SECONDS = 180.0


def main(ralph: str, hook: str) -> None:
    play = os.environ["PLAY"]
    told(cost=1.0)
    is_first = times() == 1
    if play == "limited" and is_first:
        kind = "credit" if NUMBER.endswith("7") else "session"  # one is a person's to fix, the other passes
        told(limit={"kind": kind, "until": time.time(), "said": "You have reached your limit."})
        told(finished=False)
        return
    if play == "hostile" and is_first:
        (HOME / "told.json").write_text(json.dumps(attack(ralph, hook)))
    (HERE / f"part-{NUMBER}.txt").write_text("no\n" if play == "stuck" else "hello\n")
    told(said="All of it is there.\n<promise>COMPLETE</promise>")
    told(finished=True)


def told(**said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")


def times() -> int:
    """How often it was asked."""
    with (HOME / "asked").open("a+") as file:
        file.write("x")
        file.seek(0)
        return len(file.read())


def attack(ralph: str, hook: str) -> dict[str, Any]:
    """What a good agent would never do: by its tools, by commands, and past both."""
    main = Path(os.environ["RALPH_ROOT"])
    victim = Path(os.environ["VICTIM"])
    others = (main / "README", victim / "part-1.txt", main / "ralph.toml", main / ".ralf" / "journal.db")
    calls = {str(path): hooked(hook, path) for path in (*others, HERE / f"part-{NUMBER}.txt")}
    commands = {
        " ".join(words): called(ralph, *words)
        for words in (
            ("thread", "finalize", HERE.name),
            ("thread", "approve", victim.name),
            ("config", "accept"),
            ("work", "9"),
            ("ticket", "handoff", NUMBER, "--to-state", "Done", "--reason", "I say so"),
        )
    }
    for path in (main / "README", victim / "part-1.txt"):
        with path.open("a") as file:
            file.write("and I was here\n")
    for tree in (main, HERE):
        (tree / "ralph.toml").write_text("[budget]\nday_usd = 0\n")
    return {"calls": calls, "commands": commands}


def hooked(hook: str, path: Path) -> int:
    """How the hook ends that is asked before an agent writes a file."""
    call = {"tool_name": "Write", "tool_input": {"file_path": str(path), "content": "x"}, "cwd": str(HERE)}
    given = json.dumps({**call, "tool_use_id": "t", "transcript_path": "x", "hook_event_name": "PreToolUse"})
    done = subprocess.run(
        [hook, "pre-tool-use"], input=given.encode(), capture_output=True, timeout=SECONDS, check=False
    )
    return done.returncode


def called(ralph: str, *words: str) -> str:
    """The code of the error that a command ends with; nothing where it did what it was asked."""
    done = subprocess.run(
        [ralph, *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
    )
    envelope = json.loads(done.stdout.splitlines()[-1])
    return "" if envelope["ok"] else str(envelope["error"]["code"])


if __name__ == "__main__":
    main(*sys.argv[1:])
