"""The prompts of the server: how to report progress, and each ticket command as a text to follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mcp_types as types
from mcp.shared.exceptions import MCPError

from interlock.errors import InterlockError
from interlock.machine import Machine
from interlock.work.sessions.prompt import progress_reporting
from interlock.work.tickets.skills import prompt, skills

__all__ = ["get_prompt", "list_prompts"]

_REPORTING = "progress_reporting"
_MAX_ID = 64
_MAX_DIGITS = 12

Machines = Callable[[str], Machine]


def list_prompts(machines: Machines) -> types.ListPromptsResult:
    """Every prompt: a command of the ticket machine in force is one."""
    session = types.PromptArgument(name="sessionId", description="The session to report for", required=False)
    about = "How to report your progress while you work"
    reporting = types.Prompt(name=_REPORTING, title="Progress Reporting", description=about, arguments=[session])
    number = types.PromptArgument(name="number", description="The ticket's number", required=False)
    commands = [
        types.Prompt(name=skill.name, title=skill.name, description=skill.description, arguments=[number])
        for skill in skills(_machine(machines, "ticket"))
    ]
    return types.ListPromptsResult(prompts=[reporting, *commands])


def get_prompt(machines: Machines, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """The text of one prompt."""
    if name == _REPORTING:
        text = progress_reporting(machines("session"), _session(arguments.get("sessionId")))
        return _given("How to report your progress", text)
    ticket = _machine(machines, "ticket")
    known = {skill.name: skill for skill in skills(ticket)}
    if name not in known:
        raise _invalid(f"There is no prompt {name[:80]!r}. There is: {', '.join([_REPORTING, *known])}.")
    text = prompt(ticket, known[name].command, _number(arguments.get("number")))
    return _given(known[name].description, text)


def _given(about: str, text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=about, messages=[message])


def _session(given: str | None) -> str | None:
    if given is not None and not (given.isascii() and given.isalnum() and len(given) <= _MAX_ID):
        raise _invalid("sessionId is the id of a session: letters and digits.")
    return given


def _number(given: str | None) -> int | None:
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS):
        raise _invalid("number is the number of a ticket: digits.")
    return int(given)


def _machine(machines: Machines, name: str) -> Machine:
    try:
        return machines(name)
    except InterlockError as error:
        raise MCPError(types.INTERNAL_ERROR, f"{error.message} {error.hint}", {"code": error.code}) from None


def _invalid(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)
