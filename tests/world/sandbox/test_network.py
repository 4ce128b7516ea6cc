"""What each network of a sandbox reaches and what it does not, with real servers of this machine."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.world.sandbox.pasta import find
from interlock.world.sandbox.policy import Network
from patience import MILLISECONDS, SECONDS
from world.sandbox.networks import (
    FETCH,
    Request,
    driven,
    driver,
    driver_environment,
    own_address,
    serving,
    serving_abstract,
)
from world.sandbox.places import SECRET, Place, made_place, run, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux")

_ABSTRACT = """python3 -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect("\\0" + sys.argv[1])
    print(one.recv(99).decode())
' """
NETWORKS: dict[str, tuple[Network, str | None]] = {
    "open by pasta": ("open", None),
    "open without pasta": ("open", ""),
    "a list": (("example.org", "*.localhost"), None),
    "a list with open": (("open", "localhost:1025"), None),
    "none": ("none", None),
}


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


@pytest.mark.parametrize("name", NETWORKS)
def test_no_server_of_this_machine_is_reached(place: Place, name: str) -> None:
    network, pasta = NETWORKS[name]
    own = own_address() or "127.0.0.2"
    abstract = f"ralph-test-{os.urandom(8).hex()}"
    with serving() as one, serving("::1") as two, serving("0.0.0.0") as three, serving_abstract(abstract):
        urls = [
            f"http://127.0.0.1:{one}/",
            f"http://localhost:{one}/",
            f"http://[::1]:{two}/",
            f"http://{own}:{three}/",
        ]
        urls += [f"http://2130706433:{one}/", f"http://[::ffff:127.0.0.1]:{one}/", f"http://0.0.0.0:{three}/"]
        fetch = FETCH + " ".join(urls)
        script = f"{fetch}; no_proxy= NO_PROXY= {fetch}; {_ABSTRACT} {abstract}"
        done = driven(place, script, network, pasta=pasta)
        assert SECRET not in done.stdout
        assert done.stdout.count("no http") == 2 * len(urls), done.stderr
        assert driven(place, fetch, "host").stdout.count(SECRET) == len(urls)


def test_an_address_that_a_person_lists_is_reached_where_it_is_and_no_other(place: Place) -> None:
    with serving() as one, serving() as other:
        fetch = FETCH + f"http://127.0.0.1:{one}/a http://localhost:{one}/b http://127.0.0.1:{other}/"
        done = driven(place, f"{fetch}; no_proxy= NO_PROXY= {fetch}", (f"localhost:{one}",))
    assert done.stdout.count(SECRET) == 4, done.stdout + done.stderr
    assert done.stdout.count(f"no http://127.0.0.1:{other}/") == 2


def test_an_own_address_that_is_listed_is_reached_through_the_proxy(place: Place) -> None:
    own = own_address()
    if own is None:
        pytest.skip("not run: this machine has only its loopback")
    with serving("0.0.0.0") as port:
        assert SECRET in driven(place, FETCH + f"http://{own}:{port}/", (f"{own}:{port}",)).stdout


def test_what_is_refused_names_the_setting(place: Place) -> None:
    said = driven(place, FETCH + "http://not.example.net/", ("example.org",)).stdout
    assert "no http://not.example.net/ 403" in said
    assert '`agent.network` in ralph.toml does not allow it. A person can add "not.example.net:80" there.' in said


def test_a_network_of_its_own_has_a_namespace_of_its_own(place: Place) -> None:
    ours = str(Path("/proc/self/ns/net").readlink())
    for network, pasta in NETWORKS.values():
        assert driven(place, "readlink /proc/self/ns/net", network, pasta=pasta).stdout.strip() not in ("", ours)


def test_a_pasta_that_does_not_work_leaves_a_proxy(place: Place) -> None:
    broken = place.directory / "pasta"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert driven(place, 'test -n "$HTTPS_PROXY" && echo proxy', "open", pasta=str(broken)).stdout == "proxy\n"


# A machine with more than one address, made of namespaces

