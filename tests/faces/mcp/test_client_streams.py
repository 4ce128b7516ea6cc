"""The client's ends of stdin and stdout: lines as a text file has them, and no wait that holds up the event loop."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faces.programs import RALPH, SECONDS

from .hostile import call
from .servers import MODERN

_ECHO = """
import os, sys, anyio
from interlock.faces.mcp.client_streams import client_streams

async def main():
    with client_streams() as (messages, output):
        print("a print", flush=True)
        os.system("echo a program; cat")
        async for line in messages:
            await output.write(ascii(line) + "\\n")
            await output.flush()
    print("after it", flush=True)

anyio.run(main)
"""
_FLOOD = """
import sys, anyio
from interlock.faces.mcp.client_streams import client_streams

async def main():
    with client_streams() as (messages, output):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer, messages)
            for number in range(2000):
                await output.write(f"{number} " + "x" * (100 if number % 100 else 100_000) + "\\n")
                await output.flush()

async def answer(messages):
    print(await messages.readline(), end="", file=sys.stderr, flush=True)

anyio.run(main)
"""
_LINES = [
    b"",
    b"one\n",
    b"one\ntwo",
    b"\n\none\n",
    b"one\r\ntwo\rthree\r",
    b"\x0b\x0c\x1c\x85\n\xe2\x80\xa8\n",
    "äß€𝄞\n".encode() * 3,
    b"\xff\xfe\n\xe2\x82\n\xe2\x82",
    b"x" * 200_000 + b"\ny\n" + b"z" * 70_000,
]


@contextmanager
def _program(source: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        try:
            yield program
        finally:
            program.kill()


@pytest.mark.parametrize("raw", _LINES, ids=range(len(_LINES)))
def test_lines_are_those_of_a_text_file_and_nothing_else_reaches_the_client(raw: bytes) -> None:
    with _program(_ECHO) as program:
        assert program.stdin is not None
        for byte in raw[:100]:
            os.write(program.stdin.fileno(), bytes([byte]))
        out, err = program.communicate(raw[100:], SECONDS)
    expected = [ascii(line) for line in io.TextIOWrapper(io.BytesIO(raw), "utf-8", "replace")]
    assert out.decode().splitlines() == [*expected, "after it"]
    assert err.decode().splitlines() == ["a print", "a program"]


def test_a_client_that_reads_late_holds_up_nothing_and_misses_nothing() -> None:
    with _program(_FLOOD) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdin.write(b"are you there?\n")
        program.stdin.flush()
        assert program.stderr.readline() == b"are you there?\n"
        lines = program.stdout.read().splitlines()
        assert program.wait(SECONDS) == 0
    assert [int(line.split()[0]) for line in lines] == list(range(2000))


def test_requests_in_a_file_are_answered(repository: Path, environment: dict[str, str]) -> None:
    requests = repository.with_name("requests")
    requests.write_bytes(call(b"{}", MODERN, "create_ralph_session") + b"\n")
    with requests.open("rb") as stdin:
        ended = subprocess.run(
            [RALPH, "mcp"],
            cwd=repository,
            env=environment,
            stdin=stdin,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    [answer] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert answer["result"]["isError"] is False
    assert ended.stderr == b""
