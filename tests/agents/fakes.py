"""A model server on loopback that plays a script, in the three dialects that coding agents speak.

`POST /v1/messages` is Anthropic's, `POST /v1/responses` and `POST /v1/chat/completions` are OpenAI's; each answers as
a stream. The server keeps no conversation: which turn comes next is counted in the history that each request carries,
so retries, resumed sessions and several agents at once need nothing more.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

__all__ = ["Arguments", "Call", "ModelServer", "Request", "Results", "Say", "Script", "Scripts"]

Results = Sequence[str]
"""What the tools answered so far, oldest first."""
Arguments = Mapping[str, object] | str
"""What a tool is called with; text for a tool that takes free text."""


class Say(msgspec.Struct, frozen=True):
    """A turn in which the model speaks, and so ends its work."""

    text: str


class Call(msgspec.Struct, frozen=True):
    """A turn in which the model calls one tool. The arguments may be computed from earlier results."""

    tool: str
    arguments: Arguments | Callable[[Results], Arguments] = msgspec.field(default_factory=dict)
    namespace: str | None = None

    def given(self, results: Results) -> Arguments:
        return self.arguments(results) if callable(self.arguments) else self.arguments


Script = Sequence[Say | Call]
Scripts = Callable[[str], Script]
"""The script for a prompt: all that the user's messages of a request say."""
END = Say("The script has ended.")


class Request(msgspec.Struct, frozen=True):
    """What an agent asked the model."""

    path: str
    body: Mapping[str, Any]
    turn: int
    results: Results

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the agent offered to the model."""
        return [tool.get("name") or tool.get("function", {}).get("name", "") for tool in self.body.get("tools", [])]

    @property
    def prompt(self) -> str:
        """What the agent was asked, with whatever it added to that itself."""
        return _prompt(self.body)


class ModelServer:
    """Serves scripts until it is closed; `requests` holds every request of a conversation, in order of arrival."""

    def __init__(self, script: Script | Scripts) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.failures: list[str] = []
        """What went wrong here: a question that nobody answers, a script that cannot go on."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def results(self) -> Results:
        """What the tools answered, as the model was told in the longest history it was shown."""
        return max((request.results for request in self.requests), key=len, default=())

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def answer(self, path: str, body: Mapping[str, Any]) -> bytes:
        """The stream that answers a request: the script's turn that its history has come to."""
        dialect = DIALECTS[path]
        if "tools" not in body and path != "/v1/responses":  # a title for the conversation; Codex asks for none
            return dialect.stream(Say("A title"), {}, 0)
        turn, results = dialect.history(body)
        self.requests.append(Request(path, body, turn, results))
        played: Say | Call = END
        try:
            script = self.script(_prompt(body)) if callable(self.script) else self.script
            played = script[turn] if turn < len(script) else END
            arguments = played.given(results) if isinstance(played, Call) else {}
        except Exception as error:
            self.failures.append(f"turn {turn} of the script: {error!r}, after {list(results)}")
            played, arguments = END, {}
        return dialect.stream(played, arguments, turn)


class Dialect(msgspec.Struct, frozen=True):
    """One wire format: what a request's history says, and how a turn is streamed."""

    history: Callable[[Mapping[str, Any]], tuple[int, Results]]
    stream: Callable[[Say | Call, Arguments, int], bytes]


def _text(content: Any) -> str:
    """The text of a message, in any of the forms that the dialects have for it."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())


def _prompt(body: Mapping[str, Any]) -> str:
    """What the user's messages of a request say, in any of the dialects."""
    messages = body.get("messages") or body.get("input") or ()
    return "\n".join(_text(message.get("content")) for message in messages if message.get("role") == "user")


def _events(events: Iterator[Mapping[str, Any]], *, named: bool) -> bytes:
    lines = ((f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events)
    return "".join(lines).encode()


def _messages_history(body: Mapping[str, Any]) -> tuple[int, Results]:
    messages = body["messages"]
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    results = [_text(block.get("content")) for block in blocks if block["type"] == "tool_result"]
    return sum(message["role"] == "assistant" for message in messages), results


def _messages_stream(turn: Say | Call, arguments: Arguments, number: int) -> bytes:
    def events() -> Iterator[Mapping[str, Any]]:
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        usage = {"input_tokens": 1, "output_tokens": 1}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        if isinstance(turn, Say):
            block: Mapping[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": turn.text}
        else:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "end_turn" if isinstance(turn, Say) else "tool_use"
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}

    return _events(events(), named=True)


def _responses_history(body: Mapping[str, Any]) -> tuple[int, Results]:
    items = body["input"]
    calls = sum(item["type"] in ("function_call", "custom_tool_call") for item in items)
    said = sum(item["type"] == "message" and item["role"] == "assistant" for item in items)
    outputs = [item["output"] for item in items if item["type"] in ("function_call_output", "custom_tool_call_output")]
    return calls + said, [_text(output) for output in outputs]


def _responses_stream(turn: Say | Call, arguments: Arguments, number: int) -> bytes:
    def item() -> Mapping[str, Any]:
        if isinstance(turn, Say):
            content = [{"type": "output_text", "text": turn.text, "annotations": []}]
            return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": turn.tool}
        if isinstance(arguments, str):
            return {**call, "type": "custom_tool_call", "input": arguments}
        namespace = {"namespace": turn.namespace} if turn.namespace else {}
        return {**call, **namespace, "type": "function_call", "arguments": json.dumps(arguments)}

    def events() -> Iterator[Mapping[str, Any]]:
        response = {"id": f"resp_{number}", "object": "response", "output": []}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item()}
        yield {"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}}

    return _events(events(), named=True)


def _chat_history(body: Mapping[str, Any]) -> tuple[int, Results]:
    messages = body["messages"]
    results = [_text(message["content"]) for message in messages if message["role"] == "tool"]
    return sum(message["role"] == "assistant" for message in messages), results


def _chat_stream(turn: Say | Call, arguments: Arguments, number: int) -> bytes:
    def events() -> Iterator[Mapping[str, Any]]:
        chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        if isinstance(turn, Say):
            delta: Mapping[str, Any] = {"role": "assistant", "content": turn.text}
        else:
            function = {"name": turn.tool, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        reason = "stop" if isinstance(turn, Say) else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}

    return _events(events(), named=False) + b"data: [DONE]\n\n"


DIALECTS = {
    "/v1/messages": Dialect(_messages_history, _messages_stream),
    "/v1/responses": Dialect(_responses_history, _responses_stream),
    "/v1/chat/completions": Dialect(_chat_history, _chat_stream),
}


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            if path in DIALECTS:
                self._answer(200, "text/event-stream", server.answer(path, body))
            elif path == "/v1/messages/count_tokens":
                self._answer(200, "application/json", b'{"input_tokens": 1}')
            else:
                server.failures.append(self.path)
                self._answer(404, "application/json", b"{}")

        def do_GET(self) -> None:
            self._answer(404, "application/json", b"{}")

        def do_HEAD(self) -> None:
            self._answer(200, "text/plain", b"")

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Nothing: the requests are kept, not printed."""

    return Handler
