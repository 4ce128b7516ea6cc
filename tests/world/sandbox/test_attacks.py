"""What an agent may not do, each tried as root and as another user, in the sandbox and, to see that it works, without.

An attack succeeds if it prints the secret, or changes anything of the person's but the agent's tree.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.world.sandbox.inside import SCOPES_SINCE, WRITES_SINCE, landlock_version
from interlock.world.sandbox.policy import SandboxPolicy
from patience import SECONDS
from world.sandbox.networks import driven
from world.sandbox.places import SECRET, Place, as_user, made_place, run, started, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux")

_CONNECT = """python3 -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect(sys.argv[1].replace("@", "\\0"))
    print(one.recv(99).decode())
' "{}" """
_PTRACE = """python3 -c '
import ctypes, sys
if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0:
    print(sys.argv[2])
' "$VICTIM" "$ANSWER" """

ATTACKS = {
    "write a hook of the repository": 'echo x > "$ROOT/.git/hooks/pre-commit"; echo x > "$REAL/.git/hooks/pre-push"',
    "write the journal": 'echo x >> "$ROOT/.ralf/journal.db"',
    "read the journal": 'cat "$ROOT/.ralf/journal.db"',
    "read what is not committed": 'cat "$ROOT/notes.txt"',
    "read the configuration of the repository": 'cat "$ROOT/.git/config"',
    "write the settings of Claude": 'echo "{}" > "$HOME/.claude/settings.json"',
    "add a file to the settings of Claude": 'mkdir -p "$HOME/.claude/hooks"; echo x > "$HOME/.claude/hooks/evil"',
    "write what the shell reads": 'echo evil >> "$HOME/.bashrc"',
    "read a key": 'cat "$HOME/.ssh/id_ed25519"',
    "read a key of GnuPG": 'cat "$HOME/.gnupg/private-keys-v1.d/key"',
    "read a login of a cloud": 'cat "$HOME/.aws/credentials"',
    "read a file of logins": 'cat "$HOME/.netrc"',
    "read a login through its private directory": 'cat "${XDG_CONFIG_HOME:-$HOME/.config}/gh/hosts.yml"',
    "read which journals are trusted": 'cat "$HOME/.local/state/interlock/trusted/one"',
    "trust a journal": 'echo x > "$HOME/.local/state/interlock/trusted/two"',
    "write an object": 'echo x > "$HOME/.local/state/interlock/objects/01jb/evil"',
    "remove objects": 'rm -rf "$HOME/.local/state/interlock/objects/01jb/"*',
    "write through a symbolic link": 'ln -s "$HOME/.bashrc" link; echo evil >> link',
    "write through a hard link": 'ln "$HOME/.bashrc" link && echo evil >> link',
    "move the tree away": 'mv "$HOME/.bashrc" "$HOME/.moved"',
    "read the environment of the driver": 'tr "\\0" "\\n" < "/proc/$VICTIM/environ"',
    "read any environment": "cat /proc/[0-9]*/environ",
    "end the driver": 'kill -9 "$VICTIM" && echo "$ANSWER"',
    "trace the driver": _PTRACE,
    "make a user namespace": 'unshare -U true && echo "$ANSWER"',
    "ask a socket in the home": _CONNECT.format("$HOME/agent.sock"),
    "ask a socket in /tmp": _CONNECT.format("$TEMPORARY"),
}
"""Scripts that need nothing but the place. `REAL` is where the repository is, which the agent is never told."""

