"""A server on loopback that plays GitHub's GraphQL, and fails when and how a test tells it to."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

import msgspec

from patience import SECONDS
from world.github_state import Data, GitHubState, Refused

__all__ = ["FAULTS", "TOKEN", "Check", "Fault", "GitHubServer", "Request"]

TOKEN = "gho_" + "0123456789" * 4
_PLENTY = {"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "4102444800"}

Check = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Holds a request and its answer against a schema: takes the `document`, its `operationName`, the `variables` and the
`data`; gives the `errors`, and the `data` as the document asks for it."""


class Fault(msgspec.Struct, frozen=True):
    """One way to fail: what becomes of the operation, and what is answered."""

    done: Literal["no", "yes", "later"] = "no"
    """Whether it is done all the same; `later` is when the test says so."""
    ending: Literal["answer", "cut", "silence"] = "answer"
    """Whether there is an answer, the connection is cut, or nothing comes."""
    status: int = 200
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    """What is answered; None for what is true."""


def _errors(**error: str) -> bytes:
    return json.dumps({"data": None, "errors": [error]}).encode()


_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
_WENT_WRONG = "Something went wrong while executing your query. This may be the result of a timeout."

FAULTS: Mapping[str, Fault] = {
    "500": Fault(status=500, body=b"oops"),
    "502": Fault(status=502, body=b"<html>Bad gateway</html>"),
    "503": Fault(status=503, body=b"{}"),
    "502-done": Fault("yes", status=502, body=b""),
    "502-late": Fault("later", status=502, body=b""),
    "429": Fault(status=429, headers={"Retry-After": "7"}, body=b'{"message": "slow down"}'),
    "403-secondary": Fault(status=403, headers={"Retry-After": "5"}, body=json.dumps({"message": _SECONDARY}).encode()),
    "403-unsaid": Fault(status=403, body=json.dumps({"message": _SECONDARY}).encode()),
    "200-limited": Fault(body=_errors(type="RATE_LIMITED", message="API rate limit exceeded for user ID 1.")),
    "200-secondary": Fault(body=_errors(message=_SECONDARY)),
    "200-wrong": Fault(body=_errors(message=_WENT_WRONG)),
    "200-wrong-done": Fault("yes", body=_errors(message=_WENT_WRONG)),
    "garbage": Fault(body=b"<html>\xff\xfe"),
    "garbage-done": Fault("yes", body=b'{"data": '),
    "list": Fault("yes", body=b"[]"),
    "cut": Fault(ending="cut"),
    "cut-done": Fault("yes", "cut"),
    "cut-late": Fault("later", "cut"),
    "silence-done": Fault("yes", "silence"),
}
"""Every way to fail that passes."""


class Request(msgspec.Struct, frozen=True):
    operation: str
    variables: Mapping[str, Any]
    headers: Mapping[str, str]


