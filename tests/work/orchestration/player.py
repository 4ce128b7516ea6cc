"""An agent that plays every role, and answers by its prompt alone: killed and asked again, it does the same again.

    python -I -S player.py ANSWERS LOG

What it is asked for has a name: its role, its mode or its task, its attempt or its cycle, and how many parts other
tasks have made. ANSWERS is JSON, by these names: `write` (files), `wait` (where the first one that comes leaves its
number, and waits for a file beside that) and `answer`. Each run leaves its name in LOG before anything else.
"""

from __future__ import annotations

import json
import os
import sys
import time

_MOST = 60.0


def _name_of(prompt: str) -> str:
    lines = prompt.partition("# Your input\n\n")[2].partition("\n# What is known")[0].splitlines()
    given = dict(line.split(": ", 1) for line in lines if ": " in line)
    task = given.get("TASK_ID", "")
    if "ATTEMPT_NUMBER" in given:
        asked = f"executor {task} {given['ATTEMPT_NUMBER']}"
    elif "REPORT_PATH" in given:
        asked = f"reviewer {task} {given['REPORT_PATH'].rpartition('-report')[2].removesuffix('.md') or 1}"
    elif "CYCLE_NUMBER" in given:
        asked = f"questioner {given['MODE']} {given['CYCLE_NUMBER']}"
    elif given["MODE"] == "SESSION_REVIEW":
        asked = "holistic"
    else:
        asked = f"planner {given['MODE']}"
    own = task.replace("task", "part")
    parts = [one for one in os.listdir() if one.startswith("part-") and one != own]  # noqa: PTH208 - it starts fast
    return f"{asked} @{len(parts)}"


def _put(path: str, text: str, flags: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    os.write(handle, text.encode())
    os.close(handle)


def main(answers: str, log: str) -> None:
    name = _name_of(sys.stdin.read())
    _put(log, f"{name}\n", os.O_APPEND)
    with open(answers) as file:  # noqa: PTH123
        found = json.load(file).get(name)
    if found is None:
        sys.exit(f"Nobody said what to answer to {name}.")
    for path, text in found.get("write", {}).items():
        _put(path, text, os.O_TRUNC)
    if "wait" in found and not os.path.exists(found["wait"]):  # noqa: PTH110
        _put(found["wait"], f"{os.getpid()}\n", os.O_APPEND)
        sys.stdout.write("at work\n")
        sys.stdout.flush()
        deadline = time.monotonic() + _MOST
        while not os.path.exists(f"{found['wait']}.go") and time.monotonic() < deadline:  # noqa: PTH110
            time.sleep(0.02)
    sys.stdout.write(json.dumps(found["answer"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
