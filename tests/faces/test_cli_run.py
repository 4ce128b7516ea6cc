"""`ralph run`: a person, or a script, and an agent in a tree of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from faces.journals import opened, settle
from faces.programs import RALPH, Result, begun, run
from faces.terminals import Terminal, terminal
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.unconfined import Unavailable
from patience import SECONDS

pytestmark = pytest.mark.usefixtures("real_starts")

TALK = """
import fcntl, os, signal, subprocess, sys, termios
def say(*words):
    os.write(1, (" ".join(map(str, words)) + chr(10)).encode())  # also from a handler in the middle of it
signal.signal(signal.SIGINT, lambda *_: say("interrupted"))
signal.signal(signal.SIGWINCH, lambda *_: say("size", *termios.tcgetwinsize(0)))
say("ready", *sys.argv[1:])
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "size":
        say("size", *termios.tcgetwinsize(0))
    elif word == "devices":
        say("devices", os.fstat(0).st_rdev, os.fstat(os.open("/dev/tty", os.O_RDWR)).st_rdev)
    elif word == "inject":
        for one in rest + chr(10):
            try:
                fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, one.encode())
            except OSError as error:
                say("refused", error)
        say("injected")
    elif word == "suspend":
        os.kill(os.getpid(), signal.SIGTSTP)
        say("continued")
    elif word == "print":
        os.write(1, rest.encode().decode("unicode_escape").encode())
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "exit":
        sys.exit(int(rest))
    else:
        say("status", subprocess.run(line, shell=True).returncode)
"""
_FAILED = choose("bubblewrap")
needs_bubblewrap = pytest.mark.skipif(isinstance(_FAILED, Unavailable), reason="not run: bubblewrap does not work here")


class Project(msgspec.Struct, frozen=True):
    """A repository with a program to speak with, and its person's environment."""

    root: Path
    environment: Mapping[str, str]

    def git(self, *words: str) -> str:
        command = ["git", *words]
        done = subprocess.run(
            command, cwd=self.root, env=dict(self.environment), capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *words: str | Path, stdin: bytes = b"") -> Result:
        return run("run", *words, cwd=self.root, env=self.environment, stdin=stdin)

    def sh(self, command: str, stdin: bytes = b"") -> Result:
        return self.run("--", "/bin/sh", "-c", command, stdin=stdin)

    def talking(self, *words: str) -> AbstractContextManager[Terminal]:
        """The program on a terminal."""
        return terminal("run", "--", sys.executable, "talk.py", *words, cwd=self.root, env=self.environment)

    def sessions(self) -> list[tuple[str, str | None]]:
        with opened(self.root) as journal:
            return [(one.id, one.outcome) for one in journal.instances("session")]

    def is_tidy(self) -> bool:
        """True if nothing of a run is left but what it committed."""
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/ralf/trees").split()
        return refs == ["refs/heads/main"] and not list((self.root / ".ralf" / "trees").iterdir())


def _project(repository: Path, environment: dict[str, str], sandbox: str) -> Project:
    project = Project(repository, environment)
    (repository / "talk.py").write_text(TALK)
    (repository / "kept").write_text("first\n")
    for words in (("symbolic-ref", "HEAD", "refs/heads/main"), ("config", "user.name", "Ada")):
        project.git(*words)
    project.git("config", "user.email", "ada@example.org")
    settle(repository, f'[agent]\nsandbox = "{sandbox}"\n')
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    return project


@pytest.fixture(params=[pytest.param("bubblewrap", marks=needs_bubblewrap), "none"])
def project(request: pytest.FixtureRequest, repository: Path, environment: dict[str, str]) -> Project:
    return _project(repository, environment, request.param)


@pytest.fixture
def confined(repository: Path, environment: dict[str, str]) -> Project:
    if isinstance(_FAILED, Unavailable):
        pytest.skip("not run: bubblewrap does not work here")
    return _project(repository, environment, "bubblewrap")


@pytest.fixture
def free(repository: Path, environment: dict[str, str]) -> Project:
    return _project(repository, environment, "none")


# At a terminal


