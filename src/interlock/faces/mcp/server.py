"""The MCP server: the SDK's, with our tools, resources and prompts in it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from interlock import __version__
from interlock.errors import InterlockError
from interlock.faces.mcp.arguments import checked, schema_of
from interlock.faces.mcp.prompts import get_prompt, list_prompts
from interlock.faces.mcp.resources import TEMPLATES, read, readable
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.mcp.session_tools import SESSION_TOOLS
from interlock.faces.mcp.ticket_tools import TICKET_TOOLS
from interlock.faces.mcp.tool import Tool
from interlock.faces.mcp.wording import with_tool_names
from interlock.machine import Machine
from interlock.work.sessions.record import UPDATE

__all__ = ["TOOLS", "make_server"]

TOOLS = (*SESSION_TOOLS, *TICKET_TOOLS)
"""Every tool, in the order in which it is listed."""
_INSTRUCTIONS = """\
Report your work as you do it. Call create_ralph_session before you start on a ticket (unless you were given a session \
id), update_session_state each time you enter a phase (analyzing, implementing, testing, committing, reviewing), and \
complete_ralph_session when you are done or cannot go on.

- analyzing: after reading the spec, before writing code. implementing: when you start writing code. testing: when you \
run tests; give metadata.testResults. committing: when you are about to commit. reviewing: your own last look.
- Files can be written in implementing, testing and committing. A write in another state is denied by a hook; the \
denial holds the exact call to make first.
- success in complete_ralph_session is for work that is done and whose tests pass. Otherwise say failure, and why.
- A refused call changes nothing. Its text says why, and what is allowed next.

Tickets: next_ticket finds work, get_ticket shows it, handoff_ticket moves it, and nothing else does. Claim a ticket \
with the intent lock before you work on it, and hand it on with complete, release or escalate. From Human Needed only \
a person moves it: stop there.
"""

log = logging.getLogger("interlock.mcp")
Context = ServerRequestContext[Any, Any]


def make_server(context: ServerContext, machines: Callable[[str], Machine]) -> Server[Any]:
    """The server for one journal."""
    face = _Face(context, machines)
    return Server(
        "ralph",
        version=__version__,
        title="Interlock",
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=lambda name: None,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_read_resource=face.read_resource,
        on_list_prompts=face.list_prompts,
        on_get_prompt=face.get_prompt,
    )


class _Face:
    """What the server answers, request by request."""

    def __init__(self, context: ServerContext, machines: Callable[[str], Machine]) -> None:
        self._context = context
        self._machines = machines
        self._by_name = {tool.name: tool for tool in TOOLS}
        self._listed = [_listed(tool, machines) for tool in TOOLS]

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._by_name.get(params.name)
        if tool is None:
            known = ", ".join(self._by_name)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:80]!r}. There is: {known}.")
        return await _call(self._context, tool, context, params.arguments or {})

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        found = await self._context.read(lambda: readable(self._context.journal))
        resources = [
            types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.type) for one in found
        ]
        return types.ListResourcesResult(resources=resources)

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        templates = [
            types.ResourceTemplate(uri_template=one.uri, name=one.name, description=one.description, mime_type=one.type)
            for one in TEMPLATES
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            kind, text = await self._context.read(lambda: read(str(params.uri), self._context.journal, self._machines))
        except InterlockError as error:
            data = {"uri": str(params.uri)[:200], "code": error.code}
            raise MCPError(types.INVALID_PARAMS, f"{error.message} {with_tool_names(error.hint)}", data) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        return list_prompts(self._machines)

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return get_prompt(self._machines, params.name, params.arguments or {})


def _listed(tool: Tool, machines: Callable[[str], Machine]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.takes, tool.known(machines)),
        output_schema=schema_of(tool.gives),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
        _meta={"anthropic/alwaysLoad": True} if tool.first else None,
    )


async def _call(context: ServerContext, tool: Tool, request: Context, given: dict[str, Any]) -> types.CallToolResult:
    try:
        arguments = checked(given, tool.takes)
        result = await tool.run(context, context.caller(_client(request)), arguments)
    except InterlockError as error:
        return _refusal(error)
    except Exception:
        log.exception("%s failed", tool.name)
        return _refusal(InterlockError("internal_error", "This is a fault in Interlock; nothing was recorded.", ""))
    text = msgspec.json.encode(result).decode()
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=msgspec.to_builtins(result), is_error=False
    )


def _client(context: Context) -> str | None:
    params = context.session.client_params
    return params.client_info.name if params is not None else None


def _refusal(error: InterlockError) -> types.CallToolResult:
    """A refusal that the model can act on: what, which code, what instead, and what is allowed next."""
    lines = [f"Error: {error.message} [{error.code}]", with_tool_names(error.hint)]
    allowed = [one["to"] for one in error.details.get("allowed", ()) if one.get("event") == UPDATE]
    if allowed and "Allowed now" not in error.hint:
        lines.append(f"Allowed next with update_session_state: {', '.join(dict.fromkeys(allowed))}.")
    text = "\n".join(line for line in lines if line)
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
