"""The socket of a confined run: programs inside speak with the driver outside, as the session that it began."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interlock.world.relay import ask
from interlock.world.run_socket import Programs, served
from patience import SECONDS
from world.namespaces import UNSHARE, needs_namespaces

pytestmark = needs_namespaces

SERVER = """
import os, sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(os.environ["RALPH_SESSION_ID"].encode() + b" " + line)
    sys.stdout.buffer.flush()
"""
HOOK = """
import os, sys
said = sys.stdin.read()
print(os.environ["RALPH_SESSION_ID"], sys.argv[1:], len(said))
print("because", file=sys.stderr)
sys.exit(2 if said.startswith("no") else 0)
"""
ASKS = """
import sys
from interlock.world.relay import ask
print(ask(sys.argv[1], sys.argv[2:], sys.stdin.buffer.read()))
"""
PASSES_ON = "import sys; from interlock.world.relay import pass_on; pass_on(sys.argv[1])"


class Served:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.stack = ExitStack()
        environment = {**os.environ, "RALPH_SESSION_ID": "s1", "SECRET": "1"}
        python = (sys.executable, "-c")
        self.called, self.fails = 0, False
        self.programs = Programs((*python, SERVER), (*python, HOOK), environment, place, self.before)
        self.path = self.stack.enter_context(served(place / "socket", self.programs))

    def before(self) -> None:
        self.called += 1
        if self.fails:
            raise OSError("the tree is not as it should be")

    def inside(self, program: str, *words: str, feed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program in a pid namespace of its own, with another session in its environment."""
        environment = {**os.environ, "RALPH_SESSION_ID": "forged"}
        command = (*UNSHARE, sys.executable, "-c", program, str(self.path), *words)
        return subprocess.run(
            command, input=feed, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path)
    with found.stack:
        yield found


def test_a_hook_is_judged_outside_as_the_session_of_the_socket(outside: Served) -> None:
    passed = outside.inside(ASKS, "pre-tool-use", feed="yes" * 100_000)
    assert ast.literal_eval(passed.stdout) == (0, "s1 ['pre-tool-use'] 300000\n", "because\n")
    blocked = outside.inside(ASKS, "stop", "plugin", feed="no")
    assert ast.literal_eval(blocked.stdout) == (2, "s1 ['stop', 'plugin'] 2\n", "because\n")


def test_the_server_outside_answers_line_by_line_until_the_agent_ends(outside: Served) -> None:
    done = outside.inside(PASSES_ON, feed="one\ntwo\n")
    assert (done.returncode, done.stdout) == (0, "s1 one\ns1 two\n")


def test_no_answer_reaches_the_agent_before_the_driver_has_done_what_follows_from_it(outside: Served) -> None:
    assert outside.inside(PASSES_ON, feed="one\n").stdout == "s1 one\n"
    assert outside.inside(ASKS, "stop", feed="yes").stdout.startswith("(0")
    assert outside.called == 2
    outside.fails = True
    assert outside.inside(PASSES_ON, feed="one\n").stdout == ""
    assert "OSError" in outside.inside(ASKS, "stop", feed="yes").stderr
    assert outside.called == 4


def test_whoever_is_not_in_a_sandbox_is_not_answered(outside: Served) -> None:
    with pytest.raises(OSError, match=r"."):
        ask(str(outside.path), ["stop"], b"{}")


NO_REQUESTS = {
    "nothing": "",
    "an empty line": "\n",
    "no line": "{}",
    "a list": "[]\n",
    "no JSON": "nonsense\n",
    "another program": '{"program": "sh", "words": []}\n',
    "no words": '{"program": "mcp"}\n',
    "a long line": "x" * 10_000,
}