def test_what_a_person_types_and_does_reaches_the_agent_and_its_exit_status_comes_back(project: Project) -> None:
    with project.talking("a b", "--json") as talk:
        talk.until("ready a b --json")
        assert not talk.is_restored
        talk.type("size\r")
        talk.until("size 24 80")
        talk.resize(40, 132)
        talk.until("size 40 132")
        talk.type("\x03")
        talk.until("interrupted")
        talk.type("suspend\r")
        talk.until("continued")
        talk.type("exit 7\r")
        assert talk.ended() == 7
        assert talk.is_restored
        assert talk.screen.endswith("It changed nothing.\r\n")
    assert project.is_tidy()


def test_the_agent_has_a_terminal_of_its_own(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type("devices\r")
        talk.until("devices ")
        own, controlling = (int(one) for one in talk.until("\r").split())
        assert own != talk.device
        assert controlling != talk.device
        talk.type("inject exit 9\r")
        talk.until("injected")
        if "refused" in talk.screen:  # by the kernel
            talk.type("exit 9\r")
        assert talk.ended() == 9, "what it injects, it reads itself"
        assert talk.waiting() == b""


def test_the_persons_terminal_cannot_be_opened_from_inside(confined: Project) -> None:
    with confined.talking() as talk:
        talk.until("ready")
        talk.type(f"echo hacked > {talk.path}\r")
        talk.until("status ")
        assert talk.until("\r").strip() != "0"
        talk.type("exit 0\r")
        talk.ended()
        assert "hacked\r\nstatus" not in talk.screen


def test_a_terminal_is_as_it_was_after_an_agent_that_is_killed(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type(r"print \x1b[?1049h\x1b[?1000h\x1b[?25l\x1b]52;c;QQ==\x07\x1b[21tdrawn" + "\r")
        talk.until("\x1b[?25ldrawn")
        talk.type("kill\r")
        assert talk.ended() == 128 + signal.SIGKILL
        assert talk.is_restored
        assert talk.screen[talk.screen.index("drawn") :].count("\x1b[?25h\x1b[?1000l\x1b[?1049l") == 1
        assert "\x1b]52" not in talk.screen
        assert "\x1b[21t" not in talk.screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_restores_the_terminal_and_keeps_the_work(
    number: signal.Signals, project: Project
) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type("echo made > made\r")
        talk.until("status 0")
        talk.process.send_signal(number)
        assert talk.ended() == 128 + number
        assert talk.is_restored
    assert (project.root / "made").read_text() == "made\n"
    assert project.is_tidy()
    assert [outcome for _, outcome in project.sessions()] == ["cancelled"]


def test_a_terminal_that_is_closed_ends_the_run_and_keeps_the_work(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type("echo made > made\r")
        talk.until("status 0")
        talk.hang_up()
        talk.process.wait(SECONDS)  # its status cannot be relied on: it can say nothing any more
    assert (project.root / "made").read_text() == "made\n"


# The work


def test_what_it_wrote_is_one_commit_on_the_branch_and_in_the_checkout(project: Project) -> None:
    (project.root / "mine").write_text("untracked")
    done = project.sh("echo made > made; echo more >> kept; ls; git add -A; git commit -q -m its-own; echo last > last")
    assert done.code == 0, done
    assert "mine" not in done.out.split()
    assert project.git("log", "--format=%s").split("\n")[:2] == ["Work with sh", "first"]
    assert project.git("show", "--format=", "--name-only", "HEAD").split() == ["kept", "last", "made"]
    assert project.git("status", "--porcelain") == "?? mine\n"
    assert (project.root / "kept").read_text() == "first\nmore\n"
    [(session, outcome)] = project.sessions()
    assert outcome == "success"
    assert project.git("log", "-1", "--format=%s", f"refs/ralf/run/{session}/commits").strip() == "its-own"
    assert f"Ralph-Session: {session}" in project.git("log", "-1", "--format=%b")
    assert project.is_tidy()


def test_uncommitted_work_stays_as_it_is_and_how_to_merge_is_said(project: Project) -> None:
    (project.root / "kept").write_text("edited\n")
    done = project.sh("cat kept; echo more >> kept; exit 4")
    assert (done.code, done.out) == (4, "first\n")
    assert (project.root / "kept").read_text() == "edited\n"
    assert project.git("log", "--format=%s").split("\n")[0] == "first"
    [(session, outcome)] = project.sessions()
    assert outcome == "failure"
    assert f"`git merge ralf/{session}` brings it there" in done.err
    project.git("stash")
    project.git("merge", "-q", f"ralf/{session}")
    assert (project.root / "kept").read_text() == "first\nmore\n"


def test_what_a_person_commits_meanwhile_stays_and_the_work_goes_on_top(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type("echo made > made\r")
        talk.until("status 0")
        (project.root / "theirs").write_text("theirs")
        project.git("add", "theirs")
        project.git("commit", "-q", "-m", "theirs")
        talk.type("exit 0\r")
        assert talk.ended() == 0
    assert project.git("log", "--format=%s").split("\n")[:3] == [
        f"Work with {Path(sys.executable).name}",
        "theirs",
        "first",
    ]
    assert project.git("status", "--porcelain") == ""


def test_a_run_that_is_killed_loses_nothing_and_the_next_one_cleans_up(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        talk.type("echo made > made; sleep 1000 & echo $! >&2\r")
        talk.until("status 0")
    [(session, outcome)] = project.sessions()
    assert outcome is None
    assert not (project.root / "made").exists()
    done = project.sh("cat made")
    assert done.out == "made\n", done
    assert session in done.err
    assert (project.root / "made").exists()
    assert dict(project.sessions())[session] == "timeout"
    assert project.is_tidy()


def test_a_run_that_lives_is_left_alone_by_another_one(project: Project) -> None:
    with project.talking() as talk:
        talk.until("ready")
        [(session, _)] = project.sessions()
        ended = ("session", "complete", "--session", session, "cancelled")
        assert run(*ended, cwd=project.root, env=project.environment).code == 0
        assert project.sh("echo other > other").code == 0
        talk.type("echo made > made\r")
        talk.until("status 0")
        talk.type("exit 0\r")
        assert talk.ended() == 0
    assert project.git("ls-files").split() == ["kept", "made", "other", "ralph.toml", "talk.py"]
    assert project.is_tidy()


def test_it_starts_where_the_person_is(project: Project) -> None:
    (project.root / "part").mkdir()
    (project.root / "part" / "file").write_text("")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "part")
    (project.root / "new").mkdir()
    for name, expected in (("part", "part"), ("new", "")):
        done = run("run", "--", "pwd", cwd=project.root / name, env=project.environment)
        assert done.out.rstrip("\n").endswith(expected), done
        assert done.code == 0


# For scripts


def test_a_script_has_the_streams_of_the_agent_alone(project: Project) -> None:
    done = project.sh("cat; echo complaint >&2; exit 3", stdin=b"given\n\x1b]52;c;QQ==\x07")
    assert (done.code, done.out) == (3, "given\n\x1b]52;c;QQ==\x07")
    assert "complaint\n" in done.err
    big = os.urandom(1 << 20)
    command = [str(RALPH), "run", "--", "cat"]
    copied = subprocess.run(
        command, cwd=project.root, env=dict(project.environment), input=big, capture_output=True, timeout=SECONDS
    )
    assert copied.stdout == big


def test_a_reader_that_has_enough_ends_it(project: Project) -> None:
    process = begun("run", "--", "yes", cwd=project.root, env=project.environment)
    try:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 2) == b"y\n"
        process.stdout.close()
        assert process.wait(SECONDS) in (1, 128 + signal.SIGPIPE)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_what_is_behind_a_stream_cannot_be_opened_again(confined: Project) -> None:
    given = confined.root.parent / "given"
    given.write_text("given\n")
    with given.open() as file, (confined.root.parent / "printed").open("w") as printed:
        command: list[str | Path] = [
            RALPH,
            "run",
            "--",
            "sh",
            "-c",
            "echo hacked > /proc/self/fd/0; cat; : > /proc/self/fd/1",
        ]
        subprocess.run(
            command,
            cwd=confined.root,
            env=dict(confined.environment),
            stdin=file,
            stdout=printed,
            timeout=SECONDS,
            check=False,
        )
    assert given.read_text() == "given\n"


def test_json_is_the_last_line_and_has_what_came_of_it(free: Project) -> None:
    done = free.run("--json", "--", "sh", "-c", "echo out; echo made > made; exit 5")
    [out, envelope] = done.out.splitlines()
    assert out == "out"
    data = json.loads(envelope)["data"]
    assert (data["status"], data["branch"], data["changed"]) == (5, "main", ["made"])
    assert data["commit"] == free.git("rev-parse", "HEAD").strip()
    assert done.code == 5


# Walls and identity


def test_it_can_neither_reach_the_journal_nor_pass_a_gate_from_inside(confined: Project) -> None:
    with opened(confined.root) as journal:
        before = journal.head()
    with confined.talking() as talk:
        talk.until("ready")
        for words in ("config accept", "gate enroll ~/.ssh/id.pub", "thread approve 1", "ticket create forged"):
            talk.type(f"printf 'accept\\nyes\\n' | ralph {words}; ralph {words} </dev/tty & sleep 0; wait\r")
            talk.type("accept\r")
            talk.until("status ")
        talk.type("cd / && ls -d $RALPH_ROOT/.ralf/journal.db ~/.ssh; env | grep -c DATABASE\r")
        talk.until("status ")
        talk.type("exit 0\r")
        assert talk.ended() == 0
    with opened(confined.root) as journal:
        assert {journal.instance(one.instance).machine for one in journal.entries(before)} == {"session"}
        assert journal.verify() == []


SPEAKS = """
import json, os, subprocess, sys
def message(id_, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\\n"
who = {"name": "t", "version": "1"}
first = message(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\\n"
given = {"sessionId": os.environ["RALPH_SESSION_ID"], "type": "progress", "data": {"message": "hello"}}
ask = message(2, "tools/call", name="emit_ralph_event", arguments=given)
with subprocess.Popen(["ralph", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    server.stdin.write(first + ready + ask)
    server.stdin.flush()
    for line in server.stdout:
        if json.loads(line).get("id") == 2:
            print(line)
            break
    server.stdin.close()
"""


def test_it_reports_as_the_session_of_its_run(project: Project) -> None:
    done = project.run("--", sys.executable, "-c", SPEAKS)
    assert done.code == 0, done
    assert not json.loads(done.out)["result"].get("isError"), done
    [(session, _)] = project.sessions()
    with opened(project.root) as journal:
        told = [one for one in journal.history(session) if one.decoded_evidence().data.get("message") == "hello"]
    assert [(one.channel, one.event) for one in told] == [("mcp", "noted")]


def test_nothing_of_the_run_is_in_what_the_person_starts_next(free: Project) -> None:
    script = "ralph run -- true 2>/dev/null; env | grep -c -E 'RALPH_(RUN|SESSION)'; ralph session create --ticket 1"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=free.root, env=dict(free.environment), capture_output=True, timeout=SECONDS
    )
    assert done.stdout.splitlines()[0] == b"0"
    with opened(free.root) as journal:
        assert [one.actor_kind for one in journal.entries() if one.event == "created"][-1] == "human", done


# Before it starts


def test_everything_that_is_missing_is_said_at_once(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, '[agent]\nsandbox = "none"\n')
    environment["PATH"] = environment["PATH"].partition(os.pathsep)[0] + os.pathsep + "/usr/bin"
    done = run("run", "codex", "--json", cwd=repository, env=environment)
    error = done.error
    assert error["code"] == "run_not_ready"
    for part in ("no commits", "'codex' is not there", "Nothing was started"):
        assert part in error["message"]
    settle(repository, '[agent]\nsandbox = "seatbelt"\n')
    error = run("run", "codex", "--json", cwd=repository, env=environment).error
    assert error["code"] == "sandbox_unavailable"
    assert "Seatbelt is part of macOS" in error["message"]
    assert 'agent.sandbox = "none"' in error["hint"]
    with opened(repository) as journal:
        assert journal.instances("session") == []


@pytest.mark.parametrize(
    ("words", "code"),
    [((), "usage"), (("cladue",), "agent_unknown"), (("claude", "--resume"), "usage"), (("--",), "usage")],
)
def test_a_call_that_names_no_agent_starts_nothing(words: tuple[str, ...], code: str, free: Project) -> None:
    assert free.run("--json", *words).error["code"] == code
    assert free.sessions() == []


def test_no_agent_is_started_while_settings_wait(free: Project) -> None:
    (free.root / "ralph.toml").write_text('[agent]\nsandbox = "none"\nname = "codex"\n')
    assert free.run("--json", "--", "true").error["code"] == "settings_waiting"
    assert free.sessions() == []
