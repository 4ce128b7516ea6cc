"""An agent of the Agent Client Protocol, made with the official SDK, which does what its prompt says."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
    start_tool_call,
    update_agent_message_text,
)
from acp.schema import Cost, PermissionOption, ToolCallUpdate, UsageUpdate


class Agent:
    """Answers every prompt in two pieces, and between them does what the prompt says."""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **given: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=99 if "old" in sys.argv else PROTOCOL_VERSION)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **given: Any) -> NewSessionResponse:
        self.servers = [server.model_dump(by_alias=True) for server in mcp_servers]
        self.directory = cwd
        return NewSessionResponse(session_id="session-1")

    async def prompt(self, session_id: str, prompt: Any, **given: Any) -> PromptResponse:
        word = prompt[0].text
        await self.say(session_id, "I was told")
        await self.say(session_id, f" to {word}.")
        await self.client.session_update(
            session_id, start_tool_call("call-1", "Run the tests", kind="execute", raw_input={"command": "make test"})
        )
        match word:
            case "ask":
                await self.ask(session_id)
            case "read":
                await self.read(session_id)
            case "refuse":
                return PromptResponse(stop_reason="refusal")
            case "fail":
                raise RequestError(-32603, "Internal error", {"details": "You\u2019ve hit your usage limit."})
            case "tell":
                await self.say(session_id, json.dumps({"servers": self.servers, "cwd": self.directory}))
            case "die":
                sys.exit(0)
        spent = Cost(amount=0.5, currency="USD")
        await self.client.session_update(
            session_id, UsageUpdate(session_update="usage_update", used=81_000, size=100_000, cost=spent)
        )
        await self.say(session_id, "<promise>")
        await self.say(session_id, "completed</promise>")
        return PromptResponse(stop_reason="end_turn")

    async def say(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id, update_agent_message_text(text))

    async def ask(self, session_id: str) -> None:
        call = ToolCallUpdate(tool_call_id="call-1", title="Run the tests")
        options = [
            PermissionOption(option_id="always", name="Always", kind="allow_always"),
            PermissionOption(option_id="once", name="Once", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self.client.request_permission(session_id=session_id, tool_call=call, options=options)
        await self.say(session_id, f"The answer is {answer.outcome.option_id}.")

    async def read(self, session_id: str) -> None:
        try:
            await self.client.read_text_file(session_id=session_id, path="/etc/passwd")
        except RequestError as error:
            await self.say(session_id, f"It was refused: {error}.")


asyncio.run(run_agent(Agent()))  # type: ignore[arg-type]  # what it does not offer is answered by the SDK