@pytest.mark.parametrize("first", NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_no_request_starts_nothing_and_the_next_one_is_served(outside: Served, first: str) -> None:
    says = (
        "import sys; from _socket import *; c = socket(AF_UNIX, SOCK_STREAM, 0); c.connect(sys.argv[1]);"
        "c.sendall(sys.argv[2].encode()); c.shutdown(SHUT_WR); print(c.recv(100))"
    )
    done = outside.inside(says, first)
    assert "s1" not in done.stdout
    assert outside.inside(ASKS, "stop", feed="yes").stdout.startswith("(0")


def test_connections_that_say_nothing_do_not_use_up_the_driver(outside: Served) -> None:
    many = (
        "import sys; from _socket import *; held = []\n"
        "for n in range(500):\n"
        "    c = socket(AF_UNIX, SOCK_STREAM, 0); c.connect(sys.argv[1]); held.append(c)\n"
        "closed = 0\n"
        "for c in held[100:]:\n"
        "    closed += c.recv(1) == b''\n"
        "print(closed)"
    )
    done = outside.inside(many)
    assert done.stdout.strip() == "400", done.stderr
    assert outside.inside(ASKS, "stop", feed="yes").stdout.startswith("(0")


_SAYS = """
import sys
from _socket import *
c = socket(AF_UNIX, SOCK_STREAM, 0)
c.connect(sys.argv[1])
c.sendall(b'{"program": "mcp", "words": []}\\n')
sent = 0
try:
    while sent < 1 << 30:
        c.sendall(b"x" * (1 << 20))
        sent += 1 << 20
except OSError:
    pass
print(sent >> 20)
"""


_MANY = """
from _socket import *
held = []
for _ in range(int(sys.argv[2])):
    c = socket(AF_UNIX, SOCK_STREAM, 0)
    c.connect(sys.argv[1])
    c.send(b'{"program": "mcp", "words": []}\\nhello\\n')
    held.append(c)
served = 0
for c in held:
    try:
        served += c.recv(100) == b"s1 hello\\n"
    except OSError:
        pass
print(served)
"""


def test_a_message_without_an_end_ends_its_server_and_not_the_driver(outside: Served) -> None:
    done = outside.inside(_SAYS)
    assert 4 <= int(done.stdout) < 16, done.stderr
    assert outside.inside(PASSES_ON, feed="one\n").stdout == "s1 one\n"


def test_a_run_has_a_few_servers_at_a_time(outside: Served) -> None:
    many = f"import sys; sys.argv[2:] = ['30']\n{_MANY}"
    assert outside.inside(many).stdout == "8\n"
    assert outside.inside(PASSES_ON, feed="one\n").stdout == "s1 one\n"


def test_a_run_says_only_so_much_to_its_servers(outside: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.world.run_socket._MOST_MESSAGES", 1000)
    with served(outside.place / "another", outside.programs) as path:
        talks = f"{PASSES_ON}".replace("sys.argv[1]", repr(str(path)))
        assert outside.inside(talks, feed="x" * 600 + "\n").stdout.startswith("s1 x")
        assert outside.inside(talks, feed="x" * 600 + "\n").stdout == ""


def test_nothing_is_left_when_the_run_ends(tmp_path: Path) -> None:
    found = Served(tmp_path)
    waits = (*UNSHARE, sys.executable, "-c", PASSES_ON, str(found.path))
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdin is not None
        assert inside.stdout is not None
        inside.stdin.write("here\n")
        inside.stdin.flush()
        assert inside.stdout.readline() == "s1 here\n"
        found.stack.close()
        assert inside.wait(SECONDS) == 0
    assert not found.path.parent.exists()
    children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False).stdout
    listed = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children.split() if Path(f"/proc/{pid}").exists()]
    assert not [one for one in listed if b"RALPH_SESSION_ID" in one]


def test_the_directory_is_the_users_alone_and_a_long_path_works(tmp_path: Path) -> None:
    place = tmp_path / ("d" * 100) / ("e" * 100)
    place.mkdir(parents=True)
    python = (sys.executable, "-c")
    with served(place / "socket", Programs((*python, SERVER), (*python, HOOK), dict(os.environ), tmp_path)) as path:
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.is_socket()
    assert json.dumps(sorted(one.name for one in place.iterdir())) == "[]"
