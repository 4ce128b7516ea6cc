"""What works in a sandbox of bubblewrap, what it limits, and that everything ends with it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.world.agents import tree
from interlock.world.git import TreeTaking
from interlock.world.sandbox import attach, inside
from interlock.world.sandbox.choosing import explain
from interlock.world.sandbox.homes import agent_home
from patience import MILLISECONDS, SECONDS
from world.git.repositories import git
from world.sandbox.networks import driven
from world.sandbox.places import SECRET, Place, as_user, made_place, run, started, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux")


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


def test_the_tree_is_at_the_path_of_the_repository_and_can_be_written(place: Place) -> None:
    done = run(place, "pwd; ls -A; echo two > src/two.py; mkdir new; cat README.md")
    assert done.stdout == f"{place.root}\n.git\nREADME.md\nsrc\nHello.\n", done.stderr
    assert (place.tree / "src" / "two.py").read_text() == "two\n"
    assert not (place.root / "new").exists()
    assert not (place.root / ".ralf" / "trees" / "01jb" / "files" / ".ralf").exists()


def test_git_works_inside_with_the_objects_of_the_repository(place: Place) -> None:
    script = (
        "git status --porcelain && git log --format=%s && echo two > two.txt && git add two.txt && "
        "git commit -q -m second && git fsck --full --strict && git gc -q && git log -1 --format=%an:%s"
    )
    done = run(place, script)
    assert done.stdout == "first\nA Person:second\n", done.stderr
    assert git("-c", "safe.directory=*", "log", "--all", "--format=%s", cwd=place.root) == "first"


def test_a_role_that_only_reads_cannot_write_the_tree(place: Place) -> None:
    done = run(place, "cat README.md; git status --porcelain; touch new", replace(place.policy, is_read_only=True))
    assert done.stdout == "Hello.\n"
    assert "Read-only file system" in done.stderr
    assert not (place.tree / "new").exists()


def test_the_tree_can_stay_at_its_own_path(place: Place) -> None:
    policy = replace(place.policy, shown_at=place.tree, hidden=(place.root / ".git", place.root / ".ralf"))
    done = run(place, f"pwd; touch new; git log --format=%s; cat ../../../journal.db; ls {place.root}/.git", policy)
    assert done.stdout == f"{place.tree}\nfirst\n"
    assert (place.tree / "new").exists()


def test_scripts_of_a_virtual_environment_work_with_the_paths_of_the_repository(place: Place) -> None:
    environment = place.tree / ".venv" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to("/usr/bin/python3")
    (environment.parent / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    tool = environment / "tool"
    tool.write_text(f"#!{place.root}/.venv/bin/python\nimport sys\nprint(sys.prefix)\n")
    tool.chmod(0o755)
    done = run(place, ".venv/bin/tool")
    assert done.stdout == f"{place.root}/.venv\n", done.stderr


@pytest.mark.parametrize(
    "command", [("python3", "-c", "print(6 * 7)"), ("node", "-p", "6 * 7")], ids=["python", "node"]
)
def test_interpreters_run(place: Place, command: tuple[str, ...]) -> None:
    if run(place, ("sh", "-c", f"command -v {command[0]}")).returncode != 0:
        pytest.skip(f"not run: {command[0]} is not where every user finds it")
    assert run(place, command).stdout == "42\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 7", 7),
        ("kill -9 $$", 137),
        (("/nowhere/to/be/found",), 127),
        (("/etc/passwd",), 126),
    ],
    ids=["itself", "signal", "missing", "not a program"],
)
def test_the_exit_status_is_that_of_the_command(place: Place, command: str | tuple[str, ...], status: int) -> None:
    assert run(place, command).returncode == status


def test_a_pipe_that_nobody_reads_ends_its_writer(place: Place) -> None:
    """Python ignores the signal; the agent must not inherit that."""
    assert run(place, ("bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}")).stdout == "y\n141\n"


def test_nobody_has_or_gets_rights_inside(place: Place) -> None:
    user = "1000" if place.user == 0 else str(place.user)
    done = run(place, "id -u; grep -hE '^(CapPrm|CapBnd|NoNewPrivs):' /proc/self/status")
    assert done.stdout.split() == [user, "CapPrm:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]


def test_a_sandbox_in_a_sandbox_says_why_it_cannot_be(place: Place) -> None:
    done = run(place, (place.sandbox.program, "--unshare-user", "--ro-bind", "/", "/", "true"))
    assert "No more user namespaces" in explain(done.stderr, lambda _: None).why


_WRITABLE = """
import os
for line in open("/proc/self/mountinfo"):
    place = line.split()[4].encode().decode("unicode_escape")
    try:
        name = os.path.join(place, "ralph-test")
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        os.unlink(name)
        print(place)
    except OSError:
        pass