POWERS = {
    "mount the root writable": 'mount -o remount,rw,bind / && echo "$ANSWER"; mount -o remount,rw / && echo "$ANSWER"',
    "uncover a secret": 'umount -l "$HOME/.ssh" && cat "$HOME/.ssh/id_ed25519"',
    "uncover the repository": 'umount -l "$ROOT" && cat "$ROOT/notes.txt"',
    "uncover in a namespace": 'unshare -Urm sh -c \'umount -l "$HOME/.ssh"; cat "$HOME/.ssh/id_ed25519"\'',
    "make a device": 'mknod "$ROOT/device" b 254 0 && echo "$ANSWER"; mknod /tmp/device c 1 1 && echo "$ANSWER"',
    "become root": 'python3 -c "import os; os.setuid(0)" && echo "$ANSWER"; su -c "echo $ANSWER"',
    "join a namespace outside": 'nsenter -t 1 -m true && nsenter -t "$VICTIM" -m cat "$HOME/.netrc"',
    "set the name of the machine": 'hostname evil && echo "$ANSWER"',
    "set the clock": 'date -s "2001-01-01" && echo "$ANSWER"',
    "make a control group": 'mkdir /sys/fs/cgroup/evil && echo "$ANSWER"',
    "look into the memory of the first process": 'head -c 1 /proc/1/root/run/y && echo "$ANSWER"',
    "read the passwords": 'grep -q . /etc/shadow && echo "$ANSWER"',
    "write a setting of the kernel": """python3 -c '
import os, sys
for place in ("/proc", "/sys/kernel"):
    for where, names, files in os.walk(place):
        if where == "/proc":
            names[:] = [name for name in names if not name.isdigit() and not name.endswith("self")]
        for name in files:
            try:
                os.close(os.open(os.path.join(where, name), os.O_WRONLY))
            except OSError:
                continue
            print(sys.argv[1], where, name)
' "$ANSWER" """,
}
"""Scripts that are never tried without a sandbox."""


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


class Victim:
    """A process of the person outside, and sockets at which their programs answer with the secret."""

    def __init__(self, place: Place) -> None:
        self.temporary = Path("/tmp") / f"ralph-test-{os.urandom(8).hex()}"
        self.process = subprocess.Popen(
            as_user(place.user, ("sleep", "1000")), env={"PATH": os.environ["PATH"], "TOKEN": SECRET}
        )
        self._servers = [_serving(str(path)) for path in (place.home / "agent.sock", self.temporary)]
        for path in (place.home / "agent.sock", self.temporary):
            path.chmod(0o777)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for server in self._servers:
            _stop(server)
        self.temporary.unlink()


