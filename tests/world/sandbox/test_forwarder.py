"""The forwarder of a sandbox: what is allowed gets through, and nothing else, however it is asked for."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pytest

from interlock.world.sandbox.forwarder import Address, Forwarder, resolved
from interlock.world.sandbox.network import Host, Opening, complaint, is_closed, unreached
from interlock.world.sandbox.upstream import upstream_for
from patience import SECONDS
from world.sandbox.networks import own_address, serving
from world.sandbox.places import SECRET

_CONNECT = "CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n"
_GET = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Asked:
    """A forwarder, and how it is asked."""

    def __init__(self, opening: Opening, environment: Mapping[str, str], **options: object) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.forwarder = Forwarder([listener], opening, environment, "agent.network", **options)  # type: ignore[arg-type]

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, SECONDS)

    def ask(self, *parts: str | bytes) -> str:
        """Send parts, each of which is waited for if an answer to the one before comes; gives all that came back."""
        with self.connect() as one:
            got = b""
            for part in parts:
                one.sendall(part.encode() if isinstance(part, str) else part)
                if part is not parts[-1]:
                    got += one.recv(9999)
            try:
                while part_of := one.recv(9999):
                    got += part_of
            except ConnectionError:
                pass
            return got.decode(errors="replace")


@contextmanager
def asked(
    *hosts: str,
    environment: Mapping[str, str] | None = None,
    resolve: Callable[[str, int], list[Address]] = resolved,
    **options: object,
) -> Iterator[Asked]:
    opening = Opening.of(hosts)
    assert opening is not None
    one = Asked(opening, environment or {}, resolve=resolve, **options)
    try:
        yield one
    finally:
        one.forwarder.end()


def test_what_is_listed_is_reached_by_a_tunnel_and_by_a_request() -> None:
    with serving() as port, asked(f"127.0.0.1:{port}") as one:
        there = f"127.0.0.1:{port}"
        assert SECRET in one.ask(_CONNECT.format(there), _GET)
        plain = one.ask(f"GET http://{there}/a?b HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\nA: b\r\n\r\n")
        assert SECRET in plain
        assert '"/a?b"' in plain
        assert f'["Host", "{there}"]' in plain
        assert '["A", "b"]' in plain
        assert "Proxy-Authorization" not in plain


@pytest.mark.parametrize("target", ["example.net:443", "127.0.0.1:{other}", "localhost:{port}0", "[::1]:{port}"])
def test_what_is_not_listed_is_refused_with_the_setting(target: str) -> None:
    with serving() as port, serving() as other, asked(f"127.0.0.1:{port}", "example.org") as one:
        answer = one.ask(_CONNECT.format(target.format(port=str(port)[:4], other=other)))
    assert answer.startswith("HTTP/1.1 403 ")
    assert "`agent.network` in ralph.toml" in answer


def test_a_name_that_is_allowed_does_not_lead_to_this_machine() -> None:
    """What a name resolves to is not for the person to know, and may change between two questions."""
    with serving("0.0.0.0") as port:
        own = own_address() or "127.0.0.2"
        for address in (
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            own,
            "169.254.169.254",
            "224.0.0.1",
            "::1",
            "::ffff:127.0.0.1",
        ):

            def resolve(name: str, port: int, address: str = address) -> list[Address]:
                return [(address, port)]

            with asked(f"rebound.example.org:{port}", "open", resolve=resolve) as one:
                answer = one.ask(_CONNECT.format(f"rebound.example.org:{port}"), _GET)
            assert answer.startswith("HTTP/1.1 403 "), address
            assert SECRET not in answer


def test_a_name_is_resolved_once_so_that_what_was_checked_is_what_is_reached() -> None:
    answers = [[("127.0.0.1", 0)]]

    def resolve(name: str, port: int) -> list[Address]:
        return [(address, port) for address, _ in answers.pop()]

    with serving() as port, asked(f"127.0.0.1:{port}", resolve=resolve) as one:
        assert SECRET in one.ask(_CONNECT.format(f"127.0.0.1:{port}"), _GET)


MALFORMED = {
    "nothing": "\r\n\r\n",
    "no version": "CONNECT example.org:443\r\n\r\n",
    "another protocol": "GET ftp://example.org/ HTTP/1.1\r\n\r\n",
    "a path alone": "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "no port": _CONNECT.format("example.org"),
    "port 0": _CONNECT.format("example.org:0"),
    "a large port": _CONNECT.format("example.org:65536"),
    "a login in the address": "GET http://example.org@127.0.0.1/ HTTP/1.1\r\n\r\n",
    "a space in the name": _CONNECT.format("example org:443"),
    "a NUL": _CONNECT.format("example.org\0.evil:443"),
    "a folded header": "GET http://example.org/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "a header without a colon": "GET http://example.org/ HTTP/1.1\r\nnothing\r\n\r\n",
    "a bare line feed": "GET http://example.org/ HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n",
    "bytes": b"\x16\x03\x01\x02\x00\x01\xff\r\n\r\n",
    "a long head": "GET http://example.org/ HTTP/1.1\r\nA: " + "b" * 100_000,
    "an unknown name": _CONNECT.format("unknown.invalid:443"),
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_request_is_answered_and_leads_nowhere(request_: str | bytes) -> None:
    reached: list[str] = []

    def resolve(name: str, port: int) -> list[Address]:
        reached.append(name)
        raise OSError

    with asked("open", resolve=resolve) as one:
        answer = one.ask(request_)
        assert answer == "" or answer.startswith(("HTTP/1.1 400 ", "HTTP/1.1 502 "))
        assert reached in ([], ["unknown.invalid"])
        assert one.ask(_CONNECT.format("x.invalid:443")).startswith("HTTP/1.1 502 ")  # it still answers


def test_a_client_that_sends_nothing_and_a_tunnel_that_is_silent_are_ended() -> None:
    with serving() as port, asked(f"127.0.0.1:{port}", head_seconds=0.05, idle_seconds=0.05) as one:
        assert one.ask("CONNECT ") == ""
        assert one.ask(_CONNECT.format(f"127.0.0.1:{port}")).startswith("HTTP/1.1 200 ")


def test_more_connections_than_it_takes_are_refused_and_end_with_it() -> None:
    with ExitStack() as stack:
        one = stack.enter_context(asked("example.org"))
        held = [stack.enter_context(one.connect()) for _ in range(128)]
        last = stack.enter_context(one.connect())
        assert last.recv(99).startswith(b"HTTP/1.1 503 ")
        one.forwarder.end()
        for connection in held:
            assert connection.recv(1) == b""
    assert not [thread for thread in threading.enumerate() if thread.name == "forwarder"]


def test_both_ends_of_a_tunnel_can_say_all_they_have_after_the_other_has_ended() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        target = f"127.0.0.1:{server.getsockname()[1]}"
        client = stack.enter_context(stack.enter_context(asked(target)).connect())
        client.sendall(_CONNECT.format(target).encode())
        there, _ = server.accept()
        with there:
            assert client.recv(999).endswith(b"\r\n\r\n")
            sending = threading.Thread(target=_send, args=(client, 1 << 22))
            sending.start()
            there.settimeout(SECONDS)
            assert _received(there) == 1 << 22
            sending.join()
            _send(there, 1 << 22, ends=False)
        assert _received(client) == 1 << 22


def _send(one: socket.socket, size: int, *, ends: bool = True) -> None:
    one.sendall(bytes(size))
    if ends:
        one.shutdown(socket.SHUT_WR)


def _received(one: socket.socket) -> int:
    size = 0
    while part := one.recv(1 << 16):
        size += len(part)
    return size


# The person's own proxy


@contextmanager
def _proxy(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that keeps what it is asked, and gives one answer."""
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                heads.append(client.recv(9999))
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], heads
        thread.join(SECONDS)