"""


def test_only_the_tree_and_sized_directories_in_memory_can_be_written(place: Place) -> None:
    (place.tree / "look.py").write_text(_WRITABLE)
    found = set(run(place, ("python3", "look.py")).stdout.split())
    assert found == {str(place.root), "/tmp", "/var/tmp", "/dev/shm", "/run/ralph/home"}


@pytest.mark.parametrize("directory", ["/tmp", "/var/tmp", "/dev/shm", "/run/ralph/home/cache"])
def test_a_directory_in_memory_holds_no_more_than_its_size(place: Place, directory: str) -> None:
    done = run(place, f"head -c 3000000 /dev/zero > {directory}/file; stat -c %s {directory}/file")
    assert "No space left on device" in done.stderr
    assert 0 < int(done.stdout) <= 2 << 20


_FORKS = """
import os, time
made = 0
while made < 500:
    try:
        if os.fork() == 0:
            time.sleep(1000)
    except OSError:
        break
    made += 1
print(made)
"""


def test_an_ordinary_user_has_a_limit_of_processes(place: Place) -> None:
    if place.user == 0:
        pytest.skip("not run: the limit does not hold for root")
    (place.tree / "forks.py").write_text(_FORKS)
    limits = replace(place.policy.limits, processes=64)
    done = run(place, ("python3", "forks.py"), replace(place.policy, limits=limits))
    assert 0 < int(done.stdout) < 128, done.stderr


def test_no_file_becomes_larger_than_what_may_be_written(place: Place) -> None:
    script = "head -c 2000000 /dev/zero > big"
    assert run(place, script).returncode == 0
    limits = replace(place.policy.limits, disk=1 << 20)
    assert run(place, script, replace(place.policy, limits=limits)).returncode != 0
    assert (place.tree / "big").stat().st_size == 1 << 20


def test_the_run_is_ended_before_the_persons_programs_when_the_memory_is_used_up(place: Place) -> None:
    done = run(place, "cat /proc/self/oom_score_adj")
    assert int(done.stdout) == 500


# The end


_LEAVES = """
import os, signal
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
fifo = os.open("fifo", os.O_WRONLY)
os.write(fifo, b"there")
signal.pause()
"""
"""A process that leaves its parent, its group and its signals; the pipe that it holds open ends with it."""

_STARTER = """
import json, subprocess, sys
given = json.loads(sys.stdin.read())
subprocess.run(given["argv"], env=given["environment"], cwd=given["directory"], stdin=subprocess.DEVNULL)
"""


class Left:
    """The reading end of the pipe of a process that was left behind."""

    def __init__(self, place: Place) -> None:
        (place.tree / "leaves.py").write_text(_LEAVES)
        path = place.tree / "fifo"
        os.mkfifo(path)
        os.chown(path, place.user, place.user)
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._end, select.POLLIN)

    def is_there(self) -> bool:
        """Wait until it has begun."""
        return bool(self._poll.poll(MILLISECONDS)) and os.read(self._end, 99) == b"there"

    def is_gone(self) -> bool:
        """Wait until it has ended."""
        found = self._poll.poll(MILLISECONDS)
        return bool(found) and bool(found[0][1] & select.POLLHUP) and os.read(self._end, 99) == b""

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def left(place: Place) -> Iterator[Left]:
    found = Left(place)
    yield found
    found.close()


def test_nothing_is_left_when_the_agent_has_ended(place: Place, left: Left) -> None:
    with place.sandbox.confine(("sh", "-c", "python3 leaves.py; read line"), place.policy) as confined:
        argv = as_user(place.user, confined.argv)
        process = subprocess.Popen(argv, env=confined.environment, cwd=confined.directory, stdin=subprocess.PIPE)
        assert left.is_there()
        process.communicate(b"end\n", SECONDS)
        assert left.is_gone()


@pytest.mark.parametrize("which", ["starter", "sandbox"])
def test_nothing_is_left_when_the_starter_or_the_sandbox_is_killed(place: Place, left: Left, which: str) -> None:
    with place.sandbox.confine(("sh", "-c", "python3 leaves.py; sleep 1000"), place.policy) as confined:
        given = {"argv": confined.argv, "environment": confined.environment, "directory": str(confined.directory)}
        argv = as_user(place.user, ("/usr/bin/python3", "-c", _STARTER))
        with subprocess.Popen(argv, stdin=subprocess.PIPE, text=True) as starter:
            assert starter.stdin is not None
            starter.stdin.write(json.dumps(given))
            starter.stdin.close()
            assert left.is_there()
            below = [one.pid for one in tree.everyone() if one.parent == starter.pid]
            assert len(below) == 1
            os.kill(starter.pid if which == "starter" else below[0], signal.SIGKILL)
            assert left.is_gone()


def test_the_run_ends_with_the_thread_that_started_it(place: Place) -> None:
    """Linux tells a child of the end of its parent's thread, so whoever starts a run must wait for it."""
    started = []
    with place.sandbox.confine(("sh", "-c", "echo there; sleep 1000"), place.policy) as confined:
        argv = as_user(place.user, confined.argv)

        def start() -> None:
            process = subprocess.Popen(
                argv, env=confined.environment, cwd=confined.directory, stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            started.append(process)

        thread = threading.Thread(target=start)
        thread.start()
        thread.join(SECONDS)
        with started[0] as process:
            assert process.wait(SECONDS) == -signal.SIGKILL


def test_an_agent_that_is_asked_to_end_can_finish(place: Place) -> None:
    """The signal goes to everything but the process that was started: that one would end all at once."""
    marker = f"run-{os.urandom(8).hex()}"
    policy = replace(place.policy, environment={**place.environment, tree.MARKER: marker})
    script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    with place.sandbox.confine(("sh", "-c", script), policy) as confined:
        process = subprocess.Popen(
            as_user(place.user, confined.argv), env=confined.environment, cwd=confined.directory, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        there = tree.members(None, marker)
        assert len(there) >= 3, "bubblewrap, the first process inside, and the agent"
        for pid in there:
            if pid != process.pid:
                with suppress(ProcessLookupError):  # a `sleep` that has ended
                    os.kill(pid, signal.SIGTERM)
        assert process.communicate(timeout=SECONDS)[0] == b"bye\n"
    assert process.returncode == 3
    assert tree.members(process.pid, marker) == []


# The private directories


def test_claude_has_a_copy_of_its_settings(place: Place) -> None:
    policy = replace(place.policy, agent=agent_home("claude"))
    script = (
        'cd "$CLAUDE_CONFIG_DIR" && pwd && cat settings.json .claude.json && '
        "echo changed > settings.json && mkdir session-env"
    )
    before = place.contents()
    done = run(place, script, policy)
    assert done.stdout == '/run/ralph/home/claude\n{"model": "x"}{}', done.stderr
    assert place.contents() == before


def test_the_directory_that_a_variable_names_is_the_one_that_is_copied(place: Place) -> None:
    other = place.home / "elsewhere"
    other.mkdir(mode=0o755)
    (other / "config.toml").write_text("model = 'y'\n")
    (other / "auth.json").write_text('{"OPENAI_API_KEY": "key"}')
    done = driven(
        place,
        'cd "$CODEX_HOME" && pwd && cat config.toml auth.json',
        "host",
        environment={"CODEX_HOME": str(other)},
        agent="codex",
    )
    assert done.stdout == '/run/ralph/home/codex\nmodel = \'y\'\n{\n  "OPENAI_API_KEY": "key"\n}'
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("has_login", [True, False])
def test_opencode_can_write_all_four_of_its_directories(place: Place, has_login: bool) -> None:
    data = place.home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    if has_login:
        (data / "auth.json").write_text("{}")
    script = (
        "set -e; for one in CONFIG DATA STATE CACHE; do eval dir=\\$XDG_${one}_HOME; "
        'mkdir -p "$dir/opencode"; echo x > "$dir/opencode/new"; done; cat "$XDG_DATA_HOME/opencode/auth.json"'
    )
    done = driven(place, script, "host", agent="opencode")
    assert (done.stdout == "{}") is has_login, done.stderr
    assert sorted(one.name for one in data.iterdir()) == (["auth.json"] if has_login else [])


def test_other_settings_of_the_person_are_shown_read_only(place: Place) -> None:
    settings = place.home / ".config" / "git" / "ignore"
    settings.parent.mkdir(parents=True)
    settings.write_text("*.ignored\n")
    settings.chmod(0o666)
    done = run(place, 'touch a.ignored; git status --porcelain; echo x >> "$XDG_CONFIG_HOME/git/ignore"')
    assert done.stdout == ""
    assert "Read-only file system" in done.stderr


def test_what_is_too_large_to_copy_is_a_link(place: Place) -> None:
    plugins = place.home / ".claude" / "plugins"
    plugins.mkdir()
    with (plugins / "large").open("wb") as file:
        file.truncate(65 << 20)
    (plugins / "small").write_text("small")
    policy = replace(place.policy, agent=agent_home("claude"))
    done = run(place, 'cd "$CLAUDE_CONFIG_DIR"; readlink plugins; cat plugins/small; cat settings.json', policy)
    assert done.stdout == f'{plugins}\nsmall{{"model": "x"}}'


def test_an_agent_without_a_variable_has_its_directory_covered(place: Place) -> None:
    directory = place.home / ".gemini"
    directory.mkdir()
    (directory / "settings.json").write_text("{}")
    (directory / "oauth_creds.json").write_text("login")
    script = "cd ~/.gemini; cat settings.json oauth_creds.json; echo x > settings.json; echo x > new"
    done = driven(place, script, "host", agent="gemini")
    assert done.stdout == "{}login", done.stderr
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in directory.iterdir()) == ["oauth_creds.json", "settings.json"]
    assert (directory / "settings.json").read_text() == "{}"


# What the policy shows and hides


def test_the_socket_of_the_run_is_there_and_nothing_else_of_the_state(place: Place) -> None:
    sockets = place.state / "runs" / "one"
    sockets.mkdir(parents=True)
    (sockets / "file").write_text("a socket")
    policy = replace(place.policy, sockets=sockets)
    with place.sandbox.confine(("true",), policy) as confined:
        assert confined.sockets is not None
        done = run(place, f"cat {confined.sockets}/file; ls -A {place.state}; echo x > {confined.sockets}/file", policy)
    assert done.stdout == "a socketobjects\n"
    assert "Read-only file system" in done.stderr


def test_a_policy_can_show_what_would_be_hidden_and_hide_more(place: Place) -> None:
    (place.home / "private").mkdir()
    (place.home / "private" / "file").write_text(SECRET)
    (place.home / "link").symlink_to("private")
    policy = replace(place.policy, readable=(place.home / ".netrc",), hidden=(place.home / "link",))
    done = run(place, "cat ~/.netrc; cat ~/private/file ~/link/file", policy)
    assert done.stdout == SECRET


def test_what_is_hidden_below_a_path_that_is_shown_stays_hidden(place: Place) -> None:
    policy = replace(place.policy, readable=(place.home, place.home / ".ssh"))
    done = run(place, "cat ~/.netrc ~/.aws/credentials ~/.local/state/interlock/trusted/one; cat ~/.ssh/*", policy)
    assert done.stdout == SECRET
    assert run(place, "git log --format=%s", policy).stdout == "first\n"


def test_the_state_is_hidden_where_a_variable_puts_it_below_tmp(place: Place) -> None:
    base = Path("/tmp") / f"ralph-test-{os.urandom(8).hex()}"
    (base / "interlock").mkdir(parents=True)
    try:
        (base / "interlock" / "file").write_text(SECRET)
        environment = {**place.environment, **{f"XDG_{one}_HOME": str(base) for one in ("STATE", "CONFIG", "DATA")}}
        policy = replace(place.policy, environment=environment, state=base / "interlock")
        done = run(place, f"cat {base}/interlock/file $XDG_CONFIG_HOME/interlock/file; ls {base}", policy)
    finally:
        shutil.rmtree(base)
    assert done.stdout == "interlock\n"


def test_a_repository_around_the_state_of_the_user_is_refused(place: Place) -> None:
    policy = replace(place.policy, shown_at=place.home)
    with pytest.raises(InterlockError) as raised, place.sandbox.confine(("true",), policy):
        pass
    assert raised.value.code == "invalid_argument"


def test_what_the_agent_wrote_is_taken_as_before(place: Place) -> None:
    if place.user != os.geteuid():
        pytest.skip("not run: the tree is another user's")
    run(place, "echo two > two.txt; ln -s /etc/passwd link; git add -A; git commit -q -m x")
    taken = TreeTaking().take(place.tree)
    names = git("ls-tree", "-r", "--name-only", taken.tree, cwd=place.root).splitlines()
    assert names == ["README.md", "link", "src/one.py", "two.txt"]


def test_programs_below_the_covered_directories_are_found(place: Place) -> None:
    programs = Path("/tmp") / f"ralph-test-{os.urandom(8).hex()}"
    programs.mkdir()
    try:
        (programs / "tool").write_text("#!/bin/sh\necho found\n")
        (programs / "tool").chmod(0o755)
        environment = {**place.environment, "PATH": f"{programs}:{place.environment['PATH']}"}
        assert run(place, ("tool",), replace(place.policy, environment=environment)).stdout == "found\n"
    finally:
        (programs / "tool").unlink()
        programs.rmdir()


def test_programs_and_sockets_in_a_directory_that_the_person_may_not_enter_are_left_out(place: Place) -> None:
    closed = Path("/tmp") / f"ralph-test-{os.urandom(8).hex()}"
    (closed / "bin").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(closed / "socket"))
        server.listen()
        closed.chmod(0)
        try:
            path = {"PATH": f"{closed}/bin:{place.environment['PATH']}"}
            done = driven(place, "echo works", "none", environment=path)
        finally:
            closed.chmod(0o700)
            shutil.rmtree(closed)
    assert done.stdout == "works\n", done.stderr


# What each run waits for


_SLOW = frozenset("argparse collections contextlib enum functools json re shutil signal subprocess typing".split())


@pytest.mark.parametrize("program", [inside, attach], ids=["inside", "attach"])
def test_a_program_that_each_run_waits_for_imports_next_to_nothing(program: ModuleType) -> None:
    code = (
        f"import sys; sys.path.append(sys.argv[1]); import {program.__name__.rpartition('.')[2]}; print(*sys.modules)"
    )
    command = (sys.executable, "-I", "-S", "-B", "-c", code, str(Path(str(program.__file__)).parent))
    modules = set(started(command, os.environ, Path("/")).stdout.split())
    assert "os" in modules
    assert not modules & _SLOW