def _serving(address: str) -> socket.socket:
    """A socket at which each client is told the secret."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.sendall(SECRET.encode())

    threading.Thread(target=serve, daemon=True).start()
    return server


def _stop(server: socket.socket) -> None:
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@contextmanager
def victim(place: Place) -> Iterator[Victim]:
    found = Victim(place)
    try:
        yield found
    finally:
        found.close()


def _variables(place: Place, victim: Victim) -> dict[str, str]:
    return {
        "ROOT": str(place.root),
        "REAL": str(place.root),
        "VICTIM": str(victim.process.pid),
        "TEMPORARY": str(victim.temporary),
        "ANSWER": SECRET,
    }


def _policy(place: Place, victim: Victim) -> SandboxPolicy:
    variables = _variables(place, victim)
    return replace(place.policy, environment={**place.environment, **variables}, names=frozenset(variables))


def _attack(place: Place, victim: Victim, script: str, *, is_confined: bool) -> bool:
    """Run a script, with the answer in a variable that no other way leads to; True if the attack succeeded."""
    before = place.contents()
    text = f"{script}\necho finished"
    if is_confined:
        done = run(place, text, _policy(place, victim))
    else:
        environment = {**place.environment, **_variables(place, victim)}
        done = started(as_user(place.user, ("sh", "-c", text)), environment, place.tree)
    assert done.stdout.endswith("finished\n"), done.stderr
    return SECRET in done.stdout or place.contents() != before


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_fails_that_works_without_a_sandbox(place: Place, name: str) -> None:
    with victim(place) as one:
        script = ATTACKS[name].replace(
            "cat /proc/[0-9]*/environ", f"cat /proc/[0-9]*/environ | grep -az TOKEN={SECRET}"
        )
        assert not _attack(place, one, script, is_confined=True)
        assert one.process.poll() is None
        if "ptrace" not in script or _may_trace():
            assert _attack(place, one, script, is_confined=False)


def _may_trace() -> bool:
    setting = Path("/proc/sys/kernel/yama/ptrace_scope")
    return not setting.exists() or setting.read_text().strip() == "0"


@pytest.mark.parametrize("name", POWERS)
def test_the_agent_has_no_power_over_the_machine(place: Place, name: str) -> None:
    with victim(place) as one:
        assert not _attack(place, one, POWERS[name], is_confined=True)


@pytest.mark.parametrize("network", ["host", "none"])
def test_abstract_sockets_cannot_be_reached(place: Place, network: str) -> None:
    if network == "host" and landlock_version() < SCOPES_SINCE:
        pytest.skip("not run: this kernel cannot hide abstract sockets")
    name = f"ralph-test-{os.urandom(8).hex()}"
    server = _serving(f"\0{name}")
    try:
        script = _CONNECT.format(f"@{name}")
        policy = replace(place.policy, network=network)
        assert SECRET not in run(place, script, policy).stdout
        assert SECRET in started(("sh", "-c", script), place.environment, place.directory).stdout
    finally:
        _stop(server)


def _apart_from_memory(*places: Path) -> Path:
    """The first directory that the sandbox shows and all users may enter: not below its own /tmp or /dev/shm."""
    covered = tuple(Path(one).resolve() for one in ("/tmp", "/var/tmp", "/dev/shm", "/run"))
    for one in (*places, Path.home(), Path("/opt"), Path("/srv")):
        open_to_all = all(path.stat().st_mode & 0o001 for path in (one, *one.parents)) if one.is_dir() else False
        if open_to_all and os.access(one, os.W_OK) and not any(one.resolve().is_relative_to(top) for top in covered):
            return one
    pytest.skip("not run: every directory for a pipe is covered in the sandbox")


def test_nothing_is_written_into_a_pipe_of_the_person(place: Place, request: pytest.FixtureRequest) -> None:
    """A read-only mount lets a pipe with a name be written, and the program that reads it does what it is told."""
    if landlock_version() < WRITES_SINCE:
        pytest.skip("not run: this kernel cannot close pipes")
    # What lies below the run's own /tmp or /dev/shm cannot be told from it.
    apart = _apart_from_memory(request.config.rootpath)
    with tempfile.TemporaryDirectory(prefix=".pipe-", dir=apart) as directory:
        Path(directory).chmod(0o755)
        pipe = Path(directory) / "orders"
        os.mkfifo(pipe)
        pipe.chmod(0o666)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            done = run(
                place, f"echo {SECRET} > {pipe}; mkfifo own; cat own & echo heard > own; wait; echo x > /dev/null"
            )
            assert (done.stdout, os.read(reader, 99)) == ("heard\n", b""), "its own pipe works"
            assert "Permission denied" in done.stderr
            started(as_user(place.user, ("sh", "-c", f"echo {SECRET} > {pipe}")), place.environment, Path("/"))
            assert os.read(reader, 99) == f"{SECRET}\n".encode()
        finally:
            os.close(reader)


def test_files_are_moved_and_linked_from_one_directory_to_another(place: Place) -> None:
    """Landlock refuses that unless it is allowed."""
    done = run(place, "mkdir a b; echo 1 > a/x; mv a/x b/y; ln b/y a/z; mv a b; cat b/y b/a/z; mv b /tmp; cat /tmp/b/y")
    assert (done.stdout, done.stderr) == ("1\n1\n1\n", "")


def test_a_bus_of_the_person_cannot_be_reached_even_if_it_starts_later(place: Place) -> None:
    """Its directory is covered, as is all of /run."""
    runtime = place.home / "runtime"
    runtime.mkdir()
    script = _CONNECT.format(runtime / "bus")
    policy = replace(place.policy, environment={**place.environment, "XDG_RUNTIME_DIR": str(runtime)})
    with place.sandbox.confine(("sh", "-c", script), policy) as confined:
        server = _serving(str(runtime / "bus"))
        (runtime / "bus").chmod(0o777)
        try:
            done = started(as_user(place.user, confined.argv), confined.environment, confined.directory)
            outside = started(as_user(place.user, ("sh", "-c", script)), place.environment, place.directory)
        finally:
            _stop(server)
    assert "FileNotFoundError" in done.stderr
    assert outside.stdout == f"{SECRET}\n"


def test_without_a_network_no_server_of_this_machine_can_be_reached(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {server.getsockname()[1]}))'"
        assert run(place, script).returncode == 0
        done = run(place, script, replace(place.policy, network="none"))
    assert "ConnectionRefusedError" in done.stderr


def test_a_terminal_multiplexer_cannot_be_told_to_run_anything(place: Place) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("not run: tmux is missing")
    tmux = ("tmux", "-S", str(place.home / "tmux.sock"), "-f", "/dev/null")
    environment = {**place.environment, "TERM": "xterm"}
    made = started(as_user(place.user, (*tmux, "new-session", "-d", "cat")), environment, place.directory)
    assert made.returncode == 0, made.stderr
    try:
        script = f"tmux -S '{place.home}/tmux.sock' run-shell 'touch {place.home}/%s'"
        assert run(place, script % "inside").returncode != 0
        assert (
            started(as_user(place.user, ("sh", "-c", script % "outside")), environment, place.directory).returncode == 0
        )
    finally:
        started(as_user(place.user, (*tmux, "kill-server")), environment, place.directory)
    assert not (place.home / "inside").exists()
    assert (place.home / "outside").exists()


_TERMINAL = """
import fcntl, os, sys, termios
for name in ("/dev/tty", "/dev/console"):
    try:
        os.write(os.open(name, os.O_WRONLY), b"evil")
        print("wrote", name)
    except OSError:
        pass
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("typed")
except OSError:
    pass
