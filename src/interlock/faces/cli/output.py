"""What a command says: results on stdout, messages on stderr, as text for people or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from interlock.errors import InterlockError
from interlock.faces.cli.styled import Text, ansi
from interlock.world.characters import marked

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output", "ask", "clean", "columns", "one_line"]

_WIDTH = 120
_NARROWEST = 20


def clean(text: str) -> str:
    """Text that an agent may have written, made safe for a terminal: what cannot be seen or turns text is marked."""
    return marked(text)


def one_line(text: str) -> str:
    """Such text where a line break would let it pass for something else."""
    return marked(text.replace("\t", " "), keep="")


def columns(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Rows in aligned columns; the last one is as long as it is, or goes on below itself within `width`."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)] if rows else []
    indent = sum(widths) + 2 * len(widths)
    lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
    if width is not None and width > indent + _NARROWEST:
        from textwrap import fill

        lines = [fill(line, width, subsequent_indent=" " * indent, drop_whitespace=True) for line in lines]
    return "".join(f"{line}\n" for line in lines)


def _width_of(stream: TextIO) -> int | None:
    return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None


def _folded(text: str, indent: str, width: int | None) -> str:
    """Sentences within a terminal's width; a command in backticks stays in one piece, to be copied."""
    if width is None or width < 2 * _NARROWEST:
        return f"{text}\n"
    import re
    from textwrap import fill

    whole = re.sub(r"`[^`\n]+`", lambda found: found[0].replace(" ", "\0"), text)
    lines = (
        fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for line in whole.split("\n")
    )
    return "\n".join(lines).replace("\0", " ") + "\n"


class Output:
    """Where one command's words go."""

    def __init__(self, *, json: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = json
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr

    def result(self, data: object, show: Callable[[], None]) -> None:
        """The command's result: an envelope with a view or plain data, or whatever `show` prints for people."""
        if self.json:
            self.line({"ok": True, "data": data})
        else:
            show()

    def failure(self, error: InterlockError) -> None:
        """Why the command failed: what happened, to what, and what to do next."""
        if self.json:
            said: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
            self.line({"ok": False, "error": said | ({"details": error.details} if error.details else {})})
            return
        width = _width_of(self.stderr)
        self.stderr.write(_folded(f"ralph: {clean(error.message)} [{error.code}]", "", width))
        if error.hint:
            self.stderr.write(_folded(f"  → {clean(error.hint)}", "    ", width))

    def line(self, data: object) -> None:
        """One line of JSON: views and plain data."""
        import json

        from interlock.work.views.encoding import as_data

        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=as_data)
        self.stdout.write(text.encode("utf-8", "replace").decode() + "\n")

    def text(self, text: str) -> None:
        self.stdout.write(text if text.endswith("\n") else text + "\n")

    def print(self, line: Text | None = None, *, wraps: bool = False) -> None:
        """A line for people, in colours where stdout is a terminal; with `wraps`, broken between words there."""
        width = self.width if wraps else None
        self.print_all([line or Text()] if width is None or line is None else line.wrapped(width))

    def print_all(self, lines: Iterable[Text]) -> None:
        """Lines for people, in colours where stdout is a terminal; each is written when it is there."""
        write = self.stdout.write
        if self.width is None:
            for line in lines:
                write(f"{line.plain}\n")
            return
        codes = ansi(os.environ)
        for line in lines:
            write(f"{line.rendered(codes)}\n")

    def message(self, text: str) -> None:
        self.stderr.write(text + "\n")

    @property
    def width(self) -> int | None:
        """How wide the terminal is; None where stdout is none, or where it does not say."""
        return _width_of(self.stdout)

    def console(self) -> Console:
        """A console for what is worth looking at; plain where stdout is no terminal."""
        from rich.console import Console

        class Ours(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # the program's edge decides what it means

        return Ours(file=self.stdout, width=None if self.stdout.isatty() else _WIDTH, highlight=False)


def ask(output: Output, question: str) -> tuple[str, str] | None:
    """Ask before something is written: None if a person at a terminal says yes, else why not, and what to do next."""
    if output.json or not (sys.stdin is not None and sys.stdin.isatty() and output.stdout.isatty()):
        hint = "`--yes` writes without a question; `--dry-run` shows what it would write."
        return "Nothing was written: there is nobody at a terminal to ask.", hint
    output.stdout.flush()
    output.stderr.write(f"{question} [y/N] ")
    output.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    return "Nothing was written.", "Run it again to be asked again."
