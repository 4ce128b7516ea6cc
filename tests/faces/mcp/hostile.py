"""Messages that nobody should send: for each what it is, and how it is to be answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from .servers import Era, envelope

__all__ = ["ACCEPTED", "BROKEN", "ID", "REFUSED", "Broken", "call"]

ID = 4242
DEEP = 100_000


class Broken(msgspec.Struct, frozen=True):
    """What is no message, or no request that can be served: the codes that may answer it, and the id that it has."""

    line: bytes
    codes: tuple[int, ...]
    id: int | None = None


def _request(method: str, params: bytes = b"{}", id_: bytes = b"%d" % ID) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' % (id_, method.encode(), params)


BROKEN = {
    "an empty line": Broken(b"", (-32700,)),
    "a text": Broken(b"hello", (-32700,)),
    "malformed JSON": Broken(b'{"jsonrpc":"2.0","id":4242,"method":', (-32700,)),
    "two objects": Broken(_request("ping") + _request("ping"), (-32700,)),
    "a byte order mark": Broken(b"\xef\xbb\xbf" + _request("ping"), (-32700,)),
    "a raw NUL": Broken(b"\x00" + _request("ping"), (-32700,)),
    "a raw control character in a text": Broken(_request("ping", b'{"a":"\x01"}'), (-32700,)),
    "100,000 deep nesting": Broken(_request("ping", b'{"a":' * DEEP + b"1" + b"}" * DEEP), (-32700,)),
    "100,000 deep lists": Broken(b"[" * DEEP + b"]" * DEEP, (-32700,)),
    "a lone surrogate": Broken(_request("ping", b'{"a":"\\ud800"}'), (-32700,)),
    "half a surrogate pair": Broken(_request("ping", b'{"a":"\\udc00\\ud800"}'), (-32700,)),
    "a number of 5,000 digits": Broken(_request("ping", b'{"a":1%s}' % (b"0" * 5000)), (-32700,)),
    "a batch": Broken(b"[%s]" % _request("ping"), (-32600,)),
    "an empty batch": Broken(b"[]", (-32600,)),
    "a number": Broken(b"1", (-32600,)),
    "null": Broken(b"null", (-32600,)),
    "an empty object": Broken(b"{}", (-32600,)),
    "id null": Broken(_request("tools/list", id_=b"null"), (-32600,)),
    "id 1.5": Broken(_request("tools/list", id_=b"1.5"), (-32600,)),
    "id true": Broken(_request("tools/list", id_=b"true"), (-32600,)),
    "id list": Broken(_request("tools/list", id_=b"[1]"), (-32600,)),
    "no id": Broken(b'{"jsonrpc":"2.0","method":"tools/list"}', (-32600,)),
    "another version": Broken(_request("ping").replace(b'"2.0"', b'"1.0"'), (-32600,), ID),
    "no version": Broken(b'{"id":4242,"method":"ping"}', (-32600,), ID),
    "no method": Broken(b'{"jsonrpc":"2.0","id":4242}', (-32600,), ID),
    "method 5": Broken(b'{"jsonrpc":"2.0","id":4242,"method":5}', (-32600,), ID),
    "params as a list": Broken(_request("ping", b"[1]"), (-32600,), ID),
    "params as a text": Broken(_request("ping", b'"x"'), (-32600,), ID),
    "an unknown method": Broken(_request("nope/nothing"), (-32601, -32602), ID),
    "a method of the server": Broken(_request("sampling/createMessage"), (-32601, -32602), ID),
    "arguments as a list": Broken(
        _request("tools/call", b'{"name":"create_ralph_session","arguments":[1]}'), (-32602,), ID
    ),
    "a tool without a name": Broken(_request("tools/call", b'{"arguments":{}}'), (-32602,), ID),
    "a tool with a number as name": Broken(_request("tools/call", b'{"name":7,"arguments":{}}'), (-32602,), ID),
    "no parameters": Broken(b'{"jsonrpc":"2.0","id":4242,"method":"tools/call"}', (-32602,), ID),
}
"""What is answered with an error of JSON-RPC."""


def _data(value: bytes) -> Callable[[str], bytes]:
    return lambda session: b'{"sessionId":"%s","type":"thinking","data":%s}' % (session.encode(), value)


def _with(**arguments: Any) -> Callable[[str], bytes]:
    return lambda session: json.dumps({"sessionId": session, "type": "thinking"} | arguments).encode()


REFUSED: dict[str, Callable[[str], bytes]] = {
    "an unknown argument": _with(extra=1),
    "an unknown argument with a long name": _with(**{"k" * 9000: 1}),
    "a name in another case": _with(SessionId="x"),
    "a 10 MB text": _data(b'{"message":"%s"}' % (b"x" * 10_000_000)),
    "a 10 MB session id": _with(sessionId="x" * 10_000_000),
    "a 10 MB name": _data(b'{"%s":1}' % (b"x" * 10_000_000)),
    "many short texts": _data(b"{%s}" % b",".join(b'"%d":"%s"' % (one, b"x" * 900) for one in range(900))),
    "too many items": _data(b'{"a":[%s]}' % b",".join([b"1"] * 2000)),
    "a long list under long names": _data(b'{"%s":{"%s":[%s]}}' % (b"k" * 9999, b"z" * 9999, b"1," * 1500 + b"1")),
    "NUL": _data(b'{"message":"a\\u0000b"}'),
    "NUL in a name": _data(b'{"a\\u0000b":1}'),
    "NUL in a session id": _with(sessionId="a\x00b"),
    "an ANSI escape": _data(b'{"message":"\\u001b[2J\\u001b[31mred"}'),
    "an 8-bit escape": _data(b'{"message":"\\u009b2J"}'),
    "a carriage return": _data(b'{"message":"good\\rbad"}'),
    "a bidi override": _data('{"message":"safe \u202eevil"}'.encode()),
    "a bidi isolate in a name": _data('{"\u2066a":1}'.encode()),
    "nesting below what is no JSON": _data(b'{"a":' * 150 + b"1" + b"}" * 150),
    "lists nested too deep": _data(b'{"a":%s1%s}' % (b"[" * 17, b"]" * 17)),
    "NaN": _data(b'{"a":NaN}'),
    "Infinity": _data(b'{"a":-Infinity}'),
    "a float that is too big": _data(b'{"a":1e400}'),
    "an integer of 65 bits": _data(b'{"a":%d}' % (1 << 64)),
    "a negative integer of 65 bits": _data(b'{"a":-%d}' % ((1 << 63) + 1)),
    "an integer of 4,000 digits": _data(b'{"a":1%s}' % (b"0" * 4000)),
    "data as a text": _with(data="x"),
    "data as a list": _with(data=[1]),
    "data as a number": _with(data=1),
    "a type as a number": _with(type=5),
    "a type as a list": _with(type=["thinking"]),
    "a type as null": _with(type=None),
    "a session id as a number": _with(sessionId=1),
    "a session id as an object": _with(sessionId={"$ne": None}),
    "a session id as null": _with(sessionId=None),
    "a session id that is a path": _with(sessionId="../../../etc/passwd"),
    "a session id with a wildcard": _with(sessionId="%%%%"),
    "a session id that is SQL": _with(sessionId="' OR 1=1 --"),
    "files that are no list": _with(data={"files": "a.py"}),
    "files that are no texts": _with(data={"files": [1]}),
    "test results that are no object": _with(data={"testResults": "green"}),
    "test results that are no numbers": _with(data={"testResults": {"failed": "0"}}),
    "an error that is no text": _with(data={"error": {"a": 1}}),
    "no arguments": lambda session: b"{}",
    "arguments as null": lambda session: b"null",
}
"""Arguments of `emit_ralph_event` that are refused in words that the model reads."""

ACCEPTED: dict[str, Callable[[str], bytes]] = {
    "a text of 10,000 characters": _data(b'{"message":"%s"}' % (b"x" * 10_000)),
    "line breaks and tabs": _data(b'{"message":"a\\n\\tb"}'),
    "emoji and scripts": _data('{"message":"✓ 票 🚀 नमस्ते"}'.encode()),
    "an escaped surrogate pair": _data(b'{"message":"\\ud83d\\ude80"}'),
    "an integer of 64 bits": _data(b'{"a":%d,"b":-%d}' % ((1 << 63) - 1, 1 << 63)),
    "nesting of 16": _data(b'{"a":' * 15 + b"1" + b"}" * 15),
    "a name twice": _data(b'{"a":1,"a":2}'),
    "data as null": _with(data=None),
}
"""What is unusual and right."""


def call(arguments: bytes, era: Era, tool: str = "emit_ralph_event") -> bytes:
    """The request with which a tool is called in an era."""
    meta = json.dumps(envelope(era))[1:-1].encode()
    more = b"," + meta if meta else b""
    return _request("tools/call", b'{"name":"%s","arguments":%s%s}' % (tool.encode(), arguments, more))