print("finished")
"""


def test_nothing_is_typed_into_the_terminal_of_the_person(place: Place) -> None:
    """The program is started as the driver of a terminal, with it as stdin, which the integration never does."""
    script = place.tree / "attack.py"
    script.write_text(_TERMINAL)
    command = ("python3", "attack.py")
    with place.sandbox.confine(command, place.policy) as confined:
        inside = _at_a_terminal(place, confined.argv, confined.environment, confined.directory)
    assert inside == "finished\n"
    assert "wrote /dev/tty" in _at_a_terminal(place, command, place.environment, place.tree)


def _at_a_terminal(place: Place, argv: tuple[str, ...], environment: object, directory: Path) -> str:
    assert isinstance(environment, dict)
    main, terminal = os.openpty()
    os.chown(os.ttyname(terminal), place.user, -1)
    leader = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
    )
    try:
        done = subprocess.run(
            (sys.executable, "-c", leader, *as_user(place.user, argv)),
            env=environment,
            cwd=directory,
            stdin=terminal,
            capture_output=True,
            start_new_session=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    finally:
        os.close(main)
        os.close(terminal)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_descriptor_of_the_driver_can_be_read(place: Place) -> None:
    secret = os.open(place.home / ".netrc", os.O_RDONLY)
    script = f"ls -l /proc/[0-9]*/fd; cat <&{secret}"
    try:
        with place.sandbox.confine(("bash", "-c", script), place.policy) as confined:
            done = started(
                as_user(place.user, confined.argv), confined.environment, confined.directory, pass_fds=(secret,)
            )
        outside = started(("bash", "-c", f"cat <&{secret}"), place.environment, place.tree, pass_fds=(secret,))
    finally:
        os.close(secret)
    assert "Bad file descriptor" in done.stderr
    assert "/proc/1/fd:" in done.stdout
    assert ".netrc" not in done.stdout
    assert outside.stdout == SECRET


_VARIABLES = {
    "LD_PRELOAD": f"/{SECRET}.so",
    "RALPH_DATABASE_URL": f"postgresql://me:{SECRET}@host/db",
    "RALPH_JOURNAL": f"/{SECRET}",
    "SSH_AUTH_SOCK": f"/{SECRET}",
    "DBUS_SESSION_BUS_ADDRESS": f"unix:path=/{SECRET}",
    "GITHUB_TOKEN": SECRET,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "TMUX": f"/{SECRET},1,0",
    "DISPLAY": f":{SECRET}",
}


def test_no_secret_of_the_environment_is_anywhere_inside(place: Place) -> None:
    script = "env; cat /proc/[0-9]*/environ; echo finished"
    names = frozenset({"RALPH_DATABASE_URL", "RALPH_JOURNAL", "LD_PRELOAD", "SSH_AUTH_SOCK"})
    policy = replace(place.policy, environment={**place.environment, **_VARIABLES}, names=names)
    done = run(place, script, policy)
    assert done.stdout.endswith("finished\n")
    assert SECRET not in done.stdout + done.stderr


_KEYRING = """
import ctypes, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
add, request, control = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]
name, mine = b"ralph-test", -3
if sys.argv[1] == "put":
    if libc.syscall(control, 1, None) < 0:
        sys.exit(75)
    libc.syscall(add, b"user", name, sys.argv[2].encode(), len(sys.argv[2]), mine)
    os.execv(sys.argv[3], sys.argv[3:])
