"""What an agent runs in the loop of a thread: it tries every way it knows to act through the person's dashboard.

    python forger.py PLAN.json     tries them all, and writes what each request was answered with beside the plan

It is no part of the tests' own process, and tells nothing about whether it got through: the journal shows that.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

SECONDS = 180
TOKEN = "the-token-of-every-server-that-a-test-starts"


def send(url: str, fields: dict[str, str] | None, **headers: str) -> str:
    """The status of a request, or what went wrong."""
    body = None if fields is None else urlencode(fields).encode()
    given = {"Authorization": f"Bearer {TOKEN}", **headers}  # to have the token is not to be the person
    request = urllib.request.Request(url, body, {name.replace("_", "-"): value for name, value in given.items()})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return str(answer.status)
    except urllib.error.HTTPError as error:
        return str(error.code)


def ways(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each way with what came of it."""
    url, thread, port = plan["url"], plan["thread"], plan["url"].rpartition(":")[2]
    act = f"{url}/thread/{thread}/act"
    form = {"event": "finalize", "code": "2222-2222", "about": plan["about"]}
    ours = {"Origin": url, "Sec_Fetch_Site": "same-origin"}
    yield "a form, as a browser sends it", send(act, form, **ours)
    yield "a form without any header", send(act, form)
    yield "an ordinary move", send(act, {"event": "pause"}, **ours)
    yield "a cookie that it made up", send(act, form, **ours, Cookie=f"interlock-person-{port}={'0' * 64}")
    yield "an empty cookie", send(act, form, **ours, Cookie=f"interlock-person-{port}=")
    yield "the cookie of a token", send(act, form, **ours, Cookie=f"interlock-token-{port}={'0' * 64}")
    yield "says that it is a person", send(act, form, **ours, X_Forwarded_User="ann@example.org", X_Real_IP="::1")
    yield "another method in a header", send(act, None, X_HTTP_Method_Override="POST")
    yield "the move in the address", send(f"{act}?{urlencode(form)}", None)
    for _ in range(6):
        yield "a guess at the login", send(f"{url}/login", {"code": "2222-2222"}, **ours)
    for _ in range(8):
        yield "asks for codes", send(f"{url}/login", {"again": "yes"}, **ours)
    yield "reads the person's terminal", read_terminal(plan["terminal"])
    yield "a dashboard of its own", own_dashboard(plan, form)


def read_terminal(path: str) -> str:
    """What is to be read from the terminal's device: what is typed there, and never what it shows."""
    try:
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        return str(error.strerror)
    try:
        return os.read(terminal, 65536).decode("utf-8", "replace")
    except OSError as error:
        return str(error.strerror)
    finally:
        os.close(terminal)


def own_dashboard(plan: dict[str, Any], form: dict[str, str]) -> str:
    """Start one in a terminal that is its own, where it would see the codes."""
    ours, theirs = pty.openpty()
    env = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_STATE_HOME")}
    env["RALPH_SERVE_TOKEN"] = TOKEN
    words = ["setsid", "-c", plan["ralph"], "serve", "--port", "0"]
    with subprocess.Popen(words, cwd=plan["root"], env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = ""
        while not (found := re.search(r"Serving (http://\S+),", shown)):
            shown += os.read(ours, 65536).decode("utf-8", "replace")
        said = send(f"{found[1]}/login", {"again": "yes"})
        said += " " + send(f"{found[1]}/thread/{plan['thread']}/act", form)
        process.terminate()
    os.close(ours)
    return said


if __name__ == "__main__":
    plan_file = Path(sys.argv[1])
    told = [[name, said] for name, said in ways(json.loads(plan_file.read_text()))]
    plan_file.with_name("forged.json").write_text(json.dumps(told))
