"""A program recorded in a terminal of its own, and the film of the demo: `python -m docs.generators.recording`.

A person's part is played: whenever a gate asks for a word, the word is typed, a key at a time.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import selectors
import subprocess
import sys
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.film import film
from docs.generators.pace import paced
from docs.generators.screens import Event, Recording, filmed

__all__ = ["main", "record"]

_ROOT = Path(__file__).parent.parent.parent
_FILM = _ROOT / "docs" / "assets" / "demo.svg"
_COMMAND = "ralph demo"
_DESCRIPTION = "The demo in a terminal: a ticket goes from Backlog to a merged commit, and a person passes the gates."
_COLUMNS, _LINES = 100, 30
_SECONDS, _ECHO_SECONDS = 300.0, 1.0
"""After so long without a word a program hangs; after so long a key is not going to be shown."""
_ASKED = re.compile(r"Type (\S+) and press Enter[^\n]*$")
"""How every gate asks, whatever it is about."""
_TEMPORARY = re.compile(r"/\S*/(interlock-demo)-\w+")
_PROGRAM = re.compile(r"/(?:[\w.+-]+/)*bin/")


def record(words: Sequence[str | Path], directory: Path, environment: dict[str, str]) -> Recording:
    """Run a program in a terminal, answer what its gates ask, and keep what reached the screen and when."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (_LINES, _COLUMNS))
    size = {"COLUMNS": str(_COLUMNS), "LINES": str(_LINES), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        words,
        cwd=directory,
        env={**environment, **size},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        events = _listen(ours)
        status = process.wait(_SECONDS)
    finally:
        os.close(ours)
        process.kill()
        process.wait(_SECONDS)
    if status:
        raise SystemExit(
            f"{words[0]} ended with {status}; nothing was recorded:\n{''.join(one.text for one in events)}"
        )
    return Recording(_COLUMNS, _LINES, tuple(events), events[-1].at)


def _listen(terminal: int) -> list[Event]:
    """What comes out of a terminal to its end, while the words that are asked for are typed, a key at a time."""
    events: list[Event] = []
    unanswered = keys = ""
    decoder, began = getincrementaldecoder("utf-8")("replace"), time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        while True:
            if selector.select(_ECHO_SECONDS if keys else _SECONDS):
                read = _read(terminal)
                if not read:
                    return events
                events.append(Event(time.monotonic() - began, "o", decoder.decode(read)))
                unanswered += events[-1].text
                if not keys and (asked := _ASKED.search(unanswered)):
                    keys = f"{asked[1]}\n"
            elif not keys:
                raise SystemExit("The program says nothing any more; nothing was recorded.")
            if keys:
                os.write(terminal, keys[0].encode())
                events.append(Event(time.monotonic() - began, "i", keys[0]))
                unanswered, keys = "", keys[1:]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def _neutral(text: str, home: str) -> str:
    """Without what differs from machine to machine."""
    return _PROGRAM.sub("", _TEMPORARY.sub(r"/tmp/\1", text).replace(home, "~"))


def main() -> None:
    """Record the demo, and write its film."""
    ralph = Path(sys.executable).with_name("ralph")
    with TemporaryDirectory() as home:
        environment = {"PATH": f"{ralph.parent}:{os.defpath}", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
        found = record([ralph, "demo"], Path(home), environment)
        shown = filmed(paced(found, _COMMAND, lambda text: _neutral(text, home)))
    _FILM.write_text(film(shown, _COMMAND, _DESCRIPTION), encoding="utf-8")
    sys.stdout.write(f"written: {_FILM.relative_to(_ROOT)}, {shown.seconds:.0f} s, {_FILM.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main()