found = libc.syscall(request, b"user", name, None, 0)
text = ctypes.create_string_buffer(99)
if found > 0 and libc.syscall(control, 11, found, text, 99) > 0:
    print(text.value.decode())
"""
"""Keeps a secret in a keyring of the kernel and becomes another program, or looks for it."""


def test_the_keyring_of_the_person_cannot_be_read(place: Place) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("not run: the numbers of the calls are not known here")
    (place.tree / "keyring.py").write_text(_KEYRING)
    look = ("/usr/bin/python3", "keyring.py", "look")
    put = ("/usr/bin/python3", str(place.tree / "keyring.py"), "put", SECRET)
    with place.sandbox.confine(look, place.policy) as confined:
        done = started(as_user(place.user, (*put, *confined.argv)), confined.environment, confined.directory)
    outside = started(as_user(place.user, (*put, *look)), place.environment, place.tree)
    if outside.returncode == 75:
        pytest.skip("not run: this kernel has no keyrings")
    assert outside.stdout == f"{SECRET}\n"
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_every_namespace_is_its_own_but_that_of_the_network(place: Place) -> None:
    kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    script = "; ".join(f"readlink /proc/self/ns/{kind}" for kind in kinds)
    ours = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in kinds]
    theirs = run(place, script).stdout.split()
    assert [kind for kind, our, their in zip(kinds, ours, theirs, strict=True) if our == their] == ["net"]
    alone = run(place, script, replace(place.policy, network="none")).stdout.split()
    assert not set(ours) & set(alone)


def test_no_library_of_the_agent_is_loaded_outside(place: Place) -> None:
    """A part of the path that is empty is the current directory; a library that is none ends the program."""
    path = f":{place.tree}"
    for name in ("libcap.so.2", "libselinux.so.1"):
        (place.tree / name).write_text("not a library")
    policy = replace(place.policy, environment={**place.environment, "LD_LIBRARY_PATH": path})
    done = run(place, "echo $LD_LIBRARY_PATH", policy)
    assert done.stdout == f"{path}\n", done.stderr
    with place.sandbox.confine(("true",), policy) as confined:
        assert not confined.directory.is_relative_to(place.tree)
        broken = {**confined.environment, "LD_LIBRARY_PATH": path}
        assert started(confined.argv, broken, place.tree).returncode != 0


def test_an_agent_does_not_see_the_logins_of_others_or_its_own_in_two_places(place: Place) -> None:
    others = {".codex/auth.json": "1", ".gemini/oauth_creds.json": "2", ".local/share/opencode/auth.json": "3"}
    for name, text in others.items():
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text(text)
    script = f'cd; cat {" ".join(others)} .claude/.credentials.json; cat "$CLAUDE_CONFIG_DIR/.credentials.json"'
    done = driven(place, script, "host", agent="claude")
    assert json.loads(done.stdout) == {"claudeAiOauth": {"accessToken": "access", "expiresAt": 4102444800000}}


def test_a_secret_that_is_replaced_during_the_run_stays_hidden(place: Place) -> None:
    """Programs replace a file by another; a mount on it ends with it, in every sandbox."""
    login = place.home / ".claude" / ".credentials.json"
    script = "echo ready; read line; cat ~/.netrc ~/.ssh/* ~/.claude/.credentials.json; cat ~/.npmrc; echo finished"
    with place.sandbox.confine(("sh", "-c", script), place.policy) as confined:
        argv = as_user(place.user, confined.argv)
        with subprocess.Popen(
            argv, env=confined.environment, cwd=confined.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            for path in (place.home / ".netrc", place.home / ".npmrc", login):
                new = place.home / "new"
                new.write_text(SECRET)
                new.chmod(0o644)
                new.replace(path)
            (place.home / ".ssh").rename(place.home / ".ssh-before")
            (place.home / ".ssh").mkdir()
            (place.home / ".ssh" / "id").write_text(SECRET)
            assert process.communicate(b"go\n", SECONDS)[0] == b"finished\n"
