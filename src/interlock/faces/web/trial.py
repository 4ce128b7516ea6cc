"""A machine of one's own, dropped into a page and checked. Nothing of it is kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import msgspec
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from interlock.errors import UsageError

__all__ = ["MOST_BYTES", "Trials"]

MOST_BYTES: Final = 256 * 1024
_MOST_SECONDS: Final = 10.0
_AT_ONCE: Final = 1
_LARGEST_ANSWER: Final = 32 * 1024 * 1024


class Trials:
    """Checks what people drop in, one after the other: each has a process, and some seconds."""

    def __init__(self) -> None:
        self._turn = anyio.CapacityLimiter(_AT_ONCE)

    async def tried(self, request: Request) -> Mapping[str, Any]:
        """What came of the machine in a form: `machine`, `report` and `drawing`, or `error`; and the `text`."""
        text = ""
        try:
            text = await _text_of(request)
            async with self._turn:
                return {"text": text, **await _checked(text)}
        except UsageError as error:
            return {"text": text, "error": {"code": error.code, "message": error.message, "hint": error.hint}}


async def _text_of(request: Request) -> str:
    async with _form_of(request) as form:
        given, text = form.get("file"), form.get("text")
        if isinstance(given, UploadFile) and given.size:
            return (await given.read()).decode("utf-8", "replace")
        if isinstance(text, str) and text.strip():
            return text
    raise UsageError("invalid_argument", "There is no text and no file.", "Choose a file, or paste its text.")


@asynccontextmanager
async def _form_of(request: Request) -> AsyncIterator[FormData]:
    body = b"".join([chunk async for chunk in _at_most(request)])

    async def again() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        form = await Request(request.scope, again).form(max_files=1, max_fields=4, max_part_size=MOST_BYTES)
    except (HTTPException, MultiPartException, ValueError):
        raise UsageError("invalid_argument", "The form cannot be read.", "Send it from the page.") from None
    try:
        yield form
    finally:
        await form.close()


async def _at_most(request: Request) -> AsyncIterator[bytes]:
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > 2 * MOST_BYTES:  # a form says some things twice, in other words
                message = f"A machine is checked here up to {MOST_BYTES // 1024} KiB."
                raise UsageError("invalid_argument", message, "`ralph machine check FILE` takes larger ones.")
            yield chunk
    except ClientDisconnect:
        raise UsageError("invalid_argument", "The form did not come whole.", "Send it again.") from None


async def _checked(text: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-m", "interlock.faces.web.trying"]
    try:
        with anyio.fail_after(_MOST_SECONDS):
            done = await anyio.run_process(
                command, input=text.encode("utf-8", "replace"), stderr=subprocess.DEVNULL, check=False
            )
        if done.returncode == 0 and len(done.stdout) <= _LARGEST_ANSWER:
            answer: dict[str, Any] = msgspec.json.decode(done.stdout)
            return answer
    except TimeoutError:
        pass
    message = f"It took more than {_MOST_SECONDS:.0f} seconds or more memory than there is for it here."
    raise UsageError("invalid_argument", message, "`ralph machine check FILE` takes as long as it needs.")