def test_the_proxy_of_the_person_is_asked_for_what_is_allowed() -> None:
    with _proxy(b"HTTP/1.1 200 OK\r\n\r\nfirst words") as (port, heads):
        environment = {"HTTPS_PROXY": f"http://me:pass%21@127.0.0.1:{port}"}
        with asked("example.org", environment=environment) as one:
            assert one.ask(_CONNECT.format("localhost:443")).startswith("HTTP/1.1 403 ")
            assert one.ask(_CONNECT.format("example.org:443")).endswith("\r\n\r\nfirst words")
    assert heads[0].startswith(b"CONNECT example.org:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGFzcyE=\r\n" in heads[0]
    with _proxy(b"HTTP/1.1 200 OK\r\n\r\nanswer") as (port, heads):
        environment = {"http_proxy": f"127.0.0.1:{port}"}
        with asked("example.org", environment=environment) as one:
            assert one.ask("GET http://example.org/a HTTP/1.1\r\n\r\n").endswith("answer")
    assert heads[0].startswith(b"GET http://example.org/a HTTP/1.1\r\nHost: example.org\r\n")


def test_a_client_that_has_left_leaves_no_connection_behind() -> None:
    with ExitStack() as stack:
        proxy = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        environment = {"ALL_PROXY": f"http://127.0.0.1:{proxy.getsockname()[1]}"}
        one = stack.enter_context(asked("open", environment=environment))
        with one.connect() as client:
            client.sendall(_CONNECT.format("example.org:443").encode())
            there, _ = proxy.accept()
            there.settimeout(SECONDS)
            assert there.recv(999)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with there:
            there.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            assert there.recv(1) == b""


def test_a_proxy_of_the_person_that_refuses_is_named() -> None:
    with _proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as (port, _):
        environment = {"ALL_PROXY": f"http://127.0.0.1:{port}"}
        with asked("open", environment=environment) as one:
            assert "your proxy" in one.ask(_CONNECT.format("example.org:443"))


@pytest.mark.parametrize("target", ["127.0.0.1:443", "localhost:443", "a.localhost:443", "2130706433:443", "[::1]:443"])
def test_the_proxy_of_the_person_is_not_asked_for_this_machine(target: str) -> None:
    with asked("open", environment={"ALL_PROXY": "http://192.0.2.1:9"}) as one:
        assert one.ask(_CONNECT.format(target)).startswith("HTTP/1.1 403 ")


def test_hosts_that_the_person_reaches_without_a_proxy_are_reached_without_one() -> None:
    environment = {"https_proxy": "http://192.0.2.1:3128", "no_proxy": "example.org, .example.net,*.example.com"}
    for host in ("example.org", "a.example.org", "example.net", "b.example.com"):
        assert upstream_for("https", host, environment) is None
    assert upstream_for("https", "notexample.org", environment) is not None
    assert upstream_for("http", "notexample.org", environment) is None
    assert upstream_for("https", "x.org", {"HTTPS_PROXY": "socks5://192.0.2.1"}) is None
    assert upstream_for("https", "x.org", {"HTTPS_PROXY": "http://192.0.2.1:1", "NO_PROXY": "*"}) is None


# What a person may say


def test_a_host_is_a_name_or_all_below_it_with_the_usual_ports_or_one() -> None:
    opening = Opening.of(("example.org", "*.example.net:8443", "[fd00::5]:22", "10.0.0.7"))
    assert opening is not None
    allowed = [("example.org", 443), ("example.org", 80), ("a.b.example.net", 8443), ("fd00::5", 22), ("10.0.0.7", 443)]
    refused = [("a.example.org", 443), ("example.org", 22), ("example.net", 8443), ("aexample.net", 8443)]
    assert all(opening.allows(*one) for one in allowed)
    assert not any(opening.allows(*one) for one in refused)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://example.org", "not a host"),
        ("example.org/path", "not a host"),
        ("*", "not a host"),
        ("a*.org", "not a host"),
        ("", "not a host"),
        ("example.org:0", "port"),
        ("example.org:99999", "port"),
        ("[::zz]", "not a host"),
        ("[1:2]", "not an address"),
        ("localhost", "needs a port from 1024"),
        ("127.0.0.1:80", "needs a port from 1024"),
        ("0.0.0.0:8080", "one host"),
    ],
)
def test_what_is_no_host_is_refused_with_what_is_wrong(text: str, said: str) -> None:
    assert said in (complaint((text,)) or "")


def test_an_address_of_this_machine_in_a_variable_is_found_unless_it_is_listed() -> None:
    variables = {"A_URL": "http://localhost:4000/v1", "B_HOST": "127.0.0.1:11434", "C": "https://[::1]/", "D": "x"}
    variables |= {"HTTPS_PROXY": "http://127.0.0.1:1", "E": "https://example.org:99999/", "F": "http://10.0.0.1:80"}
    found = dict(unreached("open", variables))
    assert found == {"A_URL": "localhost:4000", "B_HOST": "127.0.0.1:11434", "C": "[::1]:443"}
    assert dict(unreached("none", variables)) == found
    assert dict(unreached(("127.0.0.1:11434", "localhost:4000"), variables)).keys() == {"C"}
    assert not dict(unreached("host", variables))


def test_addresses_that_other_machines_have_are_open() -> None:
    assert not is_closed("192.0.2.201")
    assert not is_closed("2001:db8::1")
    assert is_closed("fe80::1%eth0")
    assert is_closed("nonsense")
    assert Host.of("LOCALHOST:8080.".rstrip(".")).is_loopback
