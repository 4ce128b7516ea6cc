"""Hostile input over HTTP: who may ask at all, and what becomes of what is no request."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from anyio.from_thread import BlockingPortal
from mcp import MCPError

from faces.programs import AUTHORIZED, SECONDS

from .hostile import ACCEPTED, BROKEN, ID, REFUSED, call
from .servers import ERAS, HANDSHAKE, MODERN, Era, Served, dump, envelope, http_agent, problems, refusal_of, serving

TOKEN = "a secret that is long enough"
_ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_TOO_BIG = {"a 10 MB text", "a 10 MB session id", "a 10 MB name"}


class Caller(msgspec.Struct, frozen=True):
    """Somebody who sends bytes to a server, in one era."""

    http: httpx2.Client
    era: Era
    headers: dict[str, str]
    session: str
    repository: Path

    def post(self, body: bytes, **headers: str) -> httpx2.Response:
        return self.http.post("/mcp", content=body, headers=self.headers | headers)

    def call(self, arguments: bytes, tool: str = "emit_ralph_event") -> dict[str, Any]:
        return _message(self.post(call(arguments, self.era, tool), **self.naming("tools/call", tool)))

    def naming(self, method: str, name: str) -> dict[str, str]:
        """The headers that say once more what the body says, where the era wants them."""
        return {"mcp-method": method, "mcp-name": name} if self.era == MODERN else {}

    def lives(self) -> None:
        """The next request is answered."""
        answer = self.call(json.dumps({"sessionId": self.session}).encode(), "get_session_state")
        assert answer["result"]["isError"] is False, answer


def _message(response: httpx2.Response) -> dict[str, Any]:
    """The message of JSON-RPC in a response, which may be a stream of one event."""
    assert response.status_code == 200, response.text
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        [text] = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    message: dict[str, Any] = json.loads(text)
    return message


@pytest.fixture(scope="module", params=ERAS)
def caller(request: pytest.FixtureRequest, served: Served) -> Iterator[Caller]:
    era: Era = request.param
    headers = {**_ACCEPT, "mcp-protocol-version": era}
    with httpx2.Client(base_url=served.url, headers=AUTHORIZED, verify=False, timeout=SECONDS) as http:
        if era == HANDSHAKE:
            client = {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "caller", "version": "1"}}
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
            said = http.post("/mcp", json=hello, headers=_ACCEPT)
            headers["mcp-session-id"] = said.headers["mcp-session-id"]
            http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        made = Caller(http, era, headers, "", served.repository).call(b"{}", "create_ralph_session")
        session = json.loads(made["result"]["content"][0]["text"])["sessionId"]
        yield Caller(http, era, headers, session, served.repository)
        assert problems(served.repository) == []


# What is sent


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_request_is_answered_and_written_nowhere(caller: Caller, name: str) -> None:
    before = dump(caller.repository)
    response = caller.post(BROKEN[name].line)
    if response.status_code == 200:
        assert _message(response)["error"]["code"] in BROKEN[name].codes
    elif response.status_code == 202:
        # The SDK takes a request without an id that it can use for a notification, and says at once that it is none.
        assert name in ("id null", "id 1.5", "id true", "id list", "no id")
        assert response.text == ""
    else:
        assert 400 <= response.status_code < 500
        error = json.loads(response.text)["error"]
        assert error["code"] in (-32700, -32600, -32601, -32602, -32020)
        assert error["message"]
    caller.lives()
    assert dump(caller.repository) == before


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_are_wrong_are_refused_in_words_for_the_model(caller: Caller, name: str) -> None:
    before = dump(caller.repository)
    arguments = REFUSED[name](caller.session)
    if name in _TOO_BIG:
        assert caller.post(call(arguments, caller.era)).status_code == 413
    else:
        answer = caller.call(arguments)
        assert answer["id"] == ID
        assert answer["result"]["isError"] is True
        refused = refusal_of(answer["result"]["content"][0]["text"])
        assert refused.code in ("invalid_argument", "unknown_session")
    caller.lives()
    assert dump(caller.repository) == before


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_unusual_and_right_is_taken(caller: Caller, name: str) -> None:
    assert caller.call(ACCEPTED[name](caller.session))["result"]["isError"] is False
    caller.lives()


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"sessionId":"%s","type":"error","data":{"error":"\\ud800"}}',
        b'{"sessionId":"%s","type":"error","data":{"\\udfff":1}}',
        b'{"sessionId":"\\ud800","type":"error"}',
        b'{"sessionId":"%s","type":"\\ud800"}',
        b'{"sessionId":"%s","type":"error","\\ud800":1}',
    ],
)
def test_a_lone_surrogate_is_refused_where_the_transport_lets_it_through(caller: Caller, arguments: bytes) -> None:
    before = dump(caller.repository)
    body = call(arguments.replace(b"%s", caller.session.encode()), caller.era)
    response = caller.post(body, **caller.naming("tools/call", "emit_ralph_event"))
    if caller.era == MODERN:
        assert refusal_of(_message(response)["result"]["content"][0]["text"]).code == "invalid_argument"
    else:
        assert response.status_code == 400
    caller.lives()
    assert dump(caller.repository) == before


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "tools/call"])
def test_a_lone_surrogate_as_a_name_is_an_error_and_no_fault(caller: Caller, method: str) -> None:
    key = "uri" if method == "resources/read" else "name"
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {key: "\ud800", **envelope(caller.era)}}
    named = {"mcp-method": method} if caller.era == MODERN else {}
    response = caller.post(json.dumps(request).encode(), **named)
    assert response.status_code in (200, 400)
    text = response.text.partition("data: ")[2] or response.text
    assert json.loads(text)["error"]["code"] in (-32602, -32700, -32020), response.text
    caller.lives()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(caller: Caller) -> None:
    assert caller.post(b"x" * (5 << 20)).status_code == 413
    chunks = (b"x" * 65536 for _ in range(80))
    sent = caller.http.post("/mcp", content=chunks, headers=caller.headers)
    assert sent.status_code == 413
    caller.lives()


# Who may ask


@pytest.mark.parametrize("type_", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_of_a_page_can_send_is_refused(caller: Caller, type_: str) -> None:
    body = call(b"{}", caller.era, "create_ralph_session")
    before = dump(caller.repository)
    assert caller.post(body, **{"content-type": type_}).status_code == 400
    assert dump(caller.repository) == before


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/events"])
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://127.0.0.1.evil.example", "http://localhost@evil.example", "null", "file://", "x"],
)
def test_a_page_of_another_site_may_not_ask(caller: Caller, path: str, origin: str) -> None:
    before = dump(caller.repository)
    body = call(b"{}", caller.era, "create_ralph_session")
    headers = caller.headers | {"origin": origin}
    for response in (
        caller.http.get(path, headers={"origin": origin}),
        caller.http.post(path, content=body, headers=headers),
    ):
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    assert dump(caller.repository) == before


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/events"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "0.0.0.0", "[::2]:1"])
def test_another_name_of_this_host_is_not_answered_to(caller: Caller, path: str, host: str) -> None:
    before = dump(caller.repository)
    body = call(b"{}", caller.era, "create_ralph_session")
    for response in (
        caller.http.get(path, headers={"host": host}),
        caller.http.post(path, content=body, headers=caller.headers | {"host": host}),
    ):
        assert response.status_code in (400, 421)
    assert dump(caller.repository) == before


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:7411", "http://localhost", "https://localhost:1", "http://[::1]:9"]
)
def test_a_page_of_this_host_may_ask(served: Served, origin: str) -> None:
    assert (
        httpx2.get(
            f"{served.url}/healthz", headers={**AUTHORIZED, "origin": origin}, verify=False, timeout=SECONDS
        ).status_code
        == 200
    )


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_other_methods_do_nothing(caller: Caller, method: str) -> None:
    before = dump(caller.repository)
    response = caller.http.request(method, "/mcp", content=call(b"{}", caller.era, "create_ralph_session"))
    assert 400 <= response.status_code < 500
    assert dump(caller.repository) == before


@pytest.mark.parametrize("session", ["nope", "", "../../etc/passwd", "x" * 5000])
def test_a_session_of_the_protocol_that_is_not_there_is_not_found(served: Served, session: str) -> None:
    headers = {**AUTHORIZED, **_ACCEPT, "mcp-protocol-version": HANDSHAKE, "mcp-session-id": session}
    body = call(b"{}", HANDSHAKE, "create_ralph_session")
    before = dump(served.repository)
    response = httpx2.post(f"{served.url}/mcp", content=body, headers=headers, verify=False, timeout=SECONDS)
    assert response.status_code in (400, 404)
    assert dump(served.repository) == before


# The token


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, home: dict[str, str]) -> Iterator[Served]:
    """A server that wants a token."""
    directory = tmp_path_factory.mktemp("guarded") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    with serving(directory, home | {"RALPH_SERVE_TOKEN": TOKEN}) as server:
        yield server


@pytest.mark.sampled(12)
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/events", "/nope"])
@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"bearer {TOKEN}", TOKEN, f"Basic {TOKEN}"],
)
def test_whoever_does_not_carry_the_token_is_told_so_and_nothing_else(
    guarded: Served, path: str, given: str | None
) -> None:
    headers = {} if given is None else {"authorization": given}
    before = dump(guarded.repository)
    body = call(b"{}", MODERN, "create_ralph_session")
    with httpx2.Client(base_url=guarded.url, verify=False, timeout=SECONDS) as http:
        for response in (http.get(path, headers=headers), http.post(path, content=body, headers=_ACCEPT | headers)):
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["code"] == "unauthorized"
            assert TOKEN not in response.text
    assert dump(guarded.repository) == before


@pytest.mark.parametrize("era", ERAS)
def test_whoever_carries_the_token_is_served(guarded: Served, portal: BlockingPortal, era: Era) -> None:
    with http_agent(portal, guarded.url, era, TOKEN) as agent:
        assert agent.look(agent.create())["currentState"] == "idle"


@pytest.mark.parametrize("era", ERAS)
def test_a_client_with_a_wrong_token_gets_no_further(guarded: Served, portal: BlockingPortal, era: Era) -> None:
    before = dump(guarded.repository)
    with (
        pytest.raises((MCPError, ExceptionGroup)),
        http_agent(portal, guarded.url, era, "wrong" * 5) as agent,
    ):
        agent.create()
    assert dump(guarded.repository) == before