class GitHubServer:
    """GitHub, played: `state` is what it knows. It takes only the token `TOKEN`.

    `requests` are those that were let in, in order; `violations` is what the check found, and must stay empty.
    """

    def __init__(self, *, check: Check | None = None, state: GitHubState | None = None) -> None:
        self.state = state or GitHubState()
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self._check = check
        self._faults: dict[str, deque[Fault]] = {}
        self._in_turn: dict[int, Fault] = {}
        self._late: list[Callable[[], object]] = []
        self._lock = threading.Condition()
        self._is_over = threading.Event()
        self._connections: set[socket.socket] = set()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/graphql"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._http.shutdown()
        self._thread.join(SECONDS)
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    @property
    def operations(self) -> list[str]:
        """The names of the operations that came, in order."""
        return [one.operation for one in self.requests]

    def fail(self, operation: str, *faults: Fault | str) -> None:
        """Have the next calls of an operation fail, one fault each, given as it is or by its name in `FAULTS`."""
        queue = self._faults.setdefault(operation, deque())
        queue.extend(FAULTS[one] if isinstance(one, str) else one for one in faults)

    def fail_in_turn(self, turn: int, fault: Fault | str) -> None:
        """Have one request fail, whatever it is: the next one, of turn 0, or a later one."""
        self._in_turn[len(self.requests) + turn] = FAULTS[fault] if isinstance(fault, str) else fault

    def work_again(self) -> None:
        """Fail no more."""
        self._faults, self._in_turn = {}, {}

    def wait_for(self, count: int, operation: str | None = None) -> None:
        """Wait until so many requests have been let in; of an operation, or of all."""

        def are_here() -> bool:
            return sum(operation in (None, one) for one in self.operations) >= count

        with self._lock:
            assert self._lock.wait_for(are_here, SECONDS), "no request comes"

    def start_over(self, state: GitHubState) -> None:
        """Forget everything that was, but for the violations."""
        with self._lock:
            self.state = state
            self.requests, self._late, self._faults, self._in_turn = [], [], {}, {}

    def catch_up(self) -> None:
        """Do what was to be done late."""
        with self._lock:
            late, self._late = self._late, []
            for write in late:
                write()

    def falls_silent(self, content: bytes) -> bool:
        """Whether a request, if it is the next one, is never answered."""
        with self._lock:
            fault = self._in_turn.get(len(self.requests))
            if fault is None and (queue := self._faults.get(_operation(json.loads(content)))):
                fault = queue[0]
            return fault is not None and fault.ending == "silence"

    def _answer(self, headers: Mapping[str, str], content: bytes) -> Fault:
        """What becomes of a request: a fault, of which the truth is the kind with nothing wrong."""
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return Fault(status=401, body=b'{"message": "Bad credentials"}')
        asked = json.loads(content)
        operation = _operation(asked)
        with self._lock:
            in_turn = self._in_turn.pop(len(self.requests), None)
            self.requests.append(Request(operation, asked["variables"], dict(headers)))
            self._lock.notify_all()
            queue = self._faults.get(operation)
            fault = in_turn or (queue.popleft() if queue else Fault("yes", headers=_PLENTY))
            if fault.done == "later":
                self._late.append(lambda: self._do(operation, asked))
            truth = self._do(operation, asked) if fault.done == "yes" else {}
        body = json.dumps(truth).encode() if fault.body is None else fault.body
        return Fault(fault.done, fault.ending, fault.status, fault.headers, body)

    def _do(self, operation: str, asked: Mapping[str, Any]) -> Data:
        data: Data | None = None
        errors: list[Data] = []
        try:
            data = self.state.operations[operation](asked["variables"])
        except Refused as refused:
            errors = [{"type": refused.kind, "message": str(refused)}]
        if self._check is not None:
            question = {"document": asked["query"], "operationName": operation, "variables": asked["variables"]}
            found = self._check({**question, "data": data or {}})
            self.violations += [f"{operation}: {one}" for one in found["errors"]]
            errors += [{"type": "SCHEMA", "message": one} for one in found["errors"]]
            data = found["data"] if data is not None else None
        return {"data": data, "errors": errors} if errors else {"data": data}


def _operation(asked: Mapping[str, Any]) -> str:
    [found] = re.findall(r"(?:query|mutation) (\w+)", asked["query"])
    return str(found)


def _handler(server: GitHubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            server._connections.add(self.connection)

        def finish(self) -> None:
            server._connections.discard(self.connection)
            with suppress(OSError):
                super().finish()

        def handle(self) -> None:
            with suppress(OSError):  # a client that hung up
                super().handle()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            fault = server._answer({name.lower(): value for name, value in self.headers.items()}, content)
            if fault.ending == "silence":
                server._is_over.wait(SECONDS)
            if fault.ending != "answer":
                self.close_connection = True
                return
            body = fault.body or b""
            self.send_response(fault.status)
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the requests are kept."""

    return Handler