_MACHINE = """
import os, subprocess, sys
SERVER = '''
import socket, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(sys.argv[1].encode())
class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6
print("here", flush=True)
sys.stdin.readline()
server = Server(("::", 8080), Handler)
print("ready", flush=True)
server.serve_forever()
'''
RESOLVER = '''
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("127.0.0.53", 53))
print("ready", flush=True)
while True:
    asked, address = one.recvfrom(999)
    name = asked[12:].split(bytes(1), 1)[0]
    kind = asked[12 + len(name) + 1:][:4]
    answer = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 1]) if kind == bytes([0, 1, 0, 1]) else b""
    head = asked[:2] + bytes([0x81, 0x80, 0, 1, 0, bool(answer), 0, 0, 0, 0])
    one.sendto(head + name + bytes(1) + kind + answer, address)
'''
def ip(*words, pid=None):
    subprocess.run([*(["nsenter", "-t", str(pid), "-n"] if pid else []), "ip", *words], check=True)
def server(said, *before):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    one = subprocess.Popen([*before, sys.executable, "-c", SERVER, said], **pipes)
    one.stdout.readline()
    return one
def begin(one):
    print(file=one.stdin, flush=True)
    one.stdout.readline()
far = server("far away", "unshare", "-n")
ip("link", "set", "lo", "up")
for mine, theirs in (("d0", "far"), ("d1", "e1")):
    ip("link", "add", mine, "type", "veth", "peer", "name", theirs)
ip("link", "set", "far", "netns", str(far.pid))
ip("addr", "add", "192.0.2.1/24", "dev", "far", pid=far.pid)
ip("-6", "addr", "add", "fd00::1/64", "dev", "far", "nodad", pid=far.pid)
for name, pid in (("far", far.pid), ("d0", None), ("d1", None), ("e1", None)):
    ip("link", "set", name, "up", pid=pid)
for name, address in (("d0", "192.0.2.2/24"), ("d1", "172.31.0.1/24"), ("d0", "192.0.2.3/24")):
    ip("addr", "add", address, "dev", name)
for name, address in (("d0", "fd00::2/64"), ("d1", "fd09::1/64")):
    ip("-6", "addr", "add", address, "dev", name, "nodad")
ip("route", "add", "default", "via", "192.0.2.1")
ip("-6", "route", "add", "default", "via", "fd00::1")
begin(far)
begin(server("do-not-read-me"))
if os.environ.get("RESOLVER"):
    resolver = subprocess.Popen([sys.executable, "-c", RESOLVER], stdout=subprocess.PIPE, text=True)
    resolver.stdout.readline()
    subprocess.run(["mount", "--bind", os.environ["RESOLVER"], "/etc/resolv.conf"], check=True)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_NAMESPACES = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def _machine(resolver: Path | None = None) -> tuple[str, ...]:
    if os.geteuid() != 0 or shutil.which("ip") is None or not find():
        pytest.skip("not run: it takes root, iproute2 and pasta")
    setting = ("env", f"RESOLVER={resolver}") if resolver else ()
    return (*_NAMESPACES, *setting, sys.executable, "-c", _MACHINE)


def test_pasta_reaches_what_is_far_away_and_no_address_of_this_machine(place: Place) -> None:
    link_local = "$(ip -6 addr show dev d0 | grep -o 'fe80[^/]*')"
    own = ["192.0.2.2", "192.0.2.3", "172.31.0.1", "[fd00::2]", "[fd09::1]", "[::ffff:172.31.0.1]", "127.0.0.1"]
    near = " ".join(f"http://{one}:8080/" for one in own)
    before = ("sh", "-c", f'export LL="{link_local}"; exec "$@"', "sh")
    script = f"{FETCH} http://192.0.2.1:8080/ http://[fd00::1]:8080/; {FETCH} {near}; "
    script += f'echo "$GIVEN"; {FETCH} "http://[$GIVEN%25d0]:8080/"; echo "proxy $HTTPS_PROXY"'
    machine = (*_machine(), *before)
    # The address is known only in the machine, so a file of the home tells it.
    tell = ("sh", "-c", f'echo "$LL" > {place.home}/link-local; exec "$@"', "sh")
    script = script.replace("$GIVEN", f"$(cat {place.home}/link-local)")
    done = driven(place, script, "open", before=(*machine, *tell))
    assert done.stdout.count("far away") == 2, done.stdout + done.stderr
    assert "proxy \n" in done.stdout
    assert "fe80" in done.stdout
    assert SECRET not in done.stdout
    there = driven(place, f"{FETCH} {near}", "host", before=machine)
    assert there.stdout.count(SECRET) == len(own), there.stdout + there.stderr


def test_names_are_resolved_where_the_resolver_is_on_this_machine(place: Place) -> None:
    setting = place.directory / "resolv.conf"
    setting.write_text("nameserver 127.0.0.53\noptions edns0\n")
    script = FETCH + "http://somewhere.example.org:8080/; cat /etc/resolv.conf"
    done = driven(place, script, "open", before=_machine(setting))
    assert "far away" in done.stdout, done.stdout + done.stderr
    assert "127.0.0.53" not in done.stdout
    assert "options edns0" in done.stdout


# Ends


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_is_left_of_a_network(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, pasta = NETWORKS[name]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with made_place(os.geteuid()) as place:
        policy = replace(place.policy, network=network)
        sandbox = place.sandbox if pasta is None else replace(place.sandbox, pasta=pasta)
        before = set(_children(os.getpid()))
        run(place, "true", policy, sandbox)
        with sandbox.confine(("true",), policy):  # it is never started
            pass
        for one in set(_children(os.getpid())) - before:
            with suppress(ProcessLookupError):
                ending = os.pidfd_open(one)
                assert _is_ready(ending), one
                os.close(ending)
    assert list(tmp_path.iterdir()) == []


def test_pasta_ends_with_a_driver_that_is_killed(place: Place) -> None:
    if not find():
        pytest.skip("not run: pasta is missing")
    request = Request(str(place.directory), place.user, "echo begun > begun; sleep 1000", "open", place.sandbox, {})
    os.mkfifo(place.tree / "begun")
    (place.tree / "begun").chmod(0o666)
    process = subprocess.Popen(driver(place, request), env=driver_environment(place), cwd="/")
    ended = []
    try:
        begun = os.open(place.tree / "begun", os.O_RDWR)
        assert _is_ready(begun)
        names = {one: Path(f"/proc/{one}/comm").read_text().strip() for one in _children(process.pid)}
        assert any(name.startswith(("pasta", "passt")) for name in names.values()), names
        ended += [begun, *map(os.pidfd_open, names)]
    finally:
        process.kill()
        process.wait(SECONDS)
    for one in ended:
        assert _is_ready(one), names
        os.close(one)


def _is_ready(descriptor: int) -> bool:
    """True as soon as there is something to read, or a process has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(MILLISECONDS))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found
