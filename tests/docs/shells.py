"""A shell in a terminal, and the reader who sits at it and types what a page says."""

from __future__ import annotations

import os
import pty
import re
import selectors
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from faces.programs import SECONDS, control

__all__ = ["Shell", "seen", "shell"]

_PROMPT = re.compile(r"<<(?P<status>\d+) (?P<directory>[^\n]*)>> $")
_WIDE, _HIGH = 100, 50


_CONTROL = re.compile(r"\r|\n|\x1b\[(\d*)([A-Za-z])|\x1b\[\?\d+[hl]|\x1b[=>]")


def seen(written: str) -> str:
    """What stays on a screen of what was written to it: lines that were cleared and drawn again are there once."""
    lines, row, at = [""], 0, 0
    for found in [*_CONTROL.finditer(written), None]:
        lines[row] += written[at : found.start() if found else len(written)]
        if found is None:
            break
        at = found.end()
        if found[0] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif found[2] == "A":
            row -= int(found[1] or 1)
        elif found[2] == "K":
            lines[row] = ""
    return "\n".join(lines)


class Shell:
    """A real shell at a real terminal; whoever types waits for the prompt, or for what is on the screen."""

    def __init__(self, terminal: int, directory: Path) -> None:
        self._terminal = terminal
        self.directory = directory
        self.status = 0
        self.screen = ""

    def start(self, line: str) -> None:
        """Type a command."""
        self.screen = ""
        self.type(f"{line}\n")
        self.see(re.compile(re.escape(line) + "\n"))
        self.screen = self.screen.partition("\n")[2]

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> str:
        """Wait until the shell asks for the next command: all that came on the screen before."""
        found = self.see(_PROMPT)
        self.status, self.directory = int(found["status"]), Path(found["directory"])
        return self.screen[: found.start()]

    def see(self, wanted: re.Pattern[str]) -> re.Match[str]:
        """Look at the screen until something is there, but not forever."""
        deadline = time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._terminal, selectors.EVENT_READ)
            while not (found := wanted.search(self.screen)):
                assert selector.select(deadline - time.monotonic()), f"{wanted.pattern} does not come:\n{self.screen}"
                self.screen += os.read(self._terminal, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        return found


@contextmanager
def shell(directory: Path, environment: Mapping[str, str]) -> Iterator[Shell]:
    """A shell in a new window, closed afterwards with what runs in it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (_HIGH, _WIDE))
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "--noediting", "-i"],
        cwd=directory,
        env={**environment, "PS1": "<<$? $PWD>> ", "TERM": "xterm-256color", "VIRTUAL_ENV_DISABLE_PROMPT": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=control,
    )
    os.close(theirs)
    opened = Shell(ours, directory)
    try:
        opened.end()
        yield opened
    finally:
        os.close(ours)
        process.kill()
        process.wait(SECONDS)
